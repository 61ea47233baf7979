"""Violated pairs of one list, for the kernels of every learner that counts them."""

from rerank.native.data._fenwick cimport Sums
from rerank.native.data._sort cimport word

ctypedef long long count


# Room for the work on one list of at most k items; every pointer is into arrays made in Python.
cdef struct Room:
    double* s
    double* u
    double* z
    double* above_h
    double* below_h
    double* above_n
    double* below_n
    int* order
    int* place
    int* bound
    int* counts
    word* words
    Sums* tree


cdef class Scratch:
    cdef Room room
    cdef object keep


cdef count violations(
    const int* start, const int* stop, const double* h, double c, double tau, bint even, bint fast,
    int k, Room* r
) noexcept nogil
