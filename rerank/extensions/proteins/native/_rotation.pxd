"""The rotation that superposes one set of points on another with the least squares of distances.

Horn (1987): it is the quaternion that belongs to the largest eigenvalue of a symmetric matrix (4, 4) of the
points' moments. Theobald (2005): that eigenvalue by Newton's method on the characteristic polynomial. If the
largest eigenvalues nearly meet, they come from Jacobi's method, and it is reported whether they are one.
"""

from libc.math cimport fabs, sqrt

cdef enum:
    MOMENTS = 16  # sums of ax ay az bx by bz, |a|² + |b|², then ax·bx ax·by ax·bz ay·bx ... az·bz

cdef struct Placement:
    double r[9]  # rotation of a, row by row
    double t[3]  # then shift


cdef inline void jacobi(double* k, double* v) noexcept nogil:
    """Diagonalise a symmetric matrix: IN/OUT k (4, 4), on exit the eigenvalues; OUT v (4, 4), columns."""
    cdef int _sweep, i, j, m
    cdef double off, size, theta, t, c, s, x, y
    for i in range(16):
        v[i] = 1.0 if i % 5 == 0 else 0.0
    for _sweep in range(30):
        off = size = 0
        for i in range(4):
            size += k[5 * i] * k[5 * i]
            for j in range(i):
                off += k[4 * i + j] * k[4 * i + j]
        if off <= 1e-36 * size:
            return
        for i in range(3):
            for j in range(i + 1, 4):
                if k[4 * i + j] == 0:
                    continue
                theta = (k[5 * j] - k[5 * i]) / (2 * k[4 * i + j])
                t = (1.0 if theta >= 0 else -1.0) / (fabs(theta) + sqrt(theta * theta + 1))
                c = 1 / sqrt(t * t + 1)
                s = t * c
                for m in range(4):
                    x = k[4 * m + i]
                    y = k[4 * m + j]
                    k[4 * m + i] = c * x - s * y
                    k[4 * m + j] = s * x + c * y
                for m in range(4):
                    x = k[4 * i + m]
                    y = k[4 * j + m]
                    k[4 * i + m] = c * x - s * y
                    k[4 * j + m] = s * x + c * y
                    x = v[4 * m + i]
                    y = v[4 * m + j]
                    v[4 * m + i] = c * x - s * y
                    v[4 * m + j] = s * x + c * y


cdef inline void horn(const double* s, double* k) noexcept nogil:
    """OUT k (4, 4): Horn's matrix of the covariances s (3, 3)."""
    k[0] = s[0] + s[4] + s[8]
    k[5] = s[0] - s[4] - s[8]
    k[10] = s[4] - s[0] - s[8]
    k[15] = s[8] - s[0] - s[4]
    k[1] = k[4] = s[5] - s[7]
    k[2] = k[8] = s[6] - s[2]
    k[3] = k[12] = s[1] - s[3]
    k[6] = k[9] = s[1] + s[3]
    k[7] = k[13] = s[6] + s[2]
    k[11] = k[14] = s[5] + s[7]


cdef inline double minors(const double* k, double x, double* s, double* c) noexcept nogil:
    """OUT s (6), c (6): 2 x 2 minors of the first and the last two rows of k - x; gives its determinant."""
    cdef double a0 = k[0] - x
    cdef double a1 = k[5] - x
    cdef double a2 = k[10] - x
    cdef double a3 = k[15] - x
    s[0] = a0 * a1 - k[1] * k[1]
    s[1] = a0 * k[6] - k[1] * k[2]
    s[2] = a0 * k[7] - k[1] * k[3]
    s[3] = k[1] * k[6] - a1 * k[2]
    s[4] = k[1] * k[7] - a1 * k[3]
    s[5] = k[2] * k[7] - k[6] * k[3]
    c[0] = s[5]
    c[1] = k[2] * k[11] - k[3] * a2
    c[2] = k[2] * a3 - k[3] * k[11]
    c[3] = k[6] * k[11] - k[7] * a2
    c[4] = k[6] * a3 - k[7] * k[11]
    c[5] = a2 * a3 - k[11] * k[11]
    return s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0]


