"""Boosting of the logistic loss: Collins & Koo's Appendix B, and the exact choice of section 4.6."""

from libc.math cimport exp, fabs, log, log1p, sqrt

import numpy as np

from rerank.native.learners._boosting cimport (
    LINE, Boost, Differences, State, best_stump, change_weight, scan_block, stepped,
)


cdef class LogLoss(Boost):
    """The sum over groups of pairs, the lists, of log(1 + sum of exp(cost - margin)).

    The weight of a pair is its share q of 1 + the sum of its group (equation B.1). The gain of a stump is a
    lower bound of what the loss falls by: every candidate of a list that a step touches gets another weight.

    IN differences, margin, epsilon, passes: see ``Boost``; groups (n_groups + 1), the bounds of the groups;
    cost (n_pairs), by how much a pair should be right, None = 0. Errors do not count it.
    """

    def __init__(
        self, Differences differences, double[::1] margin, const long long[::1] groups, double epsilon,
        double passes, cost=None,
    ):
        super().__init__(differences, margin, epsilon, passes)
        self.groups = groups
        self.cost = np.zeros(len(margin)) if cost is None else cost
        sizes = np.diff(groups)
        self.group_of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        self.losses = np.zeros(len(sizes))
        self.refresh(False)

    def arrays(self):
        """Return what rounds change."""
        return Boost.arrays(self) | {"losses": np.asarray(self.losses)}

    def kept(self):
        """Return what later rounds depend on."""
        return Boost.kept(self) | {"whole": self.whole}

    def restore(self, state):
        """Go to what ``kept`` returned."""
        Boost.restore(self, state)
        self.whole = state["whole"]

    cdef double log_loss(self) noexcept nogil:
        return log(max(self.whole, 0.0))

    cdef double softmax(self, Py_ssize_t i, bint apply, long long* work) noexcept nogil:
        """Compute the weights of group i, and return its loss; apply: change the sums of stumps as well.

        INOUT work: plus the number of sums that change.
        """
        cdef State* s = &self.state
        cdef long long p
        cdef double low = 0.0, total = 0.0, norm, change
        for p in range(self.groups[i], self.groups[i + 1]):
            low = max(low, self.cost[p] - s.margin[p])
        for p in range(self.groups[i], self.groups[i + 1]):
            total += exp(self.cost[p] - s.margin[p] - low)
        norm = exp(-low) + total
        for p in range(self.groups[i], self.groups[i + 1]):
            change = exp(self.cost[p] - s.margin[p] - low) / norm - s.weight[p]
            s.weight[p] += change
            self.total += change
            work[0] += s.index.of_pair[p + 1] - s.index.of_pair[p]
            if apply and change != 0.0:
                change_weight(s, p, change)
        return low + log(norm) if low > 0.0 else log1p(total)

    cdef double reweigh(self) noexcept nogil:
        cdef State* s = &self.state
        cdef Py_ssize_t i, p
        cdef long long work = 0
        self.whole = 0.0
        self.total = 0.0
        self.errors = 0
        for p in range(s.index.n_pairs):
            s.weight[p] = 0.0
            self.errors += s.margin[p] <= 0.0
        for i in range(self.losses.shape[0]):
            self.losses[i] = self.softmax(i, False, &work)
            self.whole += self.losses[i]
        self.weighted = <double>self.errors
        return 1.0

    cdef long long move(self, Py_ssize_t k, double step) noexcept nogil:
        cdef State* s = &self.state
        cdef const unsigned int* pairs = s.index.pairs
        cdef long long at = s.index.of_stump[k]
        cdef long long last = s.index.of_stump[k + 1]
        cdef long long work = 0
        cdef Py_ssize_t p, i
        while at < last:
            i = self.group_of[pairs[at] >> 1]
            while at < last and self.group_of[pairs[at] >> 1] == i:
                p = pairs[at] >> 1
                self.errors -= s.margin[p] <= 0.0
                s.margin[p] += -step if pairs[at] & 1 else step
                self.errors += s.margin[p] <= 0.0
                at += 1
            self.whole -= self.losses[i]
            self.losses[i] = self.softmax(i, self.passes > 0.0, &work)
            self.whole += self.losses[i]
        self.weighted = <double>self.errors
        return work


