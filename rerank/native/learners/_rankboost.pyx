"""RankBoost without pairs: potentials of items by sums over ranges of each list, and the best weak ranker.

The items of a list are in the order of decreasing labels. Item i must beat those of one range of positions,
and those that must beat it are another range; neither bound of a range ever moves back. The weight of a pair
is exp(w + F(worse) - F(better)), with the log weight w of its list.
"""

import numpy as np

from libc.math cimport INFINITY, exp, fabs, log, log1p
from libc.string cimport memset

# Scores of a list within this range give exponentials and sums of products that neither overflow nor vanish;
# wider lists are summed as logarithms.
cdef enum:
    NARROW = 500
    BINNED = 4096  # a feature with fewer entries needs no bins: its potentials are near anyway

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


cdef inline double plus(double a, double b, bint wide) noexcept nogil:
    return log_sum(a, b) if wide else a + b


cdef inline void window_sums(
    const double* value, const int* first, const int* last, int k, double* suffix, double* out, bint wide
) noexcept nogil:
    """OUT out[i]: the sum of the values first[i]:last[i], whose bounds never fall; no value is subtracted.

    IN value, first, last (k); scratch suffix (k). wide: values and sums are logarithms.
    """
    cdef int i, j
    cdef int split = 0  # sums of what is before it are suffix sums up to it, what is after it is in ``back``
    cdef int end = 0
    cdef double nothing = -INFINITY if wide else 0.0, back = nothing
    for i in range(k):
        if first[i] >= last[i]:
            out[i] = nothing
            continue
        if first[i] >= split:
            split = last[i]
            end = split
            back = nothing
            for j in range(split - 1, first[i] - 1, -1):
                back = plus(back, value[j], wide)
                suffix[j] = back
            back = nothing
        while end < last[i]:
            back = plus(back, value[end], wide)
            end += 1
        out[i] = plus(suffix[first[i]], back, wide)


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
        window_sums(part.up, part.first, part.last, part.k, part.suffix, part.below, True)
        window_sums(part.down, part.over, part.under, part.k, part.suffix, part.above, True)
        for i in range(part.k):
            part.below[i] += part.down[i]
            part.above[i] += part.up[i]
            total = log_sum(total, part.below[i])
        return total
    for i in range(part.k):
        part.up[i] = exp(part.score[i] - centre)
        part.down[i] = 1.0 / part.up[i]
    window_sums(part.up, part.first, part.last, part.k, part.suffix, part.below, False)
    window_sums(part.down, part.over, part.under, part.k, part.suffix, part.above, False)
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
        window_sums(part.sums, part.first, part.last, part.k, part.suffix, part.above, True)
        for i in range(part.k):
            if h[i] == side:
                total += exp(scale + part.down[i] + part.above[i])
        return total
    for i in range(part.k):
        part.sums[i] = part.up[i] if h[i] != side else 0.0
    window_sums(part.sums, part.first, part.last, part.k, part.suffix, part.above, False)
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


# The best of weak rankers: the largest gain, and the first one in the order of ties that has it.
cdef struct Best:
    double gain, tie
    double value  # the gain of the chosen one, with its sign
    Py_ssize_t column  # -1: none is chosen yet
    long long group
    int missing


# Some groups of a feature in a row, and the sums of the potentials of their entries.
cdef struct Part:
    long long first, stop, begin  # groups, and the first entry
    const double* sums  # of the entries up to each
    double base  # the sum of the items of the groups before
    double others  # of the items without entries, which are in the largest group


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


cdef void add_bins(
    const double* potential, const unsigned char* bins, Py_ssize_t n, double* sums
) noexcept nogil:
    """OUT sums (2 x 256): of the potentials of the items of each bin, those above 0 and the others.

    Four items at a time have sums of their own, as adding to one number twice in a row takes long.
    """
    cdef double* four = sums + 512
    cdef Py_ssize_t i
    cdef int k
    memset(sums, 0, 4 * 512 * sizeof(double))
    for i in range(0, n - 3, 4):
        for k in range(4):
            sums[512 * k + 2 * bins[i + k] + (potential[i + k] < 0)] += potential[i + k]
    for i in range(n - n % 4, n):
        sums[2 * bins[i] + (potential[i] < 0)] += potential[i]
    for k in range(512):
        sums[k] = (sums[k] + four[k]) + (four[512 + k] + four[1024 + k])


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


