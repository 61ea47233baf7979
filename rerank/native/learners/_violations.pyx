"""Violated pairs of one list, counted and summed, pair by pair or in O(k log k).

The items of a list are in the order of falling labels, and item j must beat the positions
start[j]..stop[j]-1 of its list, both rising in j. With z = score - tau * h and margins
g = h[j] - h[l] + c a pair is violated iff z[j] <= z[l] + c * tau. Both engines make exactly this comparison.

For the items above, n and H are the number and the sum of h of those below that violate; for the
items below, m and G are the same of those above: u = n * (h + c) - H - (G + m * (c - h)).
"""

from libc.string cimport memset

from rerank.native.data._fenwick cimport Node, Sums, tree_add, tree_sum
from rerank.native.data._sort cimport BUCKETS, argsort, word
from rerank.native.learners._ranges cimport Ranges, Room
from rerank.native.learners._top_rival cimport top_rival

import numpy as np

cdef enum:
    # A list of at most this many different ranges is swept range by range, without a Fenwick tree.
    MAX_RUNS = 6


cdef class ListPairs:
    """The pairs of lists, an engine for each list, and scratch for the work on one of them.

    IN offsets (n_lists + 1), items (n_items), the rows of each list by falling labels; start, stop
    (n_items), the positions that an item must beat; h (n_items), c and tau, the margin; even: h is 0; fast:
    whether lists are swept, None: whichever engine is faster for each.
    """

    def __init__(
        self, const long long[::1] offsets, const long long[::1] items, const int[::1] start,
        const int[::1] stop, const double[::1] h, double c, double tau, bint even, fast=None,
    ):
        self.offsets = offsets
        self.items = items
        self.start = start
        self.stop = stop
        self.h = h
        self.c = c
        self.tau = tau
        self.even = even
        self.fast = np.full(offsets.shape[0] - 1, fast is not None and fast, dtype=np.uint8)
        self.engines = self.fast
        if fast is None:
            choose_engines(self)
        self.make_room(max(int(np.diff(offsets).max(initial=0)), 1))

    def only_top(self, bint highest, bint plain):
        """Count only the worst violated pair of each list.

        highest: the better item is the one of those tied for best that scores highest (best-rest only).
        plain: the pair is updated by 1, otherwise by its margin.
        """
        self.top = True
        self.highest = highest
        self.plain = plain

    def make_room(self, Py_ssize_t longest):
        """Make scratch for lists of up to ``longest`` items."""
        cdef double[::1] floats = np.zeros(7 * longest + 1)
        cdef long long[::1] longs = np.zeros(2 * longest + 1, dtype=np.int64)
        cdef int[::1] ints = np.zeros(3 * longest + BUCKETS, dtype=np.int32)
        cdef double[::1] sums = np.zeros(2 * (longest + 2))
        self.keep = (floats, longs, ints, sums)
        self.room.s = &floats[0]
        self.room.u = self.room.s + longest
        self.room.z = self.room.u + longest
        self.room.above_h = self.room.z + longest
        self.room.below_h = self.room.above_h + longest
        self.room.above_n = self.room.below_h + longest
        self.room.below_n = self.room.above_n + longest
        self.room.words = <word*> &longs[0]
        self.room.counts = &ints[0]
        self.room.order = self.room.counts + BUCKETS
        self.room.place = self.room.order + longest
        self.room.bound = self.room.place + longest
        self.room.tree = <Sums*> &sums[0]

    cdef Ranges of(self, long long i) noexcept nogil:
        """Return the pairs of list i."""
        cdef Ranges p
        cdef long long first = self.offsets[i]
        p.start = &self.start[first]
        p.stop = &self.stop[first]
        p.h = &self.h[first]
        p.c = self.c
        p.tau = self.tau
        p.even = self.even
        p.fast = self.engines[i]
        p.top = self.top
        p.highest = self.highest
        p.plain = self.plain
        p.k = <int> (self.offsets[i + 1] - first)
        return p

    def updates(self, const double[::1] scores, double[::1] u, long long i=0):
        """OUT u (k) of list i under ``scores`` (k), in the order of its items.

        Return the number of violated pairs.
        """
        cdef Ranges p = self.of(i)
        cdef Room* r = &self.room
        cdef count violated
        cdef int j
        with nogil:
            for j in range(p.k):
                r.s[j] = scores[j]
            violated = violations(&p, r)
            for j in range(p.k):
                u[j] = r.u[j]
        return violated


cdef inline count combine(const Ranges* p, Room* r) noexcept nogil:
    """OUT r.u from the counts and sums. Return the number of violated pairs."""
    cdef const double* h = p.h
    cdef double c = p.c
    cdef int k = p.k, j
    cdef count violated = 0
    for j in range(k):
        violated += <count> r.above_n[j]
    if p.even:
        for j in range(k):
            r.u[j] = c * (r.above_n[j] - r.below_n[j])
    else:
        for j in range(k):
            r.u[j] = (r.above_n[j] * (h[j] + c) - r.above_h[j]) - (
                r.below_h[j] + r.below_n[j] * (c - h[j])
            )
    return violated


