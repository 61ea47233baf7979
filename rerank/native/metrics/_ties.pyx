"""How ties are broken: by the items' ids, as in trec_eval, or by the order of the input."""

import numpy as np

from libc.string cimport memcmp, memcpy, memset

from rerank.native.data._merge cimport sort_ids_down
from rerank.native.metrics._placement cimport Placement, Places

ctypedef fused real:
    float
    double

# Eight bytes from KEEP[8 - n] keep the first n bytes of a word, whichever end it starts at.
cdef unsigned char[16] KEEP = [255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]


cdef inline unsigned long long _hash(
    const unsigned char* text, long long n, const unsigned char* end
) noexcept nogil:
    """A hash of n bytes of a buffer that ends at ``end``."""
    cdef unsigned long long h = <unsigned long long>n * 0x9E3779B97F4A7C15u
    cdef unsigned long long word
    cdef unsigned long long mask
    while n >= 8:
        memcpy(&word, text, 8)
        h = (h ^ word) * 0xD6E8FEB86659FD93u
        h ^= h >> 32
        text += 8
        n -= 8
    if text + 8 <= end:  # a copy of fixed length is one load
        memcpy(&word, text, 8)
        memcpy(&mask, &KEEP[8 - n], 8)
        word &= mask
    else:
        word = 0
        memcpy(&word, text, n)
    h = (h ^ word) * 0xD6E8FEB86659FD93u
    return h ^ (h >> 32)


def ids_fault(
    const unsigned char[::1] data,
    const long long[::1] bounds,
    const long long[::1] offsets,
    unsigned long long[::1] table,
):
    """The first item whose id is empty or the id of an earlier item of its list, or -1.

    IN data (n_bytes), bounds (n_items + 1): the ids; WORK table, a power of two entries, at least 4 and
    twice the longest list.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef long long item
    cdef long long length
    cdef long long other
    cdef unsigned long long mask
    cdef unsigned long long at
    cdef unsigned long long h
    cdef const unsigned char* text
    cdef const unsigned char* end
    if data.shape[0] == 0:
        return 0
    text = &data[0]
    end = text + data.shape[0]
    with nogil:
        for i in range(n_lists):
            mask = 3
            while mask < <unsigned long long>(2 * (offsets[i + 1] - offsets[i]) - 1):
                mask = 2 * mask + 1
            memset(&table[0], 0, (mask + 1) * sizeof(unsigned long long))
            for item in range(offsets[i], offsets[i + 1]):
                length = bounds[item + 1] - bounds[item]
                if length == 0:
                    with gil:
                        return item
                h = _hash(text + bounds[item], length, end)
                at = h & mask
                # An entry is 32 bits of the hash over the item's number in its list, from 1.
                while table[at] != 0:
                    if table[at] >> 32 == h >> 32:
                        other = offsets[i] + <long long>(table[at] & 0xFFFFFFFFu) - 1
                        if bounds[other + 1] - bounds[other] == length and not memcmp(
                            text + bounds[other], text + bounds[item], length
                        ):
                            with gil:
                                return item
                    at = (at + 1) & mask
                table[at] = (h >> 32 << 32) | <unsigned long long>(item - offsets[i] + 1)
    return -1


cdef inline long long _last_at_most(const long long* rising, long long n, long long x) noexcept nogil:
    """The number of the last of n >= 1 rising values that is at most x, 0 if there is none."""
    cdef long long low = 0
    cdef long long middle
    while n - low > 1:
        middle = (low + n) >> 1
        if rising[middle] <= x:
            low = middle
        else:
            n = middle
    return low


def break_ties(
    const real[::1] scores,
    const long long[::1] offsets,
    const long long[::1] rel_items,
    const unsigned char[::1] data,
    const long long[::1] bounds,
    Placement placement,
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
    cdef Py_ssize_t longest = 1
    cdef Py_ssize_t i
    cdef Py_ssize_t g
    cdef Py_ssize_t n_groups
    cdef long long j
    cdef long long t
    cdef long long item
    cdef long long found
    cdef long long m
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
