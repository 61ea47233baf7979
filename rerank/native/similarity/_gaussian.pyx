"""The overlap of two Gaussians, the integral of the square root of their product (Bhattacharyya)."""

from libc.math cimport exp, log, sqrt

import numpy as np

from rerank.native.similarity._cross cimport Vectors, mark, products, unmark


cdef inline double factorise(double* a, int n) noexcept nogil:
    """Return the logarithm of the determinant of a positive definite a (n, n). INOUT a: its upper triangle
    becomes R with a = R'R.
    """
    cdef int i, j, k
    cdef double f, total = 0.0
    for k in range(n):
        total += log(a[k * n + k])
        f = 1.0 / sqrt(a[k * n + k])
        for j in range(k, n):
            a[k * n + j] *= f
        for i in range(k + 1, n):
            f = a[k * n + i]
            for j in range(i, n):
                a[i * n + j] -= f * a[k * n + j]
    return total


cdef inline double solved_norm(const double* r, double* z, int n) noexcept nogil:
    """Return z'(R'R)^-1 z for the upper triangle R of r (n, n). INOUT z (n)."""
    cdef int j, k
    cdef double f, total = 0.0
    for k in range(n):
        f = z[k] / r[k * n + k]
        total += f * f
        for j in range(k + 1, n):
            z[j] -= r[k * n + j] * f
    return total


cdef inline double overlap(double distance, double joint, double a, double b) noexcept nogil:
    """Return the overlap from (mean - mean)' joint^-1 (mean - mean) and the logarithms of determinants."""
    cdef double found = exp(-0.125 * distance - 0.5 * (joint - 0.5 * (a + b)))
    return found if found < 1.0 else 1.0


cdef class Dense:
    """Gaussians of few features: means (n, d), covariances (n, d, d) and their log determinants (n)."""

    cdef const double[:, ::1] means
    cdef const double[:, :, ::1] covariances
    cdef const double[::1] determinants

    def __init__(
        self, const double[:, ::1] means, const double[:, :, ::1] covariances, const double[::1] determinants
    ):
        self.means = means
        self.covariances = covariances
        self.determinants = determinants

    def __reduce__(self):
        return Dense, (np.asarray(self.means), np.asarray(self.covariances), np.asarray(self.determinants))


def fill_dense(Dense x, Dense y, Py_ssize_t first, Py_ssize_t last, double[:, ::1] out):
    """Compute the overlaps of the Gaussians first:last of x with all of y, or with later ones if y is x.

    OUT out (last - first, of y).
    """
    cdef int d = <int> x.means.shape[1]
    cdef double[::1] space = np.empty(d * d + d)
    cdef double* joint = &space[0]
    cdef double* apart = &space[d * d]
    cdef const double* a
    cdef const double* b
    cdef double determinant
    cdef bint same = x is y
    cdef Py_ssize_t i, j, k
    with nogil:
        for i in range(first, last):
            for j in range(i if same else 0, y.means.shape[0]):
                if same and i == j:
                    out[i - first, j] = 1.0
                    continue
                a = &x.covariances[i, 0, 0]
                b = &y.covariances[j, 0, 0]
                for k in range(d * d):
                    joint[k] = 0.5 * (a[k] + b[k])
                for k in range(d):
                    apart[k] = x.means[i, k] - y.means[j, k]
                determinant = factorise(joint, d)
                out[i - first, j] = overlap(
                    solved_norm(joint, apart, d), determinant, x.determinants[i], y.determinants[j]
                )