cdef inline double gain_of(double high, double low, double lacking, bint both) noexcept nogil:
    """Return the largest gain of sums from low to high, with or without the sum of the missing values."""
    high += max(lacking, 0.0)
    low += min(lacking, 0.0)
    return max(high, -low) if both else high


cdef inline void offer(
    Best* best, double value, double lacking, bint both, Py_ssize_t column, long long group, bint missing
) noexcept nogil:
    """INOUT best: choose the ranker, with h = 0 or 1 of missing values, if its gain is tied with the best."""
    cdef int h
    for h in range(1 + missing):
        value += lacking if h else 0.0
        if best.column < 0 and (fabs(value) if both else value) >= best.gain - best.tie:
            best.value = value
            best.column = column
            best.group = group
            best.missing = h


cdef class Search:
    """Finds the best of the weak rankers, given as the arrays of ``WeakRankers`` and ``RawRankers``.

    A gain is the sum of h times the potentials, with h in [0, 1]. So from one search to the next no gain
    rises by more than the sum of what potentials rose by, or with negative steps of what they fell by. A
    feature is left out while its last gain and these sums stay below the best gain.

    A feature with entries for a quarter of the items or more also has the bin of each item, in one byte: at
    most 256 runs of groups. Bins are read in the order of the items, so that nothing is fetched from far
    away, however many items there are. The sums of potentials above and below 0 within a bin bound the gains
    of the thresholds between its groups: the entries of few bins are added up one by one.
    """

    cdef Py_ssize_t n_columns
    cdef const long long[::1] groups, rest, bounds, raw_bounds  # of ``WeakRankers``; raw_bounds of ``raw``
    cdef const int[::1] items, raw_items
    cdef const double[::1] at, raw_values
    cdef const unsigned char[::1] missing
    cdef double[::1] sums, of_bins
    cdef double[::1] gains  # the largest of each feature, or a bound of it
    cdef double[::1] last  # the potentials of the search before
    cdef long long[::1] row  # of each feature in ``bins``, -1: none
    cdef unsigned char[:, ::1] bins
    cdef long long[:, ::1] cuts  # the first group of each bin, then the one after the last
    cdef readonly long long n_searched  # features, in all searches

    def __init__(self, rankers):
        cdef Py_ssize_t c
        self.groups, self.rest, self.bounds = rankers.groups, rankers.rest, rankers.bounds
        self.items, self.at, self.missing = rankers.items, rankers.at, rankers.missing
        self.raw_bounds = np.zeros_like(rankers.groups)
        if rankers.raw is not None:
            self.raw_bounds, self.raw_items = rankers.raw.bounds, rankers.raw.items
            self.raw_values = rankers.raw.values
        lengths = np.diff(rankers.bounds[rankers.groups])
        self.n_columns = len(lengths)
        self.sums = np.empty(1 + lengths.max(initial=0))
        self.gains = np.full(self.n_columns, INFINITY)
        self.last = np.zeros(rankers.n)
        self.of_bins = np.empty(4 * 512)
        many = lengths >= max(rankers.n // 4, BINNED)
        self.row = np.where(many, np.cumsum(many) - 1, -1)
        self.bins = np.empty((np.count_nonzero(many), rankers.n), dtype=np.uint8)
        self.cuts = np.empty((np.count_nonzero(many), 257), dtype=np.int64)
        self.n_searched = 0
        with nogil:
            for c in range(self.n_columns):
                if self.row[c] >= 0:
                    self.fill_bins(c, &self.cuts[self.row[c], 0], self.bins[self.row[c]])

    cdef void fill_bins(self, Py_ssize_t c, long long* cuts, unsigned char[::1] bins) noexcept nogil:
        """OUT bins (n_items) of feature c; cuts (257).

        Groups are each a bin if they are at most 256, otherwise bins are runs of groups with about as many
        items. The group of missing values is a bin of its own.
        """
        cdef long long first = self.groups[c], end = self.groups[c + 1], least, held = 0, g, e
        cdef int b = 0, of_rest = 0
        least = 0 if end - first <= 256 else bins.shape[0] // 254 + 1
        cuts[0] = first
        for g in range(first, end):
            if g == self.rest[c]:
                of_rest = b
            held += self.bounds[g + 1] - self.bounds[g]
            if held >= least or g >= end - 2:
                b += 1
                cuts[b] = g + 1
                held = 0
        bins[:] = <unsigned char> of_rest
        while b > 0:
            b -= 1
            for e in range(self.bounds[cuts[b]], self.bounds[cuts[b + 1]]):
                bins[self.items[e]] = <unsigned char> b

    def passing(self, Py_ssize_t c, long long group, double[::1] out):
        """OUT out (n_items): whether each item is in a group of feature c up to ``group``, 1 or 0."""
        cdef long long first = self.groups[c], end = self.groups[c + 1], e
        cdef Py_ssize_t i
        cdef int b = 0, above = self.rest[c] <= group
        cdef const unsigned char* bins
        with nogil:
            if self.row[c] >= 0:  # only the entries of one bin are looked at
                while self.cuts[self.row[c], b + 1] <= group:
                    b += 1
                first, end = self.cuts[self.row[c], b], self.cuts[self.row[c], b + 1]
                bins = &self.bins[self.row[c], 0]
                for i in range(out.shape[0]):
                    out[i] = bins[i] < b + above
            else:
                out[:] = above
            for e in range(self.bounds[first], self.bounds[end]):
                out[self.items[e]] = e < self.bounds[group + 1]

    def group_sums(self, const double[::1] potential, double[::1] out):
        """OUT out (n_groups): the sums of the potentials of the items of all groups.

        IN potential (n_items), whose sum is 0.
        """
        cdef double* sums = &self.of_bins[0]
        cdef Py_ssize_t c
        cdef long long first, end, begin, n, g
        with nogil:
            for c in range(self.n_columns):
                first, end = self.groups[c], self.groups[c + 1]
                if self.row[c] >= 0 and end - first <= 256:  # each group is a bin
                    add_bins(&potential[0], &self.bins[self.row[c], 0], potential.shape[0], sums)
                    for g in range(end - first):
                        out[first + g] = sums[2 * g] + sums[2 * g + 1]
                    continue
                begin = self.bounds[first]
                n = self.bounds[end] - begin
                add_up(&potential[0], &self.items[begin] if n else NULL, n, &self.sums[0])
                for g in range(first, end):
                    out[g] = self.sums[self.bounds[g + 1] - begin] - self.sums[self.bounds[g] - begin]
                out[self.rest[c]] = -self.sums[n]

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

    cdef double open(self, Py_ssize_t c, Part* part, double lacking, bint both, Best* best) noexcept nogil:
        """Return the largest gain of some groups, or offer them to ``best`` in their order if it is given."""
        cdef double high = -INFINITY, low = INFINITY, top = -INFINITY, bottom = INFINITY
        cdef long long stop = part.stop, middle, g
        if stop > part.first and self.at[stop - 1] != self.at[stop - 1]:
            stop -= 1  # only the last group before the missing values may have no threshold
        middle = min(max(self.rest[c], part.first), stop)
        if best == NULL:
            extremes(part.sums, &self.bounds[1 + part.first], part.begin, middle - part.first, &high, &low)
            extremes(part.sums, &self.bounds[1 + middle], part.begin, stop - middle, &top, &bottom)
            high = part.base + max(high, top + part.others)
            return gain_of(high, part.base + min(low, bottom + part.others), lacking, both)
        for g in range(part.first, stop):
            high = part.base + part.sums[self.bounds[g + 1] - part.begin]
            high += part.others if g >= middle else 0.0
            offer(best, high, lacking, both, c, g - self.groups[c], self.missing[c])
        return best.gain

    cdef double scan(
        self, Py_ssize_t c, const double[::1] potential, bint both, double least, Best* best
    ) noexcept nogil:
        """Return the largest gain of the weak rankers of a feature, or a bound of it that is below ``least``.

        They are offered to ``best`` unless it is NULL.
        """
        cdef const double* potentials = &potential[0]
        cdef double* sums = &self.of_bins[0]
        cdef const long long* cuts
        cdef long long last = self.groups[c + 1] - 1, n, at
        cdef Py_ssize_t b, n_bins = 0
        cdef double lacking = 0.0, found = -INFINITY, raw = 0.0, gain, end
        cdef Part part
        part.sums = &self.sums[0]
        part.base = part.others = 0.0
        if self.row[c] >= 0:
            cuts = &self.cuts[self.row[c], 0]
            add_bins(potentials, &self.bins[self.row[c], 0], potential.shape[0], sums)
            while cuts[n_bins] < last:
                n_bins += 1
            if self.missing[c]:
                lacking = sums[2 * n_bins] + sums[2 * n_bins + 1]
        else:
            part.first, part.stop, part.begin = self.groups[c], last, self.bounds[self.groups[c]]
            n = self.bounds[last + 1] - part.begin
            add_up(potentials, &self.items[part.begin], n, &self.sums[0])
            part.others = -self.sums[n]  # all potentials add up to 0
            if self.missing[c]:
                lacking = -self.sums[self.bounds[last] - part.begin]
                lacking -= part.others if self.rest[c] < last else 0.0
        if self.raw_bounds[c] < self.raw_bounds[c + 1]:
            for at in range(self.raw_bounds[c], self.raw_bounds[c + 1]):
                raw += self.raw_values[at] * potential[self.raw_items[at]]
            found = gain_of(raw, raw, lacking, both)
            if best != NULL:
                offer(best, raw, lacking, both, c, -1, self.missing[c])
        if self.row[c] < 0:
            return max(found, self.open(c, &part, lacking, both, best))
        if best == NULL:  # the ends of bins are thresholds
            end = 0.0
            for b in range(n_bins):
                end += sums[2 * b] + sums[2 * b + 1]
                if self.at[cuts[b + 1] - 1] == self.at[cuts[b + 1] - 1]:
                    found = max(found, gain_of(end, end, lacking, both))
            least = max(least, found)
        for b in range(n_bins):
            part.first, part.stop, part.begin = cuts[b], cuts[b + 1], self.bounds[cuts[b]]
            gain = gain_of(part.base + sums[2 * b], part.base + sums[2 * b + 1], lacking, both)
            end = part.base + (sums[2 * b] + sums[2 * b + 1])
            if part.stop - part.first == 1:
                if best != NULL and self.at[part.first] == self.at[part.first]:
                    offer(best, end, lacking, both, c, part.first - self.groups[c], self.missing[c])
            elif gain >= least:
                n = self.bounds[part.stop] - part.begin
                add_up(potentials, &self.items[part.begin], n, &self.sums[0])
                part.others = 0.0
                if part.first <= self.rest[c] < part.stop:
                    part.others = end - part.base - self.sums[n]
                found = max(found, self.open(c, &part, lacking, both, best))
            else:
                found = max(found, gain)
            part.base = end
        return found

    def best(self, const double[::1] potential, bint both, double tie):
        """Return (column, group, h of missing values, gain) of the best weak ranker; column -1 = none.

        IN potential (n_items), whose sum is 0 and whose magnitudes add up to 2 at most. Gains within ``tie``
        of the best are tied.
        """
        cdef Best best
        cdef Py_ssize_t c, first = 0
        best.gain, best.tie, best.value = -INFINITY, tie, 0.0
        best.column, best.group, best.missing = -1, 0, 0
        with nogil:
            self.raise_bounds(potential, both)
            for c in range(1, self.n_columns):
                if self.gains[c] > self.gains[first]:
                    first = c
            if self.n_columns:
                self.gains[first] = self.scan(first, potential, both, -INFINITY, NULL)
                self.n_searched += 1
                best.gain = self.gains[first]
            for c in range(self.n_columns):
                if c != first and self.gains[c] >= best.gain - tie:
                    self.gains[c] = self.scan(c, potential, both, best.gain - tie, NULL)
                    self.n_searched += 1
                    best.gain = max(best.gain, self.gains[c])
            for c in range(self.n_columns):
                if self.gains[c] >= best.gain - tie and best.column < 0:
                    self.scan(c, potential, both, best.gain - tie, &best)
        return best.column, best.group, best.missing, best.value
