"""Measures of one list, whose relevant items have the places begin..end-1; ``good`` are those that count."""

from rerank.native.metrics._placement cimport Places


cdef struct Group:
    long long above, size, good


cdef inline Group first_group(
    const Places* p, long long begin, long long end, const unsigned char* good
) noexcept nogil:
    """Return the tie group of the first good item; its ``good`` is 0 if the list has no good item."""
    cdef Group group
    cdef long long j = begin
    group.above = group.size = group.good = 0
    while j < end and not good[p.order[j]]:
        j += 1
    if j < end:
        group.above = p.above[j]
        group.size = p.tied[j]
    while j < end and p.above[j] == group.above:
        group.good += good[p.order[j]]
        j += 1
    return group


cdef inline double average_precision_of(
    const Places* p, long long j, long long end, const unsigned char* good, long long cutoff
) noexcept nogil:
    cdef long long t, g, r, seen = 0
    cdef double spread, part, total = 0.0
    while j < end and p.above[j] < cutoff:
        g = p.tied[j]
        if g == 1:
            if good[p.order[j]]:
                seen += 1
                total += <double>seen / <double>(p.above[j] + 1)
            j += 1
            continue
        t = p.above[j]
        r = 0
        while j < end and p.above[j] == t:
            r += good[p.order[j]]
            j += 1
        if r == 0:
            continue
        spread = <double>(r - 1) / <double>(g - 1)
        part = 0.0
        for g in range(p.tied[j - 1]):
            if t + g >= cutoff:
                break
            part += (<double>(seen + 1) + <double>g * spread) / <double>(t + g + 1)
        total += part * <double>r / <double>p.tied[j - 1]
        seen += r
    return total


cdef inline double reciprocal_rank_of(
    const Places* p, long long begin, long long end, const unsigned char* good, long long cutoff
) noexcept nogil:
    cdef Group group = first_group(p, begin, end, good)
    cdef long long t
    cdef double none_yet = 1.0, share, total = 0.0
    if group.good and group.above < cutoff:
        for t in range(min(group.size - group.good + 1, cutoff - group.above)):
            share = <double>group.good / <double>(group.size - t)
            total += none_yet * share / <double>(group.above + t + 1)
            none_yet *= <double>(group.size - t - group.good) / <double>(group.size - t)
    return total


cdef inline double hits_of(
    const Places* p, long long begin, long long end, const unsigned char* good, long long cutoff
) noexcept nogil:
    cdef long long j
    cdef double total = 0.0
    for j in range(begin, end):
        if p.above[j] >= cutoff:
            break
        if good[p.order[j]]:
            total += <double>min(cutoff - p.above[j], p.tied[j]) / <double>p.tied[j]
    return total


cdef inline double success_of(
    const Places* p, long long begin, long long end, const unsigned char* good, long long cutoff
) noexcept nogil:
    cdef Group group = first_group(p, begin, end, good)
    cdef long long t
    cdef double none = 1.0
    if group.good and group.above < cutoff:
        for t in range(min(group.size - group.good + 1, cutoff - group.above)):
            none *= <double>(group.size - t - group.good) / <double>(group.size - t)
    return 1.0 - none
