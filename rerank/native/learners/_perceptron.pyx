"""Passes of Algorithm 2 of Shen & Joshi (2005): an update after each list with a violated pair."""

from rerank.native.data._rows cimport csr_gather
from rerank.native.data._rows cimport csr_dot
from rerank.native.data._rows cimport csr_dot2
from rerank.native.data._rows cimport dense_dot
from rerank.native.data._rows cimport dense_dot4
from rerank.native.data._rows cimport real
from rerank.native.learners._violations cimport Room
from rerank.native.learners._violations cimport Scratch
from rerank.native.learners._violations cimport count
from rerank.native.learners._violations cimport violations


cdef inline count update_list(
    const int* start, const int* stop, const double* h, double c, double tau, bint even, bint fast, int k,
    double dimension, double* a, Room* r
) noexcept nogil:
    """OUT r.u of a list whose scores are in r.s, and a += u where each item has a dimension of its own."""
    cdef int j
    cdef count violated
    if dimension > 0.0:
        for j in range(k):
            r.s[j] += dimension * a[j]
    violated = violations(start, stop, h, c, tau, even, fast, k, r)
    if dimension > 0.0 and violated:
        for j in range(k):
            a[j] += r.u[j]
    return violated


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
    bint even,
    const unsigned char[::1] fast,
    double dimension,
    double[::1] a,
    double[::1] w,
    double[::1] drift,
    double[::1] delta,
    double t,
    Scratch scratch,
):
    """One pass of Algorithm 2 over the lists in the order of `visits`, dense features.

    IN X (n_rows, d), visits (n_lists), offsets (n_lists + 1), items, start, stop, h (n_items), fast
    (n_lists), dimension: square of the separating dimension. IN/OUT a (n_items), the separating
    dimension's coefficients; w (d); drift (d), sum of t * step over the steps of w, so that the mean
    of w over the first T visits is w - drift / T; delta (d), scratch. t: visits before this pass.
    Returns the number of lists with an update and of violated pairs.
    """
    cdef Py_ssize_t d = w.shape[0]
    cdef Py_ssize_t v
    cdef Py_ssize_t m
    cdef long long i
    cdef long long first
    cdef const real* x
    cdef int j
    cdef int k
    cdef double u
    cdef count here
    cdef count updates = 0
    cdef count violated = 0
    cdef Room* r = &scratch.room
    with nogil:
        for v in range(visits.shape[0]):
            i = visits[v]
            first = offsets[i]
            k = <int> (offsets[i + 1] - first)
            j = 0
            while j + 4 <= k:
                dense_dot4(
                    &X[items[first + j], 0],
                    &X[items[first + j + 1], 0],
                    &X[items[first + j + 2], 0],
                    &X[items[first + j + 3], 0],
                    &w[0], d, r.s + j,
                )
                j += 4
            while j < k:
                r.s[j] = dense_dot(&X[items[first + j], 0], &w[0], d)
                j += 1
            here = update_list(
                &start[first], &stop[first], &h[first], c, tau, even, fast[i], k, dimension, &a[first], r
            )
            if here:
                violated += here
                updates += 1
                for m in range(d):
                    delta[m] = 0.0
                for j in range(k):
                    u = r.u[j]
                    if u != 0.0:
                        x = &X[items[first + j], 0]
                        for m in range(d):
                            delta[m] += u * x[m]
                for m in range(d):
                    w[m] += delta[m]
                    drift[m] += t * delta[m]
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
    bint even,
    const unsigned char[::1] fast,
    double dimension,
    double[::1] a,
    double[::1] w,
    double[::1] drift,
    double[::1] delta,
    int[::1] touched,
    double t,
    Scratch scratch,
):
    """The same as dense_round for CSR features; data None stands for all ones.

    IN/OUT delta (n_features), zeros before and after; scratch touched (most values of a list + 1).
    """
    cdef Py_ssize_t v
    cdef long long i
    cdef long long first
    cdef long long row
    cdef long long other
    cdef int j
    cdef int k
    cdef int f
    cdef int n_touched
    cdef count here
    cdef count updates = 0
    cdef count violated = 0
    cdef double* delta_at = NULL
    cdef int* touched_at = NULL
    cdef const double* values = NULL
    cdef const int* columns = NULL
    cdef Room* r = &scratch.room
    if indices.shape[0]:
        delta_at = &delta[0]
        touched_at = &touched[0]
        columns = &indices[0]
        if data is not None:
            values = &data[0]
    with nogil:
        for v in range(visits.shape[0]):
            i = visits[v]
            first = offsets[i]
            k = <int> (offsets[i + 1] - first)
            j = 0
            while j + 2 <= k:
                row = items[first + j]
                other = items[first + j + 1]
                csr_dot2(
                    columns, values, indptr[row], indptr[row + 1], indptr[other], indptr[other + 1],
                    &w[0], r.s + j, r.s + j + 1,
                )
                j += 2
            if j < k:
                row = items[first + j]
                r.s[j] = csr_dot(columns, values, indptr[row], indptr[row + 1], &w[0])
            here = update_list(
                &start[first], &stop[first], &h[first], c, tau, even, fast[i], k, dimension, &a[first], r
            )
            if here:
                violated += here
                updates += 1
                n_touched = 0
                for j in range(k):
                    if r.u[j] != 0.0:
                        row = items[first + j]
                        n_touched = csr_gather(
                            columns, values, indptr[row], indptr[row + 1], r.u[j],
                            delta_at, touched_at, n_touched,
                        )
                for j in range(n_touched):
                    f = touched[j]
                    w[f] += delta[f]
                    drift[f] += t * delta[f]
                    delta[f] = 0.0
            t += 1.0
    return updates, violated
