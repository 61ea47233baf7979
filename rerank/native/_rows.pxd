"""Rows of feature matrices: products with weights, steps along a row.

Every sum runs in the order of the features, so that a score has the same bits wherever it is computed.
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
    """Four products at once: four chains of additions, each in the order of the features."""
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
    const int* indices, const double* data, long long first, long long last, const double* w
) noexcept nogil:
    """data NULL stands for all ones."""
    cdef long long at
    cdef double total = 0.0
    if data == NULL:
        for at in range(first, last):
            total += w[indices[at]]
    else:
        for at in range(first, last):
            total += data[at] * w[indices[at]]
    return total


cdef inline void csr_add(
    const int* indices, const double* data, long long first, long long last, double u, double t,
    double* w, double* drift
) noexcept nogil:
    """OUT w += u * x, drift += t * u * x; data NULL stands for all ones."""
    cdef long long at
    cdef double step
    for at in range(first, last):
        step = u if data == NULL else u * data[at]
        w[indices[at]] += step
        drift[indices[at]] += t * step