cdef inline bint by_newton(const double* m, const double* k, double* q) noexcept nogil:
    """OUT q (4): the quaternion for covariances m (3, 3) and their matrix k; False if it is not precise."""
    cdef double s[6]
    cdef double c[6]
    cdef double d[16]
    cdef double square = 0, c1, c0, x, slope, step, norm
    cdef int i, row = 0, _turn
    for i in range(9):
        square += m[i] * m[i]
    if not square > 0:
        return False
    c1 = -8 * (
        m[0] * (m[4] * m[8] - m[5] * m[7])
        - m[1] * (m[3] * m[8] - m[5] * m[6])
        + m[2] * (m[3] * m[7] - m[4] * m[6])
    )
    c0 = minors(k, 0, s, c)
    x = sqrt(3 * square)  # no eigenvalue is larger; the steps fall to the largest
    for _turn in range(50):
        slope = (4 * x * x - 4 * square) * x + c1
        if not slope >= 1e-2 * x * x * x:
            return False
        step = (((x * x - 2 * square) * x + c1) * x + c0) / slope
        x -= step
        if fabs(step) <= 1e-13 * x:
            break
    minors(k, x, s, c)
    d[0] = (k[5] - x) * c[5] - k[6] * c[4] + k[7] * c[3]
    d[1] = d[4] = k[2] * c[4] - k[1] * c[5] - k[3] * c[3]
    d[2] = d[8] = k[7] * s[5] - k[11] * s[4] + (k[15] - x) * s[3]
    d[3] = d[12] = (k[10] - x) * s[4] - k[6] * s[5] - k[11] * s[3]
    d[5] = (k[0] - x) * c[5] - k[2] * c[2] + k[3] * c[1]
    d[6] = d[9] = k[11] * s[2] - k[3] * s[5] - (k[15] - x) * s[1]
    d[7] = d[13] = k[2] * s[5] - (k[10] - x) * s[2] + k[11] * s[1]
    d[10] = k[3] * s[4] - k[7] * s[2] + (k[15] - x) * s[0]
    d[11] = d[14] = k[6] * s[2] - k[2] * s[4] - k[11] * s[0]
    d[15] = k[2] * s[3] - k[6] * s[1] + (k[10] - x) * s[0]
    for i in range(1, 4):  # each row of the adjugate is the eigenvector; the longest is the most precise
        if fabs(d[5 * i]) > fabs(d[5 * row]):
            row = i
    norm = 0
    for i in range(4):
        norm += d[4 * row + i] * d[4 * row + i]
    if not norm > 0:
        return False
    norm = 1 / sqrt(norm)
    for i in range(4):
        q[i] = d[4 * row + i] * norm
    return True


cdef inline bint by_jacobi(double* k, double* q, int free) noexcept nogil:
    """OUT q (4): the quaternion of Horn's matrix k, which is destroyed; False if another is as good.

    ``free``: 1 = all points of a set are on a line, so that a turn about it is harmless, 2 = all are one.
    """
    cdef double v[16]
    cdef int best = 0, i, close = 0
    jacobi(k, v)
    for i in range(1, 4):
        if k[5 * i] > k[5 * best]:
            best = i
    for i in range(4):
        q[i] = v[4 * i + best]
        close += k[5 * best] - k[5 * i] <= 1e-4 * fabs(k[5 * best])
    return close <= 1 + free


cdef inline bint place(const double* m, double n, int free, Placement* p) noexcept nogil:
    """OUT p: the rotation and shift of a onto b for the sums m (MOMENTS) of points of weight n.

    False if they do not determine one; p is then one of several that are as good. ``free``: see by_jacobi.
    """
    cdef double s[9]
    cdef double k[16]
    cdef double q[4]
    cdef double inverse = 1 / n
    cdef double spread = m[6], norm
    cdef bint unique
    cdef int i, j
    for i in range(3):
        spread -= (m[i] * m[i] + m[3 + i] * m[3 + i]) * inverse
        for j in range(3):
            s[3 * i + j] = m[7 + 3 * i + j] - m[i] * m[3 + j] * inverse
    horn(s, k)
    unique = by_newton(s, k, q)
    if not unique:
        unique = by_jacobi(k, q, free)
    p.r[0] = q[0] * q[0] + q[1] * q[1] - q[2] * q[2] - q[3] * q[3]
    p.r[1] = 2 * (q[1] * q[2] - q[0] * q[3])
    p.r[2] = 2 * (q[1] * q[3] + q[0] * q[2])
    p.r[3] = 2 * (q[1] * q[2] + q[0] * q[3])
    p.r[4] = q[0] * q[0] - q[1] * q[1] + q[2] * q[2] - q[3] * q[3]
    p.r[5] = 2 * (q[2] * q[3] - q[0] * q[1])
    p.r[6] = 2 * (q[1] * q[3] - q[0] * q[2])
    p.r[7] = 2 * (q[2] * q[3] + q[0] * q[1])
    p.r[8] = q[0] * q[0] - q[1] * q[1] - q[2] * q[2] + q[3] * q[3]
    for i in range(3):
        p.t[i] = inverse * (m[3 + i] - p.r[3 * i] * m[0] - p.r[3 * i + 1] * m[1] - p.r[3 * i + 2] * m[2])
    # Covariances that are only rounding determine nothing.
    norm = 0
    for i in range(9):
        norm += s[i] * s[i]
    return free == 2 or (unique and norm > 1e-18 * spread * spread)