cdef class LowRank:
    """Gaussians with a covariance of few axes plus a ridge r, over many features.

    columns : int32 (t), those that occur in list i, rising, at bounds[i]:bounds[i + 1]
    values : float64, from starts[i] on: in each of these columns ranks[i] axes, each times the root of its
        eigenvalue / 2r, and the mean divided by the root of r
    ranks : int32 (n), axes of each Gaussian
    own : float64 (ranks in all, 2), from places[i] on: each of these axes times this mean, eigenvalue / 2r
    totals : float64 (n, 2), log det of the covariance / r, and this mean's squared length
    """

    cdef const int[::1] columns
    cdef const long long[::1] bounds
    cdef const double[::1] values
    cdef const long long[::1] starts
    cdef const int[::1] ranks
    cdef const long long[::1] places
    cdef const double[:, ::1] own, totals

    def __init__(self, columns, bounds, values, starts, ranks, places, own, totals):
        self.columns = columns
        self.bounds = bounds
        self.values = values
        self.starts = starts
        self.ranks = ranks
        self.places = places
        self.own = own
        self.totals = totals

    def __reduce__(self):
        columns = (np.asarray(self.columns), np.asarray(self.bounds))
        values = (np.asarray(self.values), np.asarray(self.starts), np.asarray(self.ranks))
        others = (np.asarray(self.places), np.asarray(self.own), np.asarray(self.totals))
        return LowRank, (*columns, *values, *others)

    cdef inline Vectors of(self, Py_ssize_t i) noexcept nogil:
        cdef Vectors found
        found.n = self.bounds[i + 1] - self.bounds[i]
        found.m = self.ranks[i] + 1
        found.columns = NULL
        found.values = NULL
        if found.n:
            found.columns = &self.columns[self.bounds[i]]
            found.values = &self.values[self.starts[i]]
        return found


cdef inline double pair(
    LowRank x, LowRank y, Py_ssize_t i, Py_ssize_t j, const double* cross, double* joint, double* z
) noexcept nogil:
    """Return the overlap of Gaussian i of x and j of y.

    The joint covariance / r is 1 + BB' with B the axes of both. Its determinant is that of 1 + B'B, and with
    z = B'd, d the difference of the means, d'(1 + BB')^-1 d = d'd - z'(1 + B'B)^-1 z. IN cross: inner
    products of the vectors of both. ROOM joint (ranks, ranks), z (ranks).
    """
    cdef int p = x.ranks[i], q = y.ranks[j]
    cdef int n = p + q, a, b
    cdef double determinant
    cdef double between = x.totals[i, 1] + y.totals[j, 1] - 2.0 * cross[p * (q + 1) + q]
    for a in range(n * n):
        joint[a] = 0.0
    for a in range(p):
        joint[a * n + a] = 1.0 + x.own[x.places[i] + a, 1]
        for b in range(q):
            joint[a * n + p + b] = cross[a * (q + 1) + b]
        z[a] = x.own[x.places[i] + a, 0] - cross[a * (q + 1) + q]
    for b in range(q):
        joint[(p + b) * n + p + b] = 1.0 + y.own[y.places[j] + b, 1]
        z[p + b] = cross[p * (q + 1) + b] - y.own[y.places[j] + b, 0]
    determinant = factorise(joint, n)
    between -= solved_norm(joint, z, n)
    return overlap(between if between > 0.0 else 0.0, determinant, x.totals[i, 0], y.totals[j, 0])


def fill_low_rank(
    LowRank x, LowRank y, Py_ssize_t first, Py_ssize_t last, int n_columns, int rank, double[:, ::1] out
):
    """What ``fill_dense`` does, for ranks up to ``rank`` and columns below ``n_columns``."""
    cdef int[::1] place = np.full(max(n_columns, 1), -1, dtype=np.int32)
    cdef double[::1] space = np.empty((rank + 1) * (rank + 1) + 4 * rank * rank + 2 * rank)
    cdef double* cross = &space[0]
    cdef double* joint = cross + (rank + 1) * (rank + 1)
    cdef double* z = joint + 4 * rank * rank
    cdef bint same = x is y
    cdef Vectors mine, theirs
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(first, last):
            mine = x.of(i)
            mark(&mine, &place[0])
            for j in range(i if same else 0, y.ranks.shape[0]):
                if same and i == j:
                    out[i - first, j] = 1.0
                    continue
                theirs = y.of(j)
                products(&mine, &place[0], &theirs, cross)
                out[i - first, j] = pair(x, y, i, j, cross, joint, z)
            unmark(&mine, &place[0])
