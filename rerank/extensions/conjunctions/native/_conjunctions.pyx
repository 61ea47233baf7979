"""Conjunctions of indicators: rows of literals, the conjunctions that hold of them, and sums of candidates.

A literal is a stump taken so that an item of zeros has none: the value is at or above a threshold above 0, or
below a threshold of 0 or less. Rows are compressed: ``indices[indptr[i]:indptr[i + 1]]`` rise.
"""

import numpy as np

from rerank.native.data._matrix cimport Matrix
from rerank.native.models._stumps cimport Stumps, stumps_of


def literal_rows(Matrix matrix, Stumps stumps):
    """Return indptr (n_items + 1) and indices of the literals of each row; IN stumps, the literals."""
    cdef Py_ssize_t n_items = matrix.rows.n_items, i
    cdef long long[::1] indptr = np.zeros(n_items + 1, dtype=np.int64)
    cdef int[::1] room = np.empty(stumps.n + 1, dtype=np.int32)
    cdef int[::1] indices
    with nogil:
        for i in range(n_items):
            indptr[i + 1] = indptr[i] + stumps_of(&matrix.rows, &stumps.cuts, i, &room[0])
    indices = np.empty(indptr[n_items] + 1, dtype=np.int32)
    with nogil:
        for i in range(n_items):
            stumps_of(&matrix.rows, &stumps.cuts, i, &indices[indptr[i]])
    return np.asarray(indptr), np.asarray(indices)[: indptr[n_items]]


cdef inline bint holds(
    const char* active, const int* members, long long first, long long last
) noexcept nogil:
    """Return whether all members from first to last are active."""
    cdef long long at
    for at in range(first, last):
        if not active[members[at]]:
            return False
    return True


def conjunction_rows(
    const long long[::1] indptr, const int[::1] indices, Py_ssize_t n_literals, const long long[::1] bounds,
    const int[::1] members,
):
    """Return indptr (n_items + 1) and indices of the conjunctions that hold of each row of literals.

    IN bounds (n + 1): conjunction k has the literals members[bounds[k]:bounds[k + 1]], one at least.
    """
    cdef Py_ssize_t n_items = indptr.shape[0] - 1, n = bounds.shape[0] - 1, i, k, fill
    cdef long long at, total
    cdef long long[::1] out = np.zeros(n_items + 1, dtype=np.int64)
    cdef char[::1] active = np.zeros(n_literals + 1, dtype=np.int8)
    cdef int[::1] found = np.empty(1, dtype=np.int32)
    for fill in range(2):
        total = 0
        with nogil:
            for i in range(n_items):
                for at in range(indptr[i], indptr[i + 1]):
                    active[indices[at]] = 1
                for k in range(n):
                    if holds(&active[0], &members[0], bounds[k], bounds[k + 1]):
                        if fill:
                            found[total] = <int>k
                        total += 1
                out[i + 1] = total
                for at in range(indptr[i], indptr[i + 1]):
                    active[indices[at]] = 0
        if not fill:
            found = np.empty(total + 1, dtype=np.int32)
    return np.asarray(out), np.asarray(found)[:total]


def join_rows(
    const long long[::1] first_bounds, const int[::1] first, const double[::1] first_data,
    const long long[::1] second_bounds, const int[::1] second, int[::1] indices, double[::1] data,
):
    """OUT indices, data: each row of the first set, then that of the second, whose values are 1.

    Without values (None) all of the first set's are 1 too.
    """
    cdef Py_ssize_t n_items = first_bounds.shape[0] - 1, i
    cdef long long at, n = 0
    cdef bint ones = first_data is None
    with nogil:
        for i in range(n_items):
            for at in range(first_bounds[i], first_bounds[i + 1]):
                indices[n] = first[at]
                if not ones:
                    data[n] = first_data[at]
                n += 1
            for at in range(second_bounds[i], second_bounds[i + 1]):
                indices[n] = second[at]
                if not ones:
                    data[n] = 1.0
                n += 1


# The sums of candidates: chosen c with frequent f is number c * n_frequent + f.
cdef struct Sums:
    double* up
    double* down
    int* lists  # within which some pair differs
    int* last  # the last of them
    Py_ssize_t n_frequent


