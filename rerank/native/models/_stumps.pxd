"""Thresholds of features, and which of them a value passes.

A stump is a feature with a threshold t: 1 if the value is t or more, else 0. The stumps of a row are named
relative to a row of zeros: a value above 0 passes those with 0 < t <= value, one below 0 falls short of those
with value < t <= 0. A feature that is not stored has none. Stumps are numbered by feature, then by threshold.
"""

from rerank.native.data._matrix cimport DENSE, MIXED, SINGLE, Rows


# Feature f has the stumps first[f]:first[f + 1]; those below zero[f] have a threshold of 0 or less, those
# from zero[f] to one[f] have one above 0 and up to 1.
cdef struct Cuts:
    const long long* first
    const long long* zero
    const long long* one
    const double* at  # the threshold of each stump


cdef class Stumps:
    cdef Cuts cuts
    cdef Py_ssize_t n
    cdef readonly object first, zero, one, at


cdef inline void passed(
    const Cuts* cuts, Py_ssize_t f, double x, long long* low, long long* high
) noexcept nogil:
    """OUT low, high: the stumps of a value of feature f are low:high."""
    low[0] = cuts.zero[f]
    high[0] = low[0]
    if x == 1.0:
        high[0] = cuts.one[f]
    elif x > 0.0:
        while high[0] < cuts.first[f + 1] and cuts.at[high[0]] <= x:
            high[0] += 1
    elif x < 0.0:
        while low[0] > cuts.first[f] and cuts.at[low[0] - 1] > x:
            low[0] -= 1


cdef inline Py_ssize_t put(const Cuts* cuts, Py_ssize_t f, double x, int* out, Py_ssize_t n) noexcept nogil:
    """OUT out[n:]: the stumps of a value of feature f. Return the new n."""
    cdef long long low, high, k
    passed(cuts, f, x, &low, &high)
    for k in range(low, high):
        out[n] = <int>k
        n += 1
    return n


cdef inline Py_ssize_t stumps_of(const Rows* X, const Cuts* cuts, long long i, int* out) noexcept nogil:
    """OUT out: the stumps of row i, rising. Return how many."""
    cdef Py_ssize_t n = 0, m
    cdef long long at
    if X.layout == DENSE:
        for m in range(X.width):
            n = put(cuts, m, X.dense[i * X.width + m], out, n)
        return n
    if X.layout == SINGLE:
        for m in range(X.width):
            n = put(cuts, m, X.single[i * X.width + m], out, n)
        return n
    m = 0
    for at in range(X.indptr[i], X.indptr[i + 1]):
        while m < X.width and X.columns[m] < X.indices[at]:
            n = put(cuts, X.columns[m], X.dense[i * X.width + m], out, n)
            m += 1
        n = put(cuts, X.indices[at], 1.0 if X.data == NULL else X.data[at], out, n)
    while m < X.width:
        n = put(cuts, X.columns[m], X.dense[i * X.width + m], out, n)
        m += 1
    return n
