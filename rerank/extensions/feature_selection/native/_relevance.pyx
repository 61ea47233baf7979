"""How the values of every feature go with the labels of the items, list by list.

The values of a list are moved into columns, from which zeros are left out. A column whose values are equal is
an indicator: pairs of it and the zeros are counted from ranks alone. Any other column is sorted.
"""

import numpy as np

from libc.string cimport memset

from rerank.native.data._fenwick cimport tree_add, tree_sum
from rerank.native.data._matrix cimport DENSE, SINGLE, Matrix, Rows
from rerank.native.data._merge cimport sort_down


# The columns of one list: a feature f has count[f] values from start[f] on, in the order of the items.
cdef struct Columns:
    int* count
    long long* start
    int* touched
    double* value
    int* place  # of the item in the list
    int* row_feature  # the values of one row
    double* row_value


# What the items of one list are sorted by, and what is known of each, all (n).
cdef struct Items:
    Py_ssize_t n
    const int* rank  # 1 + the number of items with a larger label, rising
    const double* centred  # the label less the mean of the list
    long long* worse  # the number of items with a smaller label
    double* key
    double* key_work
    long long* item
    long long* item_work
    int* tree


cdef inline Py_ssize_t values_of_row(
    const Rows* X, long long row, int* feature, double* value
) noexcept nogil:
    """OUT the features of a row that are not 0, in any order, and their values. Return how many there are."""
    cdef Py_ssize_t m, n = 0
    cdef long long at
    cdef double v
    if X.indptr != NULL:
        for at in range(X.indptr[row], X.indptr[row + 1]):
            v = 1.0 if X.data == NULL else X.data[at]
            feature[n] = X.indices[at]
            value[n] = v
            n += v != 0.0
    for m in range(X.width):
        v = X.single[row * X.width + m] if X.layout == SINGLE else X.dense[row * X.width + m]
        feature[n] = <int> m if X.layout == DENSE or X.layout == SINGLE else X.columns[m]
        value[n] = v
        n += v != 0.0
    return n


cdef Py_ssize_t fill(const Rows* X, const long long* items, Py_ssize_t n, Columns* c) noexcept nogil:
    """OUT the columns of a list of n items. Return how many features have a value."""
    cdef Py_ssize_t j, m, size, n_touched = 0
    cdef long long total = 0
    cdef int f
    for j in range(n):
        size = values_of_row(X, items[j], c.row_feature, c.row_value)
        for m in range(size):
            f = c.row_feature[m]
            if c.count[f] == 0:
                c.touched[n_touched] = f
                n_touched += 1
            c.count[f] += 1
    for m in range(n_touched):
        f = c.touched[m]
        c.start[f] = total
        total += c.count[f]
        c.count[f] = 0
    for j in range(n):
        size = values_of_row(X, items[j], c.row_feature, c.row_value)
        for m in range(size):
            f = c.row_feature[m]
            c.value[c.start[f] + c.count[f]] = c.row_value[m]
            c.place[c.start[f] + c.count[f]] = <int> j
            c.count[f] += 1
    return n_touched


cdef void indicator_pairs(
    const Items* s, const int* place, Py_ssize_t m, long long* larger, long long* smaller
) noexcept nogil:
    """OUT the pairs of an item of ``place`` (m) and another one: its label is larger, or smaller."""
    cdef Py_ssize_t a = 0, b, k
    larger[0] = smaller[0] = 0
    while a < m:
        b = a
        while b < m and s.rank[place[b]] == s.rank[place[a]]:
            b += 1
        for k in range(a, b):
            larger[0] += s.worse[place[k]] - (m - b)
            smaller[0] += s.rank[place[k]] - 1 - a
        a = b


cdef void sorted_pairs(
    const Items* s, const double* value, const int* place, Py_ssize_t m, long long* right, long long* wrong
) noexcept nogil:
    """OUT the pairs whose item of the larger label has the larger value, or the smaller one."""
    cdef Py_ssize_t j, a = 0, b
    for j in range(s.n):
        s.key[j] = 0.0
        s.item[j] = s.rank[j]
    for j in range(m):
        s.key[place[j]] = value[j]
    sort_down(s.key, s.item, s.key_work, s.item_work, s.n)
    memset(s.tree, 0, (s.n + 1) * sizeof(int))
    right[0] = wrong[0] = 0
    while a < s.n:
        b = a
        while b < s.n and s.key[b] == s.key[a]:
            right[0] += tree_sum(s.tree, s.item[b] - 1)
            wrong[0] += a - tree_sum(s.tree, s.item[b])
            b += 1
        while a < b:
            tree_add(s.tree, s.n, s.item[a], 1, 0.0)
            a += 1


