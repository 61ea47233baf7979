"""Passes of Algorithm 1 of Shen & Joshi (2005): an update after each violated pair.

Scores are kept, and computed anew only for items that are looked at after the weights have moved, so
that a pass without updates costs one score an item and one comparison a pair. The test is that of
Algorithm 2: z[j] <= z[l] + c * tau with z = score - tau * h.
"""

from rerank.native.data._rows cimport csr_add
from rerank.native.data._rows cimport csr_dot
from rerank.native.data._rows cimport dense_dot
from rerank.native.data._rows cimport real


def dense_round(
    const real[:, ::1] X,
    const long long[::1] visits,
    const long long[::1] offsets,
    const long long[::1] items,
    const int[::1] start,
    const int[::1] stop,
    const double[::1] h,
    double c,
    double tau,
    double dimension,
    double[::1] a,
    double[::1] w,
    double[::1] drift,
    double t,
    double[::1] z,
    long long[::1] seen,
):
    """One pass over the lists in the order of `visits`, dense features.

    IN as _perceptron.dense_round. IN/OUT a, w, drift. Scratch z and seen (longest list), seen filled
    with -1. Returns the number of lists with an update and of updates (violated pairs).
    """
    cdef Py_ssize_t d = w.shape[0]
    cdef Py_ssize_t v
    cdef Py_ssize_t m
    cdef long long i
    cdef long long first
    cdef const real* x
    cdef const real* y
    cdef int j
    cdef int l
    cdef int k
    cdef double g
    cdef double step
    cdef long long version = 0
    cdef long long start_version
    cdef long long updates = 0
    cdef long long violated = 0
    with nogil:
        for v in range(visits.shape[0]):
            i = visits[v]
            first = offsets[i]
            k = <int> (offsets[i + 1] - first)
            version += 1  # what `seen` says of the list before is void
            start_version = version
            for j in range(k):
                x = &X[items[first + j], 0]
                for l in range(start[first + j], stop[first + j]):
                    if seen[j] != version:
                        seen[j] = version
                        z[j] = dense_dot(x, &w[0], d)
                        z[j] += dimension * a[first + j] - tau * h[first + j]
                    y = &X[items[first + l], 0]
                    if seen[l] != version:
                        seen[l] = version
                        z[l] = dense_dot(y, &w[0], d)
                        z[l] += dimension * a[first + l] - tau * h[first + l]
                    if z[j] <= z[l] + c * tau:
                        g = h[first + j] - h[first + l] + c
                        for m in range(d):
                            step = g * (x[m] - y[m])
                            w[m] += step
                            drift[m] += t * step
                        a[first + j] += g
                        a[first + l] -= g
                        version += 1
            updates += version > start_version
            violated += version - start_version
            t += 1.0
    return updates, violated


def csr_round(
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    const long long[::1] visits,
    const long long[::1] offsets,
    const long long[::1] items,
    const int[::1] start,
    const int[::1] stop,
    const double[::1] h,
    double c,
    double tau,
    double dimension,
    double[::1] a,
    double[::1] w,
    double[::1] drift,
    double t,
    double[::1] z,
    long long[::1] seen,
):
    """The same as dense_round for CSR features; data None stands for all ones."""
    cdef Py_ssize_t v
    cdef long long i
    cdef long long first
    cdef long long row
    cdef long long other
    cdef int j
    cdef int l
    cdef int k
    cdef double g
    cdef long long version = 0
    cdef long long start_version
    cdef long long updates = 0
    cdef long long violated = 0
    cdef const double* values = NULL
    cdef const int* columns = NULL
    if indices.shape[0]:
        columns = &indices[0]
        if data is not None:
            values = &data[0]
    with nogil:
        for v in range(visits.shape[0]):
            i = visits[v]
            first = offsets[i]
            k = <int> (offsets[i + 1] - first)
            version += 1
            start_version = version
            for j in range(k):
                row = items[first + j]
                for l in range(start[first + j], stop[first + j]):
                    if seen[j] != version:
                        seen[j] = version
                        z[j] = csr_dot(columns, values, indptr[row], indptr[row + 1], &w[0])
                        z[j] += dimension * a[first + j] - tau * h[first + j]
                    other = items[first + l]
                    if seen[l] != version:
                        seen[l] = version
                        z[l] = csr_dot(columns, values, indptr[other], indptr[other + 1], &w[0])
                        z[l] += dimension * a[first + l] - tau * h[first + l]
                    if z[j] <= z[l] + c * tau:
                        g = h[first + j] - h[first + l] + c
                        csr_add(columns, values, indptr[row], indptr[row + 1], g, t, &w[0], &drift[0])
                        csr_add(columns, values, indptr[other], indptr[other + 1], -g, t, &w[0], &drift[0])
                        a[first + j] += g
                        a[first + l] -= g
                        version += 1
            updates += version > start_version
            violated += version - start_version
            t += 1.0
    return updates, violated
