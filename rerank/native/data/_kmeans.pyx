"""k-means of numbers, exact: the best clusters of sorted numbers are ranges, found by dynamic programming.

The cost of a range is the sum of its squared distances to its mean. Let D(c, i) be the least cost of the
first i values in c ranges. The start of the last range never moves back as i grows, so each c takes
O(n log n) by divide and conquer (Wu 1991; Groenlund et al. 2017).
"""

from libc.math cimport INFINITY, fabs


cdef inline double _spread(const double[:, ::1] sums, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """Cost of the values a..b-1, from running sums of weight, w * v and w * v * v."""
    cdef double weight = sums[0, b] - sums[0, a]
    cdef double total = sums[1, b] - sums[1, a]
    cdef double cost = sums[2, b] - sums[2, a] - total * total / weight
    return cost if cost > 0.0 else 0.0


cdef void _last_range(
    const double[:, ::1] sums, const double[::1] before, double[::1] cost, int[::1] start, Py_ssize_t low,
    Py_ssize_t high, Py_ssize_t first, Py_ssize_t last,
) noexcept nogil:
    """OUT cost[i], start[i] for low <= i <= high: the last range begins in first..last."""
    cdef Py_ssize_t middle = (low + high) // 2
    cdef Py_ssize_t at = first, s
    cdef double least = INFINITY, here
    if low > high:
        return
    for s in range(first, min(last, middle - 1) + 1):
        here = before[s] + _spread(sums, s, middle)
        if here < least:
            least = here
            at = s
    cost[middle] = least
    start[middle] = <int> at
    _last_range(sums, before, cost, start, low, middle - 1, first, at)
    _last_range(sums, before, cost, start, middle + 1, high, at, last)


cdef void _running_sums(
    const double[::1] values, const double[::1] weights, Py_ssize_t begin, Py_ssize_t n, double[:, ::1] sums
) noexcept nogil:
    """OUT sums (3, n + 1) of values shifted and scaled into [-1, 1], to keep most digits."""
    cdef double largest = max(fabs(values[begin]), fabs(values[begin + n - 1]))
    cdef double middle = 0.5 * (values[begin] / largest + values[begin + n - 1] / largest)
    cdef double half = 0.5 * (values[begin + n - 1] / largest - values[begin] / largest)
    cdef double value
    cdef Py_ssize_t i
    sums[0, 0] = sums[1, 0] = sums[2, 0] = 0.0
    for i in range(n):
        value = (values[begin + i] / largest - middle) / half
        sums[0, i + 1] = sums[0, i] + weights[begin + i]
        sums[1, i + 1] = sums[1, i] + weights[begin + i] * value
        sums[2, i + 1] = sums[2, i] + weights[begin + i] * value * value


def nearest_means(
    const double[::1] values, const double[::1] weights, const long long[::1] offsets, double[:, ::1] sums,
    double[:, ::1] costs, int[:, ::1] starts, int[::1] levels,
):
    """OUT levels[i]: the cluster of values[i] in its segment, 0 for that of the smallest values.

    Each segment is divided into k clusters, k = rows of starts, or one per value if it has at most k. On
    ties between clusterings the higher clusters begin as early as possible.

    IN values (n), strictly increasing within each segment; weights (n) above 0; offsets (n_segments + 1).
    SCRATCH sums (3, longest + 1), costs (2, longest + 1), starts (k, longest + 1). OUT levels (n).
    """
    cdef Py_ssize_t k = starts.shape[0]
    cdef Py_ssize_t i, n, c, at, end
    cdef long long begin
    with nogil:
        for i in range(offsets.shape[0] - 1):
            begin = offsets[i]
            n = offsets[i + 1] - begin
            if n <= k:
                for at in range(n):
                    levels[begin + at] = <int> at
                continue
            _running_sums(values, weights, begin, n, sums)
            for at in range(1, n + 1):
                costs[0, at] = _spread(sums, 0, at)
            for c in range(1, k):
                _last_range(sums, costs[(c - 1) % 2], costs[c % 2], starts[c], c + 1, n, c, n - 1)
            end = n
            for c in range(k - 1, -1, -1):
                begin = starts[c, end] if c else 0
                for at in range(begin, end):
                    levels[offsets[i] + at] = <int> c
                end = begin
