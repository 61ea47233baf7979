"""The ranking at which loss minus margin is largest, for Predtron on lists.

Item i with score t_i and gain a_i costs a_i discount(p) / ideal DCG - t_i f(p) / norm(f) at position p.
The ranking is the assignment of items to positions of the least total cost. Items of equal gain keep the
order of their scores, on ties the first item: exchanging two of them changes only the sum of t_i f(p), which
is largest if both fall together. Which one of equally good rankings is returned is not specified beyond that,
but it is always the same.

A ranking in which no two neighbours should be exchanged is found first, from the bottom up (``order_rows``).
Its neighbours bound the differences of potentials, and the middle of the bounds is taken
(``set_potentials``). Mostly cost - v of nearly all items is then least at their own positions, which proves
them right (``free_rows``). The others get their positions by shortest augmenting paths
(``_assignment_paths.pxd``). Costs are computed when they are needed, so that a list needs memory for its
length and not for its square.
"""

from libc.math cimport INFINITY, fabs

import numpy as np

from rerank.native.data._sort cimport BUCKETS, argsort, word
from rerank.native.similarity._assignment_paths cimport Ranks, augment, cost

cdef double LARGEST = 1e300  # of scores and gains

cdef enum:
    # Up to this many rows of a grade trying all positions is faster than the envelope.
    FEW = 12


cdef class RankingRoom:
    """The space for lists of at most ``longest`` items."""

    def __init__(self, Py_ssize_t longest):
        cdef double[:, ::1] numbers = np.empty((8, longest + 1))
        cdef int[:, ::1] whole = np.empty((8, longest + 1), dtype=np.int32)
        cdef word[::1] words = np.empty(2 * longest + 1, dtype=np.uint64)
        cdef int[::1] counts = np.empty(BUCKETS, dtype=np.int32)
        self.held = (numbers, whole, words, counts)
        self.words = &words[0]
        self.counts = &counts[0]
        self.ranks.score = &numbers[0, 0]
        self.ranks.gain = &numbers[1, 0]
        self.ranks.f = &numbers[2, 0]
        self.ranks.v = &numbers[3, 0]
        self.ranks.open_v = &numbers[4, 0]
        self.ranks.distance = &numbers[5, 0]
        self.ranks.final = &numbers[6, 0]
        self.ranks.shift = &numbers[7, 0]
        self.ranks.item_of = &whole[0, 0]
        self.ranks.by_score = &whole[1, 0]
        self.ranks.grade_start = &whole[2, 0]
        self.ranks.head = &whole[3, 0]
        self.ranks.row_of = &whole[4, 0]
        self.ranks.column_of = &whole[5, 0]
        self.ranks.free_rows = &whole[6, 0]
        self.ranks.columns = &whole[7, 0]


cdef bint in_range(const RankingProblem* p) noexcept nogil:
    """Return whether no cost, and no sum of some costs, can overflow."""
    cdef int i
    for i in range(p.m):
        if not fabs(p.scores[i]) <= LARGEST:
            return False
        if not fabs(p.gains[i] * p.gain_scale) * max(p.discounts[0], 1.0) <= LARGEST:
            return False
    return True


cdef void sort_items(const RankingProblem* p, RankingRoom room) noexcept nogil:
    """OUT room.ranks: rows, grades, f."""
    cdef Ranks* r = &room.ranks
    cdef int i, m = p.m
    r.m = m
    r.discounts = p.discounts
    for i in range(m):
        r.f[i] = p.f[i] * p.f_scale
        r.score[i] = -p.scores[i]
    argsort(r.score, r.by_score, m, room.words, room.counts)
    for i in range(m):
        r.gain[i] = p.gains[r.by_score[i]]
    argsort(r.gain, r.item_of, m, room.words, room.counts)
    r.n_grades = 0
    for i in range(m):
        r.item_of[i] = r.by_score[r.item_of[i]]
        r.score[i] = p.scores[r.item_of[i]]
        if i == 0 or p.gains[r.item_of[i]] != p.gains[r.item_of[i - 1]]:
            r.grade_start[r.n_grades] = i
            r.n_grades += 1
        r.gain[i] = p.gains[r.item_of[i]] * p.gain_scale
    r.grade_start[r.n_grades] = m


cdef void order_rows(Ranks* r) noexcept nogil:
    """OUT r.row_of: a ranking in which no two neighbours should be exchanged.

    From the bottom up, a position gets the last row of that grade which gains least if it moves one up.
    """
    cdef int at, grade, chosen, row
    cdef double lost, won, key, least
    for grade in range(r.n_grades):
        r.head[grade] = r.grade_start[grade + 1] - 1
    for at in range(r.m - 1, -1, -1):
        lost = r.discounts[at - 1] - r.discounts[at] if at > 0 else 0.0
        won = r.f[at - 1] - r.f[at] if at > 0 else 1.0
        chosen = -1
        least = INFINITY
        for grade in range(r.n_grades):
            row = r.head[grade]
            if row >= r.grade_start[grade]:
                key = won * r.score[row] - lost * r.gain[row]
                if key < least or chosen < 0:
                    least = key
                    chosen = grade
        r.row_of[at] = r.head[chosen]
        r.head[chosen] -= 1


