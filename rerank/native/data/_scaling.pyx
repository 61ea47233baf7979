"""Scaling of features by column, over all rows or over the rows of each list.

Two steps in both layouts: find a shift and a divisor for each column from a range of rows, then set
(x - shift) / divisor. A column that is constant up to rounding has the divisor infinity, so that it
becomes 0 whatever value it meets later. NaN is ignored by every statistic and stays NaN. One thread and
a fixed order of additions give the same bytes on every run.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, isfinite, sqrt

from rerank.native.data._column cimport end_of_tie, order_column

ctypedef fused real:
    float
    double


cpdef inline double divisor_of(double low, double high, double tolerance) noexcept nogil:
    """The width of [low, high], infinity if it is only rounding (or there is no value).

    Widths up to 1e-300 count as rounding too: a share of a smaller one may underflow.
    """
    if not high - low > max(tolerance * max(fabs(low), fabs(high)), 1e-300):
        return INFINITY
    return high - low


cdef Py_ssize_t fit_rows(
    const real[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, bint zscore, double tolerance, double[::1] shift,
    double[::1] divisor, double[:, ::1] work,
) noexcept nogil:
    """OUT shift, divisor (n_features) of rows start..stop; return the first too large column, or -1.

    work (4, n_features): low, high, count, sum.
    """
    cdef Py_ssize_t d = X.shape[1]
    cdef Py_ssize_t i, j
    cdef double x
    for j in range(d):
        work[0, j] = INFINITY
        work[1, j] = -INFINITY
        work[2, j] = 0.0
        work[3, j] = 0.0
    for i in range(start, stop):
        for j in range(d):
            x = X[i, j]
            work[0, j] = x if x < work[0, j] else work[0, j]
            work[1, j] = x if x > work[1, j] else work[1, j]
            work[2, j] += 1.0 if x == x else 0.0
    for j in range(d):
        if work[2, j] > 0 and not isfinite((fabs(work[0, j]) + fabs(work[1, j])) * work[2, j]):
            return j
        divisor[j] = divisor_of(work[0, j], work[1, j], tolerance)
        shift[j] = 0.0 if work[2, j] == 0 else work[0, j] + 0.0
    if not zscore:
        return -1
    # Deviations from the lowest value, then from the mean in units of the range: a large offset
    # or a tiny or huge unit then does no harm to the sums.
    for i in range(start, stop):
        for j in range(d):
            x = X[i, j]
            work[3, j] += x - work[0, j] if x == x else 0.0
    for j in range(d):
        if work[2, j] > 0:
            shift[j] = work[0, j] + work[3, j] / work[2, j]
        work[3, j] = 0.0
    for i in range(start, stop):
        for j in range(d):
            x = (X[i, j] - shift[j]) / divisor[j]
            work[3, j] += x * x if x == x else 0.0
    for j in range(d):
        if isfinite(divisor[j]):
            divisor[j] *= sqrt(work[3, j] / work[2, j])
    return -1


cdef void apply_rows(
    const real[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, bint shifts, const double[::1] shift,
    const double[::1] divisor, real[:, ::1] out,
) noexcept nogil:
    """OUT rows start..stop of out. Adding 0.0 makes -0.0 a 0.0."""
    cdef Py_ssize_t d = X.shape[1]
    cdef Py_ssize_t i, j
    if shifts:
        for i in range(start, stop):
            for j in range(d):
                out[i, j] = <real>((X[i, j] - shift[j]) / divisor[j] + 0.0)
    else:
        for i in range(start, stop):
            for j in range(d):
                out[i, j] = <real>(X[i, j] / divisor[j] + 0.0)


def dense_fit(
    const real[:, ::1] X, bint zscore, double tolerance, double[::1] shift, double[::1] divisor,
    double[:, ::1] work,
):
    """OUT shift, divisor (n_features) over all rows; return the first too large column, or -1.

    IN X (n_items, n_features), NaN allowed; SCRATCH work (4, n_features). Shift is the least value and
    divisor the range, or, with zscore, the mean and the (population) standard deviation.
    """
    cdef Py_ssize_t fault
    with nogil:
        fault = fit_rows(X, 0, X.shape[0], zscore, tolerance, shift, divisor, work)
    return fault


def dense_apply(
    const real[:, ::1] X, bint shifts, const double[::1] shift, const double[::1] divisor, real[:, ::1] out
):
    """OUT out (n_items, n_features) = (X - shift) / divisor, or X / divisor without shifts."""
    with nogil:
        apply_rows(X, 0, X.shape[0], shifts, shift, divisor, out)


def dense_lists(
    const real[:, ::1] X, const long long[::1] offsets, bint zscore, bint shifts, double tolerance,
    double[:, ::1] work, real[:, ::1] out,
):
    """OUT out (n_items, n_features), each list scaled by itself; return the first too large column, or -1.

    IN X, offsets (n_lists + 1); SCRATCH work (6, n_features).
    """
    cdef Py_ssize_t i, fault = -1
    with nogil:
        for i in range(offsets.shape[0] - 1):
            fault = fit_rows(
                X, offsets[i], offsets[i + 1], zscore, tolerance, work[4], work[5], work[:4]
            )
            if fault >= 0:
                break
            apply_rows(X, offsets[i], offsets[i + 1], shifts, work[4], work[5], out)
    return fault


cdef Py_ssize_t fit_entries(
    const long long[::1] indptr, const int[::1] indices, const double[::1] data, Py_ssize_t start,
    Py_ssize_t stop, bint zscore, double tolerance, double[::1] divisor, double[:, ::1] work,
) noexcept nogil:
    """OUT divisor of the columns that rows start..stop list; return the first too large column, or -1.

    Absent values are zeros. work (5, n_features): low, high, listed, NaN, sum; only the columns listed
    are touched, so that a list costs as much as it has entries, not n_features.
    """
    cdef long long at, first = indptr[start], last = indptr[stop]
    cdef Py_ssize_t j
    cdef double rows = stop - start, x, mean, width
    for at in range(first, last):
        j = indices[at]
        work[0, j] = INFINITY
        work[1, j] = -INFINITY
        work[2, j] = 0.0
        work[3, j] = 0.0
        work[4, j] = 0.0
    for at in range(first, last):
        j = indices[at]
        x = data[at]
        work[0, j] = x if x < work[0, j] else work[0, j]
        work[1, j] = x if x > work[1, j] else work[1, j]
        work[2, j] += 1.0
        work[3, j] += 0.0 if x == x else 1.0
    # From here a column is settled once for each of its entries, with the same result each time.
    for at in range(first, last):
        j = indices[at]
        if work[2, j] < rows:
            work[0, j] = min(work[0, j], 0.0)
            work[1, j] = max(work[1, j], 0.0)
        if work[3, j] < rows and not isfinite((fabs(work[0, j]) + fabs(work[1, j])) * rows):
            return j
        divisor[j] = divisor_of(work[0, j], work[1, j], tolerance)
    if not zscore:
        return -1
    for at in range(first, last):
        j = indices[at]
        x = data[at]
        work[4, j] += x - work[0, j] if x == x else 0.0
    for at in range(first, last):
        j = indices[at]
        if work[2, j] > 0:  # not settled yet: keep the mean, and the negative count of listed values
            mean = work[0, j] + (work[4, j] - (rows - work[2, j]) * work[0, j]) / (rows - work[3, j])
            width = divisor[j]
            work[1, j] = mean
            work[4, j] = (rows - work[2, j]) * (mean / width) * (mean / width)
            work[2, j] = -work[2, j]
    for at in range(first, last):
        j = indices[at]
        x = (data[at] - work[1, j]) / divisor[j]
        work[4, j] += x * x if x == x else 0.0
    for at in range(first, last):
        j = indices[at]
        if work[2, j] < 0 and isfinite(divisor[j]):
            divisor[j] *= sqrt(work[4, j] / (rows - work[3, j]))
        work[2, j] = 0.0
    return -1


cdef void apply_entries(
    const int[::1] indices, const double[::1] data, long long first, long long last,
    const double[::1] divisor, double[::1] out,
) noexcept nogil:
    """OUT entries first..last of out = data / divisor of their column."""
    cdef long long at
    for at in range(first, last):
        out[at] = data[at] / divisor[indices[at]] + 0.0


def csr_fit(
    const long long[::1] indptr, const int[::1] indices, const double[::1] data, bint zscore,
    double tolerance, double[::1] divisor, double[:, ::1] work,
):
    """OUT divisor (n_features) of the columns that have an entry; return the first too large column, or -1.

    IN indptr (n_items + 1), indices and data (n_values); SCRATCH work (5, n_features).
    """
    cdef Py_ssize_t fault
    with nogil:
        fault = fit_entries(
            indptr, indices, data, 0, indptr.shape[0] - 1, zscore, tolerance, divisor, work
        )
    return fault


def csr_apply(const int[::1] indices, const double[::1] data, const double[::1] divisor, double[::1] out):
    """OUT out (n_values) = data / divisor of the column."""
    with nogil:
        apply_entries(indices, data, 0, indices.shape[0], divisor, out)


def csr_lists(
    const long long[::1] indptr, const int[::1] indices, const double[::1] data, const long long[::1] offsets,
    bint zscore, double tolerance, double[::1] divisor, double[:, ::1] work, double[::1] out,
):
    """OUT out (n_values), each list divided by its own divisors; return the first too large column, or -1.

    IN indptr, indices, data, offsets (n_lists + 1); SCRATCH divisor (n_features), work (5, n_features).
    """
    cdef Py_ssize_t i, start, stop, fault = -1
    with nogil:
        for i in range(offsets.shape[0] - 1):
            start = offsets[i]
            stop = offsets[i + 1]
            fault = fit_entries(indptr, indices, data, start, stop, zscore, tolerance, divisor, work)
            if fault >= 0:
                break
            apply_entries(indices, data, indptr[start], indptr[stop], divisor, out)
    return fault


def dense_list_ranks(const real[:, ::1] X, const long long[::1] offsets, real[:, ::1] out):
    """OUT out (n_items, n_features): mid-ranks within a list, 0 for the least, 1 for the largest.

    IN X, offsets (n_lists + 1). NaN stays NaN and has no rank; if all values of a list are equal, they
    become 0.
    """
    cdef Py_ssize_t d = X.shape[1]
    cdef Py_ssize_t i, j, r, n, first, last, t
    cdef double rank
    cdef Py_ssize_t longest = np.diff(offsets).max(initial=1)
    cdef double[:, ::1] keys = np.empty((2, longest))
    cdef long long[:, ::1] places = np.empty((2, longest), dtype=np.int64)
    cdef double* key = &keys[0, 0]
    cdef long long* row = &places[0, 0]
    with nogil:
        for i in range(offsets.shape[0] - 1):
            for j in range(d):
                for r in range(offsets[i], offsets[i + 1]):
                    out[r, j] = X[r, j]  # NaN stays
                n = order_column(X, offsets[i], offsets[i + 1], j, key, row, longest)
                first = 0
                while first < n:
                    last = end_of_tie(key, first, n)
                    # Places count from the largest down, ranks from the least up.
                    rank = 0.0 if last - first == n - 1 else (n - 1 - 0.5 * (first + last)) / (n - 1)
                    for t in range(first, last + 1):
                        out[row[t], j] = <real>rank
                    first = last + 1
