"""The least of an array of numbers, its place, and the least of the others."""

from libc.math cimport INFINITY

cdef enum:
    BLOCK = 16  # numbers in which a place is searched one by one


cdef inline double least_of_few(
    const double* h, Py_ssize_t m, Py_ssize_t* first, double* after
) noexcept nogil:
    """Do what ``least_of`` does, faster for a few numbers."""
    cdef double[4] least, others
    cdef double larger
    cdef Py_ssize_t at = 0
    cdef int k
    for k in range(4):
        least[k] = INFINITY
        others[k] = INFINITY
    while at + 4 <= m:
        for k in range(4):
            larger = h[at + k] if h[at + k] > least[k] else least[k]
            others[k] = larger if larger < others[k] else others[k]
            least[k] = h[at + k] if h[at + k] < least[k] else least[k]
        at += 4
    while at < m:
        larger = h[at] if h[at] > least[0] else least[0]
        others[0] = larger if larger < others[0] else others[0]
        least[0] = h[at] if h[at] < least[0] else least[0]
        at += 1
    for k in range(1, 4):
        larger = least[k] if least[k] > least[0] else least[0]
        least[0] = least[k] if least[k] < least[0] else least[0]
        others[0] = others[k] if others[k] < others[0] else others[0]
        others[0] = larger if larger < others[0] else others[0]
    at = 0
    while h[at] != least[0]:
        at += 1
    first[0] = at
    after[0] = others[0]
    return least[0]


cdef inline double least_of(const double* h, Py_ssize_t m, Py_ssize_t* first, double* after) noexcept nogil:
    """Return the least of h (m), m at least 1. OUT its place, the first on ties, and the least of the others.

    The least of each block is found without a branch on values, and only one block is searched.
    """
    cdef double least = INFINITY, others = INFINITY, a, b, c, d
    cdef Py_ssize_t start = 0, block = 0, end, at
    if m <= BLOCK:
        return least_of_few(h, m, first, after)
    while start < m:
        end = min(start + BLOCK, m)
        at = start
        a = INFINITY
        b = INFINITY
        c = INFINITY
        d = INFINITY
        while at + 4 <= end:
            a = h[at] if h[at] < a else a
            b = h[at + 1] if h[at + 1] < b else b
            c = h[at + 2] if h[at + 2] < c else c
            d = h[at + 3] if h[at + 3] < d else d
            at += 4
        while at < end:
            a = h[at] if h[at] < a else a
            at += 1
        a = b if b < a else a
        c = d if d < c else c
        a = c if c < a else a
        if a < least:
            others = least
            least = a
            block = start
        elif a < others:
            others = a
        start = end
    at = block
    while h[at] != least:
        at += 1
    first[0] = at
    end = min(block + BLOCK, m)
    for start in range(block, end):
        if start != at and h[start] < others:
            others = h[start]
    after[0] = others
    return least
