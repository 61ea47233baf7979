"""The loss of weighted pairs and its slope in the scores of their items; squares of their differences.

Pair p is the items better[p] and worse[p] with weight[p]. Slopes are kept by item, so that no difference of
feature rows is stored.
"""

from libc.math cimport exp, log1p

from rerank.native.data._matrix cimport DENSE, SINGLE, Difference, Matrix, Rows, Step, subtract
from rerank.native.data._rows cimport real


def pair_loss(
    const double[::1] scores, const long long[::1] better, const long long[::1] worse,
    const double[::1] weight, double[::1] slope,
):
    """Return the sum over pairs of weight * log(1 + exp(-(s of better - s of worse))).

    IN scores (n_items), better, worse, weight (n_pairs); OUT slope (n_items): the derivative by each score.
    """
    cdef Py_ssize_t p
    cdef double margin, small, pull, total = 0.0
    with nogil:
        slope[:] = 0.0
        for p in range(better.shape[0]):
            margin = scores[better[p]] - scores[worse[p]]
            small = exp(-margin if margin > 0.0 else margin)  # never overflows
            if margin > 0.0:
                total += weight[p] * log1p(small)
                pull = weight[p] * small / (1.0 + small)
            else:
                total += weight[p] * (log1p(small) - margin)
                pull = weight[p] / (1.0 + small)
            slope[better[p]] -= pull
            slope[worse[p]] += pull
    return total


cdef inline void add_squares(
    const real* x, const real* y, Py_ssize_t d, double weight, double* out
) noexcept nogil:
    """OUT out += weight * (x - y)^2."""
    cdef Py_ssize_t m
    cdef double step
    for m in range(d):
        step = <double>x[m] - <double>y[m]
        out[m] += weight * (step * step)


def squares(
    Matrix matrix, const long long[::1] better, const long long[::1] worse, const double[::1] weight,
    Difference difference, double[::1] out,
):
    """OUT out += the sum over pairs of weight * (x of better - x of worse)^2.

    IN better, worse, weight (n_pairs); INOUT out (n_features).
    """
    cdef Rows rows = matrix.rows  # a copy: the compiler sees that no step changes it
    cdef const Rows* X = &rows
    cdef Step* step = &difference.step
    cdef Py_ssize_t d = X.width, p, j
    with nogil:
        for p in range(better.shape[0]):
            if X.layout == DENSE:
                add_squares(X.dense + better[p] * d, X.dense + worse[p] * d, d, weight[p], &out[0])
            elif X.layout == SINGLE:
                add_squares(X.single + better[p] * d, X.single + worse[p] * d, d, weight[p], &out[0])
            else:
                subtract(X, better[p], worse[p], step)
                for j in range(step.size):
                    out[step.place[j]] += weight[p] * (step.value[j] * step.value[j])
