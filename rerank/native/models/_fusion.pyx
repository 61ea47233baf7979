"""Reciprocal rank fusion of the columns of each list."""

import numpy as np

from rerank.native.data._column cimport end_of_tie, order_column

ctypedef fused real:
    float
    double


def reciprocal_ranks(
    const real[:, ::1] X, const long long[::1] offsets, const double[::1] weights, double k, double[::1] out
):
    """OUT out += the sum over columns j of weights[j] / (k + rank), in the order of the columns.

    IN X (n_items, n_columns), offsets (n_lists + 1), weights (n_columns); INOUT out (n_items). Ranks count
    from 1 at the largest value of a column in the list; equal values share the mean of their ranks. NaN has
    no rank and adds nothing.
    """
    cdef Py_ssize_t d = X.shape[1]
    cdef Py_ssize_t i, j, n, first, last, t
    cdef double share
    cdef Py_ssize_t longest = np.diff(offsets).max(initial=1)
    cdef double[:, ::1] keys = np.empty((2, longest))
    cdef long long[:, ::1] places = np.empty((2, longest), dtype=np.int64)
    cdef double* key = &keys[0, 0]
    cdef long long* row = &places[0, 0]
    with nogil:
        for i in range(offsets.shape[0] - 1):
            for j in range(d):
                n = order_column(X, offsets[i], offsets[i + 1], j, key, row, longest)
                first = 0
                while first < n:
                    last = end_of_tie(key, first, n)
                    share = weights[j] / (k + 1.0 + 0.5 * (first + last))
                    for t in range(first, last + 1):
                        out[row[t]] += share
                    first = last + 1
