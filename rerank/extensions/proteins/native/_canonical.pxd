"""Positions of points in a frame of their own, the same bits however the points lie in space.

Rounding must not lead a search along another path if a structure is turned or shifted: in symmetric
structures a last bit decides between superpositions that are equally good. The frame is made of points that
are chosen by distances, the first on ties, and positions in it are rounded to a grid that is far coarser than
rounding errors and far finer than any file's digits.
"""

from libc.math cimport floor, sqrt

cdef enum:
    GRID = 4194304  # steps per Å, a power of two

cdef inline void centre(
    double* const* to, const double* xyz, const long long* rows, Py_ssize_t n
) noexcept nogil:
    """OUT to (3, n): the positions of the rows about their centre."""
    cdef Py_ssize_t i
    cdef int j
    cdef double mean
    for j in range(3):
        mean = 0
        for i in range(n):
            mean += xyz[3 * rows[i] + j]
        mean /= <double>n
        for i in range(n):
            to[j][i] = xyz[3 * rows[i] + j] - mean


cdef inline bint farthest(double* const* x, Py_ssize_t n, const double* axis, double* to) noexcept nogil:
    """OUT to (3): unit vector from an axis (0 = the centre) to the first of the farthest points.

    False if all points are on the axis.
    """
    cdef double most = 0, along, square
    cdef double across[3]
    cdef Py_ssize_t i
    cdef int j, turn
    for turn in range(2):  # distances that differ by less than 1e-7 Å² are equal but for rounding
        for i in range(n):
            along = x[0][i] * axis[0] + x[1][i] * axis[1] + x[2][i] * axis[2]
            square = 0
            for j in range(3):
                across[j] = x[j][i] - along * axis[j]
                square += across[j] * across[j]
            if turn and square >= most - 1e-7:
                for j in range(3):
                    to[j] = across[j] / sqrt(square)
                return True
            most = max(most, square)
        if most <= 1e-7:
            return False
    return False


cdef inline void canonical(double* const* x, Py_ssize_t n) noexcept nogil:
    """IN/OUT x (3, n): centred points, on exit in their own frame and on the grid."""
    cdef double u[9]
    cdef double y[3]
    cdef Py_ssize_t i
    cdef int j
    for j in range(9):
        u[j] = 0
    if farthest(x, n, u + 6, u) and farthest(x, n, u, u + 3):
        u[6] = u[1] * u[5] - u[2] * u[4]
        u[7] = u[2] * u[3] - u[0] * u[5]
        u[8] = u[0] * u[4] - u[1] * u[3]
    for i in range(n):
        for j in range(3):
            y[j] = u[3 * j] * x[0][i] + u[3 * j + 1] * x[1][i] + u[3 * j + 2] * x[2][i]
        for j in range(3):  # no round number lies between two steps of the grid
            x[j][i] = floor(y[j] * GRID + 0.3137) / GRID


cdef inline bint comes_first(double* const* a, double* const* b, Py_ssize_t n) noexcept nogil:
    """Return whether a is not after b, coordinate by coordinate."""
    cdef Py_ssize_t i
    cdef int j
    for i in range(n):
        for j in range(3):
            if a[j][i] != b[j][i]:
                return a[j][i] < b[j][i]
    return True
