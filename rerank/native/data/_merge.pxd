"""Stable sorting, largest first: of keys that move with their items, and of items by their ids.

No allocation, and no input is slow: runs of insertion sort are merged.
"""

from libc.string cimport memcmp, memcpy

cdef enum:
    RUN = 16  # up to so many keys insertion is faster


# Items with a key each, which move together.
cdef struct Keyed:
    double* key
    long long* item
    double* key_work
    long long* item_work


# Item i has the id data[bounds[i]:bounds[i + 1]].
cdef struct Named:
    const unsigned char* data
    const long long* bounds
    long long* item
    long long* item_work

ctypedef fused Sorted:
    Keyed
    Named


cdef inline bint id_below(
    const unsigned char* data, const long long* bounds, long long a, long long b
) noexcept nogil:
    """Whether id a comes before id b by bytes; a prefix comes before the longer id."""
    cdef long long length_a = bounds[a + 1] - bounds[a]
    cdef long long length_b = bounds[b + 1] - bounds[b]
    cdef int difference = memcmp(data + bounds[a], data + bounds[b], min(length_a, length_b))
    return difference < 0 or (difference == 0 and length_a < length_b)


cdef inline bint in_order(const Sorted* s, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """Whether what is at place a may stay before what is at place b."""
    if Sorted is Keyed:
        return s.key[a] >= s.key[b]
    else:
        return not id_below(s.data, s.bounds, s.item[a], s.item[b])


cdef inline void put(const Sorted* s, Py_ssize_t to, Py_ssize_t at) noexcept nogil:
    if Sorted is Keyed:
        s.key_work[to] = s.key[at]
    s.item_work[to] = s.item[at]


cdef inline void merge(const Sorted* s, Py_ssize_t width, Py_ssize_t n) noexcept nogil:
    """Sort n items that are in order within runs of ``width``."""
    cdef Py_ssize_t start, middle, stop, a, b, to
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            stop = min(start + 2 * width, n)
            a = start
            b = middle
            for to in range(start, stop):
                if b >= stop or (a < middle and in_order(s, a, b)):
                    put(s, to, a)
                    a += 1
                else:
                    put(s, to, b)
                    b += 1
            start = stop
        if Sorted is Keyed:
            memcpy(s.key, s.key_work, n * sizeof(double))
        memcpy(s.item, s.item_work, n * sizeof(long long))
        width *= 2


cdef inline void insert_down(double* key, long long* item, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double k
    cdef long long x
    for i in range(1, n):
        k = key[i]
        x = item[i]
        j = i
        while j > 0 and key[j - 1] < k:
            key[j] = key[j - 1]
            item[j] = item[j - 1]
            j -= 1
        key[j] = k
        item[j] = x


cdef inline void sort_down(
    double* key, long long* item, double* key_work, long long* item_work, Py_ssize_t n
) noexcept nogil:
    """Sort (key, item) by key, largest first, equal keys in their order; the work arrays hold n each."""
    cdef Keyed s = Keyed(key, item, key_work, item_work)
    cdef Py_ssize_t start = 0
    while start < n:
        insert_down(key + start, item + start, min(RUN, n - start))
        start += RUN
    start = RUN
    while start < n and key[start - 1] >= key[start]:
        start += RUN
    if start < n:
        merge(&s, RUN, n)


cdef inline void sort_ids_down(
    const unsigned char* data, const long long* bounds, long long* item, long long* item_work, Py_ssize_t n
) noexcept nogil:
    """Sort n items by their ids, largest first; the work array holds n."""
    cdef Named s = Named(data, bounds, item, item_work)
    merge(&s, 1, n)
