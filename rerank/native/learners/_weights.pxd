"""Weights that a kernel moves, and what is needed for their mean."""


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
