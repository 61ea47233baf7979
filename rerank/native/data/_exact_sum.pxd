"""Sums of doubles that are rounded once, equal to math.fsum's in every bit."""

from libc.math cimport fabs

cdef enum:
    MOST_PARTIALS = 64  # 40 are needed


cdef inline bint add_exactly(double* partials, int* n, double x) noexcept nogil:
    """Add x to a sum kept as partials that do not overlap (Shewchuk, 1997); False if it is too large."""
    cdef int kept = 0, k
    cdef double y, high, low
    for k in range(n[0]):
        y = partials[k]
        if fabs(x) < fabs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            partials[kept] = low
            kept += 1
        x = high
    if x != 0.0:
        if kept == MOST_PARTIALS or fabs(x) > 1e300:
            return False
        partials[kept] = x
        kept += 1
    n[0] = kept
    return True


cdef inline double sum_of(const double* partials, int n) noexcept nogil:
    """The partials' sum, rounded once, as math.fsum does it."""
    cdef double high = 0.0, low = 0.0, x, y
    if n == 0:
        return 0.0
    n -= 1
    high = partials[n]
    while n > 0:
        x = high
        n -= 1
        y = partials[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and ((low < 0.0 and partials[n - 1] < 0.0) or (low > 0.0 and partials[n - 1] > 0.0)):
        y = low * 2.0
        x = high + y
        if y == x - high:
            high = x
    return high