cdef inline void shift_scores(const Ranges* p, Room* r) noexcept nogil:
    """OUT r.z = scores less tau * h; clears the counts and sums."""
    cdef const double* h = p.h
    cdef double tau = p.tau
    cdef int k = p.k, j
    if p.even:
        for j in range(k):
            r.z[j] = r.s[j]
    else:
        for j in range(k):
            r.z[j] = r.s[j] - tau * h[j]
        memset(r.above_h, 0, k * sizeof(double))
        memset(r.below_h, 0, k * sizeof(double))
    memset(r.above_n, 0, k * sizeof(double))
    memset(r.below_n, 0, k * sizeof(double))


cdef inline double pairs_of_item(double zj, const double* reach, double* below, int n) noexcept nogil:
    """OUT below[l] += 1 if zj <= reach[l], for l < n. Return how many."""
    cdef int l = 0
    cdef double hit0, hit1, total0 = 0.0, total1 = 0.0
    # Two lanes written out: whole numbers in doubles add exactly, in any order.
    while l + 1 < n:
        hit0 = 1.0 if zj <= reach[l] else 0.0
        hit1 = 1.0 if zj <= reach[l + 1] else 0.0
        total0 += hit0
        total1 += hit1
        below[l] += hit0
        below[l + 1] += hit1
        l += 2
    if l < n:
        hit0 = 1.0 if zj <= reach[l] else 0.0
        total0 += hit0
        below[l] += hit0
    return total0 + total1


cdef inline void add_if_reached(double z, double h, const double* reach, double* sums, int n) noexcept nogil:
    """OUT sums[i] += h if z <= reach[i], for i < n."""
    cdef int i
    for i in range(n):
        sums[i] += h if z <= reach[i] else 0.0


cdef inline void add_if_reaching(double reach, double h, const double* z, double* sums, int n) noexcept nogil:
    """OUT sums[i] += h if z[i] <= reach, for i < n."""
    cdef int i
    for i in range(n):
        sums[i] += h if z[i] <= reach else 0.0


cdef count pair_loop(const Ranges* p, Room* r) noexcept nogil:
    """Compare every pair of the ranges. IN r.s, OUT r.u. Return the number of violated pairs."""
    cdef const int* start = p.start
    cdef const int* stop = p.stop
    cdef const double* h = p.h
    cdef bint even = p.even
    cdef int k = p.k, j, at, n, low = 0, high = 0
    cdef double* reach = r.u  # z[l] + c * tau, until u is computed
    shift_scores(p, r)
    for j in range(k):
        reach[j] = r.z[j] + p.c * p.tau
    for j in range(k):
        at = start[j]
        n = stop[j] - at
        if n > 0:
            r.above_n[j] = pairs_of_item(r.z[j], reach + at, r.below_n + at, n)
            if not even:
                add_if_reached(r.z[j], h[j], reach + at, r.below_h + at, n)
    if not even:
        # The same pairs from below, so that every sum is one of many and the loops vectorise.
        for j in range(k):
            while high < k and start[high] <= j:
                high += 1
            while low < high and stop[low] <= j:
                low += 1
            add_if_reaching(reach[j], h[j], r.z + low, r.above_h + low, high - low)
    return combine(p, r)


cdef void place_items(double c, double tau, int k, Room* r) noexcept nogil:
    """OUT r.place[j] = position of z[j] among all z, r.bound[l] = how many z are <= z[l] + c * tau.

    So a pair is violated iff place[j] < bound[l], whatever the order of equal z.
    """
    cdef int i, item, ahead = 0
    cdef double reach
    argsort(r.z, r.order, k, r.words, r.counts)
    for i in range(k):
        item = r.order[i]
        r.place[item] = i
        reach = r.z[item] + c * tau
        while ahead < k and r.z[r.order[ahead]] <= reach:
            ahead += 1
        r.bound[item] = ahead


cdef void sweep_runs(const Ranges* p, Room* r) noexcept nogil:
    """OUT counts and sums by one pass over the places for each run of items with the same range."""
    cdef const int* start = p.start
    cdef const int* stop = p.stop
    cdef const double* h = p.h
    cdef bint even = p.even
    cdef int k = p.k
    cdef Sums* at = r.tree
    cdef Sums total
    cdef int first = 0, last, i
    while first < k:
        last = first + 1
        while last < k and start[last] == start[first] and stop[last] == stop[first]:
            last += 1
        if start[first] < stop[first]:
            # Below: at[p] sums the items of the run with place < p.
            memset(at, 0, (k + 1) * sizeof(Sums))
            for i in range(first, last):
                at[r.place[i] + 1].n = 1.0
                at[r.place[i] + 1].h = h[i]
            for i in range(1, k + 1):
                at[i].n += at[i - 1].n
                at[i].h += at[i - 1].h
            for i in range(start[first], stop[first]):
                r.below_n[i] += at[r.bound[i]].n
                if not even:
                    r.below_h[i] += at[r.bound[i]].h
            # Above: at[p] sums the items of the range with bound > p.
            memset(at, 0, (k + 1) * sizeof(Sums))
            for i in range(start[first], stop[first]):
                at[r.bound[i]].n += 1.0
                at[r.bound[i]].h += h[i]
            total.n = 0.0
            total.h = 0.0
            for i in range(k, -1, -1):
                total.n += at[i].n
                total.h += at[i].h
                at[i] = total
            for i in range(first, last):
                r.above_n[i] = at[r.place[i] + 1].n
                if not even:
                    r.above_h[i] = at[r.place[i] + 1].h
        first = last


