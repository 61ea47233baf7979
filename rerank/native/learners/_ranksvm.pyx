"""Violated pairs of lists, summed without going through pairs: hinge losses, slopes and curvature.

The items of a list are in the order of falling labels; those of one label are a group. An item must beat
those of the groups below its own by 1. A pair of scores x, y is violated under a margin c iff x <= y + c.

Groups are sorted by score, and merged two by two as in merge sort. A merge of better items with worse ones
sees each of their pairs once: the worse items that violate a pair with x are a suffix in the order of the
scores, and move down with x, so that two pointers and a running sum are enough. A list of k items in G
groups takes k log G steps. With neighbours only, each group is compared with the next one and nothing is
merged.

Two margins, high > low, make the loss of the pairs smooth, as the difference of two squared hinges
(rerank/learners/svm/loss.py); its curvature comes from the pairs that are violated under high only. With
low = -infinity, every violated pair counts.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.string cimport memset

from rerank.native.data._matrix cimport Matrix, Rows, accumulate, dots
from rerank.native.data._sort cimport BUCKETS, argsort, word


cdef struct Item:
    double score
    int place  # in its list


# What a merge adds to: slopes and sums of both margins, or products with the curvature.
cdef struct Work:
    double high, low
    double* slope_high
    double* slope_low
    double sum_high, sum_low
    const double* values  # rows of ``width`` numbers of each item
    double* products
    double* window
    Py_ssize_t width


ctypedef void (*Compare)(Work*, const Item*, int, const Item*, int) noexcept nogil


cdef class PairLists:
    """Some lists at one point, with scratch of their own: a thread works on one object.

    IN matrix, the rows of items; offsets (n_lists + 1) and items (n_items), the rows of each list by falling
    labels; bounds (n_groups + 1), the groups of items, and first_group (n_lists + 1), those of each list;
    weight (n_lists), of each pair of a list; neighbours: whether only adjacent groups are compared. OUT
    slope (n_items), see move.
    """

    cdef Rows rows
    cdef const long long[::1] offsets, items, bounds, first_group
    cdef const double[::1] weight
    cdef bint neighbours
    cdef double[::1] slope, s
    cdef int[::1] order
    cdef double high, low
    cdef Item* here
    cdef Item* there
    cdef word* words
    cdef int* counts
    cdef double* slope_high
    cdef double* slope_low
    cdef Py_ssize_t longest
    cdef tuple held

    def __init__(
        self, Matrix matrix, const long long[::1] offsets, const long long[::1] items,
        const long long[::1] bounds, const long long[::1] first_group, const double[::1] weight,
        bint neighbours, double[::1] slope,
    ):
        self.rows = matrix.rows
        self.offsets = offsets
        self.items = items
        self.bounds = bounds
        self.first_group = first_group
        self.weight = weight
        self.neighbours = neighbours
        self.slope = slope
        n = slope.shape[0]
        self.longest = max(int(np.diff(offsets).max(initial=0)), 1)
        self.s = np.zeros(n)
        self.order = np.zeros(n, dtype=np.int32)
        cdef unsigned char[::1] sorted_items = np.empty(2 * self.longest * sizeof(Item), dtype=np.uint8)
        cdef long long[::1] words = np.empty(2 * self.longest, dtype=np.int64)
        cdef int[::1] counts = np.empty(BUCKETS, dtype=np.int32)
        cdef double[::1] slopes = np.empty(2 * self.longest)
        self.held = (matrix, sorted_items, words, counts, slopes)
        self.here = <Item*> &sorted_items[0]
        self.there = self.here + self.longest
        self.words = <word*> &words[0]
        self.counts = &counts[0]
        self.slope_high = &slopes[0]
        self.slope_low = self.slope_high + self.longest


cdef void merge(const Item* a, int n_a, const Item* b, int n_b, Item* out) noexcept nogil:
    """OUT out: the items of two sequences by rising score."""
    cdef int i = 0, j = 0
    while i < n_a and j < n_b:
        if a[i].score <= b[j].score:
            out[i + j] = a[i]
            i += 1
        else:
            out[i + j] = b[j]
            j += 1
    while i < n_a:
        out[i + j] = a[i]
        i += 1
    while j < n_b:
        out[i + j] = b[j]
        j += 1


cdef double add_slopes(
    const Item* better, int n, const Item* worse, int m, double margin, double* slope
) noexcept nogil:
    """INOUT slope: plus what each violated pair lacks to its margin for the better item, less for the worse.

    Return the sum over these pairs.
    """
    cdef int p = m, q = 0, i
    cdef double x, lacks, beyond = 0.0, total = 0.0
    if better[0].score > worse[m - 1].score + margin:
        return 0.0
    for i in range(n - 1, -1, -1):
        x = better[i].score
        while p > 0 and x <= worse[p - 1].score + margin:
            p -= 1
            beyond += worse[p].score
        lacks = (m - p) * (margin - x) + beyond
        slope[better[i].place] += lacks
        total += lacks
    beyond = 0.0
    for i in range(m):
        x = worse[i].score + margin
        while q < n and better[q].score <= x:
            beyond += better[q].score
            q += 1
        slope[worse[i].place] -= q * x - beyond
    return total


cdef void compare_slopes(Work* work, const Item* better, int n, const Item* worse, int m) noexcept nogil:
    work.sum_high += add_slopes(better, n, worse, m, work.high, work.slope_high)
    if work.low > -INFINITY:
        work.sum_low += add_slopes(better, n, worse, m, work.low, work.slope_low)


cdef inline void add_row(const double* row, Py_ssize_t width, double factor, double* total) noexcept nogil:
    cdef Py_ssize_t m
    for m in range(width):
        total[m] += factor * row[m]


cdef inline void add_product(Work* work, int place, int n) noexcept nogil:
    """OUT product of an item that n others are compared with: n times its row less the sum of theirs."""
    cdef const double* row = work.values + place * work.width
    cdef double* product = work.products + place * work.width
    cdef Py_ssize_t m
    for m in range(work.width):
        product[m] += n * row[m] - work.window[m]


cdef void compare_products(Work* work, const Item* better, int n, const Item* worse, int m) noexcept nogil:
    """INOUT products: for each item the sum of its row less that of the other item of each pair.

    Pairs count if they are violated under the margin high but not under low.
    """
    cdef Py_ssize_t width = work.width
    cdef const double* values = work.values
    cdef double* window = work.window
    cdef int first = 0, stop = 0, i
    cdef double x
    memset(window, 0, width * sizeof(double))
    for i in range(n):
        x = better[i].score
        while stop < m and not x <= worse[stop].score + work.low:
            add_row(values + worse[stop].place * width, width, 1.0, window)
            stop += 1
        while first < stop and not x <= worse[first].score + work.high:
            add_row(values + worse[first].place * width, width, -1.0, window)
            first += 1
        if first < stop:
            add_product(work, better[i].place, stop - first)
    first = 0
    stop = 0
    memset(window, 0, width * sizeof(double))
    for i in range(m):
        x = worse[i].score
        while stop < n and better[stop].score <= x + work.high:
            add_row(values + better[stop].place * width, width, 1.0, window)
            stop += 1
        while first < stop and better[first].score <= x + work.low:
            add_row(values + better[first].place * width, width, -1.0, window)
            first += 1
        if first < stop:
            add_product(work, worse[i].place, stop - first)


cdef void sort_groups(PairLists lists, Py_ssize_t i) noexcept nogil:
    """OUT lists.order: the places of each group of list i by rising score."""
    cdef long long first = lists.offsets[i]
    cdef const long long* bounds = &lists.bounds[0]
    cdef int* order
    cdef long long g
    cdef int j, k, start
    for g in range(lists.first_group[i], lists.first_group[i + 1]):
        k = <int> (bounds[g + 1] - bounds[g])
        start = <int> (bounds[g] - first)
        order = &lists.order[bounds[g]]
        argsort(&lists.s[bounds[g]], order, k, lists.words, lists.counts)
        for j in range(k):
            order[j] += start


cdef void walk(PairLists lists, Py_ssize_t i, Compare compare, Work* work) noexcept nogil:
    """Compare the groups of list i, better ones with worse ones."""
    cdef const long long* bounds = &lists.bounds[lists.first_group[i]]
    cdef long long n_groups = lists.first_group[i + 1] - lists.first_group[i]
    cdef long long first = lists.offsets[i]
    cdef Item* here = lists.here
    cdef Item* there = lists.there
    cdef long long width = 1, g, start, middle, stop
    cdef int j
    for j in range(<int> (lists.offsets[i + 1] - first)):
        here[j].place = lists.order[first + j]
        here[j].score = lists.s[first + here[j].place]
    while width < n_groups:
        g = 0
        while g + width < n_groups:
            start = bounds[g] - first
            middle = bounds[g + width] - first
            stop = bounds[min(g + 2 * width, n_groups)] - first
            compare(work, here + start, <int> (middle - start), here + middle, <int> (stop - middle))
            if lists.neighbours:
                g += 1
                continue
            merge(here + start, <int> (middle - start), here + middle, <int> (stop - middle), there + start)
            g += 2 * width
        if lists.neighbours:
            return
        for j in range(<int> (bounds[min(g, n_groups)] - first), <int> (bounds[n_groups] - first)):
            there[j] = here[j]
        here, there = there, here
        width *= 2


def scores(PairLists lists, const double[::1] w, double[::1] out):
    """OUT out (n_items): the products of the rows with w (n_features > 0)."""
    cdef Rows rows = lists.rows
    if out.shape[0]:
        with nogil:
            dots(&rows, &lists.items[0], 0, out.shape[0], &w[0], &out[0])


def move(PairLists lists, const double[::1] scores, double high, double low):
    """Go to finite ``scores`` (n_items) and two margins.

    OUT slope (n_items) of the lists: the sum over the violated pairs of an item of what they lack to the
    margin, which counts less than 0 if it is the worse one, under the margin high less that under low, times
    the weight. Return four sums over violated pairs, times their weight: what they lack to the margin, and
    the squares of that, under each margin.
    """
    cdef Work work
    cdef Py_ssize_t i, j, k
    cdef long long first
    cdef double square_high, square_low, weight
    cdef double[4] total
    cdef double* s
    lists.high = high
    lists.low = low
    work.high = high
    work.low = low
    work.slope_high = lists.slope_high
    work.slope_low = lists.slope_low
    total[:] = [0.0, 0.0, 0.0, 0.0]
    with nogil:
        for i in range(lists.offsets.shape[0] - 1):
            first = lists.offsets[i]
            k = lists.offsets[i + 1] - first
            s = &lists.s[first]
            for j in range(k):
                s[j] = scores[first + j] - scores[first]  # a constant loses its digits here only
            sort_groups(lists, i)
            work.sum_high = 0.0
            work.sum_low = 0.0
            memset(work.slope_high, 0, k * sizeof(double))
            memset(work.slope_low, 0, k * sizeof(double))
            walk(lists, i, compare_slopes, &work)
            weight = lists.weight[i]
            square_high = high * work.sum_high
            square_low = low * work.sum_low if low > -INFINITY else 0.0
            for j in range(k):
                square_high -= s[j] * work.slope_high[j]
                square_low -= s[j] * work.slope_low[j]
                lists.slope[first + j] = weight * (work.slope_high[j] - work.slope_low[j])
            total[0] += weight * work.sum_high
            total[1] += weight * square_high
            total[2] += weight * work.sum_low
            total[3] += weight * square_low
    return total[0], total[1], total[2], total[3]


def gather(PairLists lists, const double[::1] factors, double[::1] out):
    """OUT out (n_features > 0): the sum of the rows times their factors (n_items)."""
    cdef Rows rows = lists.rows
    cdef Py_ssize_t j
    with nogil:
        memset(&out[0], 0, out.shape[0] * sizeof(double))
        for j in range(factors.shape[0]):
            if factors[j] != 0.0:
                accumulate(&rows, lists.items[j], factors[j], &out[0])


def curve(PairLists lists, const double[::1] values, double[::1] out):
    """OUT out (n_items): the curvature at the last point times one value of each item."""
    cdef Work work
    cdef double window
    cdef Py_ssize_t i
    cdef long long j
    work.high = lists.high
    work.low = lists.low
    work.window = &window
    work.width = 1
    with nogil:
        for i in range(lists.offsets.shape[0] - 1):
            work.values = &values[lists.offsets[i]]
            work.products = &out[lists.offsets[i]]
            memset(work.products, 0, (lists.offsets[i + 1] - lists.offsets[i]) * sizeof(double))
            walk(lists, i, compare_products, &work)
            for j in range(lists.offsets[i], lists.offsets[i + 1]):
                out[j] *= lists.weight[i]


cdef void add_outer(
    const double* x, const double* y, Py_ssize_t k, Py_ssize_t d, double weight, double* out
) noexcept nogil:
    """INOUT upper triangle of out (d x d) += weight times the sum over k rows of x y'."""
    cdef Py_ssize_t j, a, b
    cdef double x0, x1, x2, x3
    cdef double* to
    cdef const double* y0
    for j in range(0, k - k % 4, 4):
        y0 = y + j * d
        for a in range(d):
            x0 = weight * x[j * d + a]
            x1 = weight * x[(j + 1) * d + a]
            x2 = weight * x[(j + 2) * d + a]
            x3 = weight * x[(j + 3) * d + a]
            to = out + a * d
            for b in range(a, d):
                to[b] += (x0 * y0[b] + x1 * y0[d + b]) + (x2 * y0[2 * d + b] + x3 * y0[3 * d + b])
    for j in range(k - k % 4, k):
        for a in range(d):
            x0 = weight * x[j * d + a]
            for b in range(a, d):
                out[a * d + b] += x0 * y[j * d + b]


