"""Passes of the online learners over single items: PRank, and the perceptron with uneven margins."""

from libc.math cimport fabs

from rerank.native.data._rows cimport csr_add
from rerank.native.data._rows cimport csr_dot
from rerank.native.data._rows cimport dense_dot
from rerank.native.data._rows cimport real


cdef inline long long move_thresholds(
    double score, int grade, double t, double* b, double* b_drift, Py_ssize_t n_thresholds, long long* loss
) noexcept nogil:
    """The step of PRank for one item: OUT b and b_drift, and loss += |predicted grade - grade|.

    Grades count from 0: an item of grade y lies at or above the thresholds 0..y-1 and below the others.
    Returns the sum of tau_r, by which w moves along the item; 0 where the grade is right.
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
                b_drift[r] -= t
        elif score - b[r] >= 0.0:
            total -= 1
            b[r] += 1.0
            b_drift[r] += t
    return total


def dense_prank(
    const real[:, ::1] X,
    const long long[::1] visits,
    const int[::1] grades,
    double[::1] w,
    double[::1] drift,
    double[::1] b,
    double[::1] b_drift,
    double t,
):
    """One pass of PRank (Crammer & Singer 2001, Figure 2) over rows of dense features.

    IN X (n_items, d); visits (n_visits), rows in the order of the pass; grades (n_items), 0..k-1, read
    at the visits only. IN/OUT w, drift (d); b, b_drift (k - 1), thresholds, never falling. drift is the
    sum of t * step over the steps of w, so that the mean of w after each of the first T visits is
    w - drift / T, and likewise b_drift. t: visits before this pass.
    Returns the number of wrong grades and the sum of |predicted grade - grade|.
    """
    cdef Py_ssize_t d = w.shape[0]
    cdef Py_ssize_t n_thresholds = b.shape[0]
    cdef Py_ssize_t v
    cdef Py_ssize_t m
    cdef const real* x
    cdef double u
    cdef long long before
    cdef long long updates = 0
    cdef long long loss = 0
    with nogil:
        for v in range(visits.shape[0]):
            x = &X[visits[v], 0]
            before = loss
            u = move_thresholds(
                dense_dot(x, &w[0], d), grades[visits[v]], t, &b[0], &b_drift[0], n_thresholds, &loss
            )
            updates += loss > before
            if u != 0.0:
                for m in range(d):
                    w[m] += u * x[m]
                    drift[m] += t * (u * x[m])
            t += 1.0
    return updates, loss


def csr_prank(
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    const long long[::1] visits,
    const int[::1] grades,
    double[::1] w,
    double[::1] drift,
    double[::1] b,
    double[::1] b_drift,
    double t,
):
    """The same as dense_prank for CSR features; data None stands for all ones."""
    cdef Py_ssize_t n_thresholds = b.shape[0]
    cdef Py_ssize_t v
    cdef long long row
    cdef double u
    cdef double score
    cdef long long before
    cdef long long updates = 0
    cdef long long loss = 0
    cdef const double* values = NULL
    cdef const int* columns = NULL
    if indices.shape[0]:
        columns = &indices[0]
        if data is not None:
            values = &data[0]
    with nogil:
        for v in range(visits.shape[0]):
            row = visits[v]
            before = loss
            score = csr_dot(columns, values, indptr[row], indptr[row + 1], &w[0])
            u = move_thresholds(score, grades[row], t, &b[0], &b_drift[0], n_thresholds, &loss)
            updates += loss > before
            if u != 0.0:
                csr_add(columns, values, indptr[row], indptr[row + 1], u, t, &w[0], &drift[0])
            t += 1.0
    return updates, loss


def dense_uneven(
    const real[:, ::1] X,
    const long long[::1] visits,
    const int[::1] grades,
    double tau_minus,
    double tau_plus,
    double bias_step,
    double[::1] w,
    double[::1] drift,
    double[::1] bias,
    double[::1] bias_drift,
    double t,
):
    """One pass of the perceptron with uneven margins (Li et al. 2002) over rows of dense features.

    IN X (n_items, d); visits (n_visits); grades (n_items), 1 = relevant, 0 = not, read at the visits
    only; bias_step, the squared radius of the data. IN/OUT w, drift (d); bias, bias_drift (1); t: as
    dense_prank. Returns the number of updates and, among them, of items on the wrong side (a score of
    0 is on the relevant side).
    """
    cdef Py_ssize_t d = w.shape[0]
    cdef Py_ssize_t v
    cdef Py_ssize_t m
    cdef const real* x
    cdef double score
    cdef double y
    cdef long long updates = 0
    cdef long long wrong = 0
    with nogil:
        for v in range(visits.shape[0]):
            x = &X[visits[v], 0]
            score = dense_dot(x, &w[0], d) + bias[0]
            y = 1.0 if grades[visits[v]] else -1.0
            if y * score <= (tau_plus if y > 0.0 else tau_minus):
                updates += 1
                wrong += (score >= 0.0) != (y > 0.0)
                for m in range(d):
                    w[m] += y * x[m]
                    drift[m] += t * (y * x[m])
                bias[0] += y * bias_step
                bias_drift[0] += t * (y * bias_step)
            t += 1.0
    return updates, wrong


def csr_uneven(
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    const long long[::1] visits,
    const int[::1] grades,
    double tau_minus,
    double tau_plus,
    double bias_step,
    double[::1] w,
    double[::1] drift,
    double[::1] bias,
    double[::1] bias_drift,
    double t,
):
    """The same as dense_uneven for CSR features; data None stands for all ones."""
    cdef Py_ssize_t v
    cdef long long row
    cdef double score
    cdef double y
    cdef long long updates = 0
    cdef long long wrong = 0
    cdef const double* values = NULL
    cdef const int* columns = NULL
    if indices.shape[0]:
        columns = &indices[0]
        if data is not None:
            values = &data[0]
    with nogil:
        for v in range(visits.shape[0]):
            row = visits[v]
            score = csr_dot(columns, values, indptr[row], indptr[row + 1], &w[0]) + bias[0]
            y = 1.0 if grades[row] else -1.0
            if y * score <= (tau_plus if y > 0.0 else tau_minus):
                updates += 1
                wrong += (score >= 0.0) != (y > 0.0)
                csr_add(columns, values, indptr[row], indptr[row + 1], y, t, &w[0], &drift[0])
                bias[0] += y * bias_step
                bias_drift[0] += t * (y * bias_step)
            t += 1.0
    return updates, wrong


def dense_extent(const real[:, ::1] X, const long long[::1] rows):
    """IN X (n_items, d), rows (n). Returns the largest sum of squares and of magnitudes of these rows."""
    cdef Py_ssize_t v
    cdef Py_ssize_t m
    cdef double squares
    cdef double magnitudes
    cdef double x
    cdef double most_squares = 0.0
    cdef double most_magnitudes = 0.0
    with nogil:
        for v in range(rows.shape[0]):
            squares = 0.0
            magnitudes = 0.0
            for m in range(X.shape[1]):
                x = X[rows[v], m]
                squares += x * x
                magnitudes += fabs(x)
            most_squares = max(most_squares, squares)
            most_magnitudes = max(most_magnitudes, magnitudes)
    return most_squares, most_magnitudes


def csr_extent(const long long[::1] indptr, const double[::1] data, const long long[::1] rows):
    """The same as dense_extent for CSR features; data None stands for all ones."""
    cdef Py_ssize_t v
    cdef long long at
    cdef double squares
    cdef double magnitudes
    cdef double most_squares = 0.0
    cdef double most_magnitudes = 0.0
    cdef bint ones = data is None
    with nogil:
        for v in range(rows.shape[0]):
            squares = 0.0
            magnitudes = 0.0
            for at in range(indptr[rows[v]], indptr[rows[v] + 1]):
                squares += 1.0 if ones else data[at] * data[at]
                magnitudes += 1.0 if ones else fabs(data[at])
            most_squares = max(most_squares, squares)
            most_magnitudes = max(most_magnitudes, magnitudes)
    return most_squares, most_magnitudes
