"""The conditional log-loss of lists and its gradient.

P(j) of an item is the softmax of the scores of its list. The loss of a list is weight times
-sum(target * log P), or with ``marginal`` -log sum(target * P). Its slope in the score of item j is weight
times P(j) - Q(j), where Q is the target, or with ``marginal`` proportional to target * P.
"""

import numpy as np

from libc.math cimport exp, log
from libc.string cimport memset

from rerank.native.data._matrix cimport Local, Matrix, Rows, accumulate, dots


# Scratch of one list: a number of each bundle, and of each bundle with each of its values.
cdef struct Sums:
    double* of_bundle
    double* of_entry


cdef class ListBlock:
    """Some lists, with scratch of their own: a thread works on one block.

    IN matrix, the rows of items; offsets (n_lists + 1) and items (n_items), the rows of each list; target
    (n_items), 0 or more, of sum 1 in each list, with marginal 0 or 1; weight (n_lists); cost (n_items), which
    is added to the scores, None = 0. With members, the
    features of bundles, the columns of matrix are the bundles of a list counted from 0, and list i has the
    bundles starts[i]:starts[i + 1]; see rerank/data/bundles.py. Its rows are then those of the items in
    their order (items None). If their values are numbered by list, a list has n_entries numbers at most.
    """

    cdef Rows rows, members
    cdef bint bundled, marginal
    cdef const long long[::1] offsets, items
    cdef const double[::1] target, weight, cost
    cdef const long long[::1] starts
    cdef double[::1] slope, share, of_bundle, of_entry
    cdef tuple held

    def __init__(
        self, Matrix matrix, const long long[::1] offsets, const long long[::1] items,
        const double[::1] target, const double[::1] weight, bint marginal, const double[::1] cost=None,
        Matrix members=None, const long long[::1] starts=None, Py_ssize_t n_entries=0,
    ):
        self.held = (matrix, members)
        self.rows = matrix.rows
        self.bundled = members is not None
        if self.bundled:
            self.members = members.rows
        self.marginal = marginal
        self.offsets = offsets
        self.items = items
        self.target = target
        self.weight = weight
        self.cost = cost
        self.starts = starts
        longest = int(np.diff(offsets).max(initial=1))
        self.slope = np.empty(longest)
        self.share = np.empty(longest)
        self.of_bundle = np.empty(int(np.diff(starts).max(initial=0)) + 1 if self.bundled else 1)
        self.of_entry = np.empty(n_entries + 1)


cdef double loss_and_slope(
    const double* target, double weight, bint marginal, Py_ssize_t k, double* s, double* share
) noexcept nogil:
    """Return the loss of a list of k items. INOUT s (k): the scores, then the slopes. share (k): scratch."""
    cdef Py_ssize_t j
    cdef double most = s[0]
    cdef double nearest = -1e308  # the largest score of a target, relative to the largest of all
    cdef double total = 0.0, reached = 0.0, aimed = 0.0, goal
    for j in range(1, k):
        if s[j] > most:
            most = s[j]
    for j in range(k):
        s[j] -= most
        share[j] = exp(s[j])
        total += share[j]
        if target[j] > 0.0:
            aimed += target[j] * s[j]
            nearest = max(nearest, s[j])
    if marginal:
        for j in range(k):
            if target[j] > 0.0:
                reached += exp(s[j] - nearest)  # never 0, however small P is
        aimed = nearest + log(reached)
    for j in range(k):
        goal = target[j]
        if marginal and goal > 0.0:
            goal = exp(s[j] - aimed)
        s[j] = weight * (share[j] / total - goal)
    return weight * (log(total) - aimed)


cdef void weigh_bundles(
    const Rows* X, const Rows* members, const long long* starts, Py_ssize_t i, const double* w, Sums* to
) noexcept nogil:
    """OUT to: the weight of each bundle of list i, and times each of its values."""
    cdef const Local* local = &X.local
    cdef long long first
    cdef Py_ssize_t e
    dots(members, NULL, starts[i], starts[i + 1] - starts[i], w, to.of_bundle)
    if local.entry != NULL:
        first = local.starts[i]
        for e in range(local.starts[i + 1] - first):
            to.of_entry[e] = to.of_bundle[local.place[first + e]] * local.values[first + e]


cdef void gather_bundles(
    const Rows* X, const Rows* members, const long long* starts, Py_ssize_t i, long long row, Py_ssize_t k,
    const double* slope, Sums* to, double* gradient,
) noexcept nogil:
    """INOUT gradient += the sum over the k rows of list i, from ``row`` on, of their slope times the row."""
    cdef const Local* local = &X.local
    cdef Py_ssize_t n = starts[i + 1] - starts[i]
    cdef Py_ssize_t j, e
    cdef long long at, first
    memset(to.of_bundle, 0, n * sizeof(double))
    if local.entry == NULL:
        for j in range(k):
            accumulate(X, row + j, slope[j], to.of_bundle)
    else:
        first = local.starts[i]
        memset(to.of_entry, 0, (local.starts[i + 1] - first) * sizeof(double))
        for j in range(k):
            for at in range(X.indptr[row + j], X.indptr[row + j + 1]):
                to.of_entry[local.entry[at]] += slope[j]
        for e in range(local.starts[i + 1] - first):
            to.of_bundle[local.place[first + e]] += local.values[first + e] * to.of_entry[e]
    for j in range(n):
        accumulate(members, starts[i] + j, to.of_bundle[j], gradient)


def log_loss(ListBlock block, const double[::1] w, double[::1] gradient):
    """Return the loss of all lists of a block at w. IN w (n_features > 0); OUT gradient (n_features)."""
    cdef Rows rows = block.rows  # copies: the compiler sees that no step changes them
    cdef Rows members = block.members
    cdef const Rows* X = &rows
    cdef const long long* items = NULL
    cdef const long long* starts = NULL
    cdef const double* seen = &w[0]
    cdef double* s = &block.slope[0]
    cdef Sums sums
    cdef Py_ssize_t i, j, k
    cdef long long first
    cdef double total = 0.0
    cdef const double* cost = NULL
    if block.cost is not None:
        cost = &block.cost[0]
    sums.of_bundle = &block.of_bundle[0]
    sums.of_entry = &block.of_entry[0]
    if not block.bundled:
        items = &block.items[0]
    else:
        starts = &block.starts[0]
        seen = sums.of_bundle if rows.local.entry == NULL else sums.of_entry
    with nogil:
        memset(&gradient[0], 0, gradient.shape[0] * sizeof(double))
        for i in range(block.offsets.shape[0] - 1):
            first = block.offsets[i]
            k = block.offsets[i + 1] - first
            if block.bundled:
                weigh_bundles(X, &members, starts, i, &w[0], &sums)
            dots(X, items, first, k, seen, s)
            if cost != NULL:
                for j in range(k):
                    s[j] += cost[first + j]
            total += loss_and_slope(
                &block.target[first], block.weight[i], block.marginal, k, s, &block.share[0]
            )
            if block.bundled:
                gather_bundles(X, &members, starts, i, first, k, s, &sums, &gradient[0])
            else:
                for j in range(k):
                    accumulate(X, items[first + j], s[j], &gradient[0])
    return total
