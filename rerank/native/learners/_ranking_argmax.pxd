"""The ranking of a list at which loss minus margin is largest; see ``_ranking_argmax.pyx``."""

from rerank.native.data._sort cimport word
from rerank.native.similarity._assignment_paths cimport Ranks


cdef struct RankingProblem:
    int m  # items, at least 1 and no more than the room's
    const double* scores  # (m), at most 1e300 in magnitude
    const double* gains  # (m)
    const double* discounts  # (m) by position, not rising, at least 0
    const double* f  # (m) by position, strictly falling
    double gain_scale  # 1 / ideal DCG; gains * gain_scale at most 1e300
    double f_scale  # 1 / norm of f; f * f_scale within -1 and 1
    int* position_of  # OUT (m): the position of each item, from 0
    int* item_at  # OUT (m): the item at each position


cdef class RankingRoom:
    cdef Ranks ranks
    cdef word* words  # for sorting, free for callers between two rankings
    cdef int* counts
    cdef tuple held


cdef bint ranking_argmax(const RankingProblem* p, RankingRoom room) noexcept nogil
