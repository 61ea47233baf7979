"""Single rows of one layout: products with weights, steps along a row. _matrix.pxd chooses among them.

Every sum runs in the order of the features, so that a score has the same bits in every layout. In CSR rows
``data`` NULL means that every value is 1.
"""

ctypedef fused real:
    float
    double


cdef inline double dense_dot(const real* x, const double* w, Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t m
    cdef double total = 0.0
    for m in range(d):
        total += x[m] * w[m]
    return total


cdef inline void dense_dot4(
    const real* x0, const real* x1, const real* x2, const real* x3, const double* w, Py_ssize_t d, double* out
) noexcept nogil:
    """OUT out (4). Four independent chains of additions, each in the order of the features."""
    cdef Py_ssize_t m
    cdef double total0 = 0.0
    cdef double total1 = 0.0
    cdef double total2 = 0.0
    cdef double total3 = 0.0
    for m in range(d):
        total0 += x0[m] * w[m]
        total1 += x1[m] * w[m]
        total2 += x2[m] * w[m]
        total3 += x3[m] * w[m]
    out[0] = total0
    out[1] = total1
    out[2] = total2
    out[3] = total3


cdef inline double csr_dot(
    const int* indices, const double* data, long long first, long long last, const double* w, double total
) noexcept nogil:
    """Return ``total`` plus the products of a row."""
    cdef long long at
    if data == NULL:
        for at in range(first, last):
            total += w[indices[at]]
    else:
        for at in range(first, last):
            total += data[at] * w[indices[at]]
    return total


cdef inline void csr_dot2(
    const int* indices, const double* data, long long a, long long a_last, long long b, long long b_last,
    const double* w, double* out
) noexcept nogil:
    """INOUT out (2): the products of two rows are added, in two independent chains of additions."""
    cdef double total_a = out[0]
    cdef double total_b = out[1]
    cdef long long shift = b - a
    cdef long long both = a + min(a_last - a, b_last - b)
    if data == NULL:
        while a < both:
            total_a += w[indices[a]]
            total_b += w[indices[a + shift]]
            a += 1
    else:
        while a < both:
            total_a += data[a] * w[indices[a]]
            total_b += data[a + shift] * w[indices[a + shift]]
            a += 1
    out[0] = csr_dot(indices, data, a, a_last, w, total_a)
    out[1] = csr_dot(indices, data, a + shift, b_last, w, total_b)


cdef inline void csr_add(
    const int* indices, const double* data, long long first, long long last, double u, double t,
    double* w, double* drift
) noexcept nogil:
    """INOUT w += u * x, drift += t * u * x."""
    cdef long long at
    cdef double step
    for at in range(first, last):
        step = u if data == NULL else u * data[at]
        w[indices[at]] += step
        drift[indices[at]] += t * step


cdef inline long long csr_gather(
    const int* indices, const double* data, long long first, long long last, double u,
    double* delta, int* touched, long long n_touched
) noexcept nogil:
    """INOUT delta += u * x. Features whose delta was 0 are appended to touched; return its new length."""
    cdef long long at
    cdef int f
    for at in range(first, last):
        f = indices[at]
        touched[n_touched] = f
        n_touched += delta[f] == 0.0
        delta[f] += u if data == NULL else u * data[at]
    return n_touched


cdef inline Py_ssize_t csr_difference(
    const int* indices, const double* data, long long x, long long x_last, long long y, long long y_last,
    int* place, double* step
) noexcept nogil:
    """OUT place, step: the features that either row has, and x - y there. Return how many.

    There must be room for the values of both rows.
    """
    cdef Py_ssize_t n = 0
    cdef int f
    cdef double value
    while x < x_last or y < y_last:
        value = 0.0
        f = indices[x] if y == y_last or (x < x_last and indices[x] < indices[y]) else indices[y]
        if x < x_last and indices[x] == f:
            value = 1.0 if data == NULL else data[x]
            x += 1
        if y < y_last and indices[y] == f:
            value -= 1.0 if data == NULL else data[y]
            y += 1
        place[n] = f
        step[n] = value
        n += 1
    return n
