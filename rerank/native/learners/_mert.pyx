"""The line search of minimum error rate training (Och 2003), exact for a metric of summed statistics.

Along w + gamma * direction the score of every item is a line, whose slope is the product of the direction and
its features. The upper envelope of the lines of a list gives the item that is chosen at each gamma. At a
breakpoint, where the chosen item changes, the summed statistics change by the difference of two items.

A search covers the lists whose slopes differ, as _rise returns them: `lists` (numbers of lists), and for
each list in turn its items by rising slope in `order` (places in the list, on ties rising), and `slopes`.

Breakpoints fall into buckets by gamma. One pass over the lists adds up by how much each sum rises and falls
in each bucket. If sums are exact and the metric has a bound, a bucket that cannot contain the best interval
is neither sorted nor walked.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.string cimport memcpy, memset
from rerank.native.learners._mert_breaks cimport (
    Breaks, add_break, fill_all_buckets, fill_buckets, sort_bucket,
)
from rerank.native.learners._mert_choice cimport (
    Choice, Penalty, cannot_beat, consider, floor_of, most_of, surely_below, wide, within,
)
from rerank.native.learners._mert_envelope cimport Line, envelope, order_t, slope_t
from rerank.native.learners._statistics cimport Statistics, Table, difference
from rerank.native.data._prefetch cimport prefetch
from rerank.native.data._sort cimport BUCKETS, argsort, word
from rerank.native.data._sums cimport BLEU, score_of

_LINE = np.dtype([("since", "f8"), ("slope", "f8"), ("score", "f8"), ("item", "i4")], align=True)

cdef enum:
    MOST_BUCKETS = 1024
    LISTS_OF_BUCKET = 8  # of a search, for each bucket
    CACHE_LINE = 64
    # Statistics of many lists lie in slow memory.
    AHEAD = 8  # breakpoints
    LISTS_AHEAD = 2
    LINES_AHEAD = 10  # sixteen candidates with the counts of BLEU


# What a walk along the line knows at one place.
cdef struct Walk:
    int better, kind
    double a, b
    double lower  # the last breakpoint
    double floor  # see floor_of
    double* sums  # above it
    Penalty price
    Choice choice


@cython.final
cdef class LineSearch:
    """Searches over one set of lists, with scratch memory; each thread has its own.

    IN offsets (n_lists + 1); statistics of all items, times their list's weight.
    """

    cdef const long long[::1] offsets
    cdef Table table
    cdef object held
    cdef Breaks breaks
    cdef double[::1] highest  # gamma in each bucket
    cdef double[:, ::1] rises  # by how much each sum rises in each bucket, falls not counted
    cdef double[:, ::1] changes  # rises less falls
    cdef double[:, ::1] starts  # each sum below each bucket
    cdef double[::1] lowers  # the highest gamma below each bucket
    cdef double[::1] bounds  # of the objective in each bucket
    cdef int[::1] alive  # buckets that may contain the best interval
    cdef double[::1] bucket_key
    cdef int[::1] bucket_rank
    cdef double[:, ::1] scratch
    cdef double[::1] sums  # below all breakpoints
    cdef Line[::1] lines  # the envelope of a list
    cdef double unit

    def __init__(self, const long long[::1] offsets, Statistics statistics):
        cdef Py_ssize_t n_lists = offsets.shape[0] - 1
        cdef Py_ssize_t n = max(offsets[n_lists] - n_lists if n_lists else 0, 1)
        cdef Py_ssize_t longest = max(int(np.diff(offsets).max()) if n_lists else 0, 1)
        cdef Py_ssize_t k = max(statistics.table.width, 1)
        self.offsets = offsets
        self.table = statistics.table
        self.held = statistics
        self.hold(n)
        self.alive, self.bucket_rank = np.empty((2, MOST_BUCKETS), dtype=np.int32)
        self.highest, self.lowers, self.bounds, self.bucket_key = np.empty((4, MOST_BUCKETS))
        self.rises, self.changes, self.starts = np.empty((3, MOST_BUCKETS, k))
        self.scratch = np.empty((4, k))
        self.sums = np.empty(k)
        self.lines = np.empty(longest, dtype=_LINE)
        self.unit = 1.0

    def hold(self, Py_ssize_t n):
        """Make room for n breakpoints; memory that is never touched is never used."""
        cdef double[:, ::1] doubles = np.empty((2, n))
        cdef int[:, ::1] ints = np.empty((5, n), dtype=np.int32)
        cdef unsigned short[::1] place = np.empty(n, dtype=np.uint16)
        cdef word[::1] words = np.empty(2 * max(n, MOST_BUCKETS), dtype=np.uint64)
        cdef int[:, ::1] buckets = np.empty((2, MOST_BUCKETS), dtype=np.int32)
        cdef int[::1] counts = np.empty(BUCKETS, dtype=np.int32)
        cdef Breaks* breaks = &self.breaks
        self.held = self.held, doubles, ints, place, words, buckets, counts
        breaks.n, breaks.n_buckets = 0, 1
        breaks.gamma, breaks.key = &doubles[0, 0], &doubles[1, 0]
        breaks.before, breaks.after, breaks.rank = &ints[0, 0], &ints[1, 0], &ints[2, 0]
        breaks.sorted, breaks.moved = &ints[3, 0], &ints[4, 0]
        breaks.place, breaks.words, breaks.counts = &place[0], &words[0], &counts[0]
        breaks.size, breaks.begin = &buckets[0, 0], &buckets[1, 0]

    def gather(
        self, const int[::1] lists, const order_t[::1] order, const slope_t[::1] slopes,
        const double[::1] scores, const int[::1] chosen, const double[::1] sums, double unit,
        int n_buckets=0,
    ):
        """Find the breakpoints of a direction; `best` or `intervals` then evaluate them.

        IN scores (n), chosen (n_lists) and sums (k) at gamma = 0 as `choose` gives them; unit > 0: the gamma
        of a long step; n_buckets, 0 = by the number of lists.
        """
        cdef Py_ssize_t i, c, at = 0
        cdef long long first
        cdef int k, t, held, lines
        cdef double* change = &self.scratch[0, 0]
        self.unit = unit
        if n_buckets <= 0:
            n_buckets = <int> min(max(lists.shape[0] / LISTS_OF_BUCKET, 1), MOST_BUCKETS)
        self.breaks.n_buckets = min(n_buckets, <int> MOST_BUCKETS)
        with nogil:
            self.clear(sums)
            for i in range(lists.shape[0]):
                first = self.offsets[lists[min(i + LISTS_AHEAD, lists.shape[0] - 1)]]
                self.fetch(first, LINES_AHEAD)
                first = self.offsets[lists[i]]
                k = <int> (self.offsets[lists[i] + 1] - first)
                lines = envelope(&order[at], &slopes[at], k, &scores[first], &self.lines[0])
                at += k
                held = <int> first + self.lines[0].item
                if difference(&self.table, chosen[lists[i]], held, change):
                    for c in range(self.table.width):
                        self.sums[c] += change[c]
                for t in range(1, lines):
                    if difference(&self.table, held, first + self.lines[t].item, change):
                        self.add(self.lines[t].since, held, <int> first + self.lines[t].item, change)
                        held = <int> first + self.lines[t].item

    cdef void clear(self, const double[::1] sums) noexcept nogil:
        """Forget all breakpoints."""
        cdef Py_ssize_t c
        cdef Py_ssize_t cells = self.breaks.n_buckets * self.rises.shape[1]
        self.breaks.n = 0
        for c in range(self.table.width):
            self.sums[c] = sums[c]
        memset(self.breaks.size, 0, self.breaks.n_buckets * sizeof(int))
        memset(&self.rises[0, 0], 0, cells * sizeof(double))
        memset(&self.changes[0, 0], 0, cells * sizeof(double))
        for c in range(self.breaks.n_buckets):
            self.highest[c] = -INFINITY

    cdef inline void add(self, double gamma, int before, int after, const double* change) noexcept nogil:
        """Add a breakpoint to its bucket."""
        cdef Py_ssize_t c
        cdef int bucket = add_break(&self.breaks, gamma, before, after, self.unit)
        cdef double* rises = &self.rises[bucket, 0]
        cdef double* changes = &self.changes[bucket, 0]
        if gamma > self.highest[bucket]:
            self.highest[bucket] = gamma
        for c in range(self.table.width):
            changes[c] += change[c]
            rises[c] += change[c] if change[c] > 0.0 else 0.0

    cdef void walk(self, Walk* walk, int bucket) noexcept nogil:
        """Consider the intervals below the breakpoints of a bucket, by rising gamma."""
        cdef int* rank = &self.breaks.rank[self.breaks.begin[bucket]]
        cdef int n = self.breaks.size[bucket]
        cdef int i, ahead
        sort_bucket(&self.breaks, bucket)
        for i in range(n):
            ahead = rank[min(i + AHEAD, n - 1)]
            self.fetch(self.breaks.before[ahead], 1)
            self.fetch(self.breaks.after[ahead], 1)
            self.weigh(walk, self.breaks.gamma[rank[i]])
            self.pass_over(rank[i], walk.sums)
            walk.lower = self.breaks.gamma[rank[i]]

    cdef inline void fetch(self, Py_ssize_t item, int lines) noexcept nogil:
        """Prefetch the statistics of an item, so many cache lines of them and what follows."""
        cdef const char* at = <const char*> self.table.counts
        cdef int i
        if at != NULL:
            at += item * self.table.width * sizeof(int)
        else:
            at = <const char*> (self.table.values + item * self.table.width)
        for i in range(lines):
            prefetch(at + i * CACHE_LINE)

    cdef inline void pass_over(self, int i, double* sums) noexcept nogil:
        """INOUT sums: those above a breakpoint instead of those below it."""
        cdef Py_ssize_t c
        difference(&self.table, self.breaks.before[i], self.breaks.after[i], &self.scratch[0, 0])
        for c in range(self.table.width):
            sums[c] += self.scratch[0, c]

    cdef inline void weigh(self, Walk* walk, double upper) noexcept nogil:
        """Consider the interval from the last breakpoint to ``upper``."""
        cdef double before = walk.choice.objective
        if not wide(walk.lower, upper, self.unit):
            return
        if walk.kind == BLEU and walk.better > 0 and cannot_beat(walk.sums, walk.a, walk.floor):
            return
        consider(
            walk.better * score_of(walk.kind, walk.sums, walk.a, walk.b),
            walk.lower, upper, self.unit, &walk.price, &walk.choice,
        )
        if walk.choice.objective > before:
            walk.floor = max(walk.floor, floor_of(walk.choice.objective))

    def best(self, int better, int kind, double a, double b, penalty, double least):
        """Return the best interval of gamma for a metric that kernels know: objective and both ends.

        If no interval is above ``least``, it may be any. An objective of -infinity means that no interval has
        a value.

        IN better 1 or -1; kind, a, b of the metric (SumForm); penalty: its six numbers.
        """
        cdef Walk walk
        cdef int j
        cdef double[::1] sums = np.array(self.sums)
        walk.better, walk.kind, walk.a, walk.b, walk.sums = better, kind, a, b, &sums[0]
        walk.lower, walk.floor = -INFINITY, 0.0
        walk.price.strength, walk.price.square, walk.price.product = penalty[:3]
        walk.price.step, walk.price.here, walk.price.along = penalty[3:]
        walk.choice.objective = -INFINITY
        walk.choice.lower = walk.choice.upper = 0.0
        with nogil:
            if self.table.counts != NULL and walk.price.strength == 0.0:
                self.search(&walk, least if least == least else -INFINITY)
            else:
                fill_all_buckets(&self.breaks)
                for j in range(self.breaks.n_buckets):
                    self.walk(&walk, j)
            self.weigh(&walk, INFINITY)
        return walk.choice.objective, walk.choice.lower, walk.choice.upper

    cdef void search(self, Walk* walk, double least) noexcept nogil:
        """Walk the buckets that may contain an interval above ``least``, the most promising ones first.

        INOUT walk: it ends above the last breakpoint.
        """
        cdef Walk one = walk[0]
        cdef int alive = 0, total = 0, i, j
        cdef Py_ssize_t c
        walk.floor = floor_of(least)
        for j in range(self.breaks.n_buckets):
            self.breaks.begin[j] = -1
            if not self.breaks.size[j]:
                continue
            self.bounds[j] = self.bound(walk, j)
            self.lowers[j] = walk.lower
            memcpy(&self.starts[j, 0], walk.sums, self.table.width * sizeof(double))
            if not surely_below(self.bounds[j], least):
                self.breaks.begin[j] = total
                total += self.breaks.size[j]
                self.bucket_key[alive] = -self.bounds[j]
                self.alive[alive] = j
                alive += 1
            walk.lower = self.highest[j]
            for c in range(self.table.width):
                walk.sums[c] += self.changes[j, c]
        fill_buckets(&self.breaks)
        argsort(&self.bucket_key[0], &self.bucket_rank[0], alive, self.breaks.words, self.breaks.counts)
        one.floor = walk.floor
        for i in range(alive):
            j = self.alive[self.bucket_rank[i]]
            if surely_below(self.bounds[j], max(least, one.choice.objective)):
                break
            one.sums = &self.starts[j, 0]
            one.lower = self.lowers[j]
            self.walk(&one, j)
        walk.choice = one.choice
        walk.floor = one.floor

    def tally(self):
        """Return what is summed of the gathered breakpoints, for a search over several sets of lists.

        The sums below all (k), and of each bucket the highest gamma (-infinity = it is empty), rises and
        changes (n_buckets, k).
        """
        cdef int n = self.breaks.n_buckets
        below = np.array(self.sums), np.array(self.highest[:n])
        return *below, np.array(self.rises[:n]), np.array(self.changes[:n])

    def corners(self):
        """Return the gathered breakpoints in the order of their lists.

        Of each (m): gamma, its bucket, and the items that are chosen before and after it.
        """
        cdef Py_ssize_t n = self.breaks.n
        if n == 0:
            return np.empty(0), np.empty(0, np.uint16), np.empty(0, np.int32), np.empty(0, np.int32)
        where = np.array(<double[:n]> self.breaks.gamma), np.array(<unsigned short[:n]> self.breaks.place)
        return *where, np.array(<int[:n]> self.breaks.before), np.array(<int[:n]> self.breaks.after)

    cdef inline double bound(self, const Walk* walk, int bucket) noexcept nogil:
        """Return a bound of the objective of the intervals below the breakpoints of a bucket."""
        cdef Py_ssize_t c
        cdef double* low = &self.scratch[1, 0]
        cdef double* high = &self.scratch[2, 0]
        for c in range(self.table.width):
            high[c] = walk.sums[c] + self.rises[bucket, c]
            low[c] = walk.sums[c] + (self.changes[bucket, c] - self.rises[bucket, c])
        return most_of(
            walk.kind, walk.better, walk.a, walk.b, walk.floor, low, high, &self.scratch[3, 0]
        )

    def intervals(self):
        """Return every interval wider than rounding: ends (m, 2), rising, and summed statistics (m, k)."""
        cdef Py_ssize_t i, c, found = 0
        cdef double lower = -INFINITY, upper
        cdef double[:, ::1] ends = np.empty((self.breaks.n + 1, 2))
        cdef double[:, ::1] totals = np.empty((self.breaks.n + 1, self.table.width))
        cdef double[::1] sums = np.array(self.sums)
        with nogil:
            fill_all_buckets(&self.breaks)
            for i in range(self.breaks.n_buckets):
                sort_bucket(&self.breaks, i)
            for i in range(self.breaks.n + 1):
                upper = self.breaks.gamma[self.breaks.rank[i]] if i < self.breaks.n else INFINITY
                if wide(lower, upper, self.unit):
                    ends[found, 0] = lower
                    ends[found, 1] = upper
                    for c in range(totals.shape[1]):
                        totals[found, c] = sums[c]
                    found += 1
                if i < self.breaks.n:
                    self.pass_over(self.breaks.rank[i], &sums[0])
                    lower = upper
        return np.asarray(ends)[:found], np.asarray(totals)[:found]


def best_of(const double[:, ::1] ends, const double[::1] values, double unit, int better, penalty):
    """Return what LineSearch.best returns, from the ends of intervals (m, 2) and the metric's values (m)."""
    cdef Choice choice
    cdef Penalty price
    cdef Py_ssize_t i
    price.strength, price.square, price.product, price.step, price.here, price.along = penalty
    choice.objective = -INFINITY
    choice.lower = choice.upper = 0.0
    with nogil:
        for i in range(values.shape[0]):
            consider(better * values[i], ends[i, 0], ends[i, 1], unit, &price, &choice)
    return choice.objective, choice.lower, choice.upper


