"""Predtron's tasks on examples with any number of classes: sets, and rankings of all classes."""

from libc.math cimport INFINITY, sqrt

import numpy as np

from rerank.native.data._sort cimport BUCKETS, argsort
from rerank.native.learners._predtron_tasks cimport Task
from rerank.native.learners._ranking_argmax cimport RankingProblem, RankingRoom, ranking_argmax

LOSSES = {"zero-one": ZERO_ONE, "Hamming": HAMMING, "error-set": ERROR_SET}


cdef class SomeClasses(Task):
    """A score for each of m classes, of which an example has any number."""

    def __init__(self, const long long[::1] offsets, const int[::1] codes, Py_ssize_t m, bint loss_driven):
        super().__init__(offsets, codes, m, m, loss_driven)
        cdef char[::1] flags = np.zeros(m, dtype=np.int8)
        cdef double[::1] keys = np.empty(m)
        cdef int[:, ::1] whole = np.empty((3, m), dtype=np.int32)
        cdef word[::1] words = np.empty(2 * m, dtype=np.uint64)
        cdef int[::1] counts = np.empty(BUCKETS, dtype=np.int32)
        self.held = (self.held, flags, keys, whole, words, counts)
        self.has = &flags[0]
        self.z = &keys[0]
        self.order = &whole[0, 0]
        self.own = &whole[1, 0]
        self.others = &whole[2, 0]
        self.words = &words[0]
        self.counts = &counts[0]

    cdef Py_ssize_t mark(self, long long i, char value) noexcept nogil:
        """OUT has: ``value`` for the classes of example i. Return their number."""
        cdef long long at
        for at in range(self.offsets[i], self.offsets[i + 1]):
            self.has[self.codes[at]] = value
        return self.offsets[i + 1] - self.offsets[i]

    cdef void split(self, Py_ssize_t k, double sign) noexcept nogil:
        """OUT own (k): the example's classes by rising sign * score; others: by falling score; stable."""
        cdef Py_ssize_t c
        cdef int* own = self.own
        cdef int* others = self.others
        for c in range(self.m):
            if self.has[c]:
                own[0] = <int>c
                own += 1
            else:
                others[0] = <int>c
                others += 1
        self.sort(self.own, k, sign)
        self.sort(self.others, self.m - k, -1.0)

    cdef void sort(self, int* some, Py_ssize_t n, double factor) noexcept nogil:
        """INOUT some: n classes, by rising factor * score."""
        cdef Py_ssize_t j
        for j in range(n):
            self.z[j] = factor * self.t[some[j]]
        argsort(self.z, self.order, <int>n, self.words, self.counts)
        for j in range(n):
            self.order[j] = some[self.order[j]]
        for j in range(n):
            some[j] = self.order[j]


cdef class ClassSets(SomeClasses):
    """The prediction is the set of the classes with scores above 0. IN kind: one of ``LOSSES``."""

    def __init__(
        self, const long long[::1] offsets, const int[::1] codes, bint loss_driven, Py_ssize_t m, int kind
    ):
        super().__init__(offsets, codes, m, loss_driven)
        self.kind = <Losses>kind
        self.root = 1.0 / sqrt(<double>m)

    cdef double visit(self, long long i) noexcept nogil:
        cdef Py_ssize_t k = self.mark(i, 1)
        cdef Py_ssize_t c
        cdef double missed = 0.0, extra = 0.0, found
        for c in range(self.m):
            if self.has[c]:
                missed += self.t[c] <= 0.0
            else:
                extra += self.t[c] >= 0.0
        found = missed * extra if self.kind == ERROR_SET else missed + extra
        if self.kind == ZERO_ONE and found > 0.0:
            found = 1.0
        if found > 0.0:
            self.n_changes = 0
            if self.kind == ERROR_SET and not self.loss_driven:
                self.swap_pairs(k)
            else:
                self.swap_below(0.5 / self.root if self.kind == HAMMING and not self.loss_driven else 0.0)
        self.mark(i, 0)
        return found

    cdef void swap(self, Py_ssize_t c) noexcept nogil:
        """Add the change by a rival that differs from the label in class c."""
        self.add_change(c, 2.0 * self.root if self.has[c] else -2.0 * self.root)

    cdef void swap_below(self, double threshold) noexcept nogil:
        """OUT the change by a rival that differs in the classes that lead by no more than the threshold.

        A class of the label leads by its score, another by its negated score. At threshold 0 the rival is the
        prediction. A class more in the Hamming loss is worth a lead of up to sqrt(m) / 2.
        """
        cdef Py_ssize_t c
        for c in range(self.m):
            if (self.t[c] if self.has[c] else -self.t[c]) <= threshold:
                self.swap(c)

    cdef void swap_pairs(self, Py_ssize_t k) noexcept nogil:
        """OUT the change by the rival of the largest error set plus similarity.

        It lacks the a classes of the label of the lowest scores and has the b others of the highest ones, for
        which a * b plus the gains of similarity is largest; on ties more classes. The best b rises with a.
        """
        cdef Py_ssize_t n = self.m - k, a, b = 0, best_a = 0, best_b = 0
        cdef double lacking = 0.0, having = 0.0, best = 0.0, scale = 2.0 * self.root
        self.split(k, 1.0)
        for a in range(k + 1):
            if a > 0:
                lacking -= scale * self.t[self.own[a - 1]]
            while b < n and a + scale * self.t[self.others[b]] >= 0.0:
                having += scale * self.t[self.others[b]]
                b += 1
            if a * b + lacking + having >= best:
                best = a * b + lacking + having
                best_a = a
                best_b = b
        for a in range(best_a):
            self.swap(self.own[a])
        for b in range(best_b):
            self.swap(self.others[b])