cdef void one_column(
    const Items* s, const double* value, const int* place, Py_ssize_t m, double[:, ::1] out, int f
) noexcept nogil:
    """Add what a list tells of feature f, whose m values other than 0 are given."""
    cdef Py_ssize_t k
    cdef double shift = value[0] if m == s.n else 0.0  # values with a large mean lose no digits
    cdef double v, total = 0.0, squares = 0.0, products = 0.0
    cdef long long right = 0, wrong = 0
    cdef bint equal = True
    for k in range(m):
        v = value[k] - shift
        equal = equal and value[k] == value[0]
        total += v
        squares += v * v
        products += v * s.centred[place[k]]
    if equal and m == s.n:
        return
    if not equal:
        sorted_pairs(s, value, place, m, &right, &wrong)
    elif value[0] > 0.0:
        indicator_pairs(s, place, m, &right, &wrong)
    else:
        indicator_pairs(s, place, m, &wrong, &right)
    out[0, f] += 1
    out[1, f] += right
    out[2, f] += wrong
    out[3, f] += squares - total * total / s.n
    out[4, f] += products


def relevance(
    Matrix matrix, const long long[::1] bounds, const long long[::1] items, const int[::1] rank,
    const double[::1] centred, double[:, ::1] out,
):
    """Add up what the lists tell of each feature.

    IN bounds (n_lists + 1), items: the rows of each list, the largest label first; rank (n_items): 1 + the
    number of items of the list with a larger label; centred (n_items): the label less the mean of the list.
    OUT out (5, n_features), 0 before: the lists within which the feature is not constant; the pairs of
    different labels whose item of the larger label has the larger value, or the smaller one; the squared
    deviations of the values from the means of their lists, and their products with ``centred``.
    """
    cdef const Rows* X = &matrix.rows
    cdef Py_ssize_t n_lists = bounds.shape[0] - 1, d = X.n_features, i, j, k, n_touched
    cdef Py_ssize_t longest = np.diff(bounds).max(initial=1)
    cdef long long size, most = 1
    for i in range(n_lists):
        size = X.width * (bounds[i + 1] - bounds[i])
        if X.indptr != NULL:
            for j in range(bounds[i], bounds[i + 1]):
                size += X.indptr[items[j] + 1] - X.indptr[items[j]]
        most = max(most, size)
    cdef int[:, ::1] of_feature = np.zeros((3, d + 1), dtype=np.int32)
    cdef long long[::1] start = np.empty(d + 1, dtype=np.int64)
    cdef double[::1] value = np.empty(most), row_value = np.empty(d + 1)
    cdef int[::1] place = np.empty(most, dtype=np.int32), tree = np.empty(longest + 1, dtype=np.int32)
    cdef double[:, ::1] keys = np.empty((2, longest))
    cdef long long[:, ::1] numbers = np.empty((3, longest), dtype=np.int64)
    cdef Columns c = Columns(
        &of_feature[0, 0], &start[0], &of_feature[1, 0], &value[0], &place[0], &of_feature[2, 0],
        &row_value[0],
    )
    cdef Items s = Items(
        0, NULL, NULL, &numbers[0, 0], &keys[0, 0], &keys[1, 0], &numbers[1, 0], &numbers[2, 0], &tree[0]
    )
    cdef int f
    with nogil:
        for i in range(n_lists):
            s.n = bounds[i + 1] - bounds[i]
            s.rank = &rank[bounds[i]]
            s.centred = &centred[bounds[i]]
            j = 0
            while j < s.n:
                k = j
                while k < s.n and s.rank[k] == s.rank[j]:
                    k += 1
                while j < k:
                    s.worse[j] = s.n - k
                    j += 1
            n_touched = fill(X, &items[bounds[i]], s.n, &c)
            for j in range(n_touched):
                f = c.touched[j]
                one_column(&s, c.value + c.start[f], c.place + c.start[f], c.count[f], out, f)
                c.count[f] = 0
