"""Features of a list that have the same column are one bundle: sums over rows then touch it once.

Candidates of one list share structure: whatever comes with one constituent of a parse, or one phrase of a
translation, is in the same candidates. Columns are compared within a list, after a value that more than
half of its items have is subtracted, since a constant of a list changes no difference of scores; a column
that is constant is left out.
"""

import numpy as np

from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from rerank.native.data._matrix cimport Matrix, Rows

# The columns of one list while it is bundled. A column is sorted by item.
cdef struct Columns:
    int* number  # by feature: its place in this list, or -1
    int* features  # by place
    long long* starts  # by place: where its column starts, and ends
    int* item
    double* value
    int n
    # of the bundles so far
    long long* bounds
    int* bundle_item
    double* bundle_value
    int* place_bundle  # by place: its bundle, or -1 if the column is constant
    int* size  # by bundle: how many features it has
    int* tally
    int* order  # the bundles, the largest first
    int* table  # of hashes: a bundle, or -1
    long long n_slots
    int n_bundles


cdef inline void count_value(Columns* to, int f, double x) noexcept nogil:
    """Count a value of feature f, which gets a place if it has none. Zeros are as good as absent."""
    cdef int e
    if x == 0.0:
        return
    e = to.number[f]
    if e < 0:
        e = to.n
        to.number[f] = e
        to.features[e] = f
        to.starts[e + 1] = 0
        to.n += 1
    to.starts[e + 1] += 1


cdef inline void put_value(Columns* to, int f, int item, double x) noexcept nogil:
    cdef long long at
    if x == 0.0:
        return
    at = to.starts[to.number[f]]
    to.item[at] = item
    to.value[at] = x
    to.starts[to.number[f]] = at + 1


cdef void read_columns(const Rows* X, const long long* items, int k, Columns* to) noexcept nogil:
    """OUT to: the columns of the rows ``items`` (k)."""
    cdef long long at
    cdef Py_ssize_t m
    cdef int j, e
    to.n = 0
    for j in range(k):
        for at in range(X.indptr[items[j]], X.indptr[items[j] + 1]):
            count_value(to, X.indices[at], 1.0 if X.data == NULL else X.data[at])
        for m in range(X.width):
            count_value(to, X.columns[m], X.dense[items[j] * X.width + m])
    to.starts[0] = 0
    for e in range(to.n):
        to.starts[e + 1] += to.starts[e]
    for j in range(k):
        for at in range(X.indptr[items[j]], X.indptr[items[j] + 1]):
            put_value(to, X.indices[at], j, 1.0 if X.data == NULL else X.data[at])
        for m in range(X.width):
            put_value(to, X.columns[m], j, X.dense[items[j] * X.width + m])
    for e in range(to.n, 0, -1):  # each start has moved to the end of its column
        to.starts[e] = to.starts[e - 1]
    to.starts[0] = 0


cdef double majority(const double* value, long long n, int k) noexcept nogil:
    """Return the value that more than half of k items have, of which n have ``value``, others 0; else 0."""
    cdef double found = 0.0
    cdef long long lead = 0, count = 0, at
    if 2 * n <= k:
        return 0.0
    for at in range(n):
        if lead == 0:
            found = value[at]
        lead += 1 if value[at] == found else -1
    for at in range(n):
        count += value[at] == found
    return found if 2 * count > k else 0.0


cdef long long relative(
    const int* item, const double* value, long long n, int k, double base, int* to_item, double* to_value
) noexcept nogil:
    """OUT to_item, to_value: what differs from ``base`` in a column of k items; return how many."""
    cdef long long at = 0, filled = 0
    cdef int j
    if base == 0.0:
        memcpy(to_item, item, n * sizeof(int))
        memcpy(to_value, value, n * sizeof(double))
        return n
    for j in range(k):
        if at == n or item[at] != j:
            to_item[filled] = j
            to_value[filled] = -base
            filled += 1
        else:
            if value[at] != base:
                to_item[filled] = j
                to_value[filled] = value[at] - base
                filled += 1
            at += 1
    return filled


