"""The link function of Predtron's norm p: weights from sums of steps."""

import numpy as np

from libc.math cimport fabs, pow, sqrt

from rerank.native.learners._weights cimport Moving
from rerank.native.learners._weights cimport Weights


cdef class Link:
    """Sums of steps ``theta``, float64 (k * p), which passes change; their link function gives the weights.

    IN start (k, p) or (p): theta at the beginning. q: the norm of the link function, above 1.
    """

    def __init__(self, start, double q):
        self.k, self.p = np.atleast_2d(start).shape
        self.q = q
        self.theta = np.array(start, dtype=np.float64).reshape(-1)
        self.sums = self.theta
        self.drift = np.zeros(len(self.theta))
        self.moved = np.empty(len(self.theta))
        self.factors = np.empty(self.p)


cdef void link_theta(
    const double* theta, Py_ssize_t k, Py_ssize_t p, double q, double* factors, double* w
) noexcept nogil:
    """OUT w (k, p): the gradient at theta of half the squared q-norm of its columns' norms. factors (p):
    scratch.

    The same as ``linked`` in rerank/learners/predtron/links.py.
    """
    cdef double largest = 0.0
    cdef double total = 0.0
    cdef double value
    cdef Py_ssize_t i
    cdef Py_ssize_t j
    for j in range(k * p):
        largest = max(largest, fabs(theta[j]))
    for j in range(k * p):
        w[j] = theta[j] / largest if largest > 0.0 else 0.0
    for j in range(p):
        value = fabs(w[j])
        if k > 1:
            value *= value
            for i in range(1, k):
                value += w[i * p + j] * w[i * p + j]
            value = sqrt(value)
        factors[j] = 0.0
        if value > 0.0:
            factors[j] = pow(value, q - 2.0)
            total += pow(value, q)
    if total > 0.0:
        total = pow(total, 2.0 / q - 1.0)
    for i in range(k):
        for j in range(p):
            w[i * p + j] *= factors[j] * total * largest


cdef void move_linked(Link link, Weights weights) noexcept nogil:
    """INOUT weights, those of ``link.sums`` now, with their drift."""
    cdef Moving* to = &weights.moving
    cdef Py_ssize_t j
    if link.p == 0:
        return
    link_theta(&link.sums[0], link.k, link.p, link.q, &link.factors[0], &link.moved[0])
    for j in range(link.k * link.p):
        to.drift[j] += to.t * (link.moved[j] - to.w[j])
        to.w[j] = link.moved[j]
