"""Pairs of items with different labels that scores put in the right order, or in the wrong one."""

import numpy as np

from libc.string cimport memset

from rerank.native.data._fenwick cimport tree_add, tree_sum
from rerank.native.data._merge cimport sort_down


def label_ranks(
    const double[::1] labels, const long long[::1] offsets, int[::1] ranks, int[::1] n_ranks,
    long long[::1] n_pairs,
):
    """Number the different labels of each list, and count its pairs of different labels.

    IN labels (n_items), NaN = unjudged; OUT ranks (n_items), 1 for the largest label of the list,
    0 = unjudged; n_ranks, n_pairs (n_lists).
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i, m
    cdef long long j, same, pairs
    cdef int rank
    cdef Py_ssize_t longest = np.diff(offsets).max(initial=1)
    cdef double[:, ::1] keys = np.empty((2, longest))
    cdef long long[:, ::1] items = np.empty((2, longest), dtype=np.int64)
    cdef double* key = &keys[0, 0]
    cdef long long* item = &items[0, 0]
    with nogil:
        for i in range(n_lists):
            m = 0
            for j in range(offsets[i], offsets[i + 1]):
                ranks[j] = 0
                if labels[j] == labels[j]:
                    key[m] = labels[j]
                    item[m] = j
                    m += 1
            sort_down(key, item, &keys[1, 0], &items[1, 0], m)
            rank = 0
            same = 0
            pairs = m * (m - 1) // 2
            for j in range(m):
                if j == 0 or key[j] != key[j - 1]:
                    rank += 1
                    same = 0
                pairs -= same
                same += 1
                ranks[item[j]] = rank
            n_ranks[i] = rank
            n_pairs[i] = pairs


def concordance(
    const double[::1] scores, const long long[::1] offsets, const int[::1] ranks, const int[::1] n_ranks,
    long long[::1] right, long long[::1] wrong,
):
    """Pairs of different labels that the scores put in the order of the labels, or in the other order.

    Items are visited from the largest score down; a Fenwick tree counts those seen by label rank.

    IN scores (n_items), ranks and n_ranks of ``label_ranks``; OUT right, wrong (n_lists).
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i, m
    cdef long long j, a, b, n_right, n_wrong, rank
    cdef Py_ssize_t longest = np.diff(offsets).max(initial=1)
    cdef double[:, ::1] keys = np.empty((2, longest))
    cdef long long[:, ::1] items = np.empty((2, longest), dtype=np.int64)
    cdef double* key = &keys[0, 0]
    cdef long long* rank_of = &items[0, 0]
    cdef int[::1] counts = np.empty(longest + 1, dtype=np.int32)
    cdef int* tree = &counts[0]
    with nogil:
        for i in range(n_lists):
            m = 0
            n_right = 0
            n_wrong = 0
            for j in range(offsets[i], offsets[i + 1]):
                if ranks[j] and n_ranks[i] > 1:
                    key[m] = scores[j]
                    rank_of[m] = ranks[j]
                    m += 1
            sort_down(key, rank_of, &keys[1, 0], &items[1, 0], m)
            memset(tree, 0, (n_ranks[i] + 1) * sizeof(int))
            a = 0
            while a < m:
                b = a
                while b < m and key[b] == key[a]:
                    rank = rank_of[b]
                    n_right += tree_sum(tree, rank - 1)
                    n_wrong += a - tree_sum(tree, rank)
                    b += 1
                while a < b:
                    tree_add(tree, n_ranks[i], rank_of[a], 1, 0.0)
                    a += 1
            right[i] = n_right
            wrong[i] = n_wrong
