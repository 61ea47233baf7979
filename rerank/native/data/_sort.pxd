"""Sorting one list's scores: an argsort at a few nanoseconds per item.

Scores are mapped linearly to buckets (a monotone map), bucketed by two counting passes, and sorted by
insertion within a bucket. If the scores are so skewed that insertion would be quadratic, all 64 bits are
sorted by counting passes instead. Stable: equal scores keep their order.
"""

from libc.string cimport memcpy, memset

ctypedef unsigned long long word

cdef enum:
    # Up to this many items plain insertion is faster.
    INSERTION = 24
    # Largest number of buckets of one counting pass, the size of the `counts` scratch.
    BUCKETS = 2048
    LOW = 0x7FFFFFFF


cdef inline void insertion_argsort(const double* z, int* order, int k) noexcept nogil:
    """OUT order: positions 0..k-1 by increasing z."""
    cdef int i, at
    cdef double value
    for i in range(k):
        value = z[i]
        at = i
        while at > 0 and z[order[at - 1]] > value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i


cdef inline void counting_pass(
    const word* source, word* target, int k, int shift, int bits, int* counts
) noexcept nogil:
    """Stable counting sort of words by `bits` bits from `shift` up."""
    cdef int i, total = 0, here
    cdef int n_buckets = 1 << bits
    cdef word mask = n_buckets - 1
    memset(counts, 0, n_buckets * sizeof(int))
    for i in range(k):
        counts[(source[i] >> shift) & mask] += 1
    for i in range(n_buckets):
        here = counts[i]
        counts[i] = total
        total += here
    for i in range(k):
        here = <int> ((source[i] >> shift) & mask)
        target[counts[here]] = source[i]
        counts[here] += 1


cdef inline word rising_bits(double value) noexcept nogil:
    """Return a word whose order among unsigned words is that of the double; -0.0 is 0.0."""
    cdef word bits
    value += 0.0
    memcpy(&bits, &value, sizeof(double))
    return ~bits if bits >> 63 else bits | (<word> 1 << 63)


cdef inline void full_argsort(const double* z, int* order, int k, word* scratch, int* counts) noexcept nogil:
    """OUT order by increasing z, sorting every bit; scratch holds 2 k words, counts BUCKETS ints."""
    cdef word* packed = scratch
    cdef word* other = scratch + k
    cdef int half, i
    for i in range(k):
        packed[i] = rising_bits(z[i]) << 32 | <word> i
    for half in range(2):
        if half:
            for i in range(k):
                packed[i] = rising_bits(z[other[i] & LOW]) >> 32 << 32 | other[i] & LOW
        counting_pass(packed, other, k, 32, 11, counts)
        counting_pass(other, packed, k, 43, 11, counts)
        counting_pass(packed, other, k, 54, 10, counts)
    for i in range(k):
        order[i] = <int> (other[i] & LOW)


cdef inline void argsort(const double* z, int* order, int k, word* scratch, int* counts) noexcept nogil:
    """OUT order: positions 0..k-1 by increasing z, equal z in their order.

    IN z (k), finite; scratch 2 k words, counts BUCKETS ints.
    """
    cdef int i, at, moved = 0, item
    cdef int bits = 8 if k < 2048 else 11
    cdef double low, high, scale, value
    cdef word* packed = scratch
    cdef word* other = scratch + k
    if k <= INSERTION:
        insertion_argsort(z, order, k)
        return
    low = z[0]
    high = z[0]
    for i in range(1, k):
        low = z[i] if z[i] < low else low
        high = z[i] if z[i] > high else high
    scale = ((1 << (2 * bits)) - 1) / (high - low) if high > low else 0.0
    if not scale * (high - low) < (1 << (2 * bits)):  # the range is so small or large that this overflows
        full_argsort(z, order, k, scratch, counts)
        return
    for i in range(k):
        packed[i] = (<word> <long long> ((z[i] - low) * scale) << 32) | <word> i
    counting_pass(packed, other, k, 32, bits, counts)
    counting_pass(other, packed, k, 32 + bits, bits, counts)
    for i in range(k):
        item = <int> (packed[i] & LOW)
        value = z[item]
        at = i
        while at > 0 and z[order[at - 1]] > value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = item
        moved += i - at
        if moved > 2 * k:
            full_argsort(z, order, k, scratch, counts)
            return