cdef inline void add(
    Sums* s, double* sums, int c, const int* frequent, Py_ssize_t n, double weight, int group
) noexcept nogil:
    """Add the weight of a pair of a list to the sums of c with each frequent one."""
    cdef Py_ssize_t m, k
    for m in range(n):
        k = c * s.n_frequent + frequent[m]
        sums[k] += weight
        s.lists[k] += s.last[k] != group
        s.last[k] = group


# What an item has: the chosen indicators, and the frequent ones, each rising.
cdef struct Row:
    const int* chosen
    const int* frequent
    Py_ssize_t n_chosen, n_frequent


cdef inline void one_side(
    Sums* s, double* sums, const Row* one, const Row* other, const int* alone, Py_ssize_t n_alone,
    double weight, int group,
) noexcept nogil:
    """Add a pair to the sums of candidates that hold of one item and not of the other.

    IN alone (n_alone): what is frequent and only the one item has.
    """
    cdef Py_ssize_t i, j = 0
    for i in range(one.n_chosen):
        while j < other.n_chosen and other.chosen[j] < one.chosen[i]:
            j += 1
        if j < other.n_chosen and other.chosen[j] == one.chosen[i]:
            add(s, sums, one.chosen[i], alone, n_alone, weight, group)
        else:
            add(s, sums, one.chosen[i], one.frequent, one.n_frequent, weight, group)


cdef inline Py_ssize_t minus(
    const int* a, Py_ssize_t n, const int* b, Py_ssize_t m, int* out
) noexcept nogil:
    """OUT out: what a has and b has not, both rising. Return how many."""
    cdef Py_ssize_t i, j = 0, k = 0
    for i in range(n):
        while j < m and b[j] < a[i]:
            j += 1
        if j == m or b[j] != a[i]:
            out[k] = a[i]
            k += 1
    return k


def candidate_sums(
    const long long[::1] chosen_bounds, const int[::1] chosen, const long long[::1] frequent_bounds,
    const int[::1] frequent, const long long[:, ::1] pairs, const long long[::1] groups,
    const double[::1] weight, double[:, :, ::1] sums, int[:, ::1] lists,
):
    """Add up the weights of pairs by candidate.

    IN rows of what is chosen and of what is frequent, each numbered from 0; pairs (2, n_pairs): the item that
    must win and the one that must lose, -1 is an item that has none; groups (n_groups + 1), the bounds of
    the pairs of one list; weight (n_pairs).
    OUT sums (2, n_chosen, n_frequent), 0 before: the weights of the pairs whose winner alone has both, and of
    those whose loser alone has; lists (n_chosen, n_frequent), 0 before: how many have such a pair.
    """
    cdef Py_ssize_t n_frequent = sums.shape[2], g, p, n_alone
    cdef int side
    cdef long long item
    cdef int[:, ::1] last = np.full_like(lists, -1)
    cdef int[::1] alone = np.empty(n_frequent + 1, dtype=np.int32)
    cdef Row[2] row
    cdef Sums s
    if sums.shape[1] == 0 or n_frequent == 0:
        return
    s = Sums(&sums[0, 0, 0], &sums[1, 0, 0], &lists[0, 0], &last[0, 0], n_frequent)
    with nogil:
        for g in range(groups.shape[0] - 1):
            for p in range(groups[g], groups[g + 1]):
                for side in range(2):
                    item = pairs[side, p]
                    row[side] = Row(NULL, NULL, 0, 0)
                    if item >= 0:
                        row[side].n_chosen = chosen_bounds[item + 1] - chosen_bounds[item]
                        row[side].n_frequent = frequent_bounds[item + 1] - frequent_bounds[item]
                        row[side].chosen = &chosen[0] + chosen_bounds[item]
                        row[side].frequent = &frequent[0] + frequent_bounds[item]
                for side in range(2):
                    n_alone = minus(
                        row[side].frequent, row[side].n_frequent, row[1 - side].frequent,
                        row[1 - side].n_frequent, &alone[0],
                    )
                    one_side(
                        &s, s.down if side else s.up, &row[side], &row[1 - side], &alone[0], n_alone,
                        weight[p], <int>g,
                    )
