"""Weights that a kernel moves, and what is needed for their mean."""

from rerank.native.data._matrix cimport Rows


# drift is the sum of t * step over the steps of w, where t counts the visits before a step: the mean of w
# after each of the first T visits is w - drift / T.
cdef struct Moving:
    double* w
    double* drift
    double t


cdef class Weights:
    cdef readonly object values
    cdef readonly object drift
    cdef Moving moving
    cdef double* near  # scratch: those of one list
    cdef object held


cdef inline const double* seen_by(const Rows* X, long long i, Weights weights) noexcept nogil:
    """Return the weights that rows of list i see: all, or copies of the list's own if it numbers them."""
    cdef const int* features
    cdef long long m
    if X.local == NULL:
        return weights.moving.w
    features = X.features + X.bounds[i]
    for m in range(X.bounds[i + 1] - X.bounds[i]):
        weights.near[m] = weights.moving.w[features[m]]
    return weights.near
