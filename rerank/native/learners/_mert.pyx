"""The line search of minimum error rate training (Och 2003), exact for a metric of summed statistics.

Along w + gamma * direction the score of every item is a line, whose slope is the product of the direction and
its features. The upper envelope of the lines of a list gives the item that is chosen at each gamma. At a
breakpoint, where the chosen item changes, the summed statistics change by the difference of two items.

A search covers the lists whose slopes differ, as _rise returns them: `lists` (numbers of lists), and for each
list in turn its items by rising slope in `order` (on ties in the order of the items), and their `slopes`.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.math cimport fabs
from rerank.native.learners._mert_choice cimport Choice
from rerank.native.learners._mert_choice cimport Penalty
from rerank.native.learners._mert_choice cimport cannot_beat
from rerank.native.learners._mert_choice cimport consider
from rerank.native.learners._mert_choice cimport wide
from rerank.native.learners._mert_choice cimport within
from rerank.native.data._sort cimport BUCKETS
from rerank.native.data._sort cimport argsort
from rerank.native.data._sort cimport word
from rerank.native.data._sums cimport BLEU
from rerank.native.data._sums cimport score_of

# Bounds are compared with the best value less this share, far above the rounding of either.
cdef double SLACK = 1e-9


# An item's line, and the gamma from which it is the highest.
cdef struct Line:
    double since
    double slope
    double score
    int item


def choose(
    const double[::1] scores,
    const long long[::1] offsets,
    const double[:, ::1] stats,
    int[::1] chosen,
    double[::1] sums,
):
    """Choose the item of each list with the largest score, on ties the first, and sum their statistics.

    IN scores (n), offsets (n_lists + 1), stats (n, k); OUT chosen (n_lists), sums (k).
    """
    cdef Py_ssize_t i
    cdef Py_ssize_t c
    cdef long long j
    cdef long long best
    with nogil:
        sums[:] = 0.0
        for i in range(offsets.shape[0] - 1):
            best = offsets[i]
            for j in range(best + 1, offsets[i + 1]):
                if scores[j] > scores[best]:
                    best = j
            chosen[i] = <int> best
            for c in range(stats.shape[1]):
                sums[c] += stats[best, c]


def advance(const int[::1] order, const double[::1] slopes, double gamma, double[::1] scores):
    """INOUT scores (n): those of items in `order` rise by gamma times their slopes."""
    cdef Py_ssize_t t
    with nogil:
        for t in range(order.shape[0]):
            scores[order[t]] += gamma * slopes[t]


@cython.final
cdef class LineSearch:
    """Searches over one set of lists, with scratch memory; each thread has its own.

    IN offsets (n_lists + 1); stats (n, k), the statistics of each item times its list's weight; alike (n),
    equal numbers within a list if and only if statistics are equal.
    """

    cdef const long long[::1] offsets
    cdef const double[:, ::1] stats
    cdef const int[::1] alike
    cdef double[::1] gamma  # of each breakpoint
    cdef double[::1] key
    cdef int[::1] before  # the item that is chosen below it
    cdef int[::1] after
    cdef int[::1] rank  # the breakpoints by rising gamma
    cdef Line* lines  # the envelope of a list
    cdef object keep
    cdef word[::1] words
    cdef int[::1] counts
    cdef double[::1] sums
    cdef Py_ssize_t n_breaks
    cdef double unit

    def __init__(self, const long long[::1] offsets, const double[:, ::1] stats, const int[::1] alike):
        cdef Py_ssize_t n = max(stats.shape[0], 1)
        cdef Py_ssize_t longest = max(int(np.diff(offsets).max()) if offsets.shape[0] > 1 else 0, 1)
        self.offsets = offsets
        self.stats = stats
        self.alike = alike
        self.gamma = np.empty(n)
        self.key = np.empty(n)
        self.before, self.after, self.rank = np.empty((3, n), dtype=np.int32)
        self.keep = np.empty(longest * sizeof(Line), dtype=np.uint8)
        self.lines = <Line*> <size_t> self.keep.ctypes.data
        self.words = np.empty(2 * n, dtype=np.uint64)
        self.counts = np.empty(BUCKETS, dtype=np.int32)
        self.sums = np.empty(max(stats.shape[1], 1))
        self.n_breaks = 0
        self.unit = 1.0

    cdef int envelope(
        self, const int* order, const double* slopes, int k, const double* scores
    ) noexcept nogil:
        """OUT lines: those that are highest somewhere, by rising slope. Return their number."""
        cdef Line* lines = self.lines
        cdef int top = -1
        cdef int t = 0
        cdef int item
        cdef double apart = 1.0
        cdef double below = 0.0
        cdef double slope
        cdef double score
        while t < k:
            slope = slopes[t]
            item = order[t]
            score = scores[item]
            t += 1
            while t < k and slopes[t] == slope:
                if scores[order[t]] > score:
                    item = order[t]
                    score = scores[item]
                t += 1
            # The new line meets the top one at below / apart, which is compared with its `since` without
            # a division.
            while top >= 0:
                apart = slope - lines[top].slope
                below = lines[top].score - score
                if below > lines[top].since * apart:
                    break
                top -= 1
            below = below / apart if top >= 0 else -INFINITY
            if below == INFINITY:  # a slope that differs by rounding from the highest one
                continue
            top += 1
            lines[top].since = below
            lines[top].slope = slope
            lines[top].score = score
            lines[top].item = item
        return top + 1

    def gather(
        self,
        const int[::1] lists,
        const int[::1] order,
        const double[::1] slopes,
        const double[::1] scores,
        const int[::1] chosen,
        const double[::1] sums,
        double unit,
    ):
        """Find the breakpoints of a direction; `best` or `intervals` then evaluate them.

        IN scores (n), chosen (n_lists) and sums (k) at gamma = 0 as `choose` gives them; unit > 0: the gamma
        of a long step.
        """
        cdef Py_ssize_t i
        cdef Py_ssize_t c
        cdef Py_ssize_t n = 0
        cdef Py_ssize_t width = self.stats.shape[1]
        cdef long long at = 0
        cdef int k
        cdef int t
        cdef int held
        cdef int item
        cdef int lines
        self.unit = unit
        with nogil:
            for c in range(width):
                self.sums[c] = sums[c]
            for i in range(lists.shape[0]):
                k = <int> (self.offsets[lists[i] + 1] - self.offsets[lists[i]])
                lines = self.envelope(&order[at], &slopes[at], k, &scores[0])
                held = self.lines[0].item
                self.pass_over(chosen[lists[i]], held)
                for t in range(1, lines):
                    item = self.lines[t].item
                    if self.alike[held] != self.alike[item]:
                        self.gamma[n] = self.lines[t].since
                        self.before[n] = held
                        self.after[n] = item
                        n += 1
                        held = item
                at += k
            self.n_breaks = n
            self.put_in_order()

    cdef inline void pass_over(self, int before, int after) noexcept nogil:
        """INOUT self.sums: one item instead of another."""
        cdef Py_ssize_t c
        cdef Py_ssize_t width = self.stats.shape[1]
        cdef double* sums = &self.sums[0]
        cdef const double* old = &self.stats[before, 0]
        cdef const double* new = &self.stats[after, 0]
        if self.alike[before] != self.alike[after]:
            for c in range(width):
                sums[c] += new[c] - old[c]

    cdef void put_in_order(self) noexcept nogil:
        """OUT rank: breakpoints by rising gamma, equal ones in the order of their lists."""
        cdef Py_ssize_t i
        cdef Py_ssize_t at
        cdef int one
        cdef double value
        if self.n_breaks == 0:
            return
        # Breakpoints have long tails; mapped into (-1, 1) they spread over the buckets of the sort. Entries
        # that rounding has put a place or two off are then moved.
        for i in range(self.n_breaks):
            self.key[i] = self.gamma[i] / (self.unit + fabs(self.gamma[i]))
        argsort(&self.key[0], &self.rank[0], <int> self.n_breaks, &self.words[0], &self.counts[0])
        for i in range(1, self.n_breaks):
            one = self.rank[i]
            value = self.gamma[one]
            at = i
            while at > 0 and self.gamma[self.rank[at - 1]] > value:
                self.rank[at] = self.rank[at - 1]
                at -= 1
            self.rank[at] = one

    def best(self, int better, int kind, double a, double b, penalty):
        """Return the best interval of gamma for a metric that kernels know: objective and both ends.

        IN better 1 or -1; kind, a, b of the metric (SumForm); penalty: its six numbers. An objective of
        -infinity means that no interval has a value.
        """
        cdef Choice choice
        cdef Penalty price
        cdef Py_ssize_t i
        cdef double lower = -INFINITY
        cdef double upper
        cdef double floor = 0.0
        cdef double before
        price.strength, price.square, price.product, price.step, price.here, price.along = penalty
        choice.objective = -INFINITY
        choice.lower = choice.upper = 0.0
        with nogil:
            for i in range(self.n_breaks + 1):
                upper = self.gamma[self.rank[i]] if i < self.n_breaks else INFINITY
                if wide(lower, upper, self.unit) and not (
                    kind == BLEU and better > 0 and cannot_beat(&self.sums[0], a, floor)
                ):
                    before = choice.objective
                    consider(
                        better * score_of(kind, &self.sums[0], a, b), lower, upper, self.unit, &price, &choice
                    )
                    if choice.objective > before and choice.objective > 0.0:
                        floor = 0.01 * choice.objective
                        floor = floor * floor
                        floor = floor * floor * (1.0 - SLACK)
                if i < self.n_breaks:
                    self.pass_over(self.before[self.rank[i]], self.after[self.rank[i]])
                    lower = upper
        return choice.objective, choice.lower, choice.upper

    def intervals(self):
        """Return every interval wider than rounding: ends (m, 2), rising, and summed statistics (m, k)."""
        cdef Py_ssize_t i
        cdef Py_ssize_t c
        cdef Py_ssize_t found = 0
        cdef double lower = -INFINITY
        cdef double upper
        cdef double[:, ::1] ends = np.empty((self.n_breaks + 1, 2))
        cdef double[:, ::1] totals = np.empty((self.n_breaks + 1, self.stats.shape[1]))
        with nogil:
            for i in range(self.n_breaks + 1):
                upper = self.gamma[self.rank[i]] if i < self.n_breaks else INFINITY
                if wide(lower, upper, self.unit):
                    ends[found, 0] = lower
                    ends[found, 1] = upper
                    for c in range(totals.shape[1]):
                        totals[found, c] = self.sums[c]
                    found += 1
                if i < self.n_breaks:
                    self.pass_over(self.before[self.rank[i]], self.after[self.rank[i]])
                    lower = upper
        return np.asarray(ends)[:found], np.asarray(totals)[:found]


def best_of(const double[:, ::1] ends, const double[::1] values, double unit, int better, penalty):
    """Return what LineSearch.best returns, from the ends of intervals (m, 2) and the metric's values (m)."""
    cdef Choice choice
    cdef Penalty price
    cdef Py_ssize_t i
    price.strength, price.square, price.product, price.step, price.here, price.along = penalty
    choice.objective = -INFINITY
    choice.lower = choice.upper = 0.0
    with nogil:
        for i in range(values.shape[0]):
            consider(better * values[i], ends[i, 0], ends[i, 1], unit, &price, &choice)
    return choice.objective, choice.lower, choice.upper


def value_of(const double[::1] sums, int kind, double a, double b):
    """Return the metric of sums (k) for a form that kernels know."""
    return score_of(kind, &sums[0], a, b)


def point_in(double lower, double upper, double unit):
    """Return the gamma that represents an interval: its middle, or a unit beyond its only end."""
    return within(lower, upper, unit)
