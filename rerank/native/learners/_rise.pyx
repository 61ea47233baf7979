"""Directions of a line search: the lists along which they differ, each list's items by rising slope."""

import numpy as np

from rerank.native.data._sort cimport BUCKETS
from rerank.native.data._sort cimport argsort
from rerank.native.data._sort cimport word


cdef inline int put_by_slope(
    const double* values, int k, long long first, int* order, double* slopes,
    int* rank, word* words, int* counts,
) noexcept nogil:
    """OUT order and slopes of a list by rising value; returns k, 0 where all values are equal."""
    cdef int i
    for i in range(1, k):
        if values[i] != values[0]:
            break
    else:
        return 0
    argsort(values, rank, k, words, counts)
    for i in range(k):
        order[i] = <int> (first + rank[i])
        slopes[i] = values[rank[i]]
    return k


def rise(
    const double[::1] values,
    const long long[::1] offsets,
    int[::1] lists,
    int[::1] order,
    double[::1] slopes,
):
    """Sorts a column of values within lists. Returns how many lists differ in them, and their items.

    IN values (n), finite, offsets (n_lists + 1); OUT lists (n_lists), order and slopes (n) as far as filled.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t found = 0
    cdef long long filled = 0
    cdef int k
    cdef Py_ssize_t longest = max(int(np.diff(offsets).max()) if n_lists else 0, 1)
    cdef int[::1] rank = np.empty(longest, dtype=np.int32)
    cdef word[::1] words = np.empty(2 * longest, dtype=np.uint64)
    cdef int[::1] counts = np.empty(BUCKETS, dtype=np.int32)
    with nogil:
        for i in range(n_lists):
            k = <int> (offsets[i + 1] - offsets[i])
            k = put_by_slope(
                &values[offsets[i]], k, offsets[i], &order[filled], &slopes[filled],
                &rank[0], &words[0], &counts[0],
            )
            if k:
                lists[found] = <int> i
                found += 1
                filled += k
    return found, filled


def rise_sparse(
    const int[::1] items,
    const double[::1] values,
    const int[::1] list_of,
    const long long[::1] offsets,
    int[::1] lists,
    int[::1] order,
    double[::1] slopes,
):
    """The same for a sparse column: values (m) at rising `items` (m), 0 elsewhere.

    IN list_of (n), each item's list. Only lists with an item among them are looked at.
    """
    cdef Py_ssize_t m = items.shape[0]
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t found = 0
    cdef long long filled = 0
    cdef int i
    cdef int k
    cdef Py_ssize_t longest = max(int(np.diff(offsets).max()) if offsets.shape[0] > 1 else 0, 1)
    cdef double[::1] column = np.empty(longest)
    cdef int[::1] rank = np.empty(longest, dtype=np.int32)
    cdef word[::1] words = np.empty(2 * longest, dtype=np.uint64)
    cdef int[::1] counts = np.empty(BUCKETS, dtype=np.int32)
    with nogil:
        while at < m:
            i = list_of[items[at]]
            k = <int> (offsets[i + 1] - offsets[i])
            column[:k] = 0.0
            while at < m and items[at] < offsets[i + 1]:
                column[items[at] - offsets[i]] = values[at]
                at += 1
            k = put_by_slope(
                &column[0], k, offsets[i], &order[filled], &slopes[filled], &rank[0], &words[0], &counts[0]
            )
            if k:
                lists[found] = i
                found += 1
                filled += k
    return found, filled
