"""Measures of retrieval from the places of the relevant items.

See ``Placement`` in ``_placement.pyx`` for what a placement holds. With ties each measure is its expectation
over the orders of the tied items (McSherry & Najork 2008), in closed form.
"""

from rerank.native.metrics._measures cimport average_precision_of, hits_of, reciprocal_rank_of, success_of
from rerank.native.metrics._placement cimport Placement, Places
from rerank.native.metrics._stops cimport SMALL, in_large_group


# The value of one list, whose relevant items are begin..end-1.
ctypedef double (*measure)(
    const Places* p, long long begin, long long end, const unsigned char* good, long long cutoff
) noexcept nogil


cdef inline void _each_list(
    const Places* p, const unsigned char[::1] good, long long cutoff, double[::1] out, measure value_of
) noexcept nogil:
    cdef Py_ssize_t i
    cdef const unsigned char* flags = &good[0] if good.shape[0] else NULL
    for i in range(p.n_lists):
        out[i] = value_of(p, p.offsets[i], p.offsets[i + 1], flags, cutoff)


def average_precision(Placement placement, const unsigned char[::1] good, long long cutoff, double[::1] out):
    """OUT out[i]: sum over the good items of list i of the precision at their places up to the cutoff.

    Expected over the orders of tied items (McSherry & Najork 2008, equation for AP): an item at place t
    of a group of g with r good ones is good with probability r / g, and (t - 1)(r - 1)/(g - 1) good items
    are expected before it in the group.

    IN good (n_rel), 1 for items that count as relevant; OUT out (n_lists).
    """
    with nogil:
        _each_list(&placement.places, good, cutoff, out, average_precision_of)


def reciprocal_rank(Placement placement, const unsigned char[::1] good, long long cutoff, double[::1] out):
    """OUT out[i]: one over the place of list i's first good item, 0 beyond the cutoff.

    Expected over the orders of tied items: of a group of g with r good ones the first t are all bad with
    probability C(g - t, r) / C(g, r).

    IN good (n_rel), 1 for items that count as relevant; OUT out (n_lists).
    """
    with nogil:
        _each_list(&placement.places, good, cutoff, out, reciprocal_rank_of)


def hits(Placement placement, const unsigned char[::1] good, long long cutoff, double[::1] out):
    """OUT out[i]: good items among the first ``cutoff`` of list i, expected over the orders of tied items.

    IN good (n_rel), 1 for items that count as relevant; OUT out (n_lists).
    """
    with nogil:
        _each_list(&placement.places, good, cutoff, out, hits_of)


def hits_within(
    Placement placement, const unsigned char[::1] good, const long long[::1] cutoffs, double[::1] out
):
    """OUT out[i]: as ``hits``, with a cutoff for each list. IN cutoffs (n_lists)."""
    cdef const Places* p = &placement.places
    cdef const unsigned char* flags = &good[0] if good.shape[0] else NULL
    cdef Py_ssize_t i
    with nogil:
        for i in range(p.n_lists):
            out[i] = hits_of(p, p.offsets[i], p.offsets[i + 1], flags, cutoffs[i])


def success(Placement placement, const unsigned char[::1] good, long long cutoff, double[::1] out):
    """OUT out[i]: 1 if a good item is among the first ``cutoff`` of list i, else 0.

    Expected over the orders of tied items: of a group of g with r good ones, the first t are all bad with
    probability C(g - r, t) / C(g, t).

    IN good (n_rel), 1 for items that count as relevant; OUT out (n_lists).
    """
    with nogil:
        _each_list(&placement.places, good, cutoff, out, success_of)