cdef void sweep_tree(const Ranges* p, Room* r, Node* tree) noexcept nogil:
    """OUT counts and sums by two sweeps over the ranks with a Fenwick tree over the places.

    Even margins need only counts.
    """
    cdef const int* start = p.start
    cdef const int* stop = p.stop
    cdef const double* h = p.h
    cdef int k = p.k
    cdef Node upto
    cdef double inside = 0.0
    cdef int j, l, low = k, high = k
    # Above: from the last item up, ranges move up with the items; the tree holds their bounds.
    memset(tree, 0, (k + 1) * sizeof(Node))
    for j in range(k - 1, -1, -1):
        while low > start[j]:
            low -= 1
            tree_add(tree, k, r.bound[low], 1, h[low])
            if Node is Sums:
                inside += h[low]
        while high > stop[j]:
            high -= 1
            tree_add(tree, k, r.bound[high], -1, -h[high])
            if Node is Sums:
                inside -= h[high]
        if low < high:
            upto = tree_sum(tree, r.place[j])
            if Node is Sums:
                r.above_n[j] = high - low - upto.n
                r.above_h[j] = inside - upto.h
            else:
                r.above_n[j] = high - low - upto
    # Below: item l is in the ranges of the items from `low` (those whose stop is beyond l) to
    # `high` (those whose start is not beyond it); the tree holds their places.
    memset(tree, 0, (k + 1) * sizeof(Node))
    low = high = 0
    for l in range(k):
        while high < k and start[high] <= l:
            tree_add(tree, k, r.place[high] + 1, 1, h[high])
            high += 1
        while low < high and stop[low] <= l:
            tree_add(tree, k, r.place[low] + 1, -1, -h[low])
            low += 1
        if low < high:
            upto = tree_sum(tree, r.bound[l])
            if Node is Sums:
                r.below_n[l] = upto.n
                r.below_h[l] = upto.h
            else:
                r.below_n[l] = upto


cdef count sweep(const Ranges* p, Room* r) noexcept nogil:
    """Do the same as pair_loop in O(k log k). IN r.s, OUT r.u. Return the number of violated pairs."""
    cdef int j, runs = 1
    shift_scores(p, r)
    place_items(p.c, p.tau, p.k, r)
    for j in range(1, p.k):
        runs += p.start[j] != p.start[j - 1] or p.stop[j] != p.stop[j - 1]
    if runs <= MAX_RUNS:
        sweep_runs(p, r)
    elif p.even:
        sweep_tree(p, r, <int*> r.tree)
    else:
        sweep_tree(p, r, r.tree)
    return combine(p, r)


cdef count violations(const Ranges* p, Room* r) noexcept nogil:
    """OUT r.u from r.s by the engine of the list. Return the number of violated pairs that count."""
    if p.top:
        return top_rival(p, r)
    if p.fast:
        return sweep(p, r)
    return pair_loop(p, r)


cdef inline bint prefer_pairs(const Ranges* p) noexcept nogil:
    """Return whether the pair loop is the faster engine for a list; scripts/bench/perceptron.py measures it.

    In nanoseconds: a pair costs 0.4 (even) or 1.0; sweeping costs 60 per item through the tree, and
    14 per item + 7 per item and run if there are few runs.
    """
    cdef count n_pairs = 0
    cdef int runs = 1, j
    for j in range(p.k):
        n_pairs += p.stop[j] - p.start[j]
    for j in range(1, p.k):
        runs += p.start[j] != p.start[j - 1] or p.stop[j] != p.stop[j - 1]
    return n_pairs * (0.4 if p.even else 1.0) < p.k * (14.0 + 7.0 * runs if runs <= MAX_RUNS else 60.0)


cdef void choose_engines(ListPairs pairs):
    """OUT pairs.fast: 1 if sweeping a list is faster than going through its pairs."""
    cdef unsigned char[::1] fast = pairs.fast
    cdef Ranges p
    cdef Py_ssize_t i
    with nogil:
        for i in range(fast.shape[0]):
            p = pairs.of(i)
            fast[i] = not prefer_pairs(&p)
