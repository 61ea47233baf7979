"""The index of boosting: which stumps differ between the items of a pair, by pair and by stump."""

import numpy as np

from rerank.native.data._matrix cimport Matrix, Rows
from rerank.native.learners._boosting cimport Differences
from rerank.native.models._stumps cimport Cuts, Stumps, stumps_of


cdef struct Room:
    int* winner
    int* loser
    const char* down  # stumps whose threshold is 0 or less
    Py_ssize_t n_winner


cdef inline Py_ssize_t differences(const Room* room, Py_ssize_t n_loser, unsigned int* out) noexcept nogil:
    """OUT out (NULL: none): the entries of a pair whose stumps are in the room. Return how many."""
    cdef Py_ssize_t i = 0, j = 0, n = 0
    cdef int k
    cdef bint lost
    while i < room.n_winner or j < n_loser:
        if i < room.n_winner and j < n_loser and room.winner[i] == room.loser[j]:
            i += 1
            j += 1
            continue
        lost = i == room.n_winner or (j < n_loser and room.loser[j] < room.winner[i])
        if out != NULL:
            k = room.loser[j] if lost else room.winner[i]
            # A row has a stump of a threshold of 0 or less if it falls short of it.
            out[n] = 2 * <unsigned int>k + (lost != room.down[k])
        j += lost
        i += not lost
        n += 1
    return n


cdef void all_differences(
    const Rows* X, const Cuts* cuts, const long long[:, ::1] pairs, Room* room, long long[::1] bounds,
    unsigned int* out,
) noexcept nogil:
    """Count the entries of each pair in bounds[1:], or fill ``out`` by the bounds."""
    cdef Py_ssize_t p, n
    cdef long long last = -2
    for p in range(pairs.shape[1]):
        if pairs[0, p] != last:
            last = pairs[0, p]
            room.n_winner = stumps_of(X, cuts, last, room.winner) if last >= 0 else 0
        n = stumps_of(X, cuts, pairs[1, p], room.loser) if pairs[1, p] >= 0 else 0
        if out == NULL:
            bounds[p + 1] = differences(room, n, NULL)
        else:
            differences(room, n, out + bounds[p])


def index(Matrix matrix, Stumps stumps, const long long[:, ::1] pairs):
    """Return the Differences of pairs.

    IN pairs (2, n_pairs): the item that must win and the one that must lose; -1 is a row of zeros.
    """
    cdef Py_ssize_t n_pairs = pairs.shape[1]
    cdef Py_ssize_t n = stumps.n, k
    cdef int[:, ::1] rows = np.empty((2, n + 1), dtype=np.int32)
    cdef char[::1] down = np.zeros(n + 1, dtype=np.int8)
    cdef Room room
    cdef long long[::1] bounds = np.zeros(n_pairs + 1, dtype=np.int64)
    cdef unsigned int[::1] entries
    for k in range(n):
        down[k] = stumps.cuts.at[k] <= 0.0
    room.winner = &rows[0, 0]
    room.loser = &rows[1, 0]
    room.down = &down[0]
    room.n_winner = 0
    with nogil:
        all_differences(&matrix.rows, &stumps.cuts, pairs, &room, bounds, NULL)
    np.cumsum(bounds, out=np.asarray(bounds))
    entries = np.empty(bounds[n_pairs] + 1, dtype=np.uint32)
    with nogil:
        all_differences(&matrix.rows, &stumps.cuts, pairs, &room, bounds, &entries[0])
    return Differences(np.asarray(bounds), np.asarray(entries), n)


def hits(Matrix matrix, Stumps stumps, const long long[::1] rows, long long[::1] out):
    """OUT out (n): in how many rows each stump is 1. IN rows (n_rows); -1 is a row of zeros."""
    cdef Py_ssize_t i, m, n
    cdef int k
    cdef int[::1] room = np.empty(stumps.n + 1, dtype=np.int32)
    with nogil:
        for k in range(stumps.n):
            out[k] = rows.shape[0] if stumps.cuts.at[k] <= 0.0 else 0
        for i in range(rows.shape[0]):
            n = stumps_of(&matrix.rows, &stumps.cuts, rows[i], &room[0]) if rows[i] >= 0 else 0
            for m in range(n):
                out[room[m]] += 1 if stumps.cuts.at[room[m]] > 0.0 else -1
