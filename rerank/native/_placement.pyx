"""Where the relevant items of each list are placed, and which pairs of items stand right.

The measures of retrieval depend on the relevant items alone (label > 0): how many items stand above
each, and how many share its score. ``place`` finds both; ``_ranking`` makes measures of them.
Pairwise accuracy needs every judged item, and has kernels of its own.

Shapes used throughout: ``offsets`` (n_lists + 1) bounds the items of each list; ``rel_items`` (n_rel)
are the relevant items, rising; ``rel_offsets`` (n_lists + 1) bounds those of each list. A placement is
``order``, ``above``, ``tied`` (n_rel each): within a list, the relevant items from the top down by their
place in ``rel_items``, the items strictly above each one's tie group, and the size of that group (1 where
ties are broken). Scores hold no NaN.
"""

from libc.math cimport NAN
from libc.string cimport memcpy, memset

ctypedef fused real:
    float
    double

# Up to this many relevant items, a pass over the list for each four of them beats one search per item
# (measured on lists of 100 to 1,000 items).
cdef enum:
    PASSES_AT_MOST = 96
    INSERTION_AT_MOST = 16


cdef inline void _insert_down(real* key, long long* index, Py_ssize_t n) noexcept nogil:
    """Sort (key, index) by key, largest first, keeping the order of equal keys."""
    cdef Py_ssize_t i
    cdef Py_ssize_t j
    cdef real k
    cdef long long x
    for i in range(1, n):
        k = key[i]
        x = index[i]
        j = i
        while j > 0 and key[j - 1] < k:
            key[j] = key[j - 1]
            index[j] = index[j - 1]
            j -= 1
        key[j] = k
        index[j] = x


cdef void _sort_down(
    real* key, long long* index, real* key_work, long long* index_work, Py_ssize_t n
) noexcept nogil:
    """As _insert_down for any n: runs of insertion sort, merged; the work arrays hold n each."""
    cdef Py_ssize_t width = INSERTION_AT_MOST
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t a
    cdef Py_ssize_t b
    cdef Py_ssize_t middle
    cdef Py_ssize_t stop
    cdef Py_ssize_t to
    while start < n:
        _insert_down(key + start, index + start, min(width, n - start))
        start += width
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            stop = min(start + 2 * width, n)
            a = start
            b = middle
            for to in range(start, stop):
                if b >= stop or (a < middle and key[a] >= key[b]):
                    key_work[to] = key[a]
                    index_work[to] = index[a]
                    a += 1
                else:
                    key_work[to] = key[b]
                    index_work[to] = index[b]
                    b += 1
            start = stop
        memcpy(key, key_work, n * sizeof(real))
        memcpy(index, index_work, n * sizeof(long long))
        width *= 2


cdef inline void _count4(
    const float* s, Py_ssize_t n, const float* r, int* above, int* same
) noexcept nogil:
    """For four scores r: items above each and items equal to it (compilers make SIMD of this)."""
    cdef Py_ssize_t i
    cdef float r0 = r[0]
    cdef float r1 = r[1]
    cdef float r2 = r[2]
    cdef float r3 = r[3]
    cdef int a0 = 0
    cdef int a1 = 0
    cdef int a2 = 0
    cdef int a3 = 0
    cdef int e0 = 0
    cdef int e1 = 0
    cdef int e2 = 0
    cdef int e3 = 0
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
    """Take items that equal r as floats, though not as doubles, out of its tie group."""
    cdef Py_ssize_t i
    cdef float r_low = <float>r
    cdef int more = 0
    cdef int equal = 0
    for i in range(n):
        if low[i] == r_low:
            more += s[i] > r
            equal += s[i] == r
    above[0] += more
    same[0] = equal


cdef inline Py_ssize_t _n_above(const real* falling, Py_ssize_t n, real s) noexcept nogil:
    """How many of n >= 1 strictly falling values are above s; no branch depends on the data."""
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t half
    while n > 1:
        half = n >> 1
        at += half & -<Py_ssize_t>(falling[at + half - 1] > s)
        n -= half
    return at + (falling[at] > s)


