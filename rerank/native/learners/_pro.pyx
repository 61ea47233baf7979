"""Loss of weighted pairs and its slope in the items' scores; squares of the pairs' features.

Pairs are items better[p], worse[p] of weight[p]; what they share goes by items, so that no difference of
feature rows is kept.
"""

from libc.math cimport exp
from libc.math cimport log1p

from rerank.native.data._rows cimport csr_difference
from rerank.native.data._rows cimport real


def pair_loss(
    const double[::1] scores, const long long[::1] better, const long long[::1] worse,
    const double[::1] weight, double[::1] slope,
):
    """Sum over pairs of weight * log(1 + exp(-(s of better - s of worse))).

    IN scores (n_items), better, worse, weight (n_pairs); OUT slope (n_items): the derivative by each score.
    """
    cdef Py_ssize_t p
    cdef double margin
    cdef double small
    cdef double pull
    cdef double total = 0.0
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


def dense_squares(
    const real[:, ::1] X, const long long[::1] better, const long long[::1] worse,
    const double[::1] weight, double[::1] out,
):
    """OUT out += sum over pairs of weight * (x of better - x of worse)^2.

    IN X (n_items, n_features), better, worse, weight (n_pairs); INOUT out (n_features).
    """
    cdef Py_ssize_t p
    cdef Py_ssize_t j
    cdef double difference
    with nogil:
        for p in range(better.shape[0]):
            for j in range(X.shape[1]):
                difference = <double>X[better[p], j] - <double>X[worse[p], j]
                out[j] += weight[p] * (difference * difference)


def csr_squares(
    const long long[::1] indptr, const int[::1] indices, const double[::1] data,
    const long long[::1] better, const long long[::1] worse, const double[::1] weight, double[::1] out,
    int[::1] place, double[::1] step,
):
    """As dense_squares, of CSR rows (at least one value); data None stands for all ones.

    Scratch place and step hold the values of two rows.
    """
    cdef Py_ssize_t p
    cdef Py_ssize_t j
    cdef Py_ssize_t size
    cdef const double* values = NULL
    if data is not None:
        values = &data[0]
    with nogil:
        for p in range(better.shape[0]):
            size = csr_difference(
                &indices[0], values, indptr[better[p]], indptr[better[p] + 1],
                indptr[worse[p]], indptr[worse[p] + 1], &place[0], &step[0]
            )
            for j in range(size):
                out[place[j]] += weight[p] * (step[j] * step[j])
