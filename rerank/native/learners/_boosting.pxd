"""What the kernels of boosting share: differences of pairs, sums of pairs by stump, and the best gain.

A pair is an item that must win and one that must lose. A stump is a feature with a threshold; on a pair
its difference is +1, -1 or 0. W+ and W- of a stump are the sums of the weights of the pairs where it is +1
and -1.
An entry is 2 * number + side, with side 0 where the difference is +1 and side 1 where it is -1.
"""

from libc.math cimport fabs
from libc.math cimport rint
from libc.math cimport sqrt

# Features of a block, of whose gains one maximum is kept.
cdef enum:
    BLOCK = 512

# The index of a set of pairs, both ways: Figure 4's B (stumps by pair) and A (pairs by stump). Stumps are
# numbered from the one with the most pairs down, so that the sums which change most lie close together.
cdef struct Index:
    Py_ssize_t n_pairs
    Py_ssize_t n_stumps
    const long long* of_pair  # pair p has the entries stumps[of_pair[p]:of_pair[p + 1]]
    const unsigned int* stumps
    const long long* of_stump  # stump k has the entries pairs[of_stump[k]:of_stump[k + 1]], pairs rising
    const unsigned int* pairs


cdef struct State:
    Index index
    double* margin  # of each pair
    double* weight  # of each pair, from its margin
    double* w  # W+ and W- of stump k are w[2 * k] and w[2 * k + 1]
    double* largest  # each of them at its largest since it was computed from its pairs
    double* gain
    double* bound  # of each block: no gain in it is larger
    char* reached  # whether one is equal
    int* touched  # stumps whose sums have changed in this round
    char* fresh  # whether a stump is not among them
    Py_ssize_t n_touched
    Py_ssize_t n_blocks
    const int* order  # the caller's number of each stump


cdef class Differences:
    cdef Index index
    cdef readonly object of_pair, stumps, of_stump, pairs, order


# What happened in each round; n counts them.
cdef class Trace:
    cdef readonly object stump, step, loss, errors, weighted_errors, work
    cdef int[::1] stumps
    cdef double[::1] steps
    cdef double[::1] losses
    cdef long long[::1] wrong
    cdef double[::1] weighted
    cdef long long[::1] works
    cdef readonly Py_ssize_t n


cdef class Boost:
    cdef State state
    cdef readonly Differences differences
    cdef readonly object margin, weight
    cdef readonly double drift, relative_drift
    cdef tuple held

    cdef void refresh(self, double total, double scale) noexcept nogil


cdef inline double gain_of(const double* w) noexcept nogil:
    """Return |sqrt(W+) - sqrt(W-)|; sums below 0 are rounding errors."""
    return fabs(sqrt(max(w[0], 0.0)) - sqrt(max(w[1], 0.0)))


cdef inline double stepped(double value) noexcept nogil:
    """Return the nearest multiple of 2**-40: sums of such steps are exact in any order."""
    return rint(value * 1099511627776.0) / 1099511627776.0


cdef inline void change_weight(State* s, Py_ssize_t pair, double change) noexcept nogil:
    """INOUT the sums of the stumps of a pair, whose weight has changed."""
    cdef const unsigned int* stumps = s.index.stumps
    cdef long long at
    cdef double* w = s.w
    cdef char* fresh = s.fresh
    cdef int* touched = s.touched
    cdef Py_ssize_t n = s.n_touched
    for at in range(s.index.of_pair[pair], s.index.of_pair[pair + 1]):
        w[stumps[at]] += change
        touched[n] = <int>(stumps[at] >> 1)
        n += fresh[stumps[at] >> 1]
        fresh[stumps[at] >> 1] = 0
    s.n_touched = n


cdef inline void compute(State* s, Py_ssize_t k) noexcept nogil:
    """OUT the sums of stump k, from the weights of its pairs."""
    cdef double[2] total
    cdef const unsigned int* pairs = s.index.pairs
    cdef long long at
    total[0] = 0.0
    total[1] = 0.0
    for at in range(s.index.of_stump[k], s.index.of_stump[k + 1]):
        total[pairs[at] & 1] += s.weight[pairs[at] >> 1]
    s.w[2 * k] = s.largest[2 * k] = total[0]
    s.w[2 * k + 1] = s.largest[2 * k + 1] = total[1]


cdef inline void settle(State* s) noexcept nogil:
    """INOUT gains and bounds after a round, from the sums that have changed.

    A sum that has fallen to a thousandth of its largest value is computed anew from its pairs: the rounding
    errors of the larger value would be errors of the smaller one.
    """
    cdef Py_ssize_t i
    cdef int k
    cdef double gain
    cdef Py_ssize_t block
    cdef double* w
    cdef double* largest
    for i in range(s.n_touched):
        k = s.touched[i]
        s.fresh[k] = 1
        w = s.w + 2 * k
        largest = s.largest + 2 * k
        if w[0] < 1e-3 * largest[0] or w[1] < 1e-3 * largest[1]:
            compute(s, k)
        largest[0] = max(largest[0], w[0])
        largest[1] = max(largest[1], w[1])
        gain = gain_of(w)
        block = k // BLOCK
        if gain >= s.bound[block]:
            s.bound[block] = gain
            s.reached[block] = 1
        elif s.gain[k] == s.bound[block]:
            s.reached[block] = 0
        s.gain[k] = gain
    s.n_touched = 0


cdef inline void scan_block(State* s, Py_ssize_t block) noexcept nogil:
    """OUT the largest gain of a block."""
    cdef Py_ssize_t last = min((block + 1) * BLOCK, s.index.n_stumps)
    cdef Py_ssize_t k
    cdef double most = 0.0
    for k in range(block * BLOCK, last):
        if s.gain[k] > most:
            most = s.gain[k]
    s.bound[block] = most
    s.reached[block] = 1


cdef inline Py_ssize_t best_block(State* s) noexcept nogil:
    """Return the block with the largest gain."""
    cdef Py_ssize_t block
    cdef Py_ssize_t best
    while True:
        best = 0
        for block in range(1, s.n_blocks):
            if s.bound[block] > s.bound[best]:
                best = block
        if s.reached[best]:
            return best
        scan_block(s, best)


cdef inline Py_ssize_t best_stump(State* s, double total) noexcept nogil:
    """Return the stump with the largest gain, the first on ties; -1 if no gain lowers the loss ``total``.

    A gain whose square is below the rounding error of the loss does not. Gains are tied if they differ by at
    most 1e-10 of the root of the loss: they are sums of exponentials in different orders.
    """
    cdef double least = s.bound[best_block(s)]
    cdef Py_ssize_t block
    cdef Py_ssize_t k
    cdef Py_ssize_t best = -1
    if not least * least > 2.220446049250313e-16 * total:
        return -1
    least -= 1e-10 * sqrt(total)
    for block in range(s.n_blocks):
        if s.bound[block] >= least and not s.reached[block]:
            scan_block(s, block)
        if s.bound[block] >= least:
            for k in range(block * BLOCK, min((block + 1) * BLOCK, s.index.n_stumps)):
                if s.gain[k] >= least and (best < 0 or s.order[k] < s.order[best]):
                    best = k
    return best
