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
    cdef Moving near  # scratch: those of one list
    cdef object held


cdef inline Moving enter(const Rows* X, long long i, Weights weights, bint with_drift) noexcept nogil:
    """Return the weights that rows of list i see: all, or copies of the list's own if it numbers them."""
    cdef Moving to = weights.moving
    cdef Moving near = weights.near
    cdef const int* features
    cdef long long m
    if X.local == NULL:
        return to
    features = X.features + X.bounds[i]
    for m in range(X.bounds[i + 1] - X.bounds[i]):
        near.w[m] = to.w[features[m]]
    if with_drift:
        for m in range(X.bounds[i + 1] - X.bounds[i]):
            near.drift[m] = to.drift[features[m]]
    near.t = to.t
    return near


cdef inline void leave(const Rows* X, long long i, Weights weights) noexcept nogil:
    """Put back the weights and the drift that rows of list i have moved."""
    cdef Moving to = weights.moving
    cdef Moving near = weights.near
    cdef const int* features
    cdef long long m
    if X.local == NULL:
        return
    features = X.features + X.bounds[i]
    for m in range(X.bounds[i + 1] - X.bounds[i]):
        to.w[features[m]] = near.w[m]
        to.drift[features[m]] = near.drift[m]
