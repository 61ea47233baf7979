"""Fenwick trees over positions 1..k: of counts, or of counts beside sums."""


cdef struct Sums:
    double n, h

ctypedef fused Node:
    Sums
    int


cdef inline void tree_add(Node* tree, Py_ssize_t k, Py_ssize_t at, double n, double h) noexcept nogil:
    """Add to position `at` (from 1) of a tree over k positions; h is not used where only counts are kept."""
    while at <= k:
        if Node is Sums:
            tree[at].n += n
            tree[at].h += h
        else:
            tree[at] += <int> n
        at += at & -at


cdef inline Node tree_sum(const Node* tree, Py_ssize_t at) noexcept nogil:
    """The sums of positions 1..at."""
    cdef Node total
    if Node is Sums:
        total.n = total.h = 0.0
    else:
        total = 0
    while at > 0:
        if Node is Sums:
            total.n += tree[at].n
            total.h += tree[at].h
        else:
            total += tree[at]
        at &= at - 1
    return total
