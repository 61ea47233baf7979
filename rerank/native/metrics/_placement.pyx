"""Where the relevant items of each list are placed.

The measures of retrieval depend on the relevant items alone (label > 0): how many items are above each, and
how many share its score. ``place`` finds both; ``_ranking`` makes measures of them. Pairwise accuracy needs
every judged item: see ``_concordance``.

Shapes used throughout: ``offsets`` (n_lists + 1) bounds the items of each list; ``rel_items`` (n_rel)
are the relevant items, rising; ``rel_offsets`` (n_lists + 1) bounds those of each list. Scores hold no NaN.
"""

import numpy as np

from libc.string cimport memcpy, memset

from rerank.native.data._merge cimport sort_down

ctypedef fused real:
    float
    double

# Up to PASSES + PASSES_OF_SHORT / n relevant items of n, a pass over the list for each four of them beats
# a sort (measured on lists of 10 to 1,000 items).
cdef enum:
    PASSES = 48
    PASSES_OF_SHORT = 8192


cdef class Placement:
    """The places of the relevant items, within a list from the top down.

    IN rel_offsets. Three columns (n_rel) are filled by ``place``: ``order``, the item's number among all
    relevant items; ``above``, the items strictly above its tie group; ``tied``, the size of that group, 1 if
    ties are broken. ``n_returned`` (n_lists) is the number of items that the system returned, None = all.
    """

    def __init__(self, const long long[::1] rel_offsets):
        cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
        cdef long long n = rel_offsets[n_lists]
        cdef long long[::1] order = np.empty(n, dtype=np.int64)
        cdef int[::1] above = np.empty(n, dtype=np.int32)
        cdef int[::1] tied = np.empty(n, dtype=np.int32)
        self.offsets, self.order, self.above, self.tied = rel_offsets, order.base, above.base, tied.base
        self.places.n_lists = n_lists
        self.places.offsets = &rel_offsets[0]
        self.places.order = &order[0] if n else NULL
        self.places.above = &above[0] if n else NULL
        self.places.tied = &tied[0] if n else NULL


cdef inline void _count4(const float* s, Py_ssize_t n, const float* r, int* above, int* same) noexcept nogil:
    """For four scores r: items above each and items equal to it (compilers make SIMD of this)."""
    cdef Py_ssize_t i
    cdef float r0 = r[0], r1 = r[1], r2 = r[2], r3 = r[3]
    cdef int a0 = 0, a1 = 0, a2 = 0, a3 = 0, e0 = 0, e1 = 0, e2 = 0, e3 = 0
    for i in range(n):
        a0 += s[i] > r0
        a1 += s[i] > r1
        a2 += s[i] > r2
        a3 += s[i] > r3
        e0 += s[i] == r0
        e1 += s[i] == r1
        e2 += s[i] == r2
        e3 += s[i] == r3
    above[0] = a0
    above[1] = a1
    above[2] = a2
    above[3] = a3
    same[0] = e0
    same[1] = e1
    same[2] = e2
    same[3] = e3


cdef inline void _recount(
    const double* s, const float* low, Py_ssize_t n, double r, int* above, int* same
) noexcept nogil:
    """Remove items from the tie group of r that equal it as floats but not as doubles."""
    cdef Py_ssize_t i
    cdef float r_low = <float>r
    cdef int more = 0, equal = 0
    for i in range(n):
        if low[i] == r_low:
            more += s[i] > r
            equal += s[i] == r
    above[0] += more
    same[0] = equal


cdef struct Room:  # for lists of up to n items
    float* low_key  # n + 3
    int* count  # 2 * (n + 3)
    int* slots  # n, all -1 between two lists
    unsigned int* radix  # 2 * n
    int* items  # 2 * n
    long long* index  # 2 * n


cdef struct Placed:  # of one list, from its first relevant item on, which is number ``base`` of all
    long long base
    long long first  # the list's first item
    long long* order
    int* above
    int* tied


