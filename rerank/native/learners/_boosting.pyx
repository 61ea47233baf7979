"""What the kernels of boosting hold, and sums of pairs that are computed anew."""

import numpy as np


cdef class Differences:
    """The index of pairs, both ways.

    IN of_pair (n_pairs + 1), the bounds of each pair's entries in ``stumps``, which this object takes and
    numbers anew; n_stumps. ``order`` is the old number of each stump.
    """

    def __init__(self, const long long[::1] of_pair, unsigned int[::1] stumps, Py_ssize_t n_stumps):
        cdef Py_ssize_t n_pairs = of_pair.shape[0] - 1
        cdef Py_ssize_t p
        cdef Py_ssize_t k
        cdef long long at
        cdef long long[::1] counts = np.zeros(n_stumps, dtype=np.int64)
        cdef int[::1] number = np.empty(n_stumps, dtype=np.int32)
        cdef long long[::1] next_pair
        cdef unsigned int[::1] pairs = np.empty(of_pair[n_pairs] + 1, dtype=np.uint32)
        with nogil:
            for at in range(of_pair[n_pairs]):
                counts[stumps[at] >> 1] += 1
        cdef int[::1] order = np.argsort(-np.asarray(counts), kind="stable").astype(np.int32)
        cdef long long[::1] of_stump = np.zeros(n_stumps + 1, dtype=np.int64)
        for k in range(n_stumps):
            number[order[k]] = <int>k
            of_stump[k + 1] = of_stump[k] + counts[order[k]]
        next_pair = np.array(of_stump)
        with nogil:
            for p in range(n_pairs):
                for at in range(of_pair[p], of_pair[p + 1]):
                    k = number[stumps[at] >> 1]
                    stumps[at] = 2 * <unsigned int>k + (stumps[at] & 1)
                    pairs[next_pair[k]] = 2 * <unsigned int>p + (stumps[at] & 1)
                    next_pair[k] += 1
        self.of_pair, self.stumps = np.asarray(of_pair), np.asarray(stumps)
        self.of_stump, self.pairs = np.asarray(of_stump), np.asarray(pairs)
        self.order = np.asarray(order)
        self.index.n_pairs = n_pairs
        self.index.n_stumps = n_stumps
        self.index.of_pair = &of_pair[0]
        self.index.stumps = &stumps[0]
        self.index.of_stump = &of_stump[0]
        self.index.pairs = &pairs[0]

    @property
    def n_pairs(self):
        """How many pairs there are."""
        return self.index.n_pairs

    @property
    def n_stumps(self):
        """How many stumps there are."""
        return self.index.n_stumps

    @property
    def n_entries(self):
        """How many differences there are, T of equation 20."""
        return self.index.of_pair[self.index.n_pairs]


cdef class Trace:
    """What happened in each of at most n rounds.

    OUT stump, step, loss after the round, errors and weighted_errors after it (pairs with a margin of 0 or
    less), and work (sums changed, C of equation 19), each (n).
    """

    def __init__(self, Py_ssize_t n):
        self.stump = self.stumps = np.zeros(n, dtype=np.int32)
        self.step = self.steps = np.zeros(n)
        self.loss = self.losses = np.zeros(n)
        self.errors = self.wrong = np.zeros(n, dtype=np.int64)
        self.weighted_errors = self.weighted = np.zeros(n)
        self.work = self.works = np.zeros(n, dtype=np.int64)
        self.n = 0


cdef class Boost:
    """Margins and weights of pairs, and the sums and gains of stumps.

    IN differences; margin (n_pairs), which the kernels change.
    """

    def __init__(self, Differences differences, double[::1] margin):
        cdef State* s = &self.state
        cdef Py_ssize_t n = differences.index.n_stumps
        s.n_blocks = max(1, (n + BLOCK - 1) // BLOCK)
        cdef double[::1] weight = np.zeros(differences.index.n_pairs + 1)
        cdef double[:, ::1] sums = np.zeros((2, 2 * n + 1))
        cdef int[::1] order = differences.order
        cdef char[::1] fresh = np.ones(n + 1, dtype=np.int8)
        cdef double[::1] gain = np.zeros(n + 1)
        cdef double[::1] bound = np.zeros(s.n_blocks)
        cdef char[::1] reached = np.zeros(s.n_blocks, dtype=np.int8)
        cdef int[::1] touched = np.empty(n + 1, dtype=np.int32)
        self.differences = differences
        self.margin, self.weight = np.asarray(margin), np.asarray(weight)
        self.held = (sums, gain, bound, reached, touched, fresh, order)
        s.index = differences.index
        s.margin = &margin[0]
        s.weight = &weight[0]
        s.w = &sums[0, 0]
        s.largest = &sums[1, 0]
        s.fresh = &fresh[0]
        s.order = &order[0] if n else NULL
        s.gain = &gain[0]
        s.bound = &bound[0]
        s.reached = &reached[0]
        s.touched = &touched[0]

    def sums(self):
        """Return W+ and W- of each stump in the caller's order, float64 (2, n_stumps)."""
        cdef State* s = &self.state
        cdef double[:, ::1] out = np.empty((2, s.index.n_stumps))
        cdef Py_ssize_t k
        for k in range(s.index.n_stumps):
            out[0, s.order[k]] = s.w[2 * k]
            out[1, s.order[k]] = s.w[2 * k + 1]
        return np.asarray(out)

    cdef void refresh(self, double total, double scale) noexcept nogil:
        """Compute all sums and gains from the weights of the pairs, and note how far the sums were off.

        IN total of the weights; scale: the weights have been multiplied by it since the sums were computed,
        0 if these do not count.
        """
        cdef State* s = &self.state
        cdef Py_ssize_t k
        cdef int side
        cdef double[2] before
        cdef double off
        for k in range(s.index.n_stumps):
            before[0] = s.w[2 * k]
            before[1] = s.w[2 * k + 1]
            compute(s, k)
            s.gain[k] = gain_of(s.w + 2 * k)
            if scale > 0.0:
                for side in range(2):
                    off = fabs(before[side] * scale - s.w[2 * k + side])
                    self.drift = max(self.drift, off / total)
                    if s.w[2 * k + side] > 1e-300:
                        self.relative_drift = max(self.relative_drift, off / s.w[2 * k + side])
        for k in range(s.n_blocks):
            scan_block(s, k)
