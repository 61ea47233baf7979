"""Linear assignments of many matrices in one call; see ``_assignment.pxd``."""

import numpy as np

from libc.math cimport INFINITY, fabs

from rerank.native.similarity._assignment cimport Problem, assign_cold, assign_warm


cdef class Room:
    def __init__(self, Py_ssize_t n, Py_ssize_t m):
        cdef double[:, ::1] real = np.empty((4, m))
        cdef int[:, ::1] numbers = np.empty((5, m), dtype=np.int32)
        self.cost = np.empty(n * m)
        self.held = (real, numbers)
        self.problem.n = <int> n
        self.problem.m = <int> m
        self.problem.distance = &real[0, 0]
        self.problem.open_v = &real[1, 0]
        self.problem.final = &real[2, 0]
        self.problem.shift = &real[3, 0]
        self.problem.row_of = &numbers[0, 0]
        self.problem.column_of = &numbers[1, 0]
        self.problem.free_rows = &numbers[2, 0]
        self.problem.columns = &numbers[3, 0]
        self.problem.open_columns = &numbers[4, 0]


cdef inline void copy(
    const double* costs, Py_ssize_t n, Py_ssize_t m, double sign, bint turned, double* out
) noexcept nogil:
    """OUT out: the costs (n, m) times ``sign``, with rows and columns exchanged if ``turned``."""
    cdef Py_ssize_t i, j
    if not turned:
        for i in range(n * m):
            out[i] = sign * costs[i]
        return
    for i in range(n):
        for j in range(m):
            out[j * n + i] = sign * costs[i * m + j]


cdef inline bint within(const double* costs, Py_ssize_t n, double limit) noexcept nogil:
    """Return whether all costs (n) are numbers up to ``limit`` in magnitude."""
    cdef double[4] largest, odd
    cdef double h
    cdef Py_ssize_t i = 0
    cdef int k
    for k in range(4):
        largest[k] = 0.0
        odd[k] = 0.0
    while i + 4 <= n:
        for k in range(4):
            h = costs[i + k]
            odd[k] += h - h  # NaN if h is NaN or infinite
            largest[k] = fabs(h) if fabs(h) > largest[k] else largest[k]
        i += 4
    while i < n:
        odd[0] += costs[i] - costs[i]
        largest[0] = fabs(costs[i]) if fabs(costs[i]) > largest[0] else largest[0]
        i += 1
    for k in range(4):
        if not (odd[k] == 0.0 and largest[k] <= limit):
            return False
    return True


def assign(
    const double[:, :, ::1] costs, bint maximize, bint warm, double limit, int[:, ::1] columns,
    double[:, ::1] potentials,
):
    """Assign the rows of each matrix to columns.

    Return the first matrix without a finite assignment, or -1, and the first one with a cost that is not
    a number up to ``limit`` in magnitude, or -1: nothing is assigned from there on. With limit = inf nothing
    is checked.

    IN costs (b, n, m), neither NaN nor infinite except as a forbidden pair; b, n, m at least 1. warm: the
    potentials are given, n == m. OUT columns (b, n), -1 for a row that has none. INOUT potentials
    (b, max(n, m)), of the columns or, if there are more rows, of the rows; of -costs if ``maximize``.
    """
    cdef Py_ssize_t b = costs.shape[0], n = costs.shape[1], m = costs.shape[2]
    cdef bint turned = n > m
    cdef double sign = -1.0 if maximize else 1.0
    cdef Room room = Room(min(n, m), max(n, m))
    cdef Problem* p = &room.problem
    cdef Py_ssize_t k, i, failed = -1, unchecked = -1
    with nogil:
        for k in range(b):
            p.cost = &costs[k, 0, 0]
            if limit < INFINITY and not within(p.cost, n * m, limit):
                unchecked = k
                break
            if turned or maximize:
                copy(p.cost, n, m, sign, turned, &room.cost[0])
                p.cost = &room.cost[0]
            p.v = &potentials[k, 0]
            if not (assign_warm(p) if warm else assign_cold(p)):
                failed = k
                break
            for i in range(n):
                columns[k, i] = p.row_of[i] if turned else p.column_of[i]
    return failed, unchecked