cdef inline void _search(
    const real* s, Py_ssize_t n, const real* falling, Py_ssize_t n_values, int* above, int* same
) noexcept nogil:
    """The counts of _count4 for all n_values falling values at once; a NaN stands after them."""
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t j
    cdef Py_ssize_t left
    cdef Py_ssize_t half
    cdef Py_ssize_t[4] at
    cdef int total = 0
    memset(above, 0, (n_values + 1) * sizeof(int))
    memset(same, 0, (n_values + 1) * sizeof(int))
    while i + 4 <= n:  # four searches abreast hide each other's waits
        at[0] = at[1] = at[2] = at[3] = 0
        left = n_values
        while left > 1:
            half = left >> 1
            at[0] += half & -<Py_ssize_t>(falling[at[0] + half - 1] > s[i])
            at[1] += half & -<Py_ssize_t>(falling[at[1] + half - 1] > s[i + 1])
            at[2] += half & -<Py_ssize_t>(falling[at[2] + half - 1] > s[i + 2])
            at[3] += half & -<Py_ssize_t>(falling[at[3] + half - 1] > s[i + 3])
            left -= half
        for j in range(4):
            at[j] += falling[at[j]] > s[i + j]
            above[at[j]] += 1
            same[at[j]] += s[i + j] == falling[at[j]]
        i += 4
    while i < n:
        j = _n_above(falling, n_values, s[i])
        above[j] += 1
        same[j] += s[i] == falling[j]
        i += 1
    for i in range(n_values):
        total += above[i]
        above[i] = total - same[i]


cdef inline void _place_by_passes(
    const real* s, const float* low, Py_ssize_t n, const real* key, float* low_key, Py_ssize_t m,
    int* count, int* slots, long long base, long long* order, int* above, int* tied
) noexcept nogil:
    """Place the m items with scores key[]: count what is above each, then put each in its slot.

    WORK low_key (m + 3), count (2 * (m + 3)), slots (n), all -1 before and after.
    """
    cdef Py_ssize_t j
    cdef Py_ssize_t t
    cdef Py_ssize_t p
    cdef int* same = count + m + 3
    for j in range(m + 3):
        low_key[j] = <float>key[j if j < m else 0]
    j = 0
    while j < m:
        _count4(low, n, low_key + j, count + j, same + j)
        j += 4
    if real is double:  # float32 keeps the order of doubles but for what it takes for equal
        for j in range(m):
            if same[j] > 1:
                _recount(s, low, n, key[j], &count[j], &same[j])
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
        above[t] = count[j]
        tied[t] = same[j]
        order[t] = base + j


cdef inline void _place_by_search(
    const real* s, Py_ssize_t n, real* key, Py_ssize_t m, int* count, real* key_work, long long* index_work,
    long long base, long long* order, int* above, int* tied
) noexcept nogil:
    """Place the m items with scores key[]: sort them, then find each of the n scores among them.

    WORK count (2 * (m + 3)), key_work (m), index_work (m).
    """
    cdef Py_ssize_t j
    cdef Py_ssize_t n_values = 0
    cdef int* same = count + m + 3
    for j in range(m):
        order[j] = base + j
    _sort_down(key, order, key_work, index_work, m)
    # above[] names each item's group of equal scores for now; key[] keeps one of each.
    for j in range(m):
        n_values += j == 0 or key[j] != key[n_values - 1]
        key[n_values - 1] = key[j]
        above[j] = <int>(n_values - 1)
    key[n_values] = <real>NAN
    _search(s, n, key, n_values, count, same)
    for j in range(m):
        tied[j] = same[above[j]]
        above[j] = count[above[j]]


