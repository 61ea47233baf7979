"""Fenwick trees over positions 1..k: of counts, and of counts beside sums."""


cdef struct Sums:
    double n
    double h


cdef inline void tree_add(Sums* tree, int k, int at, double n, double h) noexcept nogil:
    """Add to position `at` (from 1) of a Fenwick tree over k positions."""
    while at <= k:
        tree[at].n += n
        tree[at].h += h
        at += at & -at


cdef inline Sums tree_sum(const Sums* tree, int at) noexcept nogil:
    """The sums of positions 1..at."""
    cdef Sums total
    total.n = 0.0
    total.h = 0.0
    while at > 0:
        total.n += tree[at].n
        total.h += tree[at].h
        at &= at - 1
    return total


cdef inline void count_add(int* tree, Py_ssize_t k, Py_ssize_t at, int n) noexcept nogil:
    """Add n at position `at` (from 1) of a Fenwick tree over k positions."""
    while at <= k:
        tree[at] += n
        at += at & -at


cdef inline int count_sum(const int* tree, Py_ssize_t at) noexcept nogil:
    """The count at positions 1..at."""
    cdef int total = 0
    while at > 0:
        total += tree[at]
        at &= at - 1
    return total
