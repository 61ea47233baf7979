"""Feature matrices of every layout: scores of a linear model, sums of rows, checks.

Sums run in the order of the features, one addition after the other, so that a score has the same bits in
every layout: an absent feature adds nothing, a dense zero adds 0.0.
"""

import numpy as np


cdef class Matrix:
    """The rows of a feature matrix, made once for many calls of kernels.

    IN n_items, n_features; for dense rows ``dense`` (n_items, n_features), float64 or float32; for sparse
    rows indptr (n_items + 1), indices and data (n_values; data None: all ones), with or without a few dense
    columns beside them: ``dense`` (n_items, n_columns), float64, and ``columns`` (n_columns), their features,
    rising.
    """

    def __init__(
        self, Py_ssize_t n_items, Py_ssize_t n_features, dense=None, const int[::1] columns=None,
        const long long[::1] indptr=None, const int[::1] indices=None, const double[::1] data=None,
    ):
        cdef const double[:, ::1] doubles
        cdef const float[:, ::1] singles
        cdef Rows* rows = &self.rows
        self.held = (dense, columns, indptr, indices, data)
        rows.n_items = n_items
        rows.n_features = n_features
        rows.width = 0
        rows.layout = SPARSE
        if dense is not None:
            rows.width = dense.shape[1]
            if dense.dtype == np.float32:
                singles = dense
                rows.single = &singles[0, 0] if dense.size else NULL
                rows.layout = SINGLE
            else:
                doubles = dense
                rows.dense = &doubles[0, 0] if dense.size else NULL
                rows.layout = DENSE
        if indptr is not None:
            rows.indptr = &indptr[0]
            rows.indices = &indices[0] if indices.shape[0] else NULL
            rows.data = &data[0] if data is not None and data.shape[0] else NULL
        if columns is not None:
            rows.columns = &columns[0] if columns.shape[0] else NULL
            rows.layout = MIXED

    def number_by_list(self, numbers):
        """Take the ``ListNumbers`` that _blocks.number_by_list has filled."""
        cdef Local* to = &self.rows.local
        cdef const unsigned short[::1] entry = numbers.entry, place = numbers.place
        cdef const double[::1] values = numbers.values
        cdef const long long[:, ::1] bounds = numbers.bounds
        cdef const int[::1] features = numbers.features
        self.held = (*self.held, numbers)
        to.entry = &entry[0]
        to.bounds = &bounds[0, 0]
        to.features = &features[0]
        to.starts = &bounds[1, 0]
        to.place = &place[0] if values is not None else NULL
        to.values = &values[0] if values is not None else NULL
        to.data = self.rows.data if values is None else NULL


cdef class Sum:
    """Scratch for the weighted sum of the rows of one list.

    IN offsets (n_lists + 1) and items, the rows of each list.
    """

    def __init__(self, Matrix matrix, const long long[::1] offsets, const long long[::1] items):
        cdef const Rows* X = &matrix.rows
        cdef Py_ssize_t i
        cdef long long j, n, most = 0
        if X.indptr != NULL:
            for i in range(offsets.shape[0] - 1):
                n = X.width * (offsets[i + 1] - offsets[i])
                for j in range(offsets[i], offsets[i + 1]):
                    n += X.indptr[items[j] + 1] - X.indptr[items[j]]
                most = max(most, n)
        cdef double[::1] sums = np.zeros(max(X.n_features, 1))
        cdef int[::1] touched = np.empty(most + 1, dtype=np.int32)
        self.held = (sums, touched)
        self.change.sum = &sums[0]
        self.change.touched = &touched[0]
        self.change.n = 0


cdef class Difference:
    """Scratch for the difference of two rows."""

    def __init__(self, Matrix matrix):
        cdef const Rows* X = &matrix.rows
        cdef Py_ssize_t i
        cdef long long most = 0
        cdef bint dense = X.indptr == NULL
        if not dense:
            for i in range(X.n_items):
                most = max(most, X.indptr[i + 1] - X.indptr[i])
        cdef double[::1] values = np.empty(2 * most + X.width + 1)
        cdef int[::1] places = np.empty(2 * most + X.width + 1, dtype=np.int32)
        self.held = (values, places)
        self.step.value = &values[0]
        self.step.place = &places[0]
        self.step.size = X.width
        self.step.all = dense


def scores(Matrix matrix, const double[::1] w, double[::1] out):
    """OUT out[i] = the product of row i with w. IN w (n_features); OUT out (n_items)."""
    cdef const Rows* X = &matrix.rows
    cdef const double* weights = &w[0] if w.shape[0] else NULL
    if X.n_items:
        with nogil:
            dots(X, NULL, 0, X.n_items, weights, &out[0])


