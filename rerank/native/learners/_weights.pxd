"""Weights that a kernel moves, and what is needed for their mean."""

from rerank.native.data._matrix cimport Rows


# drift is the sum of t * step over the steps of w, where t counts the visits before a step: the mean of w
# after each of the first T visits is w - drift / T.
cdef struct Moving:
    double* w
    double* drift
    double t


cdef class Weights:
    cdef readonly object values, drift
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
