"""The choices of a boosted model after every round, from one pass over its rounds."""

import numpy as np

from rerank.native.learners._boosting cimport Differences


cdef class Choices:
    """The item with the largest score of each list, round by round; on ties the first.

    Pairs are the first item of a list and each of its others, in the order of the items. Scores are relative
    to the first item's.

    IN differences of these pairs; offsets (n_lists + 1); start (n_items), the scores before the first round.
    OUT chosen (n_lists), the choices now; scores (n_items) now.
    """
    cdef Differences differences
    cdef const long long[::1] offsets
    cdef const double[::1] start
    cdef double[::1] moved
    cdef int[::1] list_of
    cdef long long[::1] best
    cdef readonly object chosen
    cdef const int[::1] number

    def __init__(self, Differences differences, const long long[::1] offsets, const double[::1] start):
        cdef Py_ssize_t i
        cdef int[::1] number = np.argsort(differences.order).astype(np.int32)
        sizes = np.diff(offsets)
        self.differences = differences
        self.offsets = offsets
        self.start = start
        self.moved = np.zeros(start.shape[0])
        self.list_of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes - 1)
        self.chosen = self.best = np.zeros(len(sizes), dtype=np.int64)
        self.number = number
        for i in range(self.best.shape[0]):
            self.best[i] = self.choice(i)

    @property
    def scores(self):
        """The scores of all items now, float64 (n_items)."""
        return np.asarray(self.start) + np.asarray(self.moved)

    cdef long long choice(self, Py_ssize_t i) noexcept nogil:
        """Return the item of list i with the largest score, the first on ties."""
        cdef long long at, best = self.offsets[i]
        cdef double most = self.start[best] + self.moved[best]
        for at in range(best + 1, self.offsets[i + 1]):
            if self.start[at] + self.moved[at] > most:
                most = self.start[at] + self.moved[at]
                best = at
        return best

    def rounds(
        self, const int[::1] stumps, const double[::1] steps, long long[:, ::1] events, Py_ssize_t first
    ):
        """Go through rounds until ``events`` might not hold the changes of another one.

        IN stumps and steps of the rounds (n_rounds); first, the round to begin with. OUT events (3, n): the
        round of each change of a choice, the item chosen before, and the new one. Return the round to go on
        with and the number of events.
        """
        cdef Py_ssize_t n = 0, r = first, k, i
        cdef long long at, last, item
        cdef unsigned int entry
        cdef double step
        with nogil:
            while r < stumps.shape[0] and n + self.best.shape[0] <= events.shape[1]:
                k = self.number[stumps[r]]
                at = self.differences.index.of_stump[k]
                last = self.differences.index.of_stump[k + 1]
                while at < last:
                    i = self.list_of[self.differences.index.pairs[at] >> 1]
                    while at < last:
                        entry = self.differences.index.pairs[at]
                        if self.list_of[entry >> 1] != i:
                            break
                        # Pair p of list i is item p + i + 1: each list before has one pair less than items.
                        step = steps[r] if entry & 1 else -steps[r]
                        self.moved[(entry >> 1) + i + 1] += step
                        at += 1
                    item = self.choice(i)
                    if item != self.best[i]:
                        events[0, n] = r
                        events[1, n] = self.best[i]
                        events[2, n] = item
                        n += 1
                        self.best[i] = item
                r += 1
        return r, n
