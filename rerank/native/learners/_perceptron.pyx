"""Passes of Algorithms 1 and 2 of Shen & Joshi (2005).

Both test a pair by z[j] <= z[l] + c * tau with z = score - tau * h.
"""

import numpy as np

from libc.math cimport sqrt

from rerank.native.data._matrix cimport Change, Matrix, Rows, Sum, dot, dots, fetch, gather
from rerank.native.data._sort cimport word
from rerank.native.learners._ranges cimport Ranges, Room
from rerank.native.learners._violations cimport ListPairs, count, violations
from rerank.native.learners._weights cimport Moving, Weights, apply_change, apply_difference, linked, seen_by


cdef class Dimension:
    """A dimension of its own for each training item (Li et al. 2002), which is never built.

    square: the square of its value. own (n_items): the sum of the updates of each item so far.
    """

    cdef double square
    cdef readonly object own
    cdef double[::1] a

    def __init__(self, double square, Py_ssize_t n_items):
        self.square = square
        self.own = np.zeros(n_items)
        self.a = self.own


cdef inline double own_score(double square, double total, double rate) noexcept nogil:
    """Return the score of an item's own dimension, from the sum of its updates."""
    return square * total if rate == 0.0 else sqrt(square) * linked(rate, sqrt(square) * total)


def batch_round(
    Matrix matrix, ListPairs pairs, Dimension dimension, const long long[::1] visits,
    const double[::1] factors, Weights weights, Sum total,
):
    """Make one pass of Algorithm 2, which updates after each list with a violated pair.

    IN visits (n_visits), lists in the order of the pass; factors (n_lists), by which the updates of a list
    are multiplied. INOUT weights, dimension.
    Return the number of lists with an update and of violated pairs.
    """
    cdef Rows rows = matrix.rows  # a copy: the compiler sees that no step changes it
    cdef const Rows* X = &rows
    cdef const long long* items = &pairs.items[0] if pairs.items.shape[0] else NULL
    cdef Change* change = &total.change
    cdef Moving* to = &weights.moving
    cdef Room* r = &pairs.room
    cdef double square = dimension.square
    cdef double* a = NULL
    cdef Ranges p
    cdef Py_ssize_t v
    cdef long long i, first, at, ahead
    cdef const double* w
    cdef int j
    cdef count here, updates = 0, violated = 0
    with nogil:
        for v in range(visits.shape[0]):
            i = visits[v]
            p = pairs.of(i)
            first = pairs.offsets[i]
            w = seen_by(X, i, weights)
            if v + 1 < visits.shape[0] and X.indptr == NULL:  # meanwhile the next list comes from memory
                at = pairs.offsets[visits[v + 1]]
                ahead = pairs.offsets[visits[v + 1] + 1] - at
                for j in range(0, p.k, 4):
                    fetch(X, items, at + j, max(min(ahead - j, 4), 0))
                    dots(X, items, first + j, min(p.k - j, 4), w, r.s + j)
            else:
                dots(X, items, first, p.k, w, r.s)
            if square > 0.0:
                a = &dimension.a[first]
                for j in range(p.k):
                    r.s[j] += own_score(square, a[j], to.rate)
            here = violations(&p, r)
            if here:
                violated += here
                updates += 1
                for j in range(p.k):
                    r.u[j] *= factors[i]
                if square > 0.0:
                    for j in range(p.k):
                        a[j] += r.u[j]
                gather(X, i, items + first, p.k, r.u, change)
                apply_change(X, i, change, to)
            to.t += 1.0
    return updates, violated


cdef inline double shifted_score(
    const Rows* X, long long row, const double* w, double own, double tau, double h
) noexcept nogil:
    """Return z of an item."""
    cdef double z = dot(X, row, w)
    z += own - tau * h
    return z


def online_round(
    Matrix matrix, ListPairs pairs, Dimension dimension, const long long[::1] visits,
    const double[::1] factors, Weights weights, double[::1] order, bint shuffle,
):
    """Make one pass of Algorithm 1, which updates after each violated pair.

    Scores are kept, and computed anew only for items that are compared after the weights have moved, so that
    a pass without updates costs one score per item and one comparison per pair. IN matrix, whose features are
    not numbered by list; visits (n_visits), lists in the order of the pass; factors (n_lists), by which the
    updates of a list are multiplied; shuffle: whether the pairs of a list are in random order and the mean of
    the weights is over all pairs; otherwise they are by falling labels and the mean is over lists. INOUT
    order (n_pairs of the visits): uniform numbers in [0, 1) if shuffled, overwritten; weights, dimension.
    Return the number of lists with an update and of updates.
    """
    cdef Rows rows = matrix.rows  # a copy: the compiler sees that no step changes it
    cdef const Rows* X = &rows
    cdef Moving moving = weights.moving
    cdef Moving* to = &moving
    cdef double square = dimension.square, tau = pairs.tau, c_tau = pairs.c * pairs.tau
    cdef double* z = pairs.room.z
    cdef word* seen = pairs.room.words  # the version of the weights for which z was computed
    cdef double* pair = &order[0] if order.shape[0] else NULL  # j * k + l, exact up to 90 million items
    cdef const long long* items
    cdef double* a
    cdef Ranges p
    cdef Py_ssize_t v
    cdef long long i, first, n, q, at
    cdef int j, l
    cdef double g
    cdef word version = 0
    cdef count here, updates = 0, violated = 0
    with nogil:
        for v in range(visits.shape[0]):
            i = visits[v]
            p = pairs.of(i)
            first = pairs.offsets[i]
            items = &pairs.items[first]
            a = &dimension.a[first]
            here = n = 0
            version += 1
            for j in range(p.k):
                seen[j] = 0
                for l in range(p.start[j], p.stop[j]):  # each pair goes to a place of those before it
                    at = <long long> (pair[n] * (n + 1)) if shuffle else n
                    pair[n] = pair[at]
                    pair[at] = <double> (<long long> j * p.k + l)
                    n += 1
            for q in range(n):
                j = <int> (<long long> pair[q] // p.k)
                l = <int> (<long long> pair[q] - <long long> j * p.k)
                if seen[j] != version:
                    seen[j] = version
                    z[j] = shifted_score(X, items[j], to.w, own_score(square, a[j], to.rate), tau, p.h[j])
                if seen[l] != version:
                    seen[l] = version
                    z[l] = shifted_score(X, items[l], to.w, own_score(square, a[l], to.rate), tau, p.h[l])
                if z[j] <= z[l] + c_tau:
                    g = (p.h[j] - p.h[l] + p.c) * factors[i]
                    apply_difference(X, items[j], items[l], g, to)
                    a[j] += g
                    a[l] -= g
                    here += 1
                    version += 1
                if shuffle:
                    to.t += 1.0
            pair += n
            updates += here > 0
            violated += here
            if not shuffle:
                to.t += 1.0
    weights.moving.t = moving.t
    return updates, violated
