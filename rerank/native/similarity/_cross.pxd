"""Vectors of lists over the columns that occur in each, and the inner products between two lists' vectors."""


cdef struct Vectors:
    const int* columns  # (n): rising
    const double* values  # (n, m): the values of the m vectors in each column
    Py_ssize_t n
    int m


cdef inline void mark(const Vectors* x, int* place) noexcept nogil:
    """INOUT place (columns of all lists), -1: the place of each column of a list among its own."""
    cdef Py_ssize_t i
    for i in range(x.n):
        place[x.columns[i]] = <int> i


cdef inline void unmark(const Vectors* x, int* place) noexcept nogil:
    """INOUT place: -1 again."""
    cdef Py_ssize_t i
    for i in range(x.n):
        place[x.columns[i]] = -1


cdef inline void products_of(
    const Vectors* x, const int* place, const Vectors* y, int n, int m, double* out
) noexcept nogil:
    """What ``products`` does, for x.m = n and y.m = m; inlined with constants, sums stay in registers."""
    cdef Py_ssize_t i
    cdef int a
    cdef int b
    cdef double[64] total
    cdef const double* mine
    cdef const double* theirs = y.values
    for a in range(n * m):
        total[a] = 0.0
    for i in range(y.n):
        if place[y.columns[i]] >= 0:
            mine = x.values + <Py_ssize_t> place[y.columns[i]] * n
            for a in range(n):
                for b in range(m):
                    total[a * m + b] += mine[a] * theirs[b]
        theirs += m
    for a in range(n * m):
        out[a] = total[a]


cdef inline void products(const Vectors* x, const int* place, const Vectors* y, double* out) noexcept nogil:
    """OUT out (x.m, y.m): inner products, summed in the order of the columns. IN place: ``mark`` of x."""
    cdef Py_ssize_t i
    cdef int a
    cdef int b
    cdef int m = y.m
    cdef double v
    cdef const double* mine
    cdef const double* theirs = y.values
    if x.m == m and 1 < m < 9:
        if m == 2:
            products_of(x, place, y, 2, 2, out)
        elif m == 3:
            products_of(x, place, y, 3, 3, out)
        elif m == 4:
            products_of(x, place, y, 4, 4, out)
        elif m == 5:
            products_of(x, place, y, 5, 5, out)
        elif m == 6:
            products_of(x, place, y, 6, 6, out)
        elif m == 7:
            products_of(x, place, y, 7, 7, out)
        else:
            products_of(x, place, y, 8, 8, out)
        return
    for a in range(x.m * m):
        out[a] = 0.0
    for i in range(y.n):
        if place[y.columns[i]] >= 0:
            mine = x.values + <Py_ssize_t> place[y.columns[i]] * x.m
            for a in range(x.m):
                v = mine[a]
                for b in range(m):
                    out[a * m + b] += v * theirs[b]
        theirs += m
