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


cdef inline void tile(
    const Vectors* x, const int* place, const Vectors* y, int p, int q, int n, int m, double* out
) noexcept nogil:
    """The rows p:p + n and columns q:q + m of ``products``, 64 numbers at most.

    Inlined with constant n and m, the sums stay in registers.
    """
    cdef Py_ssize_t i
    cdef int a, b
    cdef double[64] total
    cdef const double* mine
    cdef const double* theirs = y.values + q
    for a in range(n * m):
        total[a] = 0.0
    for i in range(y.n):
        if place[y.columns[i]] >= 0:
            mine = x.values + <Py_ssize_t> place[y.columns[i]] * x.m + p
            for a in range(n):
                for b in range(m):
                    total[a * m + b] += mine[a] * theirs[b]
        theirs += y.m
    for a in range(n):
        for b in range(m):
            out[<Py_ssize_t> (p + a) * y.m + q + b] = total[a * m + b]


cdef inline void products(const Vectors* x, const int* place, const Vectors* y, double* out) noexcept nogil:
    """OUT out (x.m, y.m): inner products, summed in the order of the columns. IN place: ``mark`` of x."""
    cdef int p, q
    if x.m == y.m == 5:  # the default
        tile(x, place, y, 0, 0, 5, 5, out)
        return
    for p in range(0, x.m, 4):
        for q in range(0, y.m, 4):
            if p + 4 <= x.m and q + 4 <= y.m:
                tile(x, place, y, p, q, 4, 4, out)
            else:
                tile(x, place, y, p, q, min(4, x.m - p), min(4, y.m - q), out)