cdef void set_potentials(Ranks* r) noexcept nogil:
    """OUT r.v: between neighbours the mean of what either row's cost changes by."""
    cdef int at
    cdef double gains, scores
    r.v[0] = 0.0
    for at in range(r.m - 1):
        gains = 0.5 * (r.gain[r.row_of[at]] + r.gain[r.row_of[at + 1]])
        scores = 0.5 * r.score[r.row_of[at]] + 0.5 * r.score[r.row_of[at + 1]]
        r.v[at + 1] = r.v[at] + (
            gains * (r.discounts[at + 1] - r.discounts[at]) - scores * (r.f[at + 1] - r.f[at])
        )


cdef int envelope(Ranks* r, double gain) noexcept nogil:
    """Return the number of positions at which cost - v of a grade is least for some score.

    For each position cost - v is a line of the score, and the slopes rise with positions. OUT r.columns: the
    positions by falling score; r.distance: the lines at 0.
    """
    cdef int n = 0, at, last, before
    cdef double* line = r.distance
    for at in range(r.m):
        line[at] = gain * r.discounts[at] - r.v[at]
        while n > 1:
            last = r.columns[n - 1]
            before = r.columns[n - 2]
            if (line[before] - line[last]) * (r.f[last] - r.f[at]) > (line[last] - line[at]) * (
                r.f[before] - r.f[last]
            ):
                break
            n -= 1
        r.columns[n] = at
        n += 1
    return n


cdef inline double least_cost(Ranks* r, int row) noexcept nogil:
    """Return the least cost - v of a row."""
    cdef double[4] least
    cdef double h, gain = r.gain[row], score = r.score[row]
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


cdef void free_rows(Ranks* r) noexcept nogil:
    """Free the rows whose cost - v is less at another position, by more than rounding. OUT r.free_rows."""
    cdef int grade, row, at, here = 0, n = 0
    cdef double least, next_least, rounding = 0.0
    cdef bint few
    for row in range(r.m):
        least = fabs(r.gain[row]) * r.discounts[0]
        least += fabs(r.score[row]) * max(fabs(r.f[0]), fabs(r.f[r.m - 1]))
        rounding = max(rounding, least * 1e-15)
    for at in range(r.m):
        r.column_of[r.row_of[at]] = at
    r.n_free = 0
    for grade in range(r.n_grades):
        few = r.grade_start[grade + 1] - r.grade_start[grade] <= FEW
        if not few:
            n = envelope(r, r.gain[r.grade_start[grade]])
            here = 0
        for row in range(r.grade_start[grade], r.grade_start[grade + 1]):
            if few:
                least = least_cost(r, row)
            else:
                least = r.distance[r.columns[here]] - r.score[row] * r.f[r.columns[here]]
                while here + 1 < n:
                    at = r.columns[here + 1]
                    next_least = r.distance[at] - r.score[row] * r.f[at]
                    if next_least > least:
                        break
                    least = next_least
                    here += 1
            at = r.column_of[row]
            if cost(r, row, at) - r.v[at] > least + rounding:
                r.free_rows[r.n_free] = row
                r.n_free += 1
                r.row_of[at] = -1
                r.column_of[row] = -1


cdef void fill_positions(const RankingProblem* p, const Ranks* r) noexcept nogil:
    """OUT p.item_at, p.position_of: the items of each grade in order at the positions of its rows."""
    cdef int* grade_of = r.column_of
    cdef int grade, at, row
    for grade in range(r.n_grades):
        r.head[grade] = r.grade_start[grade]
        for row in range(r.grade_start[grade], r.grade_start[grade + 1]):
            grade_of[row] = grade
    for at in range(p.m):
        grade = grade_of[r.row_of[at]]
        row = r.head[grade]
        r.head[grade] += 1
        p.item_at[at] = r.item_of[row]
        p.position_of[r.item_of[row]] = at


cdef bint ranking_argmax(const RankingProblem* p, RankingRoom room) noexcept nogil:
    """OUT p.position_of, p.item_at: the ranking of the largest loss minus margin.

    Return False, with the items in their own order, if a score or gain is NaN or too large.
    """
    cdef Ranks* r = &room.ranks
    cdef int k
    if not in_range(p):
        for k in range(p.m):
            p.item_at[k] = k
            p.position_of[k] = k
        return False
    sort_items(p, room)
    order_rows(r)
    set_potentials(r)
    free_rows(r)
    for k in range(r.n_free):
        augment(r, r.free_rows[k])
    fill_positions(p, r)
    return True


def argmax(
    const long long[::1] offsets, const double[::1] scores, const double[::1] gains,
    const double[:, ::1] by_position, const double[:, ::1] scales, int[::1] position_of, int[::1] item_at,
):
    """Rank each list for the largest loss minus margin; return the first list out of range, or -1.

    IN offsets (n_lists + 1), no list empty; scores, gains (n_items); by_position (2, m): discounts and f, m
    the length of the longest list; scales (n_lists, 2): 1 / ideal DCG and 1 / norm of f. OUT position_of,
    item_at (n_items): positions and items of a list from 0.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef RankingRoom room = RankingRoom(by_position.shape[1])
    cdef RankingProblem p
    cdef Py_ssize_t k, failed = -1
    cdef long long at
    with nogil:
        for k in range(n_lists):
            at = offsets[k]
            p.m = <int> (offsets[k + 1] - at)
            p.scores = &scores[at]
            p.gains = &gains[at]
            p.discounts = &by_position[0, 0]
            p.f = &by_position[1, 0]
            p.gain_scale = scales[k, 0]
            p.f_scale = scales[k, 1]
            p.position_of = &position_of[at]
            p.item_at = &item_at[at]
            if not ranking_argmax(&p, room):
                failed = k
                break
    return failed
