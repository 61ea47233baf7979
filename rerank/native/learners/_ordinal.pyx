"""Passes of the online learners over single items: PRank, and the perceptron with uneven margins."""

from libc.math cimport fabs

from rerank.native.data._matrix cimport Matrix, Rows, add, dot
from rerank.native.data._rows cimport real
from rerank.native.learners._weights cimport Moving, Weights


cdef inline long long move_thresholds(
    double score, int grade, double t, double* b, double* drift, Py_ssize_t n_thresholds, long long* loss
) noexcept nogil:
    """Make the step of PRank for one item: OUT b and drift, and loss += |predicted grade - grade|.

    Grades count from 0: an item of grade y lies at or above the thresholds 0..y-1 and below the others.
    Return the sum of tau_r, by which w moves along the item; 0 if the grade is right.
    """
    cdef Py_ssize_t r = 0
    cdef long long total = 0
    while r < n_thresholds and not (score - b[r] < 0.0):
        r += 1
    if r == grade:
        return 0
    loss[0] += r - grade if r > grade else grade - r
    for r in range(n_thresholds):
        if r < grade:
            if score - b[r] <= 0.0:
                total += 1
                b[r] -= 1.0
                drift[r] -= t
        elif score - b[r] >= 0.0:
            total -= 1
            b[r] += 1.0
            drift[r] += t
    return total


def prank(
    Matrix matrix, const long long[::1] visits, const int[::1] grades, Weights weights, Weights thresholds
):
    """Make one pass of PRank (Crammer & Singer 2001, Figure 2).

    IN visits (n_visits), rows in the order of the pass; grades (n_items), 0..k-1, read at the visits only.
    INOUT weights (n_features), thresholds (k - 1), which never fall.
    Return the number of wrong grades and the sum of |predicted grade - grade|.
    """
    cdef Rows rows = matrix.rows  # copies: the compiler sees that no step changes them
    cdef const Rows* X = &rows
    cdef Moving moving = weights.moving
    cdef Moving* to = &moving
    cdef Moving moving_b = thresholds.moving
    cdef Moving* b = &moving_b
    cdef Py_ssize_t n_thresholds = thresholds.values.shape[0], v
    cdef long long row
    cdef double u
    cdef long long before, updates = 0, loss = 0
    with nogil:
        for v in range(visits.shape[0]):
            row = visits[v]
            before = loss
            u = move_thresholds(dot(X, row, to.w), grades[row], to.t, b.w, b.drift, n_thresholds, &loss)
            updates += loss > before
            if u != 0.0:
                add(X, row, u, to.t, to.w, to.drift)
            to.t += 1.0
            b.t += 1.0
    weights.moving.t = moving.t
    thresholds.moving.t = moving_b.t
    return updates, loss


def uneven(
    Matrix matrix, const long long[::1] visits, const int[::1] grades, double tau_minus, double tau_plus,
    double bias_step, Weights weights, Weights bias,
):
    """Make one pass of the perceptron with uneven margins (Li et al. 2002).

    IN visits (n_visits), rows in the order of the pass; grades (n_items), 1 = relevant, 0 = not, read at the
    visits only; bias_step, the squared radius of the data. INOUT weights (n_features), bias (1).
    Return the number of updates and, among them, of items on the wrong side (a score of 0 is on the relevant
    side).
    """
    cdef Rows rows = matrix.rows  # copies: the compiler sees that no step changes them
    cdef const Rows* X = &rows
    cdef Moving moving = weights.moving
    cdef Moving* to = &moving
    cdef Moving moving_b = bias.moving
    cdef Moving* b = &moving_b
    cdef Py_ssize_t v
    cdef long long row
    cdef double score, y
    cdef long long updates = 0, wrong = 0
    with nogil:
        for v in range(visits.shape[0]):
            row = visits[v]
            score = dot(X, row, to.w) + b.w[0]
            y = 1.0 if grades[row] else -1.0
            if y * score <= (tau_plus if y > 0.0 else tau_minus):
                updates += 1
                wrong += (score >= 0.0) != (y > 0.0)
                add(X, row, y, to.t, to.w, to.drift)
                b.w[0] += y * bias_step
                b.drift[0] += to.t * (y * bias_step)
            to.t += 1.0
            b.t += 1.0
    weights.moving.t = moving.t
    bias.moving.t = moving_b.t
    return updates, wrong


cdef inline void measure(const real* x, Py_ssize_t n, double* squares, double* magnitudes) noexcept nogil:
    """INOUT squares and magnitudes += those of n values."""
    cdef Py_ssize_t m
    cdef double value
    for m in range(n):
        value = x[m]
        squares[0] += value * value
        magnitudes[0] += fabs(value)


def extent(Matrix matrix, const long long[::1] rows):
    """Return the largest sum of squares and the largest sum of magnitudes of a row among ``rows`` (n)."""
    cdef const Rows* X = &matrix.rows
    cdef Py_ssize_t v
    cdef long long i, n
    cdef double squares, magnitudes, most_squares = 0.0, most_magnitudes = 0.0
    with nogil:
        for v in range(rows.shape[0]):
            i = rows[v]
            squares = 0.0
            magnitudes = 0.0
            if X.single != NULL:
                measure(X.single + i * X.width, X.width, &squares, &magnitudes)
            else:
                measure(X.dense + i * X.width, X.width, &squares, &magnitudes)
            if X.indptr != NULL:
                n = X.indptr[i + 1] - X.indptr[i]
                if X.data == NULL:
                    squares += n
                    magnitudes += n
                else:
                    measure(X.data + X.indptr[i], n, &squares, &magnitudes)
            most_squares = max(most_squares, squares)
            most_magnitudes = max(most_magnitudes, magnitudes)
    return most_squares, most_magnitudes
