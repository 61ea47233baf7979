"""What the kernels of boosting share: differences of pairs, sums of pairs by stump, and the best gain.

A pair is an item that must win and one that must lose. A stump is a feature with a threshold; on a pair
its difference is +1, -1 or 0. W+ and W- of a stump are the sums of the weights of the pairs where it is +1
and -1.
An entry is 2 * number + side, with side 0 where the difference is +1 and side 1 where it is -1.
"""

from libc.math cimport fabs, rint, sqrt

from rerank.native.data._prefetch cimport prefetch

# Features of a block, of whose gains one maximum is kept.
cdef enum:
    BLOCK = 512

# Four stumps, whose sums fill a line of the processor's cache and are looked at together; the next line has
# what is read whenever they have changed.
cdef enum:
    LINE = 4

cdef struct Line:
    double[8] w  # W+ and W- of each
    float[8] largest  # each of them at its largest since it was computed from its pairs
    double[4] gain


# The index of a set of pairs, both ways: Figure 4's B (stumps by pair) and A (pairs by stump). Stumps are
# numbered from the one with the most pairs down, so that the sums which change most lie close together.
cdef struct Index:
    Py_ssize_t n_pairs, n_stumps
    const long long* of_pair  # pair p has the entries stumps[of_pair[p]:of_pair[p + 1]]
    const unsigned int* stumps
    const long long* of_stump  # stump k has the entries pairs[of_stump[k]:of_stump[k + 1]], pairs rising
    const unsigned int* pairs


cdef struct State:
    Index index
    double* margin  # of each pair
    double* weight  # of each pair, from its margin
    Line* lines  # stump k is number k % LINE of line k // LINE
    double* bound  # of each block: no gain in it is larger
    char* reached  # whether one is equal
    char* changed  # whether sums of a line have changed in this round
    int* touched  # the lines that have changed
    Py_ssize_t n_words  # of 8 lines
    Py_ssize_t n_blocks
    const int* order  # the caller's number of each stump


cdef class Differences:
    cdef Index index
    cdef readonly object of_pair, stumps, of_stump, pairs, order


# What happened in each round; n counts them.
cdef class Trace:
    cdef readonly object stump, step, loss, errors, weighted_errors, work
    cdef int[::1] stumps
    cdef double[::1] steps, losses
    cdef long long[::1] wrong
    cdef double[::1] weighted
    cdef long long[::1] works
    cdef readonly Py_ssize_t n


# The base of losses: they differ in the weights of pairs, and in what else changes with a margin.
cdef class Boost:
    cdef State state
    cdef readonly Differences differences
    cdef readonly object margin, weight
    cdef readonly double drift, relative_drift
    cdef readonly long long refreshed
    cdef tuple held
    cdef double epsilon, passes
    cdef double total  # of the weights
    cdef double computed  # the total when it was last computed from the pairs
    cdef long long changes, errors
    cdef double weighted

    cdef double reweigh(self) noexcept nogil
    cdef long long move(self, Py_ssize_t k, double step) noexcept nogil
    cdef double log_loss(self) noexcept nogil
    cdef int choose(self, Py_ssize_t* stump, double* step) noexcept nogil
    cdef void refresh(self, bint compare) noexcept nogil
    cdef int one_round(self, int* stump, double* step, long long* work) noexcept nogil


cdef inline double gain_of(const double* w) noexcept nogil:
    """Return |sqrt(W+) - sqrt(W-)|; sums below 0 are rounding errors."""
    return fabs(sqrt(max(w[0], 0.0)) - sqrt(max(w[1], 0.0)))


cdef inline double stepped(double value) noexcept nogil:
    """Return the nearest multiple of 2**-40: sums of such steps are exact in any order."""
    return rint(value * 1099511627776.0) / 1099511627776.0