cdef inline uint64_t hash_column(const int* item, const double* value, long long n) noexcept nogil:
    cdef uint64_t h = 0x1E3779B97F4A7C15ULL, bits
    cdef long long at
    for at in range(n):
        memcpy(&bits, value + at, sizeof(double))
        h = (h ^ (bits + <uint64_t> item[at])) * 0x7F51AFD7ED558CCDULL
        h ^= h >> 32
    return h


cdef int bundle_of(Columns* to, long long n) noexcept nogil:
    """Return the bundle of the n values that were written after the last one, which become it if none is."""
    cdef long long first = to.bounds[to.n_bundles]
    cdef long long mask = to.n_slots - 1
    cdef long long slot = <long long> (hash_column(to.bundle_item + first, to.bundle_value + first, n) & mask)
    cdef long long at, start
    cdef int b
    while to.table[slot] >= 0:
        b = to.table[slot]
        start = to.bounds[b]
        if to.bounds[b + 1] - start == n:
            for at in range(n):
                if (
                    to.bundle_item[start + at] != to.bundle_item[first + at]
                    or to.bundle_value[start + at] != to.bundle_value[first + at]
                ):
                    break
            else:
                return b
        slot = (slot + 1) & mask
    b = to.n_bundles
    to.table[slot] = b
    to.n_bundles += 1
    to.bounds[to.n_bundles] = first + n
    return b


cdef void bundle_columns(Columns* to, int k) noexcept nogil:
    """OUT the bundles of the columns of a list of k items."""
    cdef long long first, n
    cdef int e
    to.n_bundles = 0
    to.bounds[0] = 0
    to.n_slots = 16
    while to.n_slots < 2 * to.n:
        to.n_slots *= 2
    memset(to.table, 0xFF, to.n_slots * sizeof(int))
    for e in range(to.n):
        first = to.starts[e]
        n = to.starts[e + 1] - first
        n = relative(
            to.item + first, to.value + first, n, k, majority(to.value + first, n, k),
            to.bundle_item + to.bounds[to.n_bundles], to.bundle_value + to.bounds[to.n_bundles],
        )
        to.number[to.features[e]] = -1
        to.place_bundle[e] = bundle_of(to, n) if n else -1


cdef void sort_bundles(Columns* to) noexcept nogil:
    """OUT order: the bundles, the largest first; places name a bundle by its place there.

    Loops over the members of bundles of equal size, one after the other, are predicted well.
    """
    cdef int at = 0, here, b, e
    memset(to.size, 0, to.n_bundles * sizeof(int))
    memset(to.tally, 0, (to.n + 1) * sizeof(int))
    for e in range(to.n):
        if to.place_bundle[e] >= 0:
            to.size[to.place_bundle[e]] += 1
    for b in range(to.n_bundles):
        to.tally[to.size[b]] += 1
    for e in range(to.n, 0, -1):
        here = to.tally[e]
        to.tally[e] = at
        at += here
    for b in range(to.n_bundles):
        at = to.tally[to.size[b]]
        to.tally[to.size[b]] = at + 1
        to.order[at] = b
        to.size[b] = at
    for e in range(to.n):
        if to.place_bundle[e] >= 0:
            to.place_bundle[e] = to.size[to.place_bundle[e]]


cdef void write_members(const Columns* to, long long* indptr, int* members) noexcept nogil:
    """OUT indptr (n_bundles + 1), whose first value is given, and the features of each bundle."""
    cdef long long first = indptr[0]
    cdef int e, b
    memset(indptr + 1, 0, to.n_bundles * sizeof(long long))
    for e in range(to.n):
        b = to.place_bundle[e]
        if b >= 0 and b + 1 < to.n_bundles:
            indptr[b + 2] += 1
    # indptr[b + 1] is where bundle b starts, until its features are written
    indptr[1] = first
    for b in range(1, to.n_bundles):
        indptr[b + 1] += indptr[b]
    for e in range(to.n):
        b = to.place_bundle[e]
        if b >= 0:
            members[indptr[b + 1]] = to.features[e]
            indptr[b + 1] += 1