def transposed(Matrix matrix, const double[::1] c, double[::1] out):
    """OUT out += the sum over rows of c[i] times row i, in the order of the rows.

    IN c (n_items); INOUT out (n_features > 0).
    """
    cdef Rows rows = matrix.rows  # a copy: the compiler sees that no step changes it
    cdef Py_ssize_t i
    with nogil:
        for i in range(rows.n_items):
            if c[i] != 0.0:
                accumulate(&rows, i, c[i], &out[0])


def merge_rows(Matrix matrix, const long long[::1] indptr, int[::1] indices, double[::1] data):
    """OUT indices and data: the rows of a mixed matrix in CSR, zeros of its dense columns left out.

    IN indptr (n_items + 1) of the merged rows; OUT indices, data (indptr[n_items]).
    """
    cdef const Rows* X = &matrix.rows
    cdef Py_ssize_t i, m
    cdef long long at, to
    with nogil:
        for i in range(X.n_items):
            m = 0
            at = X.indptr[i]
            for to in range(indptr[i], indptr[i + 1]):
                while m < X.width and X.dense[i * X.width + m] == 0.0:
                    m += 1
                if m < X.width and (at == X.indptr[i + 1] or X.columns[m] < X.indices[at]):
                    indices[to] = X.columns[m]
                    data[to] = X.dense[i * X.width + m]
                    m += 1
                else:
                    indices[to] = X.indices[at]
                    data[to] = 1.0 if X.data == NULL else X.data[at]
                    at += 1


def kept_bounds(
    const long long[::1] indptr, const int[::1] indices, const int[::1] places, long long[::1] bounds
):
    """OUT bounds (n_items + 1): where each row starts if only columns with a place are kept.

    IN indptr (n_items + 1), indices (n_values); places (n_features), -1 for columns that are dropped.
    """
    cdef Py_ssize_t i
    cdef long long at, n = 0
    with nogil:
        bounds[0] = 0
        for i in range(indptr.shape[0] - 1):
            for at in range(indptr[i], indptr[i + 1]):
                n += places[indices[at]] >= 0
            bounds[i + 1] = n


def keep_values(
    const int[::1] indices, const double[::1] data, const int[::1] places, int[::1] new, double[::1] values
):
    """OUT new, values: the places and the values of kept columns, in their order; see ``kept_bounds``.

    IN indices (n_values); data (n_values), or None, which leaves values as they are; places (n_features).
    """
    cdef long long at, to = 0
    with nogil:
        for at in range(indices.shape[0]):
            if places[indices[at]] >= 0:
                new[to] = places[indices[at]]
                if data is not None:
                    values[to] = data[at]
                to += 1


def row_with_column(const long long[::1] indptr, const int[::1] indices, int column):
    """Return the first row that has a value of ``column``, or -1.

    IN indptr (n_items + 1), indices (n_values), rising within rows.
    """
    cdef Py_ssize_t i
    cdef long long low, high, middle
    with nogil:
        for i in range(indptr.shape[0] - 1):
            low = indptr[i]
            high = indptr[i + 1]
            if low == high or indices[low] > column or indices[high - 1] < column:
                continue
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < column:
                    low = middle + 1
                else:
                    high = middle
            if indices[low] == column:
                with gil:
                    return i
    return -1


def csr_fault(const long long[::1] indptr, const int[::1] indices, long long n_features):
    """Return the first row whose indices are not strictly rising within [0, n_features), or -1.

    IN indptr (n_items + 1), rising and within indices; indices (n_values).
    """
    cdef Py_ssize_t n = indptr.shape[0] - 1
    cdef Py_ssize_t i, fault = -1
    cdef long long at, last
    with nogil:
        for i in range(n):
            last = -1
            for at in range(indptr[i], indptr[i + 1]):
                if indices[at] <= last or indices[at] >= n_features:
                    fault = i
                    break
                last = indices[at]
            if fault >= 0:
                break
    return fault


def value_fault(const real[::1] values, bint nan_allowed):
    """Return the position of the first infinite value, or NaN unless allowed, or -1; and whether any is NaN.

    IN values (n). A value times zero is zero unless it is infinite or NaN.
    """
    cdef Py_ssize_t n = values.shape[0]
    cdef Py_ssize_t i, block, stop, fault = -1
    cdef bint any_nan = False, odd
    with nogil:
        block = 0
        while block < n and fault < 0:
            stop = min(block + 1024, n)
            odd = False
            for i in range(block, stop):
                odd |= not (values[i] * 0.0 == 0.0)
            if odd:
                for i in range(block, stop):
                    if values[i] != values[i]:
                        any_nan = True
                        if not nan_allowed:
                            fault = i
                            break
                    elif values[i] * 0.0 != 0.0:
                        fault = i
                        break
            block = stop
    return fault, any_nan
