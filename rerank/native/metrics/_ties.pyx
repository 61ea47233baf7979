"""How ties are broken: by the items' ids, as in trec_eval, or by the order of the input."""

import numpy as np

from rerank.native.data._merge cimport sort_ids_down
from rerank.native.metrics._placement cimport Placement, Places

ctypedef fused real:
    float
    double


cdef inline long long _last_at_most(const long long* rising, long long n, long long x) noexcept nogil:
    """The number of the last of n >= 1 rising values that is at most x, 0 if there is none."""
    cdef long long low = 0, middle
    while n - low > 1:
        middle = (low + n) >> 1
        if rising[middle] <= x:
            low = middle
        else:
            n = middle
    return low


def break_ties(
    const real[::1] scores, const long long[::1] offsets, const long long[::1] rel_items,
    const unsigned char[::1] data, const long long[::1] bounds, Placement placement,
):
    """Give every tied relevant item one place: larger ids first, or the items in their order.

    IN scores (n_items), the rest as in ``_placement``; data (n_bytes), bounds (n_items + 1): the ids, None
    for ties by the order of the items; IN/OUT placement as ``place`` left it.
    """
    cdef const Places* p = &placement.places
    cdef const long long* rel_offsets = p.offsets
    cdef long long* order = p.order
    cdef int* above = p.above
    cdef int* tied = p.tied
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t longest = 1, i, g, n_groups
    cdef long long j, t, item, found, m
    for i in range(n_lists):
        longest = max(longest, offsets[i + 1] - offsets[i])
    cdef long long[:, ::1] work = np.empty((4, longest), dtype=np.int64)
    cdef long long* first = &work[0, 0]
    cdef long long* fill = &work[1, 0]
    cdef long long* members = &work[2, 0]
    cdef const long long* rel
    cdef real s
    with nogil:
        for i in range(n_lists):
            # Groups of tied items, from the top down: first relevant item, where the members lie.
            n_groups = 0
            t = 0
            for j in range(rel_offsets[i], rel_offsets[i + 1]):
                if tied[j] > 1 and (n_groups == 0 or above[j] != above[first[n_groups - 1]]):
                    first[n_groups] = j
                    fill[n_groups] = t
                    t += tied[j]
                    n_groups += 1
            if n_groups == 0:
                continue
            for item in range(offsets[i], offsets[i + 1]):
                s = scores[item]
                g = 0
                found = n_groups
                while g < found:
                    t = (g + found) >> 1
                    if scores[rel_items[order[first[t]]]] > s:
                        g = t + 1
                    else:
                        found = t
                if g < n_groups and scores[rel_items[order[first[g]]]] == s:
                    members[fill[g]] = item
                    fill[g] += 1
            rel = &rel_items[rel_offsets[i]]
            m = rel_offsets[i + 1] - rel_offsets[i]
            for g in range(n_groups):
                j = first[g]
                found = above[j]
                t = fill[g] - tied[j]
                if data is not None:
                    sort_ids_down(&data[0], &bounds[0], members + t, &work[3, 0], fill[g] - t)
                for t in range(t, fill[g]):
                    item = _last_at_most(rel, m, members[t])
                    if rel[item] == members[t]:
                        order[j] = rel_offsets[i] + item
                        above[j] = <int>found
                        tied[j] = 1
                        j += 1
                    found += 1
