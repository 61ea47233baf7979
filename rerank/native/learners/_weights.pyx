"""Weights that kernels move, and their mean over all visits."""

import numpy as np


cdef class Weights:
    """Weights ``values`` and their ``drift``, both float64 (n); kernels change them and count ``visits``.

    IN values (n), which become the weights at the start, or their number: all are 0. most: room for the
    features of a list that numbers its own. rate: 0, or that of Winnow, whose weights are exp(rate * sums) -
    exp(-rate * sums) for the ``sums`` of steps (n).
    """

    def __init__(self, values, Py_ssize_t most=0, double rate=0.0):
        self.values = np.zeros(values) if np.ndim(values) == 0 else np.ascontiguousarray(values, np.float64)
        self.drift = np.zeros(len(self.values))
        cdef double[::1] w = self.values, drift = self.drift
        self.moving.w = &w[0] if w.shape[0] else NULL
        self.moving.drift = &drift[0] if w.shape[0] else NULL
        self.moving.t = 0.0
        self.moving.rate = rate
        self.sums = np.arcsinh(0.5 * self.values) / rate if rate > 0.0 else np.zeros(0)
        cdef double[::1] sums = self.sums
        self.moving.sums = &sums[0] if sums.shape[0] else NULL
        cdef double[::1] near = np.empty(most + 1)
        self.held = near
        self.near = &near[0]

    @property
    def visits(self):
        """Visits so far."""
        return self.moving.t

    @visits.setter
    def visits(self, double visits):
        self.moving.t = visits

    def mean(self):
        """Return the mean of the weights after each visit so far, float64 (n)."""
        if self.moving.t == 0.0:
            return self.values.copy()
        return self.values - self.drift / self.moving.t
