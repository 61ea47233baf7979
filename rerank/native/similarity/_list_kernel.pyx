"""Kernels on the principal axes of lists: the list kernel, and angles between axes and between subspaces."""

from libc.math cimport fabs, sqrt

import numpy as np

from rerank.native.similarity._assignment cimport Room, assign_cold
from rerank.native.similarity._cross cimport Vectors, mark, products, unmark

cdef enum:
    MATCHING = 0
    LARGEST = 1
    SUBSPACE = 2
    ENUMERATED = 6  # components up to which all sets of partners are tried, which is faster


cdef class Axes:
    """The principal axes of lists.

    columns : int32 (t), those that vary in list i, rising, at bounds[i]:bounds[i + 1]
    bounds : int64 (n + 1)
    values : float64 (t, m), the unit vectors of the m axes of a list in each of its columns; 0 for axes that
        it does not have
    weights : float64 (n, m), the weights of axes, of norm 1; all 0 = the list has no axis
    """

    cdef const int[::1] columns
    cdef const long long[::1] bounds
    cdef const double[:, ::1] values, weights

    def __init__(
        self, const int[::1] columns, const long long[::1] bounds, const double[:, ::1] values,
        const double[:, ::1] weights,
    ):
        self.columns = columns
        self.bounds = bounds
        self.values = values
        self.weights = weights

    def __reduce__(self):
        vectors = (np.asarray(self.columns), np.asarray(self.bounds), np.asarray(self.values))
        return Axes, (*vectors, np.asarray(self.weights))

    cdef inline Vectors of(self, Py_ssize_t i) noexcept nogil:
        cdef Vectors found
        cdef long long start = self.bounds[i]
        found.n = self.bounds[i + 1] - start
        found.m = <int> self.weights.shape[1]
        found.columns = NULL
        found.values = NULL
        if found.n:
            found.columns = &self.columns[start]
            found.values = &self.values[start, 0]
        return found


cdef inline double best_of_sets(const double* gain, int m, double* best) noexcept nogil:
    """Return the largest total of one partner for each of m rows, by the sets of partners taken.

    ROOM best (2^m).
    """
    cdef int taken, left, one, k, row
    cdef double most, h
    best[0] = 0.0
    for taken in range(1, 1 << m):
        row = -1
        left = taken
        while left:
            left &= left - 1
            row += 1
        most = 0.0
        for k in range(m):
            one = 1 << k
            if taken & one:
                h = best[taken ^ one] + gain[row * m + k]
                most = h if h > most else most
        best[taken] = most
    return best[(1 << m) - 1]


cdef inline double matched(const double* gain, int m, Room room, double* v) noexcept nogil:
    """Return the largest total of one partner for each of m rows, by an assignment. ROOM v (m)."""
    cdef int i
    cdef double total = 0.0
    for i in range(m * m):
        room.cost[i] = -gain[i]
    room.problem.cost = &room.cost[0]
    room.problem.v = v
    assign_cold(&room.problem)
    for i in range(m):
        total += gain[i * m + room.problem.column_of[i]]
    return total


cdef inline double largest_singular(double* c, int m) noexcept nogil:
    """Return the largest singular value of c (m, m) by one-sided Jacobi rotations of its rows. INOUT c."""
    cdef int _sweep, a, b, k
    cdef bint turned
    cdef double p, q, g, t, cosine, sine, h, most = 0.0
    for _sweep in range(60):
        turned = False
        for a in range(m - 1):
            for b in range(a + 1, m):
                p = 0.0
                q = 0.0
                g = 0.0
                for k in range(m):
                    p += c[a * m + k] * c[a * m + k]
                    q += c[b * m + k] * c[b * m + k]
                    g += c[a * m + k] * c[b * m + k]
                if fabs(g) <= 1e-15 * sqrt(p * q) or g == 0.0:
                    continue
                turned = True
                t = (q - p) / (2.0 * g)
                t = (1.0 if t >= 0.0 else -1.0) / (fabs(t) + sqrt(1.0 + t * t))
                cosine = 1.0 / sqrt(1.0 + t * t)
                sine = cosine * t
                for k in range(m):
                    h = c[a * m + k]
                    c[a * m + k] = cosine * h - sine * c[b * m + k]
                    c[b * m + k] = sine * h + cosine * c[b * m + k]
        if not turned:
            break
    for a in range(m):
        p = 0.0
        for k in range(m):
            p += c[a * m + k] * c[a * m + k]
        most = p if p > most else most
    return sqrt(most)


cdef inline double largest(const double* c, int m) noexcept nogil:
    cdef int i
    cdef double most = 0.0
    for i in range(m * m):
        most = fabs(c[i]) if fabs(c[i]) > most else most
    return most


cdef inline void weigh(double* c, const double* x, const double* y, int m) noexcept nogil:
    """INOUT c (m, m): cosines, then the weights of edges."""
    cdef int i, k
    cdef double h
    for i in range(m):
        for k in range(m):
            h = fabs(c[i * m + k])
            c[i * m + k] = x[i] * y[k] * (h if h < 1.0 else 1.0)


def fill(Axes x, Axes y, int kind, Py_ssize_t first, Py_ssize_t last, int n_columns, double[:, ::1] out):
    """Compute the kernel of the lists first:last of x with all lists of y, or with later ones if y is x.

    IN kind: 0 = list kernel, 1 = largest cosine of two axes, 2 = of the subspaces. n_columns: more than any
    column. OUT out (last - first, lists of y); if y is x without the lower triangle.
    """
    cdef int m = <int> x.weights.shape[1]
    cdef int[::1] place = np.full(max(n_columns, 1), -1, dtype=np.int32)
    cdef double[::1] space = np.empty(m * m + m + (1 << (m if m <= ENUMERATED else 0)))
    cdef Room room = Room(m, m)
    cdef double* c = &space[0]
    cdef double* more = &space[m * m]
    cdef bint same = x is y
    cdef Vectors mine, theirs
    cdef Py_ssize_t i, j
    cdef double found
    with nogil:
        for i in range(first, last):
            mine = x.of(i)
            mark(&mine, &place[0])
            for j in range(i if same else 0, y.weights.shape[0]):
                theirs = y.of(j)
                if mine.n == 0 or theirs.n == 0:
                    found = 0.0
                elif same and i == j:
                    found = 1.0
                else:
                    products(&mine, &place[0], &theirs, c)
                    if kind == SUBSPACE:
                        found = largest_singular(c, m)
                    elif kind == LARGEST:
                        found = largest(c, m)
                    else:
                        weigh(c, &x.weights[i, 0], &y.weights[j, 0], m)
                        found = best_of_sets(c, m, more) if m <= ENUMERATED else matched(c, m, room, more)
                out[i - first, j] = found if found < 1.0 else 1.0
            unmark(&mine, &place[0])
