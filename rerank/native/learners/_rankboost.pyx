"""RankBoost without pairs: potentials of items by sums over ranges of each list, and the best weak ranker.

The items of a list are in the order of decreasing labels. Item i must beat those of one range of positions,
and those that must beat it are another range; neither bound of a range ever moves back. The weight of a pair
is exp(w + F(worse) - F(better)), with the log weight w of its list.
"""

import numpy as np

from libc.math cimport INFINITY, exp, fabs, log, log1p

# Scores of a list within this range give exponentials and sums of products that neither overflow nor vanish;
# wider lists are summed as logarithms.
cdef enum:
    NARROW = 500

# The rounding error of a sum is at most 2^-53 for each number that is added, times the sum of magnitudes.
cdef double ROUNDING = 2.0**-51


# One list of k items, and scratch for it.
cdef struct List:
    const int* first  # item i must beat the positions first[i]:last[i]
    const int* last
    const int* over  # and the positions over[i]:under[i] must beat it
    const int* under
    const double* score
    double* up  # exp(score - centre), or score if the list is wide
    double* down  # its inverse, or -score
    double* below  # sum of the weights of pairs that the item must win, or its logarithm
    double* above  # and of those that it must lose
    double* suffix
    double* sums
    int k
    bint wide


cdef inline double log_sum(double a, double b) noexcept nogil:
    """Return log(exp(a) + exp(b)); neither is infinite but -inf."""
    if a < b:
        a, b = b, a
    return a if b == -INFINITY else a + log1p(exp(b - a))


cdef void window_sums(
    const double* value, const int* first, const int* last, int k, double* suffix, double* out
) noexcept nogil:
    """OUT out[i]: the sum of the values first[i]:last[i], whose bounds never fall; no value is subtracted.

    IN value, first, last (k); scratch suffix (k).
    """
    cdef int i, j
    cdef int split = 0  # sums of what is before it are suffix sums up to it, what is after it is in ``back``
    cdef int end = 0
    cdef double back = 0.0
    for i in range(k):
        if first[i] >= last[i]:
            out[i] = 0.0
            continue
        if first[i] >= split:
            split = last[i]
            end = split
            back = 0.0
            for j in range(split - 1, first[i] - 1, -1):
                back += value[j]
                suffix[j] = back
            back = 0.0
        while end < last[i]:
            back += value[end]
            end += 1
        out[i] = suffix[first[i]] + back


cdef void log_window_sums(
    const double* value, const int* first, const int* last, int k, double* suffix, double* out
) noexcept nogil:
    """OUT out[i]: the logarithm of the sum of exp of the values first[i]:last[i]; see window_sums."""
    cdef int i, j, split = 0, end = 0
    cdef double back = -INFINITY
    for i in range(k):
        if first[i] >= last[i]:
            out[i] = -INFINITY
            continue
        if first[i] >= split:
            split = last[i]
            end = split
            back = -INFINITY
            for j in range(split - 1, first[i] - 1, -1):
                back = log_sum(back, value[j])
                suffix[j] = back
            back = -INFINITY
        while end < last[i]:
            back = log_sum(back, value[end])
            end += 1
        out[i] = log_sum(suffix[first[i]], back)


cdef double weigh(List* part) noexcept nogil:
    """OUT up, down, below, above and wide of a list. Return the log of the sum of its pairs' weights."""
    cdef int i
    cdef double low = part.score[0]
    cdef double high = low, centre, total = 0.0
    for i in range(1, part.k):
        low = min(low, part.score[i])
        high = max(high, part.score[i])
    centre = 0.5 * low + 0.5 * high
    part.wide = not high - low <= NARROW
    if part.wide:
        total = -INFINITY
        for i in range(part.k):
            part.up[i] = part.score[i] - centre
            part.down[i] = centre - part.score[i]
        log_window_sums(part.up, part.first, part.last, part.k, part.suffix, part.below)
        log_window_sums(part.down, part.over, part.under, part.k, part.suffix, part.above)
        for i in range(part.k):
            part.below[i] += part.down[i]
            part.above[i] += part.up[i]
            total = log_sum(total, part.below[i])
        return total
    for i in range(part.k):
        part.up[i] = exp(part.score[i] - centre)
        part.down[i] = 1.0 / part.up[i]
    window_sums(part.up, part.first, part.last, part.k, part.suffix, part.below)
    window_sums(part.down, part.over, part.under, part.k, part.suffix, part.above)
    for i in range(part.k):
        part.below[i] *= part.down[i]
        part.above[i] *= part.up[i]
        total += part.below[i]
    return log(total)


