"""The pairs of one list, and scratch for work on them, as kernels see them."""

from rerank.native.data._fenwick cimport Sums
from rerank.native.data._sort cimport word


# The pairs of one list of k items: item j must beat the positions start[j]..stop[j]-1, both rising in j, by
# the margin h[j] - h[l] + c times tau.
cdef struct Ranges:
    const int* start
    const int* stop
    const double* h
    double c, tau
    bint even  # h is 0
    bint fast  # by sweeping, otherwise pair by pair
    bint top  # only the worst violated pair counts
    bint highest  # of the best items, the one that scores highest must beat the others
    bint plain  # the step of that pair is 1, otherwise its margin
    int k


# Scratch for one list of at most k items; every pointer is into arrays made in Python.
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
