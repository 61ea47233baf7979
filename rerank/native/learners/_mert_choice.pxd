"""The choice of the best interval of a line search, and the cost of its point."""

from libc.math cimport INFINITY
from libc.math cimport fabs
from libc.math cimport sqrt
from rerank.native.data._sums cimport ADD
from rerank.native.data._sums cimport ORDERS


cdef struct Choice:
    double objective
    double lower
    double upper


# The penalty of a point of the line: strength * |u - u0|^2 of unit vectors u and u0.
cdef struct Penalty:
    double strength
    double square  # |w|^2
    double product  # w . direction
    double step  # |direction|^2
    double here  # w . u0
    double along  # direction . u0


cdef inline double within(double lower, double upper, double unit) noexcept nogil:
    """Return the point that represents an interval: its middle, or a unit beyond its only end."""
    if lower == -INFINITY:
        return 0.0 if upper == INFINITY else upper - unit
    return lower + unit if upper == INFINITY else lower + 0.5 * (upper - lower)


cdef inline double cost(double gamma, const Penalty* p) noexcept nogil:
    cdef double square
    if p.strength == 0.0:
        return 0.0
    square = p.square + gamma * (2.0 * p.product + gamma * p.step)
    if not square > 0.0:
        return p.strength
    return p.strength * (2.0 - 2.0 * (p.here + gamma * p.along) / sqrt(square))


cdef inline bint wide(double lower, double upper, double unit) noexcept nogil:
    """Return whether an interval is wider than rounding; a narrower one may contain no weights."""
    if lower == -INFINITY or upper == INFINITY:
        return True
    return upper - lower > 1e-11 * (unit + fabs(lower) + fabs(upper))


cdef inline double from_zero(double lower, double upper) noexcept nogil:
    """Return the distance of an interval from gamma = 0."""
    if lower > 0.0:
        return lower
    return -upper if upper < 0.0 else 0.0


cdef inline void consider(
    double value, double lower, double upper, double unit, const Penalty* penalty, Choice* best
) noexcept nogil:
    """INOUT best: the interval with the larger objective; on ties the nearest to 0, the widest, the lowest.

    A larger value is better; NaN is never chosen.
    """
    cdef double objective = value - cost(within(lower, upper, unit), penalty)
    cdef double gap
    cdef double best_gap
    if not objective >= best.objective or objective == -INFINITY:
        return
    if objective == best.objective:
        gap = from_zero(lower, upper)
        best_gap = from_zero(best.lower, best.upper)
        if gap > best_gap or (gap == best_gap and not upper - lower > best.upper - best.lower):
            return
    best.objective = objective
    best.lower = lower
    best.upper = upper


cdef inline bint cannot_beat(const double* sums, double method, double floor) noexcept nogil:
    """Return whether BLEU of sums is certainly below a value, without log and exp.

    floor is (value / 100)^4 less a share far above the rounding of either.
    """
    cdef double product
    cdef double total
    cdef double short_by
    if floor <= 0.0 or method == ADD or not (sums[0] > 0.0 and sums[1] > 0.0 and sums[2] > 0.0):
        return False
    if not sums[3] > 0.0:
        return False
    product = sums[0] * sums[1] * sums[2] * sums[3]
    total = sums[ORDERS] * sums[ORDERS + 1] * sums[ORDERS + 2] * sums[ORDERS + 3]
    if sums[8] < sums[9]:
        short_by = 4.0 * (sums[9] / sums[8] - 1.0)
        total *= 1.0 + short_by * (1.0 + 0.5 * short_by)  # at most exp(short_by)
    return product < floor * total
