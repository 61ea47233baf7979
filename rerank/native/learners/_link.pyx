"""The link function of Predtron's norm p: weights from sums of steps."""

import numpy as np

from libc.math cimport fabs, pow, sqrt

from rerank.native.learners._weights cimport Moving, Weights


cdef class Link:
    """Sums of steps ``theta``, float64 (k * p), which passes change; their link function gives the weights.

    IN start (k, p) or (p): theta at the beginning, or (p, k) if ``by_column``, column after column of theta.
    q: the norm of the link function, above 1.
    """

    def __init__(self, start, double q, bint by_column=False):
        self.k, self.p = np.atleast_2d(start).shape
        self.row, self.column = self.p, 1
        if by_column:
            self.k, self.p = self.p, self.k
            self.row, self.column = 1, self.k
        self.q = q
        self.theta = np.array(start, dtype=np.float64).reshape(-1)
        self.sums = self.theta
        self.drift = np.zeros(len(self.theta))
        self.moved = np.empty(len(self.theta))
        self.factors = np.empty(self.p)

    @property
    def drifted(self):
        """What the mean of the weights needs, float64 (k * p), which passes change."""
        return np.asarray(self.drift)


cdef void link_theta(Link link) noexcept nogil:
    """OUT link.moved: the gradient at link.sums of half the squared q-norm of its columns' norms.

    The same as ``linked`` in rerank/learners/predtron/links.py.
    """
    cdef const double* theta = &link.sums[0]
    cdef double* w = &link.moved[0]
    cdef double largest = 0.0, total = 0.0, value
    cdef Py_ssize_t i, j
    for j in range(link.k * link.p):
        largest = max(largest, fabs(theta[j]))
    for j in range(link.k * link.p):
        w[j] = theta[j] / largest if largest > 0.0 else 0.0
    for j in range(link.p):
        value = fabs(w[j * link.column])
        if link.k > 1:
            value *= value
            for i in range(1, link.k):
                value += w[i * link.row + j * link.column] * w[i * link.row + j * link.column]
            value = sqrt(value)
        link.factors[j] = 0.0
        if value > 0.0:
            link.factors[j] = pow(value, link.q - 2.0)
            total += pow(value, link.q)
    if total > 0.0:
        total = pow(total, 2.0 / link.q - 1.0)
    for i in range(link.k):
        for j in range(link.p):
            w[i * link.row + j * link.column] *= link.factors[j] * total * largest


cdef void move_linked(Link link, Weights weights) noexcept nogil:
    """INOUT weights, those of ``link.sums`` now, with their drift."""
    cdef Moving* to = &weights.moving
    cdef Py_ssize_t j
    if link.p == 0:
        return
    link_theta(link)
    for j in range(link.k * link.p):
        to.drift[j] += to.t * (link.moved[j] - to.w[j])
        to.w[j] = link.moved[j]