cdef inline void _place_by_passes(
    const real* s, const float* low, Py_ssize_t n, const real* key, const long long* rel, Py_ssize_t m,
    bint earlier_first, const Room* room, const Placed* out,
) noexcept nogil:
    """Place the m items rel[], of scores key[]: count what is above each, then put each in its slot."""
    cdef Py_ssize_t j, t, p, i
    cdef float* low_key = room.low_key
    cdef int* slots = room.slots
    cdef int* count = room.count
    cdef int* same = count + m + 3
    cdef long long* order = out.order
    for j in range(m + 3):
        low_key[j] = <float>key[j if j < m else 0]
    j = 0
    while j < m:
        _count4(low, n, low_key + j, count + j, same + j)
        j += 4
    if real is double:  # float32 keeps the order of doubles, except that some become equal
        for j in range(m):
            if same[j] > 1:
                _recount(s, low, n, key[j], &count[j], &same[j])
    if earlier_first:
        for j in range(m):
            if same[j] > 1:
                same[j] = 1
                for i in range(rel[j] - out.first):
                    count[j] += s[i] == key[j]
    for j in range(m):
        p = count[j]
        while slots[p] >= 0:  # the next free place of the tie group
            p += 1
        slots[p] = <int>j
    t = 0
    for p in range(n):
        j = slots[p]
        slots[p] = -1
        order[t] = j  # overwritten unless j is an item
        t += j >= 0
        if t == m:
            break
    for t in range(m):
        j = order[t]
        out.above[t] = count[j]
        out.tied[t] = same[j]
        order[t] = out.base + j


cdef int* _radix_down(const float* low, Py_ssize_t n, unsigned int* keys, int* items) noexcept nogil:
    """Sort the n items by their scores, largest first, ties in their order; WORK keys, items (2 * n).

    Returns the half of ``items`` that holds them; the same half of ``keys`` holds their keys.
    """
    cdef int[4][256] count
    cdef Py_ssize_t i
    cdef int d, total, size, at
    cdef unsigned int bits
    cdef unsigned int* k = keys
    cdef unsigned int* k_to = keys + n
    cdef int* item = items
    cdef int* item_to = items + n
    memset(count, 0, sizeof(count))
    for i in range(n):
        memcpy(&bits, &low[i], 4)
        # As unsigned numbers these keys rise as the scores fall; -0.0 has the key of 0.0.
        bits = bits if bits >> 31 and bits != 0x80000000u else ~(bits | 0x80000000u)
        k[i] = bits
        item[i] = <int>i
        for d in range(4):
            count[d][bits >> (8 * d) & 255] += 1
    for d in range(4):
        if count[d][k[0] >> (8 * d) & 255] == n:
            continue
        total = 0
        for at in range(256):
            size = count[d][at]
            count[d][at] = total
            total += size
        for i in range(n):
            bits = k[i]
            at = count[d][bits >> (8 * d) & 255]
            count[d][bits >> (8 * d) & 255] = at + 1
            k_to[at] = bits
            item_to[at] = item[i]
        k, k_to = k_to, k
        item, item_to = item_to, item
    return item


cdef void _place_by_sort(
    const real* s, const float* low, Py_ssize_t n, const long long* rel, Py_ssize_t m, bint earlier_first,
    real* key, const Room* room, const Placed* out,
) noexcept nogil:
    """Place the m items rel[]: sort the list, then walk down.

    WORK key (2 * n).
    """
    cdef Py_ssize_t i, j, stop, t = 0
    cdef int* sorted_items = _radix_down(low, n, room.radix, room.items)
    cdef unsigned int* sorted_keys = room.radix + (sorted_items - room.items)
    cdef int* number = room.slots
    for j in range(m):
        number[rel[j] - out.first] = <int>j
    if real is double:  # items that are equal as float32 only are sorted as doubles
        i = 0
        while i < n:
            stop = i + 1
            while stop < n and sorted_keys[stop] == sorted_keys[i]:
                stop += 1
            if stop - i > 1:
                for j in range(i, stop):
                    key[j - i] = s[sorted_items[j]]
                    room.index[j - i] = sorted_items[j]
                sort_down(key, room.index, key + n, room.index + n, stop - i)
                for j in range(i, stop):
                    sorted_items[j] = <int>room.index[j - i]
            i = stop
    i = 0
    while t < m:
        stop = i + 1
        while stop < n and not earlier_first and s[sorted_items[stop]] == s[sorted_items[i]]:
            stop += 1
        for j in range(i, stop):
            if number[sorted_items[j]] >= 0:
                out.order[t] = out.base + number[sorted_items[j]]
                number[sorted_items[j]] = -1
                out.above[t] = <int>i
                out.tied[t] = <int>(stop - i)
                t += 1
        i = stop


