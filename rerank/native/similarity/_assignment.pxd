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


cdef struct Problem:
    int n  # rows
    int m  # columns, n at least
    const double* cost  # (n, m), finite or infinite
    double* v  # (m): the potentials of columns
    int* column_of  # (n): the column of each row, -1 if it has none
    int* row_of  # (m): the row of each column, -1 if it has none
    int* free_rows  # (n)
    double* distance  # (m)
    int* before  # (m): the row before each column on the shortest path
    int* columns  # (m)


cdef inline double two_least(
    const double* cost, const double* v, int m, int* first, double* next_least
) noexcept nogil:
    """Return the least cost - v. OUT its column, the first on ties, and the least of the other columns."""
    cdef double[4] least
    cdef double[4] after
    cdef double h
    cdef double larger
    cdef int j = 0
    cdef int k
    for k in range(4):
        least[k] = INFINITY
        after[k] = INFINITY
    while j + 4 <= m:  # four at a time and without a branch, so that compilers use wide registers
        for k in range(4):
            h = cost[j + k] - v[j + k]
            larger = h if h > least[k] else least[k]
            after[k] = larger if larger < after[k] else after[k]
            least[k] = h if h < least[k] else least[k]
        j += 4
    while j < m:
        h = cost[j] - v[j]
        larger = h if h > least[0] else least[0]
        after[0] = larger if larger < after[0] else after[0]
        least[0] = h if h < least[0] else least[0]
        j += 1
    for k in range(1, 4):
        larger = least[k] if least[k] > least[0] else least[0]
        least[0] = least[k] if least[k] < least[0] else least[0]
        after[0] = after[k] if after[k] < after[0] else after[0]
        after[0] = larger if larger < after[0] else after[0]
    next_least[0] = after[0]
    first[0] = -1
    if least[0] < INFINITY:
        j = 0
        while cost[j] - v[j] != least[0]:
            j += 1
        first[0] = j
    return least[0]


cdef inline int reduce_columns(Problem* p) noexcept nogil:
    """Give each column of a square problem the row of its least cost, and rows the last of their columns.

    Return the number of rows without a column, which are the first of ``free_rows``; -1 if no assignment has
    a finite cost because a column is infinite. OUT v, column_of, row_of.
    """
    cdef int n = p.n
    cdef int free = 0
    cdef int i
    cdef int j
    cdef double least
    cdef const double* row
    for j in range(n):
        p.v[j] = p.cost[j]
        p.row_of[j] = 0
    for i in range(1, n):
        row = p.cost + <long long> i * n
        for j in range(n):
            if row[j] < p.v[j]:
                p.v[j] = row[j]
                p.row_of[j] = i
    for j in range(n):
        if p.v[j] == INFINITY:
            return -1
    for i in range(n):
        p.column_of[i] = -1
        p.before[i] = 0  # the number of columns whose least cost is in row i
    for j in range(n - 1, -1, -1):
        i = p.row_of[j]
        p.before[i] += 1
        if p.column_of[i] < 0:
            p.column_of[i] = j
        else:
            p.row_of[j] = -1
    for i in range(n):
        if p.before[i] == 0:
            p.free_rows[free] = i
            free += 1
        elif p.before[i] == 1:
            two_least(p.cost + <long long> i * n, p.v, n, &j, &least)
            if least < INFINITY:
                p.v[p.column_of[i]] -= least  # the row has 0 there, its least
    return free


cdef inline int open_column(const Problem* p, int i, double least) noexcept nogil:
    """Return the first column without a row whose cost - v in row i is ``least``, or -1."""
    cdef const double* row = p.cost + <long long> i * p.m
    cdef int j
    for j in range(p.m):
        if row[j] - p.v[j] == least and p.row_of[j] < 0:
            return j
    return -1


