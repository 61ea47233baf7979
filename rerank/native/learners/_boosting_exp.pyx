"""Boosting of the exponential loss (Collins & Koo 2005, Figures 3 and 4)."""

from libc.math cimport INFINITY, exp, log

import numpy as np

from rerank.native.data._prefetch cimport prefetch
from rerank.native.learners._boosting cimport Boost, Differences, State, change_weight


cdef class ExpLoss(Boost):
    """The sum over pairs of importance * exp(cost - margin).

    Weights of pairs are the terms of the loss times exp(shift), so that the largest is about 1.

    IN differences, margin, epsilon, passes: see ``Boost``; importance (n_pairs), above 0; cost (n_pairs),
    by how much a pair should be right, None = 0. Errors do not count it.
    """
    cdef const double[::1] importance, log_importance
    cdef double shift

    def __init__(
        self, Differences differences, double[::1] margin, const double[::1] importance, double epsilon,
        double passes, cost=None,
    ):
        super().__init__(differences, margin, epsilon, passes)
        self.importance = importance
        self.log_importance = np.log(importance) + (0.0 if cost is None else cost)
        self.refresh(False)

    def kept(self):
        """Return what later rounds depend on."""
        return Boost.kept(self) | {"shift": self.shift}

    def restore(self, state):
        """Go to what ``kept`` returned."""
        Boost.restore(self, state)
        self.shift = state["shift"]

    cdef double log_loss(self) noexcept nogil:
        return log(self.total) - self.shift

    cdef double reweigh(self) noexcept nogil:
        cdef State* s = &self.state
        cdef Py_ssize_t p
        cdef double before = self.shift, most = -INFINITY
        for p in range(s.index.n_pairs):
            most = max(most, self.log_importance[p] - s.margin[p])
        self.shift = -most
        self.total = 0.0
        self.errors = 0
        self.weighted = 0.0
        for p in range(s.index.n_pairs):
            s.weight[p] = exp(self.log_importance[p] - s.margin[p] - most)
            self.total += s.weight[p]
            if s.margin[p] <= 0.0:
                self.errors += 1
                self.weighted += self.importance[p]
        return exp(self.shift - before)

    cdef long long move(self, Py_ssize_t k, double step) noexcept nogil:
        cdef State* s = &self.state
        cdef double[2] steps, shares
        cdef long long work = 0, first = s.index.of_stump[k]
        cdef long long last = s.index.of_stump[k + 1]
        cdef long long at, ahead
        cdef int line
        cdef Py_ssize_t p
        cdef unsigned int side
        cdef bint was, wrong
        cdef double change
        steps[0] = step
        steps[1] = -step
        shares[0] = exp(-step)
        shares[1] = exp(step)
        for at in range(first, last):
            ahead = s.index.of_pair[s.index.pairs[min(at + 1, last - 1)] >> 1]
            for line in range(0, 64, 16):
                prefetch(s.index.stumps + ahead + line)
            p = s.index.pairs[at] >> 1
            side = s.index.pairs[at] & 1
            was = s.margin[p] <= 0.0
            s.margin[p] += steps[side]
            wrong = s.margin[p] <= 0.0
            if was != wrong:
                self.errors += <int>wrong - <int>was
                self.weighted += self.importance[p] if wrong else -self.importance[p]
            change = s.weight[p] * shares[side] - s.weight[p]
            s.weight[p] *= shares[side]
            self.total += change
            work += s.index.of_pair[p + 1] - s.index.of_pair[p]
            if self.passes > 0.0:
                change_weight(s, p, change)
        return work
