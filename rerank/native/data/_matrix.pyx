"""Feature matrices, dense and CSR: scores of a linear model, checks, ranges.

Sums run in the order of the features, one addition after the other, so that a score has the same
bits whatever the layout: an absent feature adds nothing, a dense zero adds 0.0.
"""

from rerank.native.data._rows cimport csr_dot
from rerank.native.data._rows cimport dense_dot
from rerank.native.data._rows cimport dense_dot4
from rerank.native.data._rows cimport real


def dense_scores(const real[:, ::1] X, const double[::1] w, double[::1] out):
    """OUT out[i] = sum over j of X[i, j] * w[j].

    IN X (n_items, n_features), w (n_features), n_features > 0; OUT out (n_items).
    """
    cdef Py_ssize_t n = X.shape[0]
    cdef Py_ssize_t d = X.shape[1]
    cdef Py_ssize_t i = 0
    with nogil:
        while i + 4 <= n:
            dense_dot4(&X[i, 0], &X[i + 1, 0], &X[i + 2, 0], &X[i + 3, 0], &w[0], d, &out[i])
            i += 4
        while i < n:
            out[i] = dense_dot(&X[i, 0], &w[0], d)
            i += 1


def csr_scores(
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    const double[::1] w,
    double[::1] out,
):
    """OUT out[i] = sum of data * w over row i; data None stands for all ones.

    IN indptr (n_items + 1), indices and data (n_values > 0), w (n_features); OUT out (n_items).
    """
    cdef Py_ssize_t n = indptr.shape[0] - 1
    cdef Py_ssize_t i
    cdef const double* values = NULL
    if data is not None:
        values = &data[0]
    with nogil:
        for i in range(n):
            out[i] = csr_dot(&indices[0], values, indptr[i], indptr[i + 1], &w[0])


def dense_transposed(const real[:, ::1] X, const double[::1] c, double[::1] out):
    """OUT out[j] += sum over i of c[i] * X[i, j], in the order of the items.

    IN X (n_items, n_features), n_features > 0, c (n_items); INOUT out (n_features).
    """
    cdef Py_ssize_t d = X.shape[1]
    cdef Py_ssize_t i
    cdef Py_ssize_t j
    cdef double factor
    with nogil:
        for i in range(X.shape[0]):
            factor = c[i]
            if factor != 0.0:
                for j in range(d):
                    out[j] += factor * X[i, j]


def csr_transposed(
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    const double[::1] c,
    double[::1] out,
):
    """OUT out[j] += sum over i of c[i] * X[i, j], in the order of the items; data None stands for all ones.

    IN indptr (n_items + 1), indices and data (n_values), c (n_items); INOUT out (n_features).
    """
    cdef Py_ssize_t i
    cdef long long at
    cdef bint ones = data is None
    with nogil:
        for i in range(indptr.shape[0] - 1):
            for at in range(indptr[i], indptr[i + 1]):
                out[indices[at]] += c[i] if ones else c[i] * data[at]


def csr_fault(const long long[::1] indptr, const int[::1] indices, long long n_features):
    """The first row whose indices are not strictly rising within [0, n_features), or -1.

    IN indptr (n_items + 1), rising and within indices; indices (n_values).
    """
    cdef Py_ssize_t n = indptr.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t fault = -1
    cdef long long at
    cdef long long last
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
    """Position of the first infinite value (or NaN, where not allowed), or -1, and whether any is NaN.

    IN values (n). A value times zero is zero unless it is infinite or NaN.
    """
    cdef Py_ssize_t n = values.shape[0]
    cdef Py_ssize_t i
    cdef Py_ssize_t block
    cdef Py_ssize_t stop
    cdef Py_ssize_t fault = -1
    cdef bint any_nan = False
    cdef bint odd
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