cdef inline int reduce_rows(Problem* p, int n_free) noexcept nogil:
    """Let each free row bid for its best column, twice at most; return how many rows are still free."""
    cdef int kept
    cdef int at
    cdef int i
    cdef int loser
    cdef int j
    cdef int _turn
    cdef long long bids
    cdef double least
    cdef double after
    cdef double lower
    for _turn in range(2):
        kept = 0
        at = 0
        bids = 4 * <long long> n_free + 16
        while at < n_free:
            i = p.free_rows[at]
            at += 1
            least = two_least(p.cost + <long long> i * p.m, p.v, p.m, &j, &after)
            bids -= 1
            if j < 0 or after == INFINITY:  # at most one column is allowed: a path finds it, or finds none
                p.free_rows[kept] = i
                kept += 1
                continue
            loser = p.row_of[j]
            lower = p.v[j] - (after - least)
            if lower < p.v[j] and bids > 0:
                p.v[j] = lower
            elif loser >= 0:
                j = open_column(p, i, least)
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


cdef inline bint augment(Problem* p, int start) noexcept nogil:
    """Give row ``start`` a column by the shortest path to a free column; return whether there is a path.

    ``columns`` holds those whose distance is final up to ``low``, those at the least distance up to ``high``,
    and the others.
    """
    cdef int m = p.m
    cdef int low = 0
    cdef int high = 0
    cdef int final = 0
    cdef int end = -1
    cdef int i = start
    cdef int j
    cdef int k
    cdef double least = 0.0
    cdef double h
    cdef double shift
    cdef const double* row = p.cost + <long long> start * m
    for j in range(m):
        p.distance[j] = row[j] - p.v[j]
        p.before[j] = start
        p.columns[j] = j
    while end < 0:
        if low == high:
            final = low
            least = p.distance[p.columns[high]]
            for k in range(high + 1, m):
                if p.distance[p.columns[k]] < least:
                    least = p.distance[p.columns[k]]
            if least == INFINITY:
                return False
            for k in range(low, m):
                j = p.columns[k]
                if p.distance[j] == least:
                    if p.row_of[j] < 0:
                        end = j
                        break
                    p.columns[k] = p.columns[high]
                    p.columns[high] = j
                    high += 1
            if end >= 0:
                break
        j = p.columns[low]
        low += 1
        i = p.row_of[j]
        row = p.cost + <long long> i * m
        shift = row[j] - p.v[j] - least
        for k in range(high, m):
            j = p.columns[k]
            h = row[j] - p.v[j] - shift
            if h < p.distance[j]:
                p.distance[j] = h
                p.before[j] = i
                if h <= least:
                    p.distance[j] = least
                    if p.row_of[j] < 0:
                        end = j
                        break
                    p.columns[k] = p.columns[high]
                    p.columns[high] = j
                    high += 1
    for k in range(final):
        j = p.columns[k]
        p.v[j] += p.distance[j] - least
    while True:
        i = p.before[end]
        p.row_of[end] = i
        j = p.column_of[i]
        p.column_of[i] = end
        end = j
        if i == start:
            return True


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
    cdef int i
    cdef int j
    for j in range(p.m):
        p.row_of[j] = -1
    for i in range(p.n):
        p.column_of[i] = -1
        p.free_rows[i] = i
    return augment_all(p, reduce_rows(p, p.n))


cdef inline bint assign_cold(Problem* p) noexcept nogil:
    """Solve without potentials to start from; see ``assign_warm``. OUT v, column_of, row_of."""
    cdef int n_free
    cdef int j
    if p.n < p.m:
        for j in range(p.m):
            p.v[j] = 0.0
        return assign_warm(p)
    n_free = reduce_columns(p)
    if n_free < 0:
        return False
    return augment_all(p, reduce_rows(p, n_free))


cdef class Room:
    """The space for one problem of at most n rows and m columns, n no more than m; v is set by its user."""

    cdef Problem problem
    cdef double[::1] cost  # (n * m), for costs that are made on the way
    cdef tuple held