def place(
    const real[::1] scores,
    const float[::1] low,
    const long long[::1] offsets,
    const long long[::1] rel_items,
    const long long[::1] rel_offsets,
    real[:, ::1] key_work,
    float[::1] low_work,
    long long[::1] index_work,
    int[::1] count_work,
    int[::1] slots,
    long long[::1] order,
    int[::1] above,
    int[::1] tied,
):
    """Place the relevant items; returns how many of them share their score with another item.

    IN scores (n_items), low (n_items) the same rounded to float32; WORK key_work (2, max_rel + 1), low_work
    (max_rel + 3), index_work (max_rel), count_work (2 * (max_rel + 3)), max_rel the most relevant items of
    a list, slots (longest list) all -1; OUT order, above, tied (n_rel).
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t j
    cdef Py_ssize_t m
    cdef Py_ssize_t n
    cdef long long base
    cdef long long n_tied = 0
    cdef const real* s
    cdef real* key
    cdef int* count
    if rel_items.shape[0] == 0:
        return 0
    with nogil:
        key = &key_work[0, 0]
        count = &count_work[0]
        for i in range(n_lists):
            base = rel_offsets[i]
            m = rel_offsets[i + 1] - base
            if m == 0:
                continue
            s = &scores[offsets[i]]
            n = offsets[i + 1] - offsets[i]
            for j in range(m):
                key[j] = scores[rel_items[base + j]]
            if m <= PASSES_AT_MOST:
                _place_by_passes(
                    s, &low[offsets[i]], n, key, &low_work[0], m, count, &slots[0], base,
                    &order[base], &above[base], &tied[base],
                )
            else:
                _place_by_search(
                    s, n, key, m, count, &key_work[1, 0], &index_work[0], base,
                    &order[base], &above[base], &tied[base],
                )
            for j in range(base, base + m):
                n_tied += tied[j] > 1
    return n_tied


cdef inline bint _count_down(double* values, Py_ssize_t n) noexcept nogil:
    """Sort values that are whole numbers of 1 to 31, largest first; False and untouched otherwise."""
    cdef int[32] count
    cdef Py_ssize_t i
    cdef Py_ssize_t at = 0
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


def sort_down(
    const long long[::1] rel_offsets,
    double[:, ::1] key_work,
    long long[:, ::1] index_work,
    double[::1] values,
):
    """IN/OUT values (n_rel): each list's sorted, largest first.

    WORK key_work (2, max_rel + 1), index_work (2, max_rel + 1).
    """
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t m
    cdef double* first
    with nogil:
        for i in range(n_lists):
            m = rel_offsets[i + 1] - rel_offsets[i]
            if m > 1:
                first = &values[rel_offsets[i]]
                if m < 8 or not _count_down(first, m):
                    _sort_down(first, &index_work[0, 0], &key_work[0, 0], &index_work[1, 0], m)


def label_ranks(
    const double[::1] labels,
    const long long[::1] offsets,
    double[:, ::1] key_work,
    long long[:, ::1] index_work,
    int[::1] ranks,
    int[::1] n_ranks,
    long long[::1] n_pairs,
):
    """Number the different labels of each list, and count its pairs of different labels.

    IN labels (n_items), NaN = unjudged; WORK key_work, index_work (2, longest list); OUT ranks (n_items),
    1 for the largest label of the list, 0 = unjudged; n_ranks, n_pairs (n_lists).
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t m
    cdef long long j
    cdef long long same
    cdef long long pairs
    cdef int rank
    with nogil:
        for i in range(n_lists):
            m = 0
            for j in range(offsets[i], offsets[i + 1]):
                ranks[j] = 0
                if labels[j] == labels[j]:
                    key_work[0, m] = labels[j]
                    index_work[0, m] = j
                    m += 1
            _sort_down(&key_work[0, 0], &index_work[0, 0], &key_work[1, 0], &index_work[1, 0], m)
            rank = 0
            same = 0
            pairs = m * (m - 1) // 2
            for j in range(m):
                if j == 0 or key_work[0, j] != key_work[0, j - 1]:
                    rank += 1
                    same = 0
                pairs -= same
                same += 1
                ranks[index_work[0, j]] = rank
            n_ranks[i] = rank
            n_pairs[i] = pairs


cdef inline long long _sum_to(const long long* tree, long long at) noexcept nogil:
    """Fenwick tree from 1: the sum of entries 1..at."""
    cdef long long total = 0
    while at > 0:
        total += tree[at]
        at &= at - 1
    return total


def concordance(
    const double[::1] scores,
    const long long[::1] offsets,
    const int[::1] ranks,
    const int[::1] n_ranks,
    double[:, ::1] key_work,
    long long[:, ::1] index_work,
    long long[::1] tree,
    long long[::1] right,
    long long[::1] wrong,
):
    """Pairs of different labels that the scores put in the order of the labels, or in the other order.

    Items are visited from the largest score down; a Fenwick tree counts those seen by label rank.

    IN scores (n_items), ranks and n_ranks of ``label_ranks``; WORK key_work, index_work (2, longest list),
    tree (longest list + 1); OUT right, wrong (n_lists).
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t m
    cdef long long j
    cdef long long a
    cdef long long b
    cdef long long at
    with nogil:
        for i in range(n_lists):
            right[i] = 0
            wrong[i] = 0
            if n_ranks[i] < 2:
                continue
            m = 0
            for j in range(offsets[i], offsets[i + 1]):
                if ranks[j]:
                    key_work[0, m] = scores[j]
                    index_work[0, m] = ranks[j]
                    m += 1
            _sort_down(&key_work[0, 0], &index_work[0, 0], &key_work[1, 0], &index_work[1, 0], m)
            memset(&tree[0], 0, (n_ranks[i] + 1) * sizeof(long long))
            a = 0
            while a < m:
                b = a
                while b < m and key_work[0, b] == key_work[0, a]:
                    at = index_work[0, b]
                    right[i] += _sum_to(&tree[0], at - 1)
                    wrong[i] += a - _sum_to(&tree[0], at)
                    b += 1
                while a < b:
                    at = index_work[0, a]
                    while at <= n_ranks[i]:
                        tree[at] += 1
                        at += at & -at
                    a += 1
