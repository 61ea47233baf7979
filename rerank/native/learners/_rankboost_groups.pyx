"""The items of a feature by its thresholds; see ``WeakRankers``."""

import numpy as np

from rerank.native.data._sort cimport BUCKETS, argsort, word


def sort(const double[::1] values, int[::1] order, double[::1] rising, long long[::1] words):
    """OUT order (n): the positions of values by falling value, NaN last; rising: the values that are not NaN.

    Return how many are not NaN. words: scratch (2 n).
    """
    cdef Py_ssize_t n = values.shape[0], i, k = 0
    cdef const double* z = &values[0] if n else NULL
    cdef int[::1] place = None, counts = np.empty(BUCKETS, dtype=np.int32)
    cdef double[::1] known
    if np.isnan(values).any():
        place = np.argsort(np.isnan(values), kind="stable").astype(np.int32)
        known = np.asarray(values)[place]
        z = &known[0]
    with nogil:
        while k < n and (place is None or z[k] == z[k]):
            k += 1
        if k:
            argsort(z, &order[0], <int> k, <word*> &words[0], &counts[0])
        for i in range(k):
            rising[i] = z[order[i]]
        for i in range(k // 2):
            order[i], order[k - 1 - i] = order[k - 1 - i], order[i]
        if place is not None:
            for i in range(n):
                order[i] = place[order[i] if i < k else i]
    return k


def count_groups(const double[::1] rising, const double[::1] at, long long[::1] sizes):
    """OUT sizes[: m + 1]: how many values pass the highest threshold, ..., only the lowest, and none.

    IN rising values, and rising thresholds (m).
    """
    cdef Py_ssize_t m = at.shape[0], end = rising.shape[0], k = end, j
    with nogil:
        for j in range(m + 1):
            while k > 0 and (j == m or rising[k - 1] >= at[m - 1 - j]):
                k -= 1
            sizes[j] = end - k
            end = k