def place(
    const real[::1] scores, const float[::1] low, const long long[::1] offsets,
    const long long[::1] rel_items, bint earlier_first, Placement placement,
):
    """Place the relevant items; return how many of them share their place with another item.

    IN scores (n_items), low (n_items) the same rounded to float32; earlier_first: on ties the earlier item
    comes first, else they share a place; OUT placement.
    """
    cdef const Places* p = &placement.places
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t longest = 1, i, j, m, n
    cdef long long base, first, n_tied = 0
    if rel_items.shape[0] == 0:
        return 0
    for i in range(n_lists):
        longest = max(longest, offsets[i + 1] - offsets[i])
    cdef real[::1] key = np.empty(2 * longest, dtype=np.float32 if real is float else np.float64)
    cdef long long[::1] index = np.empty(2 * longest, dtype=np.int64)
    cdef float[::1] low_key = np.empty(longest + 3, dtype=np.float32)
    cdef unsigned int[::1] radix = np.empty(2 * longest, dtype=np.uint32)
    cdef int[::1] items = np.empty(2 * longest, dtype=np.int32)
    cdef int[::1] count = np.empty(2 * (longest + 3), dtype=np.int32)
    cdef int[::1] slots = np.full(longest, -1, dtype=np.int32)
    cdef Room room = Room(&low_key[0], &count[0], &slots[0], &radix[0], &items[0], &index[0])
    cdef Placed out
    with nogil:
        for i in range(n_lists):
            base = p.offsets[i]
            m = p.offsets[i + 1] - base
            if m == 0:
                continue
            first = offsets[i]
            n = offsets[i + 1] - first
            out = Placed(base, first, p.order + base, p.above + base, p.tied + base)
            if m <= PASSES + PASSES_OF_SHORT // n:
                for j in range(m):
                    key[j] = scores[rel_items[base + j]]
                _place_by_passes(
                    &scores[first], &low[first], n, &key[0], &rel_items[base], m, earlier_first, &room, &out
                )
            else:
                _place_by_sort(
                    &scores[first], &low[first], n, &rel_items[base], m, earlier_first, &key[0], &room, &out
                )
            for j in range(base, base + m):
                n_tied += p.tied[j] > 1
    return n_tied


cdef inline bint _count_down(double* values, Py_ssize_t n) noexcept nogil:
    """Sort values that are whole numbers of 1 to 31, largest first; False and untouched otherwise."""
    cdef int[32] count
    cdef Py_ssize_t i, at = 0
    cdef int v
    memset(count, 0, sizeof(count))
    for i in range(n):
        if not 1.0 <= values[i] <= 31.0:
            return False
        v = <int>values[i]
        if v != values[i]:
            return False
        count[v] += 1
    for v in range(31, 0, -1):
        while count[v] > 0:
            values[at] = v
            at += 1
            count[v] -= 1
    return True


def sort_gains(const long long[::1] rel_offsets, double[::1] values):
    """IN/OUT values (n_rel): each list's sorted, largest first."""
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
    cdef Py_ssize_t i, m
    cdef double* first
    cdef Py_ssize_t longest = np.diff(rel_offsets).max(initial=1)
    cdef double[::1] key_work = np.empty(longest)
    cdef long long[:, ::1] index = np.zeros((2, longest), dtype=np.int64)  # not used
    with nogil:
        for i in range(n_lists):
            m = rel_offsets[i + 1] - rel_offsets[i]
            if m > 1:
                first = &values[rel_offsets[i]]
                if m < 8 or not _count_down(first, m):
                    sort_down(first, &index[0, 0], &key_work[0], &index[1, 0], m)