cdef class ScaledLogLoss(LogLoss):
    """The logistic loss with the step of each stump by iterative scaling, and the choice by its exact loss.

    IN differences, margin, groups, cost: see ``LogLoss``; hits (n_stumps), in how many groups the item that
    must win has the stump, in the caller's order; least: scaling ends when a step changes by less; most: the
    most steps of scaling.
    """
    cdef const long long[::1] hits
    cdef double least
    cdef Py_ssize_t most
    cdef double[::1] steps
    cdef double[:, ::1] shares

    def __init__(
        self, Differences differences, double[::1] margin, const long long[::1] groups,
        const long long[::1] hits, double least, Py_ssize_t most, cost=None,
    ):
        self.hits = hits
        self.least = least
        self.most = most
        self.steps = np.zeros(differences.n_stumps)
        self.shares = np.zeros((2, len(groups)))
        super().__init__(differences, margin, groups, 0.0, 0.0, cost)

    cdef Py_ssize_t gather(self, Py_ssize_t k) noexcept nogil:
        """OUT shares: the sums of weights where stump k is +1 and -1, of each group that it touches."""
        cdef State* s = &self.state
        cdef const unsigned int* pairs = s.index.pairs
        cdef long long at
        cdef int before = -1
        cdef Py_ssize_t n = 0
        for at in range(s.index.of_stump[k], s.index.of_stump[k + 1]):
            if self.group_of[pairs[at] >> 1] != before:
                before = self.group_of[pairs[at] >> 1]
                self.shares[0, n] = 0.0
                self.shares[1, n] = 0.0
                n += 1
            self.shares[pairs[at] & 1, n - 1] += s.weight[pairs[at] >> 1]
        return n

    cdef double scaled(self, Py_ssize_t k) noexcept nogil:
        """OUT the step of stump k by repeated log(h / p). Return how much the loss falls.

        h counts the stump in the items that must win, p is its expected count: h less the weight of the
        pairs where it is +1, plus that where it is -1.
        """
        cdef Py_ssize_t n = self.gather(k)
        cdef double h = <double>self.hits[self.state.order[k]]
        cdef double step = 0.0, more, less, norm, expected, fall = 0.0
        cdef Py_ssize_t i, _
        if h == 0.0:
            return 0.0
        for _ in range(self.most):
            expected = h
            for i in range(n):
                more = self.shares[0, i] * exp(-step)
                less = self.shares[1, i] * exp(step)
                norm = max(1.0 - self.shares[0, i] - self.shares[1, i], 0.0) + more + less
                expected += (less - more) / norm
            if expected <= 0.0:
                return 0.0
            step += log(h / expected)
            if fabs(log(h / expected)) < self.least:
                break
        self.steps[k] = stepped(step)
        for i in range(n):
            more = self.shares[0, i] * exp(-self.steps[k])
            less = self.shares[1, i] * exp(self.steps[k])
            fall -= log(max(1.0 - self.shares[0, i] - self.shares[1, i], 0.0) + more + less)
        return fall

    cdef int choose(self, Py_ssize_t* stump, double* step) noexcept nogil:
        cdef State* s = &self.state
        cdef Py_ssize_t k
        for k in range(s.index.n_stumps):
            s.lines[k // LINE].gain[k % LINE] = sqrt(max(self.scaled(k), 0.0))
        for k in range(s.n_blocks):
            scan_block(s, k)
        stump[0] = best_stump(s, self.whole)
        if stump[0] < 0:
            return 1
        step[0] = self.steps[stump[0]]
        return step[0] == 0.0
