"""Sorting the columns of one row, which files mostly have in order."""

cdef enum:
    INSERTION = 24  # up to so many columns insertion is faster


cdef inline void put(int* columns, double* values, Py_ssize_t at, int column, double value) noexcept nogil:
    columns[at] = column
    if values != NULL:
        values[at] = value


cdef inline double value_at(const double* values, Py_ssize_t at) noexcept nogil:
    return values[at] if values != NULL else 0.0


cdef inline void sort_row(int* columns, double* values, Py_ssize_t n) noexcept nogil:
    """Sort columns in rising order, and their values if these are not NULL: no memory, no bad case."""
    cdef Py_ssize_t i = 1, start = n // 2, end = n, at, child
    cdef int column
    cdef double value
    while i < n and columns[i - 1] <= columns[i]:
        i += 1
    if i >= n:
        return
    if n <= INSERTION:
        for i in range(i, n):
            column = columns[i]
            value = value_at(values, i)
            at = i
            while at > 0 and columns[at - 1] > column:
                put(columns, values, at, columns[at - 1], value_at(values, at - 1))
                at -= 1
            put(columns, values, at, column, value)
        return
    while end > 1:  # a heap is built, then its largest column is put behind it
        if start > 0:
            start -= 1
            at = start
            column = columns[at]
            value = value_at(values, at)
        else:
            end -= 1
            at = 0
            column = columns[end]
            value = value_at(values, end)
            put(columns, values, end, columns[0], value_at(values, 0))
        child = 2 * at + 1
        while child < end:
            child += child + 1 < end and columns[child] < columns[child + 1]
            if column >= columns[child]:
                break
            put(columns, values, at, columns[child], value_at(values, child))
            at = child
            child = 2 * at + 1
        put(columns, values, at, column, value)
