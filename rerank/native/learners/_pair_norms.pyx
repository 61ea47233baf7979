"""The squared norms of the differences of all pairs, summed without going through the pairs."""

import numpy as np

from rerank.native.data._matrix cimport Difference, Matrix, Rows, Step, subtract
from rerank.native.learners._ranges cimport Ranges
from rerank.native.learners._violations cimport ListPairs


cdef inline double square_and_product(const Step* step, const double* sums, double* product) noexcept nogil:
    """Return the squared norm of a difference. OUT product: its product with ``sums``."""
    cdef double square = 0.0, total = 0.0, value
    cdef Py_ssize_t m
    for m in range(step.size):
        value = step.value[m]
        square += value * value
        total += value * sums[m if step.all else step.place[m]]
    product[0] = total
    return square


cdef inline void add_step(const Step* step, double u, double* sums) noexcept nogil:
    """INOUT sums (n_features) += u times a difference; u = 0 clears the features of the difference."""
    cdef Py_ssize_t f, m
    for m in range(step.size):
        f = m if step.all else step.place[m]
        sums[f] = 0.0 if u == 0.0 else sums[f] + u * step.value[m]


cdef double norms_of_list(
    const Rows* X, const long long* items, const long long* losses, const Ranges* p, Step* step, double* sums
) noexcept nogil:
    """Return the sum over the pairs of one list. INOUT sums (n_features): 0 before and after.

    With y = x - x of the first item and n = the number of pairs of an item it is the sum over items of
    n |y|^2 less twice the sum over pairs of y·y'.
    """
    cdef double total = 0.0, product, square
    cdef int low = p.k, high = p.k, j
    # Only the first items have a range. If it is one alone, its y is 0 and so are all products.
    if p.k < 2 or p.start[1] >= p.stop[1]:
        for j in range(1, p.k):
            if losses[j]:
                subtract(X, items[j], items[0], step)
                total += losses[j] * square_and_product(step, sums, &product)
        return total
    # From the last item up, ranges move up with the items; sums holds the y of a range.
    for j in range(p.k - 1, -1, -1):
        while low > p.start[j]:
            low -= 1
            subtract(X, items[low], items[0], step)
            add_step(step, 1.0, sums)
        while high > p.stop[j]:
            high -= 1
            subtract(X, items[high], items[0], step)
            add_step(step, -1.0, sums)
        subtract(X, items[j], items[0], step)
        square = square_and_product(step, sums, &product)
        total += (losses[j] + p.stop[j] - p.start[j]) * square
        if p.start[j] < p.stop[j]:
            total -= 2.0 * product
    for j in range(p.k):
        subtract(X, items[j], items[0], step)
        add_step(step, 0.0, sums)
    return total


def sum_of_squared_norms(Matrix matrix, ListPairs pairs, const long long[::1] losses, Difference difference):
    """Return the sum over the pairs of all lists of |x of the better item - x of the worse one|^2.

    IN matrix, pairs; losses (n_items), in how many pairs an item is the worse one; difference: scratch.
    A few operations for each value, however many pairs there are.
    """
    cdef Rows rows = matrix.rows  # a copy: the compiler sees that no step changes it
    cdef double[::1] sums = np.zeros(rows.n_features + 1)
    cdef Ranges p
    cdef double total = 0.0
    cdef Py_ssize_t i
    cdef long long first
    with nogil:
        for i in range(pairs.offsets.shape[0] - 1):
            p = pairs.of(i)
            first = pairs.offsets[i]
            total += norms_of_list(
                &rows, &pairs.items[first], &losses[first], &p, &difference.step, &sums[0]
            )
    return total
