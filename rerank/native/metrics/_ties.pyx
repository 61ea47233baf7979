"""The order of items by their ids, in which trec_eval places those that are tied."""

import numpy as np

from rerank.native.data._merge cimport sort_ids_down


def by_ids(
    const unsigned char[::1] data, const long long[::1] bounds, const long long[::1] offsets,
    const long long[::1] rel_items,
):
    """Return the items of each list by their ids, largest first, and the relevant ones among them.

    IN data (n_bytes), bounds (n_items + 1): the ids; offsets (n_lists + 1); rel_items (n_rel), rising.
    Returns the items, int64 (n_items); where relevant ones are among them, rising (n_rel); their numbers.
    """
    cdef Py_ssize_t i
    cdef long long[::1] order = np.arange(bounds.shape[0] - 1)
    cdef long long[::1] work = np.empty(order.shape[0], dtype=np.int64)
    with nogil:
        for i in range(offsets.shape[0] - 1):
            sort_ids_down(&data[0], &bounds[0], &order[offsets[i]], &work[0], offsets[i + 1] - offsets[i])
    places = np.argsort(order)[rel_items]
    numbers = np.argsort(places)
    return np.asarray(order), places[numbers], numbers
