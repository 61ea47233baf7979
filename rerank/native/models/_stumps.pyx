"""Scores of stumps: thresholds of features, each with a step."""

import numpy as np

from rerank.native.data._matrix cimport Matrix


cdef class Stumps:
    """Thresholds by feature, which kernels see as ``Cuts``.

    IN first (n_features + 1), the bounds of each feature's thresholds in ``at`` (n), which rise within them.
    """

    def __init__(self, const long long[::1] first, const double[::1] at):
        cdef Py_ssize_t n_features = first.shape[0] - 1, f
        cdef long long k
        cdef long long[::1] zero = np.empty(n_features + 1, dtype=np.int64)
        cdef long long[::1] one = np.empty(n_features + 1, dtype=np.int64)
        with nogil:
            for f in range(n_features):
                k = first[f]
                while k < first[f + 1] and at[k] <= 0.0:
                    k += 1
                zero[f] = k
                while k < first[f + 1] and at[k] <= 1.0:
                    k += 1
                one[f] = k
        self.first, self.zero = np.asarray(first), np.asarray(zero)[:n_features]
        self.one, self.at = np.asarray(one)[:n_features], np.asarray(at)
        self.n = at.shape[0]
        self.cuts.first = &first[0]
        self.cuts.zero = &zero[0]
        self.cuts.one = &one[0]
        self.cuts.at = &at[0] if self.n else NULL


def reach(Stumps stumps, const double[::1] step, double[::1] out):
    """OUT out[k]: what a value adds whose stumps (as ``Cuts`` names them) end at k, counted away from 0.

    IN step (n); OUT out (n).
    """
    cdef const Cuts* cuts = &stumps.cuts
    cdef Py_ssize_t f
    cdef long long k
    cdef double total
    for f in range(stumps.first.shape[0] - 1):
        total = 0.0
        for k in range(cuts.zero[f], cuts.first[f + 1]):
            total += step[k]
            out[k] = total
        total = 0.0
        for k in range(cuts.zero[f] - 1, cuts.first[f] - 1, -1):
            total -= step[k]
            out[k] = total


def scores(Matrix matrix, Stumps stumps, const int[::1] feature, const double[::1] reach, double[::1] out):
    """OUT out[i] = the sum over features of what the value of row i adds, in the order of the features.

    IN feature (n) of each stump, reach (n); OUT out (n_items).
    """
    cdef const Cuts* cuts = &stumps.cuts
    cdef Py_ssize_t i, m, n
    cdef int k
    cdef double total
    cdef int[::1] room = np.empty(stumps.n + 1, dtype=np.int32)
    with nogil:
        for i in range(matrix.rows.n_items):
            total = 0.0
            n = stumps_of(&matrix.rows, cuts, i, &room[0])
            for m in range(n):
                k = room[m]
                if cuts.at[k] > 0.0:
                    if m + 1 == n or feature[room[m + 1]] != feature[k]:
                        total += reach[k]
                elif m == 0 or feature[room[m - 1]] != feature[k]:
                    total += reach[k]
            out[i] = total