cdef class ClassRankings(SomeClasses):
    """The prediction ranks the classes by their scores; the loss is 1 - nDCG of the example's classes.

    IN values (2, m): discounts and f of the places 1, 2, ...; scale: 1 / the norm of f.
    """

    def __init__(
        self, const long long[::1] offsets, const int[::1] codes, bint loss_driven,
        const double[:, ::1] values, double scale,
    ):
        cdef Py_ssize_t m = values.shape[1]
        super().__init__(offsets, codes, m, loss_driven)
        cdef double[::1] gains = np.zeros(m)
        cdef int[:, ::1] places = np.empty((2, m), dtype=np.int32)
        self.held = (self.held, gains, places)
        self.values = values
        self.scale = scale
        self.ranked = RankingRoom(m)
        self.gains = &gains[0]
        self.position_of = &places[0, 0]
        self.item_at = &places[1, 0]

    cdef double visit(self, long long i) noexcept nogil:
        cdef Py_ssize_t k = self.mark(i, 1)
        cdef double found = 0.0
        cdef Py_ssize_t c, p
        if self.overtaken(k):
            self.split(k, -1.0)
            found = self.predict(k)
            if not self.loss_driven:
                self.augment(k)
            self.n_changes = 0
            for p in range(self.m):
                c = self.own[p] if p < k else self.others[p - k]
                self.add_change(c, (self.values[1, p] - self.values[1, self.position_of[c]]) * self.scale)
        self.mark(i, 0)
        return found

    cdef bint overtaken(self, Py_ssize_t k) noexcept nogil:
        """Return whether another class has at least the score of one of the k classes of the example."""
        cdef double lowest = INFINITY, highest = -INFINITY
        cdef Py_ssize_t c
        for c in range(self.m):
            if self.has[c]:
                lowest = min(lowest, self.t[c])
            else:
                highest = max(highest, self.t[c])
        return lowest <= highest

    cdef double predict(self, Py_ssize_t k) noexcept nogil:
        """OUT position_of: the classes by falling score, on ties the others first. Return its loss."""
        cdef Py_ssize_t a = 0, b = 0, p
        cdef double total = 0.0, ideal = 0.0
        for p in range(k):
            ideal += self.values[0, p]
        self.gain_scale = 1.0 / ideal
        for p in range(self.m):
            if b == self.m - k or (a < k and self.t[self.own[a]] > self.t[self.others[b]]):
                self.position_of[self.own[a]] = <int>p
                total += self.values[0, p]
                a += 1
            else:
                self.position_of[self.others[b]] = <int>p
                b += 1
        return (ideal - total) / ideal

    cdef void augment(self, Py_ssize_t k) noexcept nogil:
        """OUT position_of: the ranking of the largest loss plus similarity."""
        cdef RankingProblem problem
        cdef Py_ssize_t c
        for c in range(self.m):
            self.gains[c] = self.has[c]
        problem.m = <int>self.m
        problem.scores = self.t
        problem.gains = self.gains
        problem.discounts = &self.values[0, 0]
        problem.f = &self.values[1, 0]
        problem.gain_scale = self.gain_scale
        problem.f_scale = self.scale
        problem.position_of = self.position_of
        problem.item_at = self.item_at
        ranking_argmax(&problem, self.ranked)