cdef double share(const List* part, const double* h, double side, double scale) noexcept nogil:
    """Return the share of pairs whose better item has the value ``side`` of a binary h and the worse one not.

    ``scale`` is the logarithm of what the weights of the list are multiplied by.
    """
    cdef int i
    cdef double total = 0.0
    if part.wide:
        for i in range(part.k):
            part.sums[i] = part.up[i] if h[i] != side else -INFINITY
        log_window_sums(part.sums, part.first, part.last, part.k, part.suffix, part.above)
        for i in range(part.k):
            if h[i] == side:
                total += exp(scale + part.down[i] + part.above[i])
        return total
    for i in range(part.k):
        part.sums[i] = part.up[i] if h[i] != side else 0.0
    window_sums(part.sums, part.first, part.last, part.k, part.suffix, part.above)
    for i in range(part.k):
        if h[i] == side:
            total += part.down[i] * part.above[i]
    return total * exp(scale)


cdef class RangePairs:
    """The weights of all pairs of lists, as functions of the items' scores.

    IN offsets (n_lists + 1); first, last, over, under (n_items), positions within a list (see List);
    log_weights (n_lists).
    """

    cdef readonly object scores
    cdef const long long[::1] offsets
    cdef const int[:, ::1] ranges
    cdef const double[::1] log_weights
    cdef double[::1] score
    cdef double[:, ::1] room
    cdef double[::1] scale  # of each list, the logarithm
    cdef char[::1] wide

    def __init__(self, const long long[::1] offsets, const int[:, ::1] ranges, const double[::1] log_weights):
        cdef Py_ssize_t n = ranges.shape[1]
        self.offsets, self.ranges, self.log_weights = offsets, ranges, log_weights
        self.scores = np.zeros(n)
        self.score = self.scores
        self.room = np.empty((6, n))
        self.scale = np.empty(offsets.shape[0] - 1)
        self.wide = np.zeros(offsets.shape[0] - 1, dtype=np.int8)

    cdef List list_at(self, Py_ssize_t i) noexcept nogil:
        """Return list i."""
        cdef List part
        cdef long long at = self.offsets[i]
        part.first = &self.ranges[0, at]
        part.last = &self.ranges[1, at]
        part.over = &self.ranges[2, at]
        part.under = &self.ranges[3, at]
        part.score = &self.score[at]
        part.up = &self.room[0, at]
        part.down = &self.room[1, at]
        part.below = &self.room[2, at]
        part.above = &self.room[3, at]
        part.suffix = &self.room[4, at]
        part.sums = &self.room[5, at]
        part.k = <int>(self.offsets[i + 1] - at)
        part.wide = self.wide[i]
        return part

    def potentials(self, double[::1] out):
        """OUT out (n_items). Return the logarithm of the sum of all weights; see ``ExplicitPairs``."""
        cdef Py_ssize_t n_lists = self.offsets.shape[0] - 1, i
        cdef int j
        cdef double total = -INFINITY, factor
        cdef List part
        with nogil:
            for i in range(n_lists):
                part = self.list_at(i)
                total = log_sum(total, self.log_weights[i] + weigh(&part))
                self.wide[i] = part.wide
            for i in range(n_lists):
                part = self.list_at(i)
                self.scale[i] = self.log_weights[i] - total
                factor = exp(self.scale[i])
                for j in range(part.k):
                    if part.wide:
                        out[self.offsets[i] + j] = (
                            exp(self.scale[i] + part.below[j]) - exp(self.scale[i] + part.above[j])
                        )
                    else:
                        out[self.offsets[i] + j] = factor * (part.below[j] - part.above[j])
        return total

    def split(self, const double[::1] h):
        """Return the share of pairs that a binary h (n_items) puts right, and of those that it puts wrong.

        ``potentials`` must have been called after the last change of scores.
        """
        cdef Py_ssize_t i
        cdef double right = 0.0, wrong = 0.0
        cdef List part
        with nogil:
            for i in range(self.offsets.shape[0] - 1):
                part = self.list_at(i)
                right += share(&part, &h[self.offsets[i]], 1.0, self.scale[i])
                wrong += share(&part, &h[self.offsets[i]], 0.0, self.scale[i])
        return right, wrong


# The weak rankers of each feature; see rerank/learners/rankboost/rankers.py.
cdef struct Groups:
    const long long* groups
    const long long* rest
    const long long* bounds
    const int* items
    const double* at
    const unsigned char* missing
    const long long* raw_bounds  # NULL: no raw features
    const int* raw_items
    const double* raw_values


# The best of weak rankers: the largest gain, and the first one in the order of ties that has it.
cdef struct Best:
    double gain, tie
    double value  # the gain of the chosen one, with its sign
    Py_ssize_t column  # -1: none is chosen yet
    long long group
    int missing


# One feature, and the sums of the potentials of its entries up to each.
cdef struct Column:
    Py_ssize_t number
    long long first  # group
    long long last  # group, that of the missing values
    long long begin  # entry
    const double* sums  # of the entries from ``begin`` up to each
    double whole  # the sum of all
    double lacking  # the sum of the items with a missing value
    double raw  # the gain of the feature itself
    bint is_raw


