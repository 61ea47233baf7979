"""Single rows of one layout: products with weights, steps along a row. _matrix.pxd chooses among them.

Every sum runs in the order of the features, so that a score has the same bits in every layout. In CSR rows
``data`` NULL means that every value is 1.
"""

ctypedef fused real:
    float
    double

# What names a feature: its column, or a number within its list.
ctypedef fused place:
    int
    unsigned short


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
    cdef double total0 = 0.0, total1 = 0.0, total2 = 0.0, total3 = 0.0
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
    const place* indices, const double* data, long long first, long long last, const double* w, double total
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


cdef inline void csr_dot4(
    const place* indices, const double* data, const long long* begin, const long long* end, const double* w,
    double* out,
) noexcept nogil:
    """INOUT out (4): the products of four rows are added, in four independent chains of additions."""
    cdef double total0 = out[0], total1 = out[1], total2 = out[2], total3 = out[3]
    cdef const place* i0 = indices + begin[0]
    cdef const place* i1 = indices + begin[1]
    cdef const place* i2 = indices + begin[2]
    cdef const place* i3 = indices + begin[3]
    cdef const double* x0
    cdef const double* x1
    cdef const double* x2
    cdef const double* x3
    cdef long long n = min(
        min(end[0] - begin[0], end[1] - begin[1]), min(end[2] - begin[2], end[3] - begin[3])
    )
    cdef long long m
    if data == NULL:
        for m in range(n):
            total0 += w[i0[m]]
            total1 += w[i1[m]]
            total2 += w[i2[m]]
            total3 += w[i3[m]]
    else:
        x0 = data + begin[0]
        x1 = data + begin[1]
        x2 = data + begin[2]
        x3 = data + begin[3]
        for m in range(n):
            total0 += x0[m] * w[i0[m]]
            total1 += x1[m] * w[i1[m]]
            total2 += x2[m] * w[i2[m]]
            total3 += x3[m] * w[i3[m]]
    out[0] = csr_dot(indices, data, begin[0] + n, end[0], w, total0)
    out[1] = csr_dot(indices, data, begin[1] + n, end[1], w, total1)
    out[2] = csr_dot(indices, data, begin[2] + n, end[2], w, total2)
    out[3] = csr_dot(indices, data, begin[3] + n, end[3], w, total3)


cdef inline void csr_add(
    const place* indices, const double* data, long long first, long long last, double u, double t, double* w,
    double* drift,
) noexcept nogil:
    """INOUT w += u * x, drift += t * u * x."""
    cdef long long at
    cdef double step
    for at in range(first, last):
        step = u if data == NULL else u * data[at]
        w[indices[at]] += step
        drift[indices[at]] += t * step


cdef inline long long csr_gather(
    const int* indices, const double* data, long long first, long long last, double u, double* delta,
    int* touched, long long n_touched,
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
    int* place, double* step,
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
