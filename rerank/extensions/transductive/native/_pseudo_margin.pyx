"""Sums over the pairs of one list by the distances of their scores; see ``PseudoPairs``."""

from libc.math cimport exp, fabs

# Beyond this distance from the reference, sums are scaled anew: exponentials up to there do not overflow.
cdef enum:
    FAR = 300

# Scores that differ by less are equal: they are sums in different orders.
cdef double TIE = 1e-10


# The pairs of n items: item i has the partners first[i]:last[i] and over[i]:under[i].
cdef struct Partners:
    const int* first
    const int* last
    const int* over
    const int* under
    const unsigned char* member  # only members count as partners
    double* tree  # 2 n; node k is the sum of nodes 2 k and 2 k + 1, and item i is node n + i
    Py_ssize_t n


cdef double range_sum(const double* tree, Py_ssize_t n, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Return the sum over the items first:last of a tree; nothing is subtracted."""
    cdef double total = 0.0
    if first >= last:
        return total
    first += n
    last += n
    while first < last:
        if first & 1:
            total += tree[first]
            first += 1
        if last & 1:
            last -= 1
            total += tree[last]
        first >>= 1
        last >>= 1
    return total


cdef void sweep(
    const Partners* pairs, const double* score, const long long* order, Py_ssize_t step, double rate,
    double* out,
) noexcept nogil:
    """OUT out[i]: the sum of exp(-rate * distance of scores) over the partners of i that come before it.

    Items come in the order of their scores, n of them: order[0], order[step], ... Partners with an equal
    score do not count.
    """
    cdef Py_ssize_t n = pairs.n, at = 0, end, k
    cdef long long i
    cdef double now, distance
    cdef double weight  # of an item: its exponential, relative to that of the reference
    cdef double reference = score[order[0]]
    for k in range(2 * n):
        pairs.tree[k] = 0.0
    while at < n:
        now = score[order[at * step]]
        distance = rate * fabs(now - reference)
        if distance > FAR:
            weight = exp(-distance)
            for k in range(2 * n):
                pairs.tree[k] *= weight
            reference = now
            distance = 0.0
        weight = exp(distance)
        end = at
        while end < n and fabs(score[order[end * step]] - now) <= TIE:
            i = order[end * step]
            out[i] = range_sum(pairs.tree, n, pairs.first[i], pairs.last[i])
            out[i] += range_sum(pairs.tree, n, pairs.over[i], pairs.under[i])
            out[i] /= weight
            end += 1
        while at < end:
            i = order[at * step]
            at += 1
            if pairs.member[i]:
                k = n + i
                while k:
                    pairs.tree[k] += weight
                    k >>= 1


def pair_sums(
    const int[:, ::1] ranges, const unsigned char[::1] member, const double[::1] score,
    const long long[::1] order, double rate, double[::1] tree, double[:, ::1] out,
):
    """OUT out (2, n): sums over the partners of each item with a lower score, and with a higher one.

    A partner at the distance d counts exp(-rate * d). IN ranges (4, n): two ranges of partners of each item,
    see ``Partners``; member (n); score (n); order (n): items by falling score. Scratch tree (2 n).
    """
    cdef Partners pairs
    cdef Py_ssize_t n = score.shape[0]
    pairs.first = &ranges[0, 0]
    pairs.last = &ranges[1, 0]
    pairs.over = &ranges[2, 0]
    pairs.under = &ranges[3, 0]
    pairs.member = &member[0]
    pairs.tree = &tree[0]
    pairs.n = n
    with nogil:
        sweep(&pairs, &score[0], &order[n - 1], -1, rate, &out[0, 0])
        sweep(&pairs, &score[0], &order[0], 1, rate, &out[1, 0])
