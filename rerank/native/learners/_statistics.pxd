"""The statistics of items, whole numbers or not: rows of a table, their differences and sums."""


cdef struct Table:
    const int* counts  # NULL if the numbers are doubles
    const double* values
    Py_ssize_t width


cdef class Statistics:
    """Statistics of all items, counts or doubles; see _statistics.pyx."""

    cdef Table table
    cdef object held
    cdef readonly object rows
    cdef readonly bint exact


cdef inline bint difference(const Table* table, Py_ssize_t old, Py_ssize_t new, double* out) noexcept nogil:
    """OUT out (width): the row of item ``new`` less that of ``old``. Return whether the rows differ.

    Doubles differ if their bits do; 0.0 and -0.0 are alike.
    """
    cdef Py_ssize_t c, k = table.width
    cdef int apart = 0, change
    cdef const int* a
    cdef const int* b
    cdef const double* x
    cdef const double* y
    if table.counts != NULL:
        a = table.counts + old * k
        b = table.counts + new * k
        for c in range(k):
            change = b[c] - a[c]
            out[c] = change
            apart |= change
        return apart != 0
    x = table.values + old * k
    y = table.values + new * k
    for c in range(k):
        out[c] = y[c] - x[c]
        # NaN differs from itself; its difference is NaN as well.
        apart |= not x[c] == y[c]
    return apart != 0


cdef inline void add_row(const Table* table, Py_ssize_t item, double* sums) noexcept nogil:
    """INOUT sums (width): plus the row of an item."""
    cdef Py_ssize_t c, at = item * table.width
    if table.counts != NULL:
        for c in range(table.width):
            sums[c] += table.counts[at + c]
    else:
        for c in range(table.width):
            sums[c] += table.values[at + c]