def dcg(
    Placement placement, const double[::1] gains, const double[::1] divisors, const double[::1] discounts,
    long long cutoff, double[::1] out,
):
    """OUT out[i]: sum of gain / divisor of its place over the relevant items up to the cutoff.

    Tied items get the mean of their group's discounts. Additions run from the top place down.

    IN gains (n_rel); divisors (longest list) by place from 0; discounts (longest list + 1), sums of
    1 / divisor over the places before; OUT out (n_lists).
    """
    cdef const Places* p = &placement.places
    cdef Py_ssize_t i
    cdef long long j, a
    cdef double share, total
    with nogil:
        for i in range(p.n_lists):
            total = 0.0
            for j in range(p.offsets[i], p.offsets[i + 1]):
                a = p.above[j]
                if a >= cutoff:
                    break
                if p.tied[j] == 1:
                    total += gains[p.order[j]] / divisors[a]
                else:
                    share = (discounts[min(a + p.tied[j], cutoff)] - discounts[a]) / <double>p.tied[j]
                    total += gains[p.order[j]] * share
            out[i] = total


cdef inline double _stops_in_group(
    const double* stops, const long long* order, long long j, long long stop, long long above, long long size,
    long long depth, double* left,
) noexcept nogil:
    """Expected 1 / place at which a user stops within a group of tied items, who has come so far.

    After t of the ``size`` items in random order the user reads on with probability left[t], the mean over
    all t of them of the product of 1 - stops. It follows from that of one item less, which is among the first
    t with probability t / n. Items after the first ``depth`` do not count.

    IN stops by number, that of the relevant items order[j..stop - 1]; WORK left (depth + 1).
    """
    cdef long long n = size - (stop - j)
    cdef long long t
    cdef double total = 0.0
    for t in range(depth + 1):
        left[t] = 1.0
    while j < stop:
        n += 1
        for t in range(min(n, depth), 0, -1):
            left[t] = (left[t] * <double>(n - t) + left[t - 1] * (1.0 - stops[order[j]]) * t) / <double>n
        j += 1
    for t in range(1, depth + 1):
        total += (left[t - 1] - left[t]) / <double>(above + t)
    return total


def expected_reciprocal_rank(
    Placement placement, const double[::1] stops, long long cutoff, double[:, ::1] work,
    long long[:, ::1] index, double[::1] out,
):
    """OUT out[i]: expected 1 / place of the item of list i that satisfies a user, 0 beyond the cutoff.

    The user reads down and is satisfied by an item with probability ``stops``. Expected over the orders of
    tied items.

    IN stops (n_rel) from 0 to 1; WORK work (3, longest list + 1), index (2, longest list + 1).
    """
    cdef const Places* p = &placement.places
    cdef Py_ssize_t i
    cdef long long j, stop, a, k, depth, steps = 0
    cdef double reads, total
    with nogil:
        for i in range(p.n_lists):
            reads = 1.0
            total = 0.0
            j = p.offsets[i]
            while j < p.offsets[i + 1] and p.above[j] < cutoff:
                a = p.above[j]
                stop = j + 1
                if p.tied[j] == 1:
                    total += stops[p.order[j]] * reads / <double>(a + 1)
                else:
                    while stop < p.offsets[i + 1] and p.above[stop] == a:
                        stop += 1
                    depth = min(p.tied[j], cutoff - a)
                    if (stop - j) * depth <= SMALL:
                        total += reads * _stops_in_group(
                            &stops[0], p.order, j, stop, a, p.tied[j], depth, &work[0, 0]
                        )
                    else:
                        for k in range(j, stop):
                            work[0, k - j] = stops[p.order[k]]
                        total += reads * in_large_group(
                            &work[0, 0], stop - j, a, p.tied[j], depth, &work[1, 0], &work[2, 0],
                            &index[0, 0], &index[1, 0], &steps
                        )
                while j < stop:
                    reads *= 1.0 - stops[p.order[j]]
                    j += 1
            out[i] = total


def ideal_dcg(
    const long long[::1] rel_offsets, const double[::1] gains, const double[::1] divisors, long long cutoff,
    double[::1] out,
):
    """OUT out[i]: the DCG of the best order. IN gains (n_rel), falling within each list."""
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1, i
    cdef long long j
    cdef double total
    with nogil:
        for i in range(n_lists):
            total = 0.0
            for j in range(min(cutoff, rel_offsets[i + 1] - rel_offsets[i])):
                total += gains[rel_offsets[i] + j] / divisors[j]
            out[i] = total