cdef inline double* sums_of(State* s, Py_ssize_t k) noexcept nogil:
    """Return where W+ and W- of stump k are."""
    return s.lines[k // LINE].w + 2 * (k % LINE)


cdef inline double gain_at(State* s, Py_ssize_t k) noexcept nogil:
    """Return the gain of stump k."""
    return s.lines[k // LINE].gain[k % LINE]


cdef inline void change_weight(State* s, Py_ssize_t pair, double change) noexcept nogil:
    """INOUT the sums of the stumps of a pair, whose weight has changed."""
    cdef const unsigned int* stumps = s.index.stumps
    cdef Line* lines = s.lines
    cdef char* changed = s.changed
    cdef long long at
    for at in range(s.index.of_pair[pair], s.index.of_pair[pair + 1]):
        lines[stumps[at] >> 3].w[stumps[at] & 7] += change
        changed[stumps[at] >> 3] = 1


cdef inline void compute(State* s, Py_ssize_t k) noexcept nogil:
    """OUT the sums of stump k, from the weights of its pairs."""
    cdef double[2] total
    cdef const unsigned int* pairs = s.index.pairs
    cdef double* w = sums_of(s, k)
    cdef float* largest = s.lines[k // LINE].largest + 2 * (k % LINE)
    cdef long long at
    total[0] = 0.0
    total[1] = 0.0
    for at in range(s.index.of_stump[k], s.index.of_stump[k + 1]):
        total[pairs[at] & 1] += s.weight[pairs[at] >> 1]
    w[0] = total[0]
    w[1] = total[1]
    largest[0] = <float>total[0]
    largest[1] = <float>total[1]


cdef inline void settle_line(State* s, Py_ssize_t line) noexcept nogil:
    """INOUT the gains of a line of stumps and the bound of their block; see settle."""
    cdef Line* sums = s.lines + line
    cdef Py_ssize_t block = line * LINE // BLOCK
    cdef Py_ssize_t k
    cdef int i
    cdef double gain
    for i in range(8):
        if sums.w[i] < 1e-3 * sums.largest[i]:
            k = line * LINE + i // 2
            compute(s, k)
        elif sums.w[i] > sums.largest[i]:
            sums.largest[i] = <float>sums.w[i]
    for i in range(LINE):
        gain = gain_of(sums.w + 2 * i)
        if gain >= s.bound[block]:
            s.bound[block] = gain
            s.reached[block] = 1
        elif sums.gain[i] == s.bound[block]:
            s.reached[block] = 0
        sums.gain[i] = gain


cdef inline void settle(State* s) noexcept nogil:
    """INOUT gains and bounds after a round, from the sums that have changed.

    A sum that has fallen to a thousandth of its largest value is computed anew from its pairs: the rounding
    errors of the larger value would be errors of the smaller one.
    """
    cdef const unsigned long long* words = <const unsigned long long*>s.changed
    cdef Py_ssize_t word, i, n = 0
    for word in range(s.n_words):
        if words[word]:
            for i in range(8 * word, 8 * word + 8):
                s.touched[n] = <int>i
                n += s.changed[i]
                s.changed[i] = 0
    for i in range(n):
        prefetch(&s.lines[s.touched[min(i + 8, n - 1)]].gain[0])
        settle_line(s, s.touched[i])


cdef inline void scan_block(State* s, Py_ssize_t block) noexcept nogil:
    """OUT the largest gain of a block."""
    cdef Py_ssize_t line
    cdef int i
    cdef double most = 0.0
    for line in range(block * (BLOCK // LINE), min((block + 1) * (BLOCK // LINE), 8 * s.n_words)):
        for i in range(LINE):
            if s.lines[line].gain[i] > most:
                most = s.lines[line].gain[i]
    s.bound[block] = most
    s.reached[block] = 1


cdef inline Py_ssize_t best_block(State* s) noexcept nogil:
    """Return the block with the largest gain."""
    cdef Py_ssize_t block, best
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
    cdef Py_ssize_t block, k, best = -1
    if not least * least > 2.220446049250313e-16 * total:
        return -1
    least -= 1e-10 * sqrt(total)
    for block in range(s.n_blocks):
        if s.bound[block] >= least and not s.reached[block]:
            scan_block(s, block)
        if s.bound[block] >= least:
            for k in range(block * BLOCK, min((block + 1) * BLOCK, s.index.n_stumps)):
                if gain_at(s, k) >= least and (best < 0 or s.order[k] < s.order[best]):
                    best = k
    return best
