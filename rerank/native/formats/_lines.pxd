"""Pieces that kernels of several line formats share."""

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
