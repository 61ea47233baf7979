"""Pieces that kernels of several line formats share."""

from libc.string cimport memcpy

ctypedef const unsigned char* Bytes

cdef extern from *:
    """
    #define RERANK_FLOAT32_END 3.4028235677973362e38  /* the largest double that rounds to a finite float */
    #define RERANK_FLOAT64_END 1.7976931348623157e308
    """
    const double FLOAT32_END "RERANK_FLOAT32_END"
    const double FLOAT64_END "RERANK_FLOAT64_END"


cdef inline bint is_blank(unsigned char c) noexcept nogil:
    """Whether c is a space, tab or carriage return."""
    return (c == c' ') | (c == c'\t') | (c == c'\r')


cdef inline unsigned char* put_string(
    unsigned char* out, const unsigned char[::1] data, const long long[::1] bounds, long long i
) noexcept nogil:
    """Copy string i of a column to ``out``; returns the place after it."""
    cdef long long length = bounds[i + 1] - bounds[i]
    if length:
        memcpy(out, &data[bounds[i]], length)
    return out + length