cdef void add_up(const double* potential, const int* items, long long n, double* sums) noexcept nogil:
    """OUT sums[e], of the potentials of the first e items, e <= n; four at a time, as adding takes long."""
    cdef long long at = 0
    cdef double total = 0.0, two
    sums[0] = 0.0
    while at + 4 <= n:
        two = potential[items[at]] + potential[items[at + 1]]
        sums[at + 1] = total + potential[items[at]]
        sums[at + 2] = total + two
        sums[at + 3] = total + (two + potential[items[at + 2]])
        total += two + (potential[items[at + 2]] + potential[items[at + 3]])
        sums[at + 4] = total
        at += 4
    while at < n:
        total += potential[items[at]]
        sums[at + 1] = total
        at += 1


cdef inline double passed(const Groups* rankers, const Column* column, long long g) noexcept nogil:
    """Return the sum of the potentials of the items of groups up to g; those of all items add up to 0."""
    cdef double total = column.sums[rankers.bounds[g + 1] - column.begin]
    return total - column.whole if g >= rankers.rest[column.number] else total


cdef Column column_at(
    const Groups* rankers, Py_ssize_t c, const double* potential, double* sums
) noexcept nogil:
    """Return a feature; OUT sums."""
    cdef Column column
    cdef long long at, end
    column.number = c
    column.first = rankers.groups[c]
    column.last = rankers.groups[c + 1] - 1
    column.begin = rankers.bounds[column.first]
    end = rankers.bounds[column.last + 1] - column.begin
    add_up(potential, rankers.items + column.begin, end, sums)
    column.sums = sums
    column.whole = sums[end]
    column.lacking = -passed(rankers, &column, column.last - 1)
    column.raw = 0.0
    column.is_raw = rankers.raw_bounds != NULL and rankers.raw_bounds[c] < rankers.raw_bounds[c + 1]
    if column.is_raw:
        for at in range(rankers.raw_bounds[c], rankers.raw_bounds[c + 1]):
            column.raw += rankers.raw_values[at] * potential[rankers.raw_items[at]]
    return column


cdef void extremes(
    const double* sums, const long long* ends, long long begin, long long n, double* high, double* low
) noexcept nogil:
    """INOUT high, low: of sums[ends[k] - begin], k < n; four at a time, as each waits for the one before."""
    cdef double[4] most, least
    cdef double total
    cdef long long at = 0
    cdef int k
    for k in range(4):
        most[k] = -INFINITY
        least[k] = INFINITY
    while at + 4 <= n:
        for k in range(4):
            total = sums[ends[at + k] - begin]
            most[k] = total if total > most[k] else most[k]
            least[k] = total if total < least[k] else least[k]
        at += 4
    while at < n:
        most[0] = max(most[0], sums[ends[at] - begin])
        least[0] = min(least[0], sums[ends[at] - begin])
        at += 1
    for k in range(4):
        high[0] = max(high[0], most[k])
        low[0] = min(low[0], least[k])


cdef double largest(const Groups* rankers, const Column* column, bint both) noexcept nogil:
    """Return the largest gain of the weak rankers of a feature."""
    cdef double high = -INFINITY, low = INFINITY
    cdef double top = -INFINITY  # of the groups from the one without entries on, to whose sums it is added
    cdef double bottom = INFINITY
    cdef const long long* ends = rankers.bounds + 1
    cdef long long stop = column.last, middle
    if stop > column.first and rankers.at[stop - 1] != rankers.at[stop - 1]:
        stop -= 1  # only the last group before the missing values may have no threshold
    middle = min(max(rankers.rest[column.number], column.first), stop)
    extremes(column.sums, ends + column.first, column.begin, middle - column.first, &high, &low)
    extremes(column.sums, ends + middle, column.begin, stop - middle, &top, &bottom)
    high = max(high, top - column.whole)
    low = min(low, bottom - column.whole)
    if column.is_raw:
        high = max(high, column.raw)
        low = min(low, column.raw)
    if rankers.missing[column.number]:
        high = max(high, high + column.lacking)
        low = min(low, low + column.lacking)
    return max(high, -low) if both else high


cdef inline void offer(
    Best* best, double value, bint both, Py_ssize_t column, long long group, int missing
) noexcept nogil:
    """INOUT best: choose a weak ranker whose gain is tied with the largest one."""
    if best.column < 0 and (fabs(value) if both else value) >= best.gain - best.tie:
        best.value = value
        best.column = column
        best.group = group
        best.missing = missing


