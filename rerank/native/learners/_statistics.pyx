"""Statistics of items, the items that scores choose, and the sums of their statistics.

Sums are doubles. Those of counts are whole numbers below 2^53, exact in any order of additions. Other numbers
are added in the order of the lists.
"""

import numpy as np

from libc.math cimport fabs, isfinite

ctypedef fused order_t:
    unsigned char
    unsigned short
    int

ctypedef fused slope_t:
    float
    double

cdef double MOST = 1 << 30  # the difference of two such numbers fits 32 bits
cdef double MOST_SUM = 1LL << 51


cdef bint as_counts(const double[:, ::1] values, int[:, ::1] counts) noexcept nogil:
    """OUT counts (n, k): values as they are. Return whether all are whole numbers of at most 2^30."""
    cdef Py_ssize_t i, c
    cdef double value
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            value = values[i, c]
            if not fabs(value) <= MOST or <int> value != value:
                return False
            counts[i, c] = <int> value
    return True


cdef class Statistics:
    """The rows of statistics of all items.

    IN rows (n, k), float64 or int32; n_lists: so many rows are summed at most.

    Attributes
    ----------
    rows : ndarray (n, k)
        The statistics, int32 if these are whole numbers that fit, else float64.
    exact : bool
        Whether they are int32, and no sum of ``n_lists`` rows is rounded.
    """

    def __init__(self, rows, Py_ssize_t n_lists):
        cdef const int[:, ::1] counts
        cdef const double[:, ::1] values
        if rows.dtype != np.int32:
            rows = _narrowed(rows)
        if rows.dtype == np.int32:
            if _largest(rows) > min(MOST, MOST_SUM / max(n_lists, 1)):
                rows = rows.astype(np.float64)
        self.rows = rows
        self.exact = rows.dtype == np.int32
        self.table.width = rows.shape[1]
        self.table.counts = NULL
        self.table.values = NULL
        if self.exact:
            counts = rows
            self.table.counts = &counts[0, 0] if rows.size else NULL
        else:
            values = rows
            self.table.values = &values[0, 0] if rows.size else NULL
        self.held = rows

    def differing(self, const long long[::1] offsets, unsigned char[::1] differ):
        """OUT differ (n_lists): whether the rows of a list are not all alike."""
        cdef Py_ssize_t i
        cdef long long j
        cdef double[::1] change = np.empty(max(self.table.width, 1))
        with nogil:
            for i in range(offsets.shape[0] - 1):
                differ[i] = 0
                for j in range(offsets[i] + 1, offsets[i + 1]):
                    if difference(&self.table, offsets[i], j, &change[0]):
                        differ[i] = 1
                        break


def _narrowed(rows):
    """Return rows as int32 if they are whole numbers that fit."""
    counts = np.empty(rows.shape, dtype=np.int32)
    return counts if as_counts(rows, counts) else rows


cdef double _largest(const int[:, ::1] rows):
    """Return the largest absolute value."""
    cdef Py_ssize_t i, c
    cdef long long largest = 0, value
    with nogil:
        for i in range(rows.shape[0]):
            for c in range(rows.shape[1]):
                value = rows[i, c]
                value = -value if value < 0 else value
                largest = value if value > largest else largest
    return <double> largest


cdef inline long long first_largest(const double* scores, long long first, long long last) noexcept nogil:
    cdef long long best = first, j
    for j in range(first + 1, last):
        if scores[j] > scores[best]:
            best = j
    return best


cdef void add_up(
    const Table* table, const int[::1] lists, const int[::1] chosen, double[::1] sums
) noexcept nogil:
    """OUT sums (k): of the rows of the chosen items of ``lists``, in this order."""
    cdef Py_ssize_t i
    sums[:] = 0.0
    for i in range(lists.shape[0]):
        add_row(table, chosen[lists[i]], &sums[0])


def choose(
    Statistics statistics, const int[::1] lists, const long long[::1] offsets, const double[::1] scores,
    int[::1] chosen, double[::1] sums,
):
    """Choose the item of each list with the largest score, on ties the first, and sum their statistics.

    Return whether all scores are finite.

    IN lists: the numbers of lists, rising; offsets (all lists + 1); scores (n); OUT chosen (all lists; only
    ``lists`` are written), sums (k).
    """
    cdef Py_ssize_t i
    cdef long long j, last
    cdef bint finite = True
    with nogil:
        for i in range(lists.shape[0]):
            last = offsets[lists[i] + 1]
            for j in range(offsets[lists[i]], last):
                finite &= isfinite(scores[j]) != 0
            chosen[lists[i]] = <int> first_largest(&scores[0], offsets[lists[i]], last)
        add_up(&statistics.table, lists, chosen, sums)
    return finite


def advance(
    Statistics statistics, const int[::1] lists, const long long[::1] offsets, const int[::1] rising,
    const order_t[::1] order, const slope_t[::1] slopes, double gamma, double[::1] scores, int[::1] chosen,
    double[::1] sums,
):
    """Raise the scores of the lists ``rising`` by gamma times their slopes; choose and sum like ``choose``.

    IN rising, order, slopes as _rise returns them; INOUT scores, chosen and sums, which belong together.
    """
    cdef const Table* table = &statistics.table
    cdef double[::1] change = np.empty(max(table.width, 1))
    cdef Py_ssize_t i, c, at = 0
    cdef long long first, last, t
    cdef int item
    with nogil:
        for i in range(rising.shape[0]):
            first = offsets[rising[i]]
            last = offsets[rising[i] + 1]
            for t in range(last - first):
                scores[first + order[at + t]] += gamma * slopes[at + t]
            at += last - first
            item = <int> first_largest(&scores[0], first, last)
            if table.counts != NULL and difference(table, chosen[rising[i]], item, &change[0]):
                for c in range(table.width):
                    sums[c] += change[c]
            chosen[rising[i]] = item
        if table.counts == NULL:
            add_up(table, lists, chosen, sums)
