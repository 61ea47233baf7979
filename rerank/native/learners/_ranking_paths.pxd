"""Shortest augmenting paths between items and positions, for ``_ranking_argmax.pyx``.

As in ``similarity/_assignment.pxd``, but costs are computed when they are needed, and the path is found from
its end: the row that gave a position its distance is looked for only if the path goes through the position.
"""

from libc.math cimport INFINITY

from rerank.native.data._least cimport least_of


cdef struct Ranks:
    # Rows are items by rising gain, then falling score; rows of one gain are a grade.
    int m
    int n_grades
    int n_free
    const double* discounts  # (m)
    double* f  # (m), multiplied by f_scale
    double* score  # (m) by row
    double* gain  # (m) by row, multiplied by gain_scale
    double* v  # (m): the potentials of positions
    double* open_v  # (m): v, -inf at positions of final distance
    double* distance  # (m)
    double* final  # (m): the distances of `done`
    double* shift  # (m): what to add to distances by the row of each of `done`
    int* item_of  # (m): the item of each row
    int* by_score  # (m)
    int* grade_start  # (n_grades + 1): first rows
    int* head  # (n_grades): the next row of each grade
    int* row_at  # (m): the row at each position, -1 if it is free
    int* position_of  # (m): the position of each row, -1 if it has none
    int* free_rows  # (n_free)
    int* done  # (m): positions of final distance


cdef inline double cost(Ranks* r, int row, int at) noexcept nogil:
    """Return the cost of a row at a position."""
    return r.gain[row] * r.discounts[at] - r.score[row] * r.f[at]


cdef inline double least_cost(Ranks* r, int row) noexcept nogil:
    """Return the least cost - v of a row."""
    cdef double[4] least
    cdef double h
    cdef double gain = r.gain[row]
    cdef double score = r.score[row]
    cdef int at = 0, k
    for k in range(4):
        least[k] = INFINITY
    while at + 4 <= r.m:
        for k in range(4):
            h = gain * r.discounts[at + k] - score * r.f[at + k] - r.v[at + k]
            least[k] = h if h < least[k] else least[k]
        at += 4
    while at < r.m:
        h = gain * r.discounts[at] - score * r.f[at] - r.v[at]
        least[0] = h if h < least[0] else least[0]
        at += 1
    for k in range(1, 4):
        least[0] = least[k] if least[k] < least[0] else least[0]
    return least[0]


cdef inline Py_ssize_t relax(Ranks* r, int row, double shift, double* least) noexcept nogil:
    """Lower distances to cost - v + shift of a row; return the first position of the least, OUT least.

    INOUT r.distance.
    """
    cdef double gain = r.gain[row]
    cdef double score = r.score[row]
    cdef double* distance = r.distance
    cdef const double* f = r.f
    cdef const double* v = r.open_v
    cdef const double* discounts = r.discounts
    cdef Py_ssize_t m = r.m, at
    cdef double h, old, after
    for at in range(m):  # alone and without a branch, so that compilers use wide registers
        h = gain * discounts[at] - score * f[at] - v[at] + shift
        old = distance[at]
        distance[at] = h if h < old else old
    least[0] = least_of(distance, m, &at, &after)
    return at


cdef inline int row_before(Ranks* r, int start, int n_done, int at) noexcept nogil:
    """Return which row gave a position its distance: 0 is start, k that at done[k - 1], at most n_done."""
    cdef int k, best = 0
    cdef double h
    cdef double least = cost(r, start, at) - r.v[at]
    for k in range(n_done):
        h = cost(r, r.row_at[r.done[k]], at) - r.v[at] + r.shift[k]
        if h < least:
            least = h
            best = k + 1
    return best


cdef inline void exchange(Ranks* r, int start, int n_done, int end) noexcept nogil:
    """Move the rows along the path one position on. INOUT r.row_at."""
    cdef int k = n_done, at = end
    while True:
        k = row_before(r, start, k, at)
        if k == 0:
            r.row_at[at] = start
            return
        k -= 1
        r.row_at[at] = r.row_at[r.done[k]]
        at = r.done[k]


cdef inline void augment(Ranks* r, int start) noexcept nogil:
    """Give the free row ``start`` a position by the shortest path to a free position. INOUT r."""
    cdef int n_done = 0, k
    cdef Py_ssize_t at
    cdef double shift, found, least = 0.0
    for at in range(r.m):
        r.distance[at] = INFINITY
        r.open_v[at] = r.v[at]
    at = relax(r, start, 0.0, &found)
    least = found
    while r.row_at[at] >= 0:
        least = max(least, found)  # less only by rounding
        shift = least - (cost(r, r.row_at[at], at) - r.v[at])
        r.done[n_done] = at
        r.final[n_done] = least
        r.shift[n_done] = shift
        n_done += 1
        r.distance[at] = INFINITY
        r.open_v[at] = -INFINITY
        at = relax(r, r.row_at[at], shift, &found)
    least = max(least, found)
    exchange(r, start, n_done, at)
    for k in range(n_done):
        r.v[r.done[k]] += r.final[k] - least
