"""Gaussians of the differences of items, summed over pairs that are not stored.

exp(-|x - y - c|^2 / 2s^2) is exp(-|x - y|^2 / 2s^2) times exp(x.c / s^2), exp(-y.c / s^2) and
exp(-|c|^2 / 2s^2). Items are in the order of decreasing labels within their list; item i is the better one of
the pairs with the positions start[i]:stop[i] of its list. Pairs are numbered in the order of these ranges.
"""

import numpy as np

from libc.math cimport INFINITY, exp, log


def add_sums(
    const double[::1] pair, const long long[::1] first, const int[::1] start, const int[::1] stop,
    const double[:, ::1] better, const double[:, ::1] worse, double[::1] out,
):
    """INOUT out[b] += the sum over pairs p = (i, j) of pair[p] * better[i, b] * worse[j, b].

    IN pair (n_pairs); first (n): the position of the first item of each item's list; start, stop (n); better,
    worse (n, b).
    """
    cdef Py_ssize_t n_columns = out.shape[0]
    cdef double[::1] space = np.empty(n_columns)
    cdef Py_ssize_t i, j, b, p = 0
    cdef double* total = &space[0]
    cdef const double* other
    cdef Py_ssize_t last
    with nogil:
        for i in range(start.shape[0]):
            if start[i] >= stop[i]:
                continue
            for b in range(n_columns):
                total[b] = 0.0
            j = first[i] + start[i]
            last = first[i] + stop[i]
            while j + 4 <= last:  # four at a time: a total is loaded and stored once
                other = &worse[j, 0]
                for b in range(n_columns):
                    total[b] += (pair[p] * other[b] + pair[p + 1] * other[n_columns + b]) + (
                        pair[p + 2] * other[2 * n_columns + b] + pair[p + 3] * other[3 * n_columns + b]
                    )
                j += 4
                p += 4
            while j < last:
                other = &worse[j, 0]
                for b in range(n_columns):
                    total[b] += pair[p] * other[b]
                j += 1
                p += 1
            for b in range(n_columns):
                out[b] += total[b] * better[i, b]


def add_weighted(
    const double[::1] pair, const long long[::1] first, const int[::1] start, const int[::1] stop,
    const double[:, ::1] better, const double[:, ::1] worse, double[::1] out,
):
    """INOUT out[p] += pair[p] * the sum over b of better[i, b] * worse[j, b]; p = (i, j), see add_sums."""
    cdef Py_ssize_t n_columns = better.shape[1]
    cdef Py_ssize_t i, j, b, p = 0
    cdef const double* mine
    cdef const double* other
    cdef double[4] total
    with nogil:
        for i in range(start.shape[0]):
            mine = &better[i, 0]
            for j in range(first[i] + start[i], first[i] + stop[i]):
                other = &worse[j, 0]
                total[0] = total[1] = total[2] = total[3] = 0.0
                for b in range(0, n_columns - 3, 4):
                    total[0] += mine[b] * other[b]
                    total[1] += mine[b + 1] * other[b + 1]
                    total[2] += mine[b + 2] * other[b + 2]
                    total[3] += mine[b + 3] * other[b + 3]
                for b in range(n_columns - n_columns % 4, n_columns):
                    total[0] += mine[b] * other[b]
                out[p] += pair[p] * ((total[0] + total[1]) + (total[2] + total[3]))
                p += 1


def log_sums(
    const double[::1] pair, const long long[::1] first, const int[::1] start, const int[::1] stop,
    const double[:, ::1] better, double[::1] out,
):
    """OUT out[b] = the log of the sum over pairs p = (i, j) of exp(pair[p] + better[i, b] - better[j, b]).

    Neither overflows nor vanishes. IN see add_sums; pair and better are finite.
    """
    cdef Py_ssize_t n_columns = out.shape[0]
    cdef double[::1] space = np.zeros(n_columns)
    cdef Py_ssize_t i, j, b, p = 0
    cdef double at
    with nogil:
        for b in range(n_columns):
            out[b] = -INFINITY  # the largest term so far; the sum is in units of its exponential
        for i in range(start.shape[0]):
            for j in range(first[i] + start[i], first[i] + stop[i]):
                for b in range(n_columns):
                    at = pair[p] + (better[i, b] - better[j, b])
                    if at > out[b]:
                        space[b] = space[b] * exp(out[b] - at) + 1.0
                        out[b] = at
                    else:
                        space[b] += exp(at - out[b])
                p += 1
        for b in range(n_columns):
            out[b] += log(space[b])


def add_exponentials(
    const double[::1] pair, const long long[::1] first, const int[::1] start, const int[::1] stop,
    const double[:, ::1] better, const double[::1] log_factor, double[::1] out,
):
    """INOUT out[p] += the sum over b of exp(pair[p] + better[i, b] - better[j, b] + log_factor[b]).

    IN see log_sums; log_factor (b).
    """
    cdef Py_ssize_t n_columns = better.shape[1]
    cdef Py_ssize_t i, j, b, p = 0
    cdef double total
    with nogil:
        for i in range(start.shape[0]):
            for j in range(first[i] + start[i], first[i] + stop[i]):
                total = 0.0
                for b in range(n_columns):
                    total += exp((pair[p] + log_factor[b]) + (better[i, b] - better[j, b]))
                out[p] += total
                p += 1
