"""The breakpoints of a line search, in buckets by gamma."""

from libc.math cimport fabs
from rerank.native.data._sort cimport argsort, word


cdef struct Breaks:
    Py_ssize_t n
    double* gamma  # (n), as all the next ones
    int* before  # the item that is chosen below it
    int* after
    unsigned short* place  # its bucket
    int* rank  # breakpoints by bucket, then by rising gamma
    int n_buckets
    int* size  # (n_buckets)
    int* begin  # (n_buckets) in rank; -1: the bucket is left out
    double* key  # scratch of the sort
    int* sorted
    int* moved
    word* words
    int* counts


cdef inline int bucket_of(double gamma, double unit, int n_buckets) noexcept nogil:
    """Return the bucket of a breakpoint, which never falls as gamma rises.

    Breakpoints have long tails; mapped into [0, 2] they spread over the buckets. Each step of the map is
    monotone, rounding included.
    """
    cdef double share = unit / (unit + fabs(gamma))
    cdef double mapped = (share if gamma < 0.0 else 2.0 - share) * (0.5 * n_buckets)
    if not mapped >= 0.0:  # an infinite unit
        return 0
    return min(<int> mapped, n_buckets - 1)


cdef inline int add_break(Breaks* breaks, double gamma, int before, int after, double unit) noexcept nogil:
    """Add a breakpoint and return its bucket."""
    cdef int bucket = bucket_of(gamma, unit, breaks.n_buckets)
    breaks.gamma[breaks.n] = gamma
    breaks.before[breaks.n] = before
    breaks.after[breaks.n] = after
    breaks.place[breaks.n] = <unsigned short> bucket
    breaks.n += 1
    breaks.size[bucket] += 1
    return bucket


cdef inline void fill_buckets(Breaks* breaks) noexcept nogil:
    """OUT rank: the breakpoints of each bucket that has a `begin`, in the order of their lists."""
    cdef Py_ssize_t i
    cdef int j
    for i in range(breaks.n):
        j = breaks.place[i]
        if breaks.begin[j] >= 0:
            breaks.rank[breaks.begin[j]] = <int> i
            breaks.begin[j] += 1
    for j in range(breaks.n_buckets):
        breaks.begin[j] -= breaks.size[j] if breaks.begin[j] >= 0 else 0


cdef inline void fill_all_buckets(Breaks* breaks) noexcept nogil:
    """Fill `begin` and `rank`; no bucket is left out."""
    cdef int j, total = 0
    for j in range(breaks.n_buckets):
        breaks.begin[j] = total
        total += breaks.size[j]
    fill_buckets(breaks)


cdef inline void sort_bucket(Breaks* breaks, int bucket) noexcept nogil:
    """Sort the breakpoints of a bucket by gamma; equal ones stay in the order of their lists."""
    cdef int* rank = breaks.rank + breaks.begin[bucket]
    cdef int n = breaks.size[bucket], i
    for i in range(n):
        breaks.key[i] = breaks.gamma[rank[i]]
        breaks.moved[i] = rank[i]
    argsort(breaks.key, breaks.sorted, n, breaks.words, breaks.counts)
    for i in range(n):
        rank[i] = breaks.moved[breaks.sorted[i]]
