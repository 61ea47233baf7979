"""The choice of the best interval of a line search, and the cost of its point."""

from libc.math cimport INFINITY, fabs, sqrt
from rerank.native.data._sums cimport ADD, BLEU, CHRF, ORDERS, RATIO, score_of


cdef inline double slack() noexcept nogil:
    """Return the share by which values are lowered before bounds are compared, far above all rounding."""
    return 1e-9


cdef struct Choice:
    double objective, lower, upper


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

    A larger value is better; NaN is never chosen. The order of calls does not matter.
    """
    cdef double objective = value - cost(within(lower, upper, unit), penalty)
    cdef double gap, best_gap
    if not objective >= best.objective or objective == -INFINITY:
        return
    if objective == best.objective:
        gap = from_zero(lower, upper)
        best_gap = from_zero(best.lower, best.upper)
        if gap > best_gap:
            return
        if gap == best_gap and not upper - lower > best.upper - best.lower:
            if upper - lower < best.upper - best.lower or not lower < best.lower:
                return
    best.objective = objective
    best.lower = lower
    best.upper = upper


cdef inline double floor_of(double objective) noexcept nogil:
    """Return what ``cannot_beat`` compares BLEU with; 0 if everything may beat the objective."""
    cdef double floor = 0.01 * objective
    if not objective > 0.0:
        return 0.0
    floor = floor * floor
    return floor * floor * (1.0 - slack())


cdef inline double most_of(
    int kind, int better, double a, double b, double floor, const double* low, const double* high,
    double* mixed,
) noexcept nogil:
    """Return a bound of the objective of all sums between low and high (k), infinite if none is known.

    It is -infinity if BLEU is certainly below ``floor`` (see ``floor_of``). OUT mixed (k): its sums.
    """
    if kind == RATIO:
        return most_of_ratio(a * better, low, high)
    if kind == BLEU and better > 0 and best_bleu(low, high, <int> a, b, mixed):
        return -INFINITY if cannot_beat(mixed, a, floor) else score_of(kind, mixed, a, b)
    if kind == CHRF and better > 0 and best_chrf(low, high, <int> a, mixed):
        return score_of(kind, mixed, a, b)
    return INFINITY


cdef inline double most_of_ratio(double factor, const double* low, const double* high) noexcept nogil:
    """Return the largest ``factor`` * sums[0] / sums[1]."""
    cdef double top = factor * high[0] if factor > 0.0 else factor * low[0]
    if not low[1] > 0.0:
        return INFINITY
    return top / low[1] if top > 0.0 else top / high[1]


cdef inline bint best_bleu(
    const double* low, const double* high, int method, double value, double* mixed
) noexcept nogil:
    """OUT mixed (10): the sums of the largest BLEU; return whether there are any.

    Where all counts are positive, only add-k smooths.
    """
    cdef int c
    for c in range(2 * ORDERS + 1):
        if not low[c] > 0.0:
            return False
        mixed[c] = high[c] if c < ORDERS or c == 2 * ORDERS else low[c]
    mixed[9] = low[9]
    return method != ADD or value >= 0.0


cdef inline bint best_chrf(const double* low, const double* high, int orders, double* mixed) noexcept nogil:
    """OUT mixed (3 * orders): the sums of the largest chrF; return whether there are any.

    Precision and recall are then means over all orders, and F rises with both.
    """
    cdef int n
    for n in range(orders):
        if not (low[3 * n] > 0.0 and low[3 * n + 1] > 0.0 and low[3 * n + 2] >= 0.0):
            return False
        mixed[3 * n] = low[3 * n]
        mixed[3 * n + 1] = low[3 * n + 1]
        mixed[3 * n + 2] = high[3 * n + 2]
    return True


cdef inline bint surely_below(double bound, double best) noexcept nogil:
    """Return whether a bound is below a value by more than both are rounded."""
    return bound == -INFINITY or bound < best - slack() * (fabs(bound) + fabs(best))


cdef inline bint cannot_beat(const double* sums, double method, double floor) noexcept nogil:
    """Return whether BLEU of sums is certainly below a value, without log and exp.

    floor is (value / 100)^4 less a share far above the rounding of either.
    """
    cdef double product, total, short_by
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