cdef void offer_column(const Groups* rankers, const Column* column, bint both, Best* best) noexcept nogil:
    """INOUT best: offer the weak rankers of a feature in the order of ties."""
    cdef Py_ssize_t c = column.number
    cdef double total
    cdef long long g
    if column.is_raw:
        offer(best, column.raw, both, c, -1, 0)
        if rankers.missing[c]:
            offer(best, column.raw + column.lacking, both, c, -1, 1)
    for g in range(column.first, column.last):
        if rankers.at[g] == rankers.at[g]:
            total = passed(rankers, column, g)
            offer(best, total, both, c, g - column.first, 0)
            if rankers.missing[c]:
                offer(best, total + column.lacking, both, c, g - column.first, 1)


cdef class Search:
    """Finds the best of the weak rankers, given as the arrays of ``WeakRankers`` and ``RawRankers``.

    A gain is the sum of h times the potentials, with h in [0, 1]. So from one search to the next no gain
    rises by more than the sum of what potentials rose by, or with negative steps of what they fell by. A
    feature is left out while its last gain and these sums stay below the best gain.
    """

    cdef Groups rankers
    cdef Py_ssize_t n_columns
    cdef tuple held
    cdef double[::1] sums
    cdef double[::1] gains  # the largest of each feature, or a bound of it
    cdef double[::1] last  # the potentials of the search before
    cdef readonly long long n_searched  # features, in all searches

    def __init__(
        self, const long long[::1] groups, const long long[::1] rest, const long long[::1] bounds,
        const int[::1] items, const double[::1] at, const unsigned char[::1] missing, Py_ssize_t n, raw=None,
    ):
        cdef const long long[::1] raw_bounds
        cdef const int[::1] raw_items
        cdef const double[::1] raw_values
        self.n_columns = rest.shape[0]
        self.sums = np.empty(1 + np.diff(np.asarray(bounds)[groups]).max(initial=0))
        self.gains = np.full(self.n_columns, INFINITY)
        self.last = np.zeros(n)
        self.n_searched = 0
        self.held = (groups, rest, bounds, items, at, missing, raw)
        self.rankers.groups = &groups[0]
        self.rankers.rest = &rest[0] if self.n_columns else NULL
        self.rankers.bounds = &bounds[0]
        self.rankers.items = &items[0] if items.shape[0] else NULL
        self.rankers.at = &at[0] if at.shape[0] else NULL
        self.rankers.missing = &missing[0] if self.n_columns else NULL
        self.rankers.raw_bounds = NULL
        if raw is not None:
            raw_bounds, raw_items, raw_values = raw
            self.rankers.raw_bounds = &raw_bounds[0]
            self.rankers.raw_items = &raw_items[0] if raw_items.shape[0] else NULL
            self.rankers.raw_values = &raw_values[0] if raw_values.shape[0] else NULL

    cdef void raise_bounds(self, const double[::1] potential, bint both) noexcept nogil:
        """INOUT gains, last: what the gains are at most with these potentials."""
        cdef Py_ssize_t n = self.last.shape[0], i
        cdef double change, rise = 0.0, fall = 0.0
        for i in range(n):
            change = potential[i] - self.last[i]
            rise += max(change, 0.0)
            fall -= min(change, 0.0)
            self.last[i] = potential[i]
        rise = (max(rise, fall) if both else rise) + ROUNDING * n
        for i in range(self.n_columns):
            self.gains[i] += rise

    cdef void search(self, Py_ssize_t c, const double[::1] potential, bint both) noexcept nogil:
        """OUT gains[c]: the largest gain of a feature."""
        cdef Column column = column_at(&self.rankers, c, &potential[0], &self.sums[0])
        self.gains[c] = largest(&self.rankers, &column, both)
        self.n_searched += 1

    def best(self, const double[::1] potential, bint both, double tie):
        """Return (column, group, h of missing values, gain) of the best weak ranker; column -1 = none.

        IN potential (n_items), whose sum is 0 and whose magnitudes add up to 2 at most. Gains within ``tie``
        of the best are tied.
        """
        cdef Best best
        cdef Column column
        cdef Py_ssize_t c, first = 0
        best.gain = -INFINITY
        best.tie = tie
        best.value = 0.0
        best.column = -1
        best.group = 0
        best.missing = 0
        with nogil:
            self.raise_bounds(potential, both)
            for c in range(1, self.n_columns):
                if self.gains[c] > self.gains[first]:
                    first = c
            if self.n_columns:
                self.search(first, potential, both)
                best.gain = self.gains[first]
            for c in range(self.n_columns):
                if c != first and self.gains[c] >= best.gain - tie:
                    self.search(c, potential, both)
                    best.gain = max(best.gain, self.gains[c])
            for c in range(self.n_columns):
                if self.gains[c] >= best.gain - tie and best.column < 0:
                    column = column_at(&self.rankers, c, &potential[0], &self.sums[0])
                    offer_column(&self.rankers, &column, both, &best)
        return best.column, best.group, best.missing, best.value
