"""Predtron's tasks on examples with classes (Jain, Natarajan & Tewari 2015): loss and update of one example.

``visit`` reads the scores ``t`` of an example, returns the loss of its prediction and, if that is above 0,
leaves the change that the update makes, rep(target) - rep(rival). The target is the label itself; for
rankings it is the ranking without loss of the highest similarity to t. The rival is the prediction of the
largest loss plus similarity; if updates are driven by losses, it is the prediction. If several predictions
tie, the one of the largest loss counts: only a strict lead is no mistake, as in the classic perceptron.
"""

from libc.math cimport fabs, sqrt

import numpy as np


cdef class Task:
    """The classes of examples, and scratch for one of them.

    IN offsets (n_examples + 1), codes: the classes of example i are codes[offsets[i]:offsets[i + 1]], rising;
    m: number of classes; d: number of outputs; loss_driven.
    """

    def __init__(
        self, const long long[::1] offsets, const int[::1] codes, Py_ssize_t m, Py_ssize_t d, bint loss_driven
    ):
        self.offsets = offsets
        self.codes = codes
        self.m = m
        self.d = d
        self.loss_driven = loss_driven
        cdef double[:, ::1] numbers = np.zeros((2, d))
        cdef int[::1] places = np.zeros(d, dtype=np.int32)
        self.held = (numbers, places)
        self.t = &numbers[0, 0]
        self.change = &numbers[1, 0]
        self.place = &places[0]

    def tried(self, long long i, const double[::1] scores):
        """Return the loss of example i at ``scores`` (d), and the change of the scores (d) by an update."""
        cdef Py_ssize_t c
        for c in range(self.d):
            self.t[c] = scores[c]
        loss = self.visit(i)
        change = np.zeros(self.d)
        if loss > 0.0:
            for c in range(self.n_changes):
                change[self.place[c]] = self.change[c]
        return loss, change

    cdef double visit(self, long long i) noexcept nogil:
        """Return the loss of example i at the scores t. OUT the change, if it is above 0."""
        return 0.0

    cdef void add_change(self, Py_ssize_t c, double value) noexcept nogil:
        """Append to the change, if it is not 0."""
        self.place[self.n_changes] = <int>c
        self.change[self.n_changes] = value
        self.n_changes += value != 0.0


cdef class TwoClasses(Task):
    """One score, above 0 for class 1 and below for class 0. IN weights (2): the loss of a mistake."""

    def __init__(
        self, const long long[::1] offsets, const int[::1] codes, bint loss_driven, const double[::1] weights
    ):
        super().__init__(offsets, codes, 2, 1, loss_driven)
        self.weights = weights

    cdef double visit(self, long long i) noexcept nogil:
        cdef int y = self.codes[self.offsets[i]]
        cdef double sign = 1.0 if y else -1.0
        if sign * self.t[0] > 0.0:
            return 0.0
        self.n_changes = 0
        self.add_change(0, 2.0 * sign)
        return self.weights[y]


cdef class OneClass(Task):
    """A score for each of m classes, of which an example has one; on ties the first class, a rejection last.

    IN weights (m): multiply the losses of examples of a class; values (m): the loss is |difference| of these,
    or 1 if None; reject (m): the cost of no prediction for an example of a class, None if there must be one.
    """

    def __init__(
        self, const long long[::1] offsets, const int[::1] codes, bint loss_driven, const double[::1] weights,
        const double[::1] values=None, const double[::1] reject=None,
    ):
        super().__init__(offsets, codes, weights.shape[0], weights.shape[0], loss_driven)
        self.weights = weights
        self.values = values
        self.reject = reject
        self.root = 1.0 / sqrt(<double>self.m)

    cdef double loss(self, Py_ssize_t c, int y) noexcept nogil:
        """Return the loss of predicting c != y, where c = m is a rejection."""
        if c == self.m:
            return self.weights[y] * self.reject[y]
        if self.values is None:
            return self.weights[y]
        return self.weights[y] * fabs(self.values[c] - self.values[y])

    cdef Py_ssize_t rival(self, int y, bint augmented, double* similarity) noexcept nogil:
        """Return the wrong prediction of the largest similarity, plus loss if augmented.

        OUT similarity. On ties without losses the one of the largest loss wins, then the first.
        """
        cdef Py_ssize_t last = self.m + (self.reject is not None)
        cdef Py_ssize_t best = -1, c
        cdef double total = 0.0, value, largest = 0.0
        for c in range(last):
            value = total * self.root if c == self.m else self.t[c]
            total += value
            if c == y:
                continue
            if augmented:
                value += self.loss(c, y)
            if best < 0 or value > largest or (
                not augmented and value == largest and self.loss(c, y) > self.loss(best, y)
            ):
                best = c
                largest = value
        similarity[0] = largest
        return best

    cdef double visit(self, long long i) noexcept nogil:
        cdef int y = self.codes[self.offsets[i]]
        cdef double similarity
        cdef Py_ssize_t wrong = self.rival(y, False, &similarity)
        cdef Py_ssize_t c
        cdef double found
        if wrong < 0 or similarity < self.t[y]:
            return 0.0
        found = self.loss(wrong, y)
        if not self.loss_driven:
            wrong = self.rival(y, True, &similarity)
        self.n_changes = 0
        if wrong == self.m:
            for c in range(self.m):
                self.add_change(c, (c == y) - self.root)
        else:
            self.add_change(min(wrong, y), 1.0 if y < wrong else -1.0)
            self.add_change(max(wrong, y), -1.0 if y < wrong else 1.0)
        return found