def curvature(PairLists lists, double[:, ::1] room, double[:, ::1] out):
    """OUT upper triangle of out (n_features, n_features): the curvature at the last point by features.

    room: scratch of (2 k + 1, n_features) for lists of at most k items.
    """
    cdef Rows rows = lists.rows
    cdef Work work
    cdef Py_ssize_t d = out.shape[0]
    cdef Py_ssize_t i, j, k, m
    cdef long long first
    cdef double* x = &room[0, 0]
    work.high = lists.high
    work.low = lists.low
    work.values = x
    work.products = x + lists.longest * d
    work.window = x + 2 * lists.longest * d
    work.width = d
    with nogil:
        memset(&out[0, 0], 0, d * d * sizeof(double))
        for i in range(lists.offsets.shape[0] - 1):
            first = lists.offsets[i]
            k = lists.offsets[i + 1] - first
            memset(x, 0, k * d * sizeof(double))
            memset(work.products, 0, k * d * sizeof(double))
            for j in range(k):
                accumulate(&rows, lists.items[first + j], 1.0, x + j * d)
            for j in range(k - 1, -1, -1):  # without what all items have in common
                for m in range(d):
                    x[j * d + m] -= x[m]
            walk(lists, i, compare_products, &work)
            add_outer(x, work.products, k, d, lists.weight[i], &out[0, 0])


def solve(double[:, ::1] matrix, const double[::1] b, double[::1] out):
    """OUT out (d): the solution of matrix · out = b, for a positive definite matrix (d x d).

    INOUT matrix: of which the upper triangle is read, by Cholesky's decomposition. A direction in which
    rounding leaves no positive curvature is left out.
    """
    cdef Py_ssize_t d = b.shape[0]
    cdef Py_ssize_t i, j, m
    cdef double pivot, factor
    with nogil:
        for i in range(d):
            out[i] = b[i]
        for i in range(d):  # out = U'^-1 b, with matrix = U'U after elimination
            pivot = matrix[i, i]
            if not pivot > 0.0:
                for j in range(i, d):
                    matrix[i, j] = 0.0
                out[i] = 0.0
                continue
            for j in range(i + 1, d):
                factor = matrix[i, j] / pivot
                if factor != 0.0:
                    for m in range(j, d):
                        matrix[j, m] -= factor * matrix[i, m]
                    out[j] -= factor * out[i]
        for i in range(d - 1, -1, -1):
            if matrix[i, i] > 0.0:
                for j in range(i + 1, d):
                    out[i] -= matrix[i, j] * out[j]
                out[i] /= matrix[i, i]