def bounds_of(
    const double[:, ::1] starts, const double[:, ::1] rises, const double[:, ::1] changes, int better,
    int kind, double a, double b, double least,
):
    """Return a bound of the objective in each bucket (n), -infinity if it is certainly not above ``least``.

    IN starts: the sums below each bucket; rises and changes as ``LineSearch.tally`` has them; all (n, k).
    """
    cdef Py_ssize_t i, c, k = starts.shape[1]
    cdef double floor = floor_of(least)
    cdef double[::1] bounds = np.empty(starts.shape[0])
    cdef double[:, ::1] around = np.empty((3, max(k, 1)))
    with nogil:
        for i in range(starts.shape[0]):
            for c in range(k):
                around[0, c] = starts[i, c] + (changes[i, c] - rises[i, c])
                around[1, c] = starts[i, c] + rises[i, c]
            bounds[i] = most_of(kind, better, a, b, floor, &around[0, 0], &around[1, 0], &around[2, 0])
            if surely_below(bounds[i], least):
                bounds[i] = -INFINITY
    return np.asarray(bounds)


def values_of(const double[:, ::1] sums, int kind, double a, double b):
    """Return the metric (n) of sums (n, k) for a form that kernels know."""
    cdef Py_ssize_t i
    cdef double[::1] values = np.empty(sums.shape[0])
    with nogil:
        for i in range(sums.shape[0]):
            values[i] = score_of(kind, &sums[i, 0], a, b)
    return np.asarray(values)


def value_of(const double[::1] sums, int kind, double a, double b):
    """Return the metric of sums (k) for a form that kernels know."""
    return score_of(kind, &sums[0], a, b)


def point_in(double lower, double upper, double unit):
    """Return the gamma that represents an interval: its middle, or a unit beyond its only end."""
    return within(lower, upper, unit)
