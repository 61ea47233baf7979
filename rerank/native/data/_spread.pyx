"""How far features differ within lists: sums of squared deviations from the means of lists."""

import numpy as np

cimport cython
from rerank.native.data._matrix cimport Difference, Matrix, Rows, Step, subtract


@cython.final
cdef class Spread:
    """Scratch: the sum of differences of each feature in the list at hand, and the features it touches."""

    cdef double[::1] sums
    cdef unsigned char[::1] seen
    cdef int[::1] touched
    cdef Py_ssize_t n
    cdef double[2] squares  # of the chosen column, and of all others
    cdef int column

    def __init__(self, Py_ssize_t n_features, int column):
        self.sums = np.zeros(n_features)
        self.seen = np.zeros(n_features, dtype=np.uint8)
        self.touched = np.empty(n_features, dtype=np.int32)
        self.n = 0
        self.squares[0] = self.squares[1] = 0.0
        self.column = column

    cdef inline void add(self, const Step* step) noexcept nogil:
        """Count the difference of an item and the first one of its list."""
        cdef Py_ssize_t m
        cdef int f
        cdef double value
        for m in range(step.size):
            value = step.value[m]
            if value != 0.0:
                f = <int> m if step.all else step.place[m]
                if not self.seen[f]:
                    self.seen[f] = 1
                    self.touched[self.n] = f
                    self.n += 1
                self.sums[f] += value
                self.squares[f != self.column] += value * value

    cdef inline void finish(self, long long size) noexcept nogil:
        """Subtract the square of the mean difference of each feature; the sums are 0 again."""
        cdef Py_ssize_t m
        cdef int f
        for m in range(self.n):
            f = self.touched[m]
            self.squares[f != self.column] -= self.sums[f] * self.sums[f] / size
            self.sums[f] = 0.0
            self.seen[f] = 0
        self.n = 0


def squares_within(Matrix matrix, const long long[::1] offsets, Spread spread, Difference scratch):
    """Return the sums of squared deviations from the means of lists: of spread's column, of all others.

    IN offsets (n_lists + 1). Differences from the first item of a list are summed, so that values with a
    large mean lose no digits.
    """
    cdef const Rows* X = &matrix.rows
    cdef Py_ssize_t i
    cdef long long row
    with nogil:
        for i in range(offsets.shape[0] - 1):
            for row in range(offsets[i] + 1, offsets[i + 1]):
                subtract(X, row, offsets[i], &scratch.step)
                spread.add(&scratch.step)
            spread.finish(offsets[i + 1] - offsets[i])
    return spread.squares[0], spread.squares[1]
