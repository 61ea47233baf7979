"""Shortest augmenting paths of linear assignment, over all columns at once.

A column is given to each row (``_assignment.pxd``), or a position to each item (``_ranking_argmax.pyx``),
whose costs are computed when they are needed. The row before a column on the path is looked for only if the
path goes through the column.
"""

from libc.math cimport INFINITY

from rerank.native.data._least cimport least_of


cdef struct Problem:
    int n  # rows
    int m  # columns, n at least
    const double* cost  # (n, m), finite or infinite
    double* v  # (m): the potentials of columns
    int* column_of  # (n): the column of each row, -1 if it has none
    int* row_of  # (m): the row of each column, -1 if it has none
    int* free_rows  # (n)
    double* distance  # (m)
    double* open_v  # (m): v, -inf at columns of final distance
    double* final  # (m): the distances of `columns`, rising up to rounding
    double* shift  # (m): what to take from distances by the rows of `columns`
    int* columns  # (m): those of final distance
    int* open_columns  # (n_open): those without a row, and some that have got one
    int n_open


cdef struct Ranks:
    # Rows are items by rising gain, then falling score; rows of one gain are a grade.
    int m, n_grades, n_free
    const double* discounts  # (m)
    double* f  # (m), multiplied by f_scale
    double* score  # (m) by row
    double* gain  # (m) by row, multiplied by gain_scale
    double* v  # (m): the potentials of positions
    double* open_v  # (m): v, -inf at positions of final distance
    double* distance  # (m)
    double* final  # (m): the distances of `columns`, rising up to rounding
    double* shift  # (m): what to take from distances by the rows of `columns`
    int* item_of  # (m): the item of each row
    int* by_score  # (m)
    int* grade_start  # (n_grades + 1): first rows
    int* head  # (n_grades): the next row of each grade
    int* row_of  # (m): the row at each position, -1 if it is free
    int* column_of  # (m): the position of each row, -1 if it has none
    int* free_rows  # (n_free)
    int* columns  # (m): positions of final distance

ctypedef fused Paths:
    Problem
    Ranks


cdef inline double cost(const Paths* p, int i, Py_ssize_t j) noexcept nogil:
    """Return the cost of row i at column j."""
    if Paths is Problem:
        return p.cost[<long long> i * p.m + j]
    else:
        return p.gain[i] * p.discounts[j] - p.score[i] * p.f[j]


cdef inline double two_least(Problem* p, int i, int* first, double* after) noexcept nogil:
    """Return the least cost - v of row i. OUT its column, the first on ties, and the least of the others.

    OUT distance: cost - v.
    """
    cdef const double* row = p.cost + <long long> i * p.m
    cdef Py_ssize_t at
    cdef double least
    for at in range(p.m):
        p.distance[at] = row[at] - p.v[at]
    least = least_of(p.distance, p.m, &at, after)
    first[0] = <int> at
    return least


cdef inline void find_open_columns(Problem* p) noexcept nogil:
    """OUT open_columns, n_open."""
    cdef int j
    p.n_open = 0
    for j in range(p.m):
        if p.row_of[j] < 0:
            p.open_columns[p.n_open] = j
            p.n_open += 1


cdef inline int open_column(Problem* p, double least) noexcept nogil:
    """Return a column without a row whose distance is ``least``, or -1. INOUT open_columns, n_open."""
    cdef int k = 0, j
    if p.n_open < 0:
        find_open_columns(p)
    while k < p.n_open:
        j = p.open_columns[k]
        if p.row_of[j] >= 0:
            p.n_open -= 1
            p.open_columns[k] = p.open_columns[p.n_open]
        elif p.distance[j] == least:
            return j
        else:
            k += 1
    return -1


cdef inline double relax(Paths* p, int i, double shift, Py_ssize_t* first) noexcept nogil:
    """Lower distances to cost - v - shift of row i; return the least. OUT its column, the first on ties."""
    cdef Py_ssize_t at
    cdef double h, old, after
    # Loops alone and without a branch, so that compilers use wide registers.
    if Paths is Problem:
        row = p.cost + <long long> i * p.m
        for at in range(p.m):
            h = row[at] - p.open_v[at] - shift
            old = p.distance[at]
            p.distance[at] = h if h < old else old
    else:
        gain, score, distance = p.gain[i], p.score[i], p.distance
        f, v, discounts = p.f, p.open_v, p.discounts
        for at in range(p.m):
            h = gain * discounts[at] - score * f[at] - v[at] - shift
            old = distance[at]
            distance[at] = h if h < old else old
    return least_of(p.distance, p.m, first, &after)


cdef inline int row_before(
    const Paths* p, int start, int n_final, Py_ssize_t j, double distance
) noexcept nogil:
    """Return a row that gave column j its distance: 0 is start, k that of columns[k - 1], at most n_final.

    Of several, the last one for costs that are stored, the first one for ranks.
    """
    cdef int k
    if Paths is Problem:
        for k in range(n_final, 0, -1):
            if cost(p, p.row_of[p.columns[k - 1]], j) - p.v[j] - p.shift[k - 1] <= distance:
                return k
        return 0
    else:
        if cost(p, start, j) - p.v[j] <= distance:
            return 0
        for k in range(1, n_final):
            if cost(p, p.row_of[p.columns[k - 1]], j) - p.v[j] - p.shift[k - 1] <= distance:
                return k
        return n_final


cdef inline void exchange(Paths* p, int start, int n_final, int end, double distance) noexcept nogil:
    """Give the rows along the path their next columns. INOUT row_of, column_of."""
    cdef int k = n_final, j = end, i
    while True:
        k = row_before(p, start, k, j, distance)
        i = p.row_of[p.columns[k - 1]] if k else start
        p.row_of[j] = i
        p.column_of[i] = j
        if k == 0:
            return
        k -= 1
        j = p.columns[k]
        distance = p.final[k]


cdef inline bint augment(Paths* p, int start) noexcept nogil:
    """Give row ``start`` a column by the shortest path to a free column; return whether there is a path."""
    cdef int n_final = 0, k
    cdef Py_ssize_t at
    cdef double least, found, after
    for at in range(p.m):
        p.open_v[at] = p.v[at]
    if Paths is Problem:
        found = two_least(p, start, &k, &after)
        at = k
    else:
        for at in range(p.m):
            p.distance[at] = INFINITY
        found = relax(p, start, 0.0, &at)
    least = found
    while True:
        if found == INFINITY:
            return False
        if p.row_of[at] < 0:
            break
        if Paths is Problem:
            if found == least:
                k = open_column(p, found)
                if k >= 0:
                    at = k
                    break
        least = max(least, found)  # less only by rounding
        p.columns[n_final] = <int> at
        p.final[n_final] = found
        p.shift[n_final] = cost(p, p.row_of[at], at) - p.v[at] - least
        p.distance[at] = INFINITY
        p.open_v[at] = -INFINITY
        found = relax(p, p.row_of[at], p.shift[n_final], &at)
        n_final += 1
    exchange(p, start, n_final, <int> at, found)
    least = max(least, found)
    found = p.final[0]
    for k in range(n_final):
        found = max(found, p.final[k])
        p.v[p.columns[k]] += found - least
    return True