cdef void write_rows(const Columns* to, int k, long long* indptr, int* indices, double* data) noexcept nogil:
    """OUT indptr (k + 1), whose first value is given, indices and data: the rows of a list of k items."""
    cdef long long first = indptr[0]
    cdef long long at, here
    cdef int j, b, r
    memset(indptr + 1, 0, k * sizeof(long long))
    for at in range(to.bounds[to.n_bundles]):
        j = to.bundle_item[at]
        if j + 1 < k:
            indptr[j + 2] += 1
    indptr[1] = first
    for j in range(1, k):
        indptr[j + 1] += indptr[j]
    for r in range(to.n_bundles):
        b = to.order[r]
        for at in range(to.bounds[b], to.bounds[b + 1]):
            here = indptr[to.bundle_item[at] + 1]
            indices[here] = r
            data[here] = to.bundle_value[at]
            indptr[to.bundle_item[at] + 1] = here + 1


cdef class Scratch:
    """Room for the columns of any one list. IN offsets (n_lists + 1), items: the rows of each list."""

    cdef Columns columns
    cdef tuple held

    def __init__(self, Matrix matrix, const long long[::1] offsets, const long long[::1] items):
        cdef const Rows* X = &matrix.rows
        cdef long long n, most = 1
        cdef Py_ssize_t i
        cdef long long j
        for i in range(offsets.shape[0] - 1):
            n = X.width * (offsets[i + 1] - offsets[i])
            for j in range(offsets[i], offsets[i + 1]):
                n += X.indptr[items[j] + 1] - X.indptr[items[j]]
            most = max(most, n)
        cdef int[::1] number = np.full(max(X.n_features, 1), -1, dtype=np.int32)
        cdef int[:, ::1] ints = np.empty((7, most + 1), dtype=np.int32)
        cdef long long[:, ::1] bounds = np.empty((2, most + 2), dtype=np.int64)
        cdef double[:, ::1] values = np.empty((2, most + 1))
        cdef int[::1] table = np.empty(4 * most + 16, dtype=np.int32)
        cdef Columns* to = &self.columns
        self.held = (number, ints, bounds, values, table)
        to.number = &number[0]
        to.features = &ints[0, 0]
        to.item = &ints[1, 0]
        to.bundle_item = &ints[2, 0]
        to.place_bundle = &ints[3, 0]
        to.size = &ints[4, 0]
        to.tally = &ints[5, 0]
        to.order = &ints[6, 0]
        to.starts = &bounds[0, 0]
        to.bounds = &bounds[1, 0]
        to.value = &values[0, 0]
        to.bundle_value = &values[1, 0]
        to.table = &table[0]


def bundle(Matrix matrix, const long long[::1] offsets, const long long[::1] items, out):
    """Bundle the features of each list.

    IN sparse or mixed rows; offsets (n_lists + 1) and items (n_items), the rows of each list. OUT out, a
    ``BundleRoom``: starts (n_lists + 1), the bundles of each list; member_indptr and members, the features of
    each bundle; indptr (n_items + 1), indices and data: the rows of the items, whose columns are the
    bundles of a list counted from 0. Return the number of bundles, of members and of values.
    """
    cdef const Rows* X = &matrix.rows
    cdef long long[::1] starts = out.starts, member_indptr = out.member_indptr
    cdef int[::1] members = out.members
    cdef long long[::1] indptr = out.indptr
    cdef int[::1] indices = out.indices
    cdef double[::1] data = out.data
    cdef Scratch scratch = Scratch(matrix, offsets, items)
    cdef Columns* to = &scratch.columns
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1, i
    cdef int k
    with nogil:
        starts[0] = member_indptr[0] = indptr[0] = 0
        for i in range(n_lists):
            k = <int> (offsets[i + 1] - offsets[i])
            read_columns(X, &items[offsets[i]], k, to)
            bundle_columns(to, k)
            sort_bundles(to)
            write_members(to, &member_indptr[starts[i]], &members[0])
            write_rows(to, k, &indptr[offsets[i]], &indices[0], &data[0])
            starts[i + 1] = starts[i] + to.n_bundles
    return starts[n_lists], member_indptr[starts[n_lists]], indptr[offsets[n_lists]]
