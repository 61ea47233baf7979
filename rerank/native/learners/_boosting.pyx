"""What the kernels of boosting hold, and sums of pairs that are computed anew."""

from libc.math cimport log

import numpy as np


cdef class Differences:
    """The index of pairs, both ways.

    IN of_pair (n_pairs + 1), the bounds of each pair's entries in ``stumps``, which this object takes and
    numbers anew; n_stumps. ``order`` is the old number of each stump.
    """

    def __init__(self, const long long[::1] of_pair, unsigned int[::1] stumps, Py_ssize_t n_stumps):
        cdef Py_ssize_t n_pairs = of_pair.shape[0] - 1
        cdef Py_ssize_t p, k
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
    """Margins and weights of pairs, and the sums and gains of stumps; losses are subclasses.

    IN differences; margin (n_pairs), which rounds change; epsilon, the smoothing; passes: all sums are
    computed anew after so many passes' worth of changes, 0 = every round.
    """

    def __init__(self, Differences differences, double[::1] margin, double epsilon, double passes):
        cdef State* s = &self.state
        cdef Py_ssize_t n = differences.index.n_stumps
        s.n_blocks = max(1, (n + BLOCK - 1) // BLOCK)
        cdef double[::1] weight = np.zeros(differences.index.n_pairs + 1)
        s.n_words = n // (8 * LINE) + 1
        # Aligned to two lines of the cache: processors read these together.
        cdef unsigned char[::1] lines = np.zeros(sizeof(Line) * (8 * s.n_words + 1), dtype=np.uint8)
        cdef size_t start = (<size_t>&lines[0] + sizeof(Line) - 1) // sizeof(Line) * sizeof(Line)
        cdef int[::1] order = differences.order
        cdef int[::1] touched = np.empty(8 * s.n_words + 1, dtype=np.int32)
        cdef unsigned long long[::1] changed = np.zeros(s.n_words, dtype=np.uint64)
        cdef double[::1] bound = np.zeros(s.n_blocks)
        cdef char[::1] reached = np.zeros(s.n_blocks, dtype=np.int8)
        self.differences = differences
        self.margin, self.weight = np.asarray(margin), np.asarray(weight)
        self.held = (lines, bound, reached, changed, touched, order)
        self.epsilon = epsilon
        self.passes = passes
        s.index = differences.index
        s.margin = &margin[0]
        s.weight = &weight[0]
        s.lines = <Line*>start
        s.touched = &touched[0]
        s.changed = <char*>&changed[0]
        s.order = &order[0] if n else NULL
        s.bound = &bound[0]
        s.reached = &reached[0]

    @property
    def loss(self):
        """The logarithm of the loss now."""
        return self.log_loss()

    @property
    def counted(self):
        """Pairs with a margin of 0 or less, and the sum of their importance."""
        return self.errors, self.weighted

    def sums(self):
        """Return W+ and W- of each stump in the caller's order, float64 (2, n_stumps)."""
        cdef State* s = &self.state
        cdef double[:, ::1] out = np.empty((2, s.index.n_stumps))
        cdef Py_ssize_t k
        for k in range(s.index.n_stumps):
            out[0, s.order[k]] = sums_of(s, k)[0]
            out[1, s.order[k]] = sums_of(s, k)[1]
        return np.asarray(out)

    def arrays(self):
        """Return what rounds change, by name: views of this object's arrays."""
        cdef State* s = &self.state
        cdef Py_ssize_t n_bytes = 8 * s.n_words * sizeof(Line)
        cdef unsigned char* first = <unsigned char*>s.lines
        cdef unsigned char[::1] lines = <unsigned char[:n_bytes]>first
        _, bound, reached, *_ = self.held
        return {
            "margin": self.margin,
            "weight": self.weight,
            "lines": np.asarray(lines),
            "bound": np.asarray(bound),
            "reached": np.asarray(reached),
        }

    def kept(self):
        """Return copies of all that later rounds depend on, as a dict."""
        numbers = (self.total, self.computed, self.weighted, self.drift, self.relative_drift)
        found = {name: array.copy() for name, array in self.arrays().items()}
        found["numbers"] = np.array(numbers)
        found["counts"] = np.array((self.changes, self.errors, self.refreshed), dtype=np.int64)
        return found

    def restore(self, state):
        """Go to what ``kept`` returned; raises ValueError or KeyError if it does not fit."""
        for name, array in self.arrays().items():
            if array.shape != state[name].shape or array.dtype != state[name].dtype:
                raise ValueError(name)
            array[:] = state[name]
        self.total, self.computed, self.weighted, self.drift, self.relative_drift = state["numbers"].tolist()
        self.changes, self.errors, self.refreshed = state["counts"].tolist()

    cdef double reweigh(self) noexcept nogil:
        """Compute the weights of all pairs, their total and the errors from the margins.

        Return by what the weights have been multiplied beside.
        """
        return 1.0

    cdef long long move(self, Py_ssize_t k, double step) noexcept nogil:
        """Add a step to the margins of the pairs of stump k; return how many sums change with them."""
        return 0

    cdef double log_loss(self) noexcept nogil:
        """Return the logarithm of the loss."""
        return 0.0

    cdef void refresh(self, bint compare) noexcept nogil:
        """Compute all weights, sums and gains anew; compare: note how far the sums were off."""
        cdef State* s = &self.state
        cdef Py_ssize_t k
        cdef int side
        cdef double[2] before
        cdef double off
        cdef double* w
        cdef double scale = self.reweigh()
        self.computed = self.total
        self.changes = 0
        self.refreshed += 1
        for k in range(s.index.n_stumps):
            w = sums_of(s, k)
            before[0] = w[0]
            before[1] = w[1]
            compute(s, k)
            s.lines[k // LINE].gain[k % LINE] = gain_of(w)
            if compare:
                for side in range(2):
                    off = fabs(before[side] * scale - w[side])
                    self.drift = max(self.drift, off / self.total)
                    if w[side] > 1e-300:
                        self.relative_drift = max(self.relative_drift, off / w[side])
        for k in range(s.n_blocks):
            scan_block(s, k)

    cdef int choose(self, Py_ssize_t* stump, double* step) noexcept nogil:
        """OUT the stump with the largest gain, and its step. Return 0, or as ``rounds`` does."""
        cdef State* s = &self.state
        cdef Py_ssize_t k = best_stump(s, self.total)
        cdef double up, down
        if k < 0:
            return 1
        compute(s, k)
        up = sums_of(s, k)[0] + self.epsilon * self.total
        down = sums_of(s, k)[1] + self.epsilon * self.total
        stump[0] = k
        if up <= 0.0 or down <= 0.0:
            return 2
        step[0] = stepped(0.5 * log(up / down))
        return step[0] == 0.0

    cdef int one_round(self, int* stump, double* step, long long* work) noexcept nogil:
        """Choose a stump and its step, and update; OUT what was chosen. Return what came of it."""
        cdef Py_ssize_t k = 0
        cdef int outcome = self.choose(&k, step)
        cdef bint stale
        if outcome:
            stump[0] = self.state.order[k] if outcome == 2 else 0
            return outcome
        stump[0] = self.state.order[k]
        work[0] = self.move(k, step[0])
        self.changes += work[0]
        if self.passes == 0.0:
            self.refresh(False)
        else:
            settle(&self.state)
            stale = self.changes >= self.passes * self.state.index.of_pair[self.state.index.n_pairs]
            if stale or self.total < 1e-3 * self.computed:
                self.refresh(True)
        return 0

    def measure(self):
        """Note how far the sums are off now."""
        if self.passes > 0.0 and self.changes > 0:
            with nogil:
                self.refresh(True)

    def rounds(self, Trace trace):
        """Fill ``trace``. Return 0, 1 if no stump lowers the loss, or 2 if a step would be infinite.

        The last means that trace.stump[trace.n] is right on all its pairs, or wrong, and nothing smooths.
        """
        cdef int outcome = 0
        cdef Py_ssize_t n
        with nogil:
            for n in range(trace.stumps.shape[0]):
                outcome = self.one_round(&trace.stumps[n], &trace.steps[n], &trace.works[n])
                if outcome:
                    break
                trace.losses[n] = self.log_loss()
                trace.wrong[n] = self.errors
                trace.weighted[n] = self.weighted
                trace.n = n + 1
        return outcome
