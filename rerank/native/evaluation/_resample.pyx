"""Sums of rows drawn with repetition: what a bootstrap over lists does, whatever the metric.

The sum of a sample adds its rows in the order in which they were drawn, one after the other, so that
the result has the same bits for any block width and any number of jobs.
"""


cdef inline void _block(
    const double[:, ::1] rows, const int[:, ::1] draws, Py_ssize_t b, Py_ssize_t c, double[:, ::1] out
) noexcept nogil:
    """Columns c..c + 7 of sample b, in registers."""
    cdef Py_ssize_t t
    cdef const double* row
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0, s5 = 0.0, s6 = 0.0, s7 = 0.0
    for t in range(draws.shape[1]):
        row = &rows[draws[b, t], c]
        s0 += row[0]
        s1 += row[1]
        s2 += row[2]
        s3 += row[3]
        s4 += row[4]
        s5 += row[5]
        s6 += row[6]
        s7 += row[7]
    out[b, c] = s0
    out[b, c + 1] = s1
    out[b, c + 2] = s2
    out[b, c + 3] = s3
    out[b, c + 4] = s4
    out[b, c + 5] = s5
    out[b, c + 6] = s6
    out[b, c + 7] = s7


cdef inline void _pair(
    const double[:, ::1] rows, const int[:, ::1] draws, Py_ssize_t b, Py_ssize_t c, double[:, ::1] out
) noexcept nogil:
    """Columns c and c + 1 of sample b."""
    cdef Py_ssize_t t
    cdef const double* row
    cdef double s0 = 0.0, s1 = 0.0
    for t in range(draws.shape[1]):
        row = &rows[draws[b, t], c]
        s0 += row[0]
        s1 += row[1]
    out[b, c] = s0
    out[b, c + 1] = s1


def resampled_sums(const double[:, ::1] rows, const int[:, ::1] draws, double[:, ::1] out):
    """OUT out[b] = sum over t of rows[draws[b, t]].

    IN rows (n, width), width even; draws (n_samples, n_drawn), entries in 0..n-1; OUT out
    (n_samples, width).
    """
    cdef Py_ssize_t b, c
    with nogil:
        for b in range(draws.shape[0]):
            c = 0
            while c + 8 <= rows.shape[1]:
                _block(rows, draws, b, c, out)
                c += 8
            while c + 2 <= rows.shape[1]:
                _pair(rows, draws, b, c, out)
                c += 2
