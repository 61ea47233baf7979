"""Weights that a kernel moves, and what is needed for their mean."""

from libc.math cimport INFINITY, exp, fabs

from rerank.native.data._matrix cimport Change, Rows, add_difference, apply


# drift is the sum of t * step over the steps of w, where t counts the visits before a step: the mean of w
# after each of the first T visits is w - drift / T.
# With a rate, steps are those of the sums, and w is exp(rate * sum) - exp(-rate * sum): balanced Winnow.
cdef struct Moving:
    double* w
    double* drift
    double t
    double rate  # 0: steps are those of w
    double* sums


cdef class Weights:
    cdef readonly object values, drift, sums
    cdef Moving moving
    cdef double* near  # scratch: those of one list
    cdef object held


cdef inline const double* seen_by(const Rows* X, long long i, Weights weights) noexcept nogil:
    """Return the weights that rows of list i see: all, or those of its entries, times their values."""
    cdef const double* w = weights.moving.w
    cdef const int* features
    cdef const unsigned short* place
    cdef const double* values
    cdef long long start, m
    if X.local.entry == NULL:
        return w
    features = X.local.features + X.local.bounds[i]
    start = X.local.starts[i]
    if X.local.values == NULL:
        for m in range(X.local.starts[i + 1] - start):
            weights.near[m] = w[features[m]]
    else:
        place = X.local.place + start
        values = X.local.values + start
        for m in range(X.local.starts[i + 1] - start):
            weights.near[m] = values[m] * w[features[place[m]]]
    return weights.near


cdef inline double linked(double rate, double total) noexcept nogil:
    """Return the weight of a sum of steps."""
    cdef double up = exp(rate * total)
    return up - 1.0 / up


cdef inline void follow(Moving* to, int f) noexcept nogil:
    """INOUT to: the weight of feature f becomes that of its sum."""
    cdef double w = linked(to.rate, to.sums[f])
    if fabs(w) > 1e130:  # scores and their squares would overflow: callers find weights that are not finite
        w = INFINITY
    to.drift[f] += to.t * (w - to.w[f])
    to.w[f] = w


cdef inline void apply_change(const Rows* X, long long i, Change* change, Moving* to) noexcept nogil:
    """INOUT to: moved by a change of rows of list i, which is cleared."""
    cdef const int* touched = change.touched
    cdef long long n = change.n, at
    if to.rate == 0.0:
        apply(X, i, change, to.t, to.w, to.drift)
        return
    apply(X, i, change, 0.0, to.sums, to.drift)
    if X.local.entry != NULL:
        touched = X.local.features + X.local.bounds[i]
        n = X.local.bounds[i + 1] - X.local.bounds[i]
    elif X.indptr == NULL:
        for at in range(X.n_features):
            follow(to, <int> at)
        return
    for at in range(n):
        follow(to, touched[at])


cdef inline void follow_row(const Rows* X, long long i, Moving* to) noexcept nogil:
    """INOUT to: the weights of row i's features become those of their sums."""
    cdef long long at
    cdef Py_ssize_t m
    if X.indptr == NULL:
        for m in range(X.width):
            follow(to, <int> m)
        return
    for at in range(X.indptr[i], X.indptr[i + 1]):
        follow(to, X.indices[at])
    for m in range(X.width):
        follow(to, X.columns[m])


cdef inline void apply_difference(
    const Rows* X, long long i, long long j, double u, Moving* to
) noexcept nogil:
    """INOUT to: moved by u times row i less row j; features are not numbered by list."""
    if to.rate == 0.0:
        add_difference(X, i, j, u, to.t, to.w, to.drift)
        return
    add_difference(X, i, j, u, 0.0, to.sums, to.drift)
    follow_row(X, i, to)
    if X.indptr != NULL:
        follow_row(X, j, to)
