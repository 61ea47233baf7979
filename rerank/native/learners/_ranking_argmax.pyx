"""The ranking at which loss minus margin is largest, for Predtron on lists.

Item i with score t_i and gain a_i has at position p the profit
t_i f(p) / norm(f) - a_i discount(p) / ideal DCG. The ranking is the assignment of items to positions of the
largest total profit. Items of equal gain keep the order of their scores, on ties the first item: exchanging
two of them changes only the sum of t_i f(p), which is largest if both fall together.
"""

import numpy as np

from rerank.native.data._sort cimport BUCKETS, argsort
from rerank.native.similarity._assignment cimport assign_cold


cdef class RankingRoom:
    """The space for lists of at most ``longest`` items."""

    def __init__(self, Py_ssize_t longest):
        cdef double[:, ::1] numbers = np.empty((4, longest))
        cdef int[:, ::1] whole = np.empty((7, longest), dtype=np.int32)
        cdef word[::1] words = np.empty(2 * longest, dtype=np.uint64)
        cdef int[::1] counts = np.empty(BUCKETS, dtype=np.int32)
        cdef double[::1] cost = np.empty(longest * longest)
        self.held = (numbers, whole, words, counts, cost)
        if longest == 0:
            return
        self.words = &words[0]
        self.counts = &counts[0]
        self.cost = &cost[0]
        self.scores = &numbers[0, 0]
        self.gains = &numbers[1, 0]
        self.assignment.v = &numbers[2, 0]
        self.assignment.distance = &numbers[3, 0]
        self.rows = &whole[0, 0]
        self.by_score = &whole[1, 0]
        self.assignment.row_of = &whole[2, 0]
        self.assignment.column_of = &whole[3, 0]
        self.assignment.free_rows = &whole[4, 0]
        self.assignment.before = &whole[5, 0]
        self.assignment.columns = &whole[6, 0]


cdef void sort_items(const RankingProblem* p, RankingRoom room) noexcept nogil:
    """OUT room.rows: items by rising gain, then falling score; room.scores, room.gains: in this order."""
    cdef int i
    for i in range(p.m):
        room.scores[i] = -p.scores[i]
    argsort(room.scores, room.by_score, p.m, room.words, room.counts)
    for i in range(p.m):
        room.gains[i] = p.gains[room.by_score[i]]
    argsort(room.gains, room.rows, p.m, room.words, room.counts)
    for i in range(p.m):
        room.rows[i] = room.by_score[room.rows[i]]
        room.gains[i] = p.gains[room.rows[i]]
        room.scores[i] = p.scores[room.rows[i]]


cdef void fill_positions(const RankingProblem* p, RankingRoom room) noexcept nogil:
    """OUT item_at, position_of: the items of each gain in order at the positions of its items."""
    cdef int i
    cdef int k = 0
    cdef int row
    cdef int* grade_of = room.assignment.before
    cdef int* taken = room.assignment.columns
    for i in range(p.m):
        if i > 0 and room.gains[i] != room.gains[i - 1]:
            k = i
        grade_of[i] = k  # a grade is named by its first row
        taken[i] = i
    for i in range(p.m):
        k = grade_of[room.assignment.row_of[i]]
        row = taken[k]
        taken[k] += 1
        p.item_at[i] = room.rows[row]
        p.position_of[room.rows[row]] = i


cdef void ranking_argmax(const RankingProblem* p, RankingRoom room) noexcept nogil:
    """OUT p.position_of, p.item_at: the ranking of the largest total profit.

    The same input always gets the same ranking; which one of equally good ones is not specified beyond the
    order of items of equal gain.
    """
    cdef int m = p.m
    cdef int i
    cdef int j
    cdef double score
    cdef double gain
    sort_items(p, room)
    for i in range(m):
        score = room.scores[i] * p.f_scale
        gain = room.gains[i] * p.gain_scale
        for j in range(m):
            room.cost[<long long> i * m + j] = gain * p.discounts[j] - score * p.f[j]
    room.assignment.n = m
    room.assignment.m = m
    room.assignment.cost = room.cost
    assign_cold(&room.assignment)
    fill_positions(p, room)


def argmax(
    const long long[::1] offsets,
    const double[::1] scores,
    const double[::1] gains,
    const double[:, ::1] by_position,
    const double[:, ::1] scales,
    int[::1] position_of,
    int[::1] item_at,
):
    """Rank each list for the largest loss minus margin.

    IN offsets (n_lists + 1), no list empty; scores, gains (n_items); by_position (2, m): discounts and f, m
    the length of the longest list; scales (n_lists, 2): 1 / ideal DCG and 1 / norm of f. OUT position_of,
    item_at (n_items): positions and items of a list from 0.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef RankingRoom room = RankingRoom(by_position.shape[1])
    cdef RankingProblem p
    cdef Py_ssize_t k
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
            ranking_argmax(&p, room)
