"""Linear assignment: a column for each row, no column twice, at the least sum of costs.

Jonker and Volgenant's method. Columns have potentials v. Each row takes the column of the least cost - v,
and the potential of that column falls until the row's second choice is as good (``reduce_rows``, an auction).
The rows that are left get their columns by shortest augmenting paths (``augment``). In the end cost - v of a
row is least at its column, and a column without a row has the potential 0, which none exceeds: this proves
that the assignment is optimal.

Jonker, Volgenant: A shortest augmenting path algorithm for dense and sparse linear assignment problems.
Computing 38, 1987.
"""

from libc.math cimport INFINITY

from rerank.native.data._least cimport least_of
from rerank.native.similarity._assignment_paths cimport Problem, augment, open_column, two_least


cdef inline int reduce_columns(Problem* p, bint offsets) noexcept nogil:
    """Give each column of a square problem the row of its least cost, and rows the last of their columns.

    Return the number of rows without a column, which are the first of ``free_rows``; -1 if no assignment has
    a finite cost because a row or column is infinite. offsets: costs are those above the least of the row.
    OUT v, column_of, row_of.
    """
    cdef int n = p.n, free = 0, i, j
    cdef Py_ssize_t at
    cdef double least = 0.0, after, h, old, before, number
    cdef const double* row
    for i in range(n):
        row = p.cost + <long long> i * n
        if offsets:
            least = least_of(row, n, &at, &after)
            if least == INFINITY:
                return -1
        if i == 0:
            for at in range(n):
                p.v[at] = row[at] - least
                p.distance[at] = 0.0  # the row, a double so that compilers use wide registers
        else:
            number = i
            for at in range(n):
                h = row[at] - least
                old = p.v[at]
                before = p.distance[at]
                p.v[at] = h if h < old else old
                p.distance[at] = number if h < old else before
    for i in range(n):
        p.column_of[i] = -1
        p.columns[i] = 0  # the number of columns whose least cost is in row i
    for j in range(n - 1, -1, -1):
        if p.v[j] == INFINITY:
            return -1
        i = <int> p.distance[j]
        p.columns[i] += 1
        p.row_of[j] = i if p.column_of[i] < 0 else -1
        if p.column_of[i] < 0:
            p.column_of[i] = j
    for i in range(n):
        if p.columns[i] == 0:
            p.free_rows[free] = i
            free += 1
        elif p.columns[i] == 1:
            least = two_least(p, i, &j, &after)
            if after < INFINITY:
                p.v[p.column_of[i]] -= after - least
    return free


cdef inline int reduce_rows(Problem* p, int n_free) noexcept nogil:
    """Let each free row bid for its best column, twice at most; return how many rows are still free."""
    cdef int kept, at, i, loser, j, _turn
    cdef long long bids
    cdef double least, after, lower
    p.n_open = -1  # not counted
    for _turn in range(2):
        kept = 0
        at = 0
        bids = 2 * <long long> n_free
        while at < n_free:
            i = p.free_rows[at]
            at += 1
            least = two_least(p, i, &j, &after)
            bids -= 1
            if after == INFINITY:  # at most one column is allowed: a path finds it, or finds none
                p.free_rows[kept] = i
                kept += 1
                continue
            loser = p.row_of[j]
            lower = p.v[j] - (after - least)
            if lower < p.v[j] and bids > 0:
                p.v[j] = lower
            elif loser >= 0:
                j = open_column(p, least)
                if j < 0:
                    p.free_rows[kept] = i
                    kept += 1
                    continue
                loser = -1
            p.row_of[j] = i
            p.column_of[i] = j
            if loser >= 0:  # the loser bids at once
                p.column_of[loser] = -1
                at -= 1
                p.free_rows[at] = loser
        n_free = kept
    return n_free


cdef inline bint augment_all(Problem* p, int n_free) noexcept nogil:
    """Give each of the first ``n_free`` free rows a column; return whether all have one."""
    cdef int k
    for k in range(n_free):
        if not augment(p, p.free_rows[k]):
            return False
    return True


cdef inline bint assign_warm(Problem* p) noexcept nogil:
    """Solve from the potentials in v; they are 0 in a problem of more columns than rows.

    Return whether an assignment of finite cost exists. INOUT v; OUT column_of, row_of.
    """
    cdef int i, j
    for j in range(p.m):
        p.row_of[j] = -1
    for i in range(p.n):
        p.column_of[i] = -1
        p.free_rows[i] = i
    return augment_all(p, reduce_rows(p, p.n))


cdef inline bint assign_cold(Problem* p) noexcept nogil:
    """Solve without potentials to start from; see ``assign_warm``. OUT v, column_of, row_of."""
    cdef int n_free = 0, j, offsets
    if p.n < p.m:
        for j in range(p.m):
            p.v[j] = 0.0
        return assign_warm(p)
    for offsets in range(2):
        n_free = reduce_columns(p, offsets)
        if n_free <= p.n - p.n // 4:  # else a few rows have nearly all of the least costs
            break
    if n_free < 0:
        return False
    return augment_all(p, reduce_rows(p, n_free))


cdef class Room:
    """The space for one problem of at most n rows and m columns, n no more than m; v is set by its user."""

    cdef Problem problem
    cdef double[::1] cost  # (n * m), for costs that are made on the way
    cdef tuple held
