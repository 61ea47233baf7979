"""Directions of a line search: the lists whose slopes differ, and the items of each by rising slope."""

import numpy as np

from rerank.native.data._sort cimport BUCKETS, argsort, word

ctypedef fused order_t:
    unsigned char
    unsigned short
    int


cdef inline int put_by_slope(
    const double* values, int k, order_t* order, double* slopes, int* rank, word* words, int* counts
) noexcept nogil:
    """OUT order and slopes of a list by rising value. Return k, or 0 if all values are equal."""
    cdef int i
    for i in range(1, k):
        if values[i] != values[0]:
            break
    else:
        return 0
    argsort(values, rank, k, words, counts)
    for i in range(k):
        order[i] = <order_t> rank[i]
        slopes[i] = values[rank[i]]
    return k


def rise(
    const int[::1] items, const double[::1] values, const unsigned char[::1] live,
    const long long[::1] offsets, const int[::1] list_of, int[::1] lists, order_t[::1] order,
    double[::1] slopes,
):
    """Sort a column of values within lists, those that are live and whose values differ.

    Return the number of these lists and of their items.

    IN values (m), finite, at rising ``items`` (m), 0 elsewhere; items None: values of all items. live
    (n_lists); offsets (n_lists + 1); list_of (n_items), read only with items. OUT lists (n_lists); order
    (n_items): places within a list, which must fit, and slopes (n_items); all are filled from the start.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t at = 0, i = 0, found = 0
    cdef long long filled = 0
    cdef int k
    cdef bint sparse = items is not None
    cdef Py_ssize_t longest = max(int(np.diff(offsets).max()) if n_lists else 0, 1)
    cdef double[::1] column = np.empty(longest)
    cdef int[::1] rank = np.empty(longest, dtype=np.int32)
    cdef word[::1] words = np.empty(2 * longest, dtype=np.uint64)
    cdef int[::1] counts = np.empty(BUCKETS, dtype=np.int32)
    cdef const double* here
    with nogil:
        while at < values.shape[0]:
            if sparse:
                i = list_of[items[at]]
            k = <int> (offsets[i + 1] - offsets[i])
            here = &values[at]
            if sparse:
                here = &column[0]
                column[:k] = 0.0
                while at < values.shape[0] and items[at] < offsets[i + 1]:
                    column[items[at] - offsets[i]] = values[at]
                    at += 1
            else:
                at += k
            if live[i]:
                k = put_by_slope(
                    here, k, &order[filled], &slopes[filled], &rank[0], &words[0], &counts[0]
                )
                if k:
                    lists[found] = <int> i
                    found += 1
                    filled += k
            i += 1
    return found, filled
