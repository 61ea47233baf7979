"""Boosting of the exponential loss (Collins & Koo 2005, Figures 3 and 4)."""

from libc.math cimport INFINITY
from libc.math cimport exp
from libc.math cimport log

import numpy as np

from rerank.native.learners._boosting cimport Boost
from rerank.native.learners._boosting cimport Differences
from rerank.native.learners._boosting cimport State
from rerank.native.learners._boosting cimport Trace
from rerank.native.learners._boosting cimport best_stump
from rerank.native.learners._boosting cimport change_weight
from rerank.native.learners._boosting cimport compute
from rerank.native.learners._boosting cimport settle
from rerank.native.learners._boosting cimport stepped


cdef class ExpLoss(Boost):
    """Boosting of the sum over pairs of importance * exp(-margin).

    Weights of pairs are the terms of the loss times exp(shift), so that the largest is about 1.

    IN differences; margin (n_pairs), changed by rounds; importance (n_pairs), above 0; epsilon, the
    smoothing; passes: all sums are computed anew after so many passes' worth of changes, 0 = every round.
    """
    cdef const double[::1] importance
    cdef double[::1] log_importance
    cdef double epsilon
    cdef double passes
    cdef double total
    cdef double computed  # the total when it was last computed from the pairs
    cdef readonly double shift
    cdef long long errors
    cdef double weighted
    cdef long long changes
    cdef readonly long long refreshed

    def __init__(
        self, Differences differences, double[::1] margin, const double[::1] importance, double epsilon,
        double passes,
    ):
        super().__init__(differences, margin)
        self.importance = importance
        self.log_importance = np.log(importance)
        self.epsilon = epsilon
        self.passes = passes
        self.reweigh(False)

    @property
    def log_loss(self):
        """The logarithm of the loss."""
        return log(self.total) - self.shift

    @property
    def counted(self):
        """Pairs with a margin of 0 or less, and the sum of their importance."""
        return self.errors, self.weighted

    cdef void reweigh(self, bint compare) noexcept nogil:
        """Compute the weights of all pairs from their margins, and all sums; compare: note their drift."""
        cdef State* s = &self.state
        cdef Py_ssize_t p
        cdef double before = self.shift
        cdef double most = -INFINITY
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
        self.computed = self.total
        self.changes = 0
        self.refreshed += 1
        self.refresh(self.total, exp(self.shift - before) if compare else 0.0)

    cdef long long move(self, Py_ssize_t k, double step) noexcept nogil:
        """Add a step to the margins of the pairs of stump k; return how many sums change with them."""
        cdef State* s = &self.state
        cdef double[2] steps
        cdef double[2] shares
        cdef long long work = 0
        cdef long long at
        cdef Py_ssize_t p
        cdef unsigned int side
        cdef bint was
        cdef bint wrong
        cdef double change
        steps[0] = step
        steps[1] = -step
        shares[0] = exp(-step)
        shares[1] = exp(step)
        for at in range(s.index.of_stump[k], s.index.of_stump[k + 1]):
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

    cdef int one_round(self, int* stump, double* step, long long* work) noexcept nogil:
        """Choose a stump and its step, and update; OUT what was chosen. Return what came of it."""
        cdef State* s = &self.state
        cdef Py_ssize_t k = best_stump(s, self.total)
        cdef double up
        cdef double down
        cdef bint stale
        if k < 0:
            return 1
        compute(s, k)
        up = s.w[2 * k] + self.epsilon * self.total
        down = s.w[2 * k + 1] + self.epsilon * self.total
        stump[0] = s.order[k]
        if up <= 0.0 or down <= 0.0:
            return 2
        step[0] = stepped(0.5 * log(up / down))
        if step[0] == 0.0:
            return 1
        work[0] = self.move(k, step[0])
        self.changes += work[0]
        if self.passes == 0.0:
            self.reweigh(False)
        else:
            settle(s)
            stale = self.changes >= self.passes * s.index.of_pair[s.index.n_pairs]
            if stale or self.total < 1e-3 * self.computed:
                self.reweigh(True)
        return 0

    def rounds(self, Trace trace):
        """Fill ``trace``; return DONE, NO_GAIN (no stump lowers the loss) or INFINITE (trace.stump[trace.n]).

        The last means that a stump's best step is infinite: it is right on all its pairs and nothing smooths.
        """
        cdef int outcome = 0
        cdef Py_ssize_t n
        with nogil:
            for n in range(trace.stumps.shape[0]):
                outcome = self.one_round(&trace.stumps[n], &trace.steps[n], &trace.works[n])
                if outcome:
                    break
                trace.losses[n] = log(self.total) - self.shift
                trace.wrong[n] = self.errors
                trace.weighted[n] = self.weighted
                trace.n = n + 1
        return outcome
