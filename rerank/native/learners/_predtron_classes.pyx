"""Passes of Predtron over examples with classes (Jain, Natarajan & Tewari 2015, sections 3 and 5)."""

import numpy as np

from libc.math cimport fabs

from rerank.native.data._matrix cimport DENSE, MIXED, SINGLE, Matrix, Rows, add
from rerank.native.learners._link cimport Link, move_linked
from rerank.native.learners._predtron_tasks cimport Task
from rerank.native.learners._weights cimport Moving, Weights

cdef double LARGEST = 1e299  # of scores: tasks add some of them


cdef struct Example:
    const double* value  # NULL: all are 1
    const int* feature  # NULL: every feature has a value
    long long size


cdef class Reading:
    """Scratch for a row of a matrix whose values must be gathered."""

    cdef double[::1] values
    cdef int[::1] features

    def __init__(self, Matrix matrix):
        cdef const Rows* X = &matrix.rows
        cdef Py_ssize_t i
        cdef long long most = 0
        if X.layout == MIXED:
            for i in range(X.n_items):
                most = max(most, X.indptr[i + 1] - X.indptr[i])
        self.values = np.empty(most + X.width + 1)
        self.features = np.empty(most + X.width + 1, dtype=np.int32)


cdef inline Example merged(const Rows* X, long long i, double* values, int* features) noexcept nogil:
    """Return row i of a mixed matrix by rising feature. OUT values, features."""
    cdef Example x
    cdef long long at = X.indptr[i]
    cdef Py_ssize_t m = 0
    x.value = values
    x.feature = features
    x.size = 0
    while at < X.indptr[i + 1] or m < X.width:
        if m < X.width and (at == X.indptr[i + 1] or X.columns[m] < X.indices[at]):
            features[x.size] = X.columns[m]
            values[x.size] = X.dense[i * X.width + m]
            m += 1
        else:
            features[x.size] = X.indices[at]
            values[x.size] = 1.0 if X.data == NULL else X.data[at]
            at += 1
        x.size += 1
    return x


cdef inline Example example_of(const Rows* X, long long i, double* values, int* features) noexcept nogil:
    """Return row i; ``values`` and ``features`` are scratch."""
    cdef Example x
    cdef Py_ssize_t m
    x.feature = NULL
    x.size = X.width
    if X.layout == DENSE:
        x.value = X.dense + i * X.width
    elif X.layout == SINGLE:
        for m in range(X.width):
            values[m] = X.single[i * X.width + m]
        x.value = values
    elif X.layout == MIXED:
        return merged(X, i, values, features)
    else:
        x.value = NULL
        if X.data != NULL:
            x.value = X.data + X.indptr[i]
        x.feature = X.indices + X.indptr[i]
        x.size = X.indptr[i + 1] - X.indptr[i]
    return x


cdef inline bint find_scores(
    const Example* x, const double* w, Py_ssize_t d, const double* constant, double bias, double* t
) noexcept nogil:
    """OUT t (d): the sum of w[f, :] * x[f] in the order of features, plus bias * constant.

    Return whether all are in range.
    """
    cdef Py_ssize_t c
    cdef long long m
    cdef double value, t0, t1, t2, t3
    cdef const double* row
    cdef bint fine = True
    c = 0
    while c + 4 <= d:
        t0 = t1 = t2 = t3 = 0.0
        for m in range(x.size):
            row = w + (m if x.feature == NULL else x.feature[m]) * d + c
            value = 1.0 if x.value == NULL else x.value[m]
            t0 += value * row[0]
            t1 += value * row[1]
            t2 += value * row[2]
            t3 += value * row[3]
        t[c] = t0
        t[c + 1] = t1
        t[c + 2] = t2
        t[c + 3] = t3
        c += 4
    while c < d:
        t0 = 0.0
        for m in range(x.size):
            value = 1.0 if x.value == NULL else x.value[m]
            t0 += value * w[(m if x.feature == NULL else x.feature[m]) * d + c]
        t[c] = t0
        c += 1
    for c in range(d):
        t[c] += bias * constant[c]
        fine &= fabs(t[c]) <= LARGEST
    return fine


cdef inline void move(Task task, double value, double t, double* row, double* drift) noexcept nogil:
    """INOUT row (d) += value * the change of the task; drift: see Moving."""
    cdef Py_ssize_t j
    cdef double step
    for j in range(task.n_changes):
        step = value * task.change[j]
        row[task.place[j]] += step
        drift[task.place[j]] += t * step


def class_pass(
    Matrix matrix, Task task, const long long[::1] visits, const double[::1] steps, double bias,
    Weights weights, Link link, Reading scratch, bint dual,
):
    """Make one pass.

    IN visits (n_visits), examples in the order of the pass; steps (n_examples), the factor of updates; bias,
    the value of a feature that all examples have besides those of the matrix; dual: the matrix is that of a
    kernel (n_examples, n_examples), and weights are coefficients of examples. INOUT weights
    ((n_features + 1) * d), those of one feature after the other; link, if they are made by a link function,
    otherwise None.
    Return the number of updates, the sum of losses, and the first example with a score out of range, or -1.
    """
    cdef Rows rows = matrix.rows  # a copy: the compiler sees that no step changes it
    cdef const Rows* X = &rows
    cdef Moving* to = &weights.moving
    cdef bint linked = link is not None
    cdef double* w = &link.sums[0] if linked else to.w
    cdef double* drift = &link.drift[0] if linked else to.drift
    cdef double* values = &scratch.values[0]
    cdef int* features = &scratch.features[0]
    cdef Py_ssize_t d = task.d
    cdef long long last = rows.n_features * d
    cdef Example x
    cdef Py_ssize_t v
    cdef long long i, m, f, failed = -1, updates = 0
    cdef double losses = 0.0, loss, step, value
    with nogil:
        for v in range(visits.shape[0]):
            i = visits[v]
            x = example_of(X, i, values, features)
            if not find_scores(&x, to.w, d, to.w + last, bias, task.t):
                failed = i
                break
            loss = task.visit(i)
            if loss > 0.0:
                updates += 1
                losses += loss
                step = steps[i] * loss if task.loss_driven else steps[i]
                if d == 1 and not dual:
                    add(X, i, step * task.change[0], to.t, w, drift)
                elif dual:
                    move(task, step, to.t, w + i * d, drift + i * d)
                else:
                    for m in range(x.size):
                        f = d * (m if x.feature == NULL else x.feature[m])
                        value = 1.0 if x.value == NULL else x.value[m]
                        move(task, step * value, to.t, w + f, drift + f)
                if bias != 0.0:
                    move(task, step * bias, to.t, w + last, drift + last)
                if linked:
                    move_linked(link, weights)
            to.t += 1.0
    return updates, losses, failed
