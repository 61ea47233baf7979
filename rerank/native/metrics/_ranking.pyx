"""Measures of retrieval from the places of the relevant items.

A placement is what ``_placement.place`` makes: ``rel_offsets`` (n_lists + 1) bounds each list's relevant
items in ``order``, ``above``, ``tied`` (n_rel each), from the top down: the item by its number among all
relevant items, the items strictly above its tie group, the size of that group. With ties each measure
is its expectation over the orders of the tied (McSherry & Najork 2008), in closed form.
"""


cdef struct Group:
    long long above
    long long size
    long long good


cdef inline Group _first_group(
    const long long[::1] order,
    const int[::1] above,
    const int[::1] tied,
    const unsigned char[::1] good,
    long long begin,
    long long end,
) noexcept nogil:
    """The tie group of the first good item among begin..end-1; its ``good`` is 0 where there is none."""
    cdef Group group
    cdef long long j = begin
    group.above = group.size = group.good = 0
    while j < end and not good[order[j]]:
        j += 1
    if j < end:
        group.above = above[j]
        group.size = tied[j]
    while j < end and above[j] == group.above:
        group.good += good[order[j]]
        j += 1
    return group


def average_precision(
    const long long[::1] rel_offsets,
    const long long[::1] order,
    const int[::1] above,
    const int[::1] tied,
    const unsigned char[::1] good,
    long long cutoff,
    double[::1] out,
):
    """OUT out[i]: sum over the good items of list i of the precision at their places up to the cutoff.

    Expected over the orders of tied items (McSherry & Najork 2008, equation for AP): an item at place t
    of a group of g with r good ones is good with chance r / g, and has (t - 1)(r - 1)/(g - 1) good ones
    before it in the group.

    IN good (n_rel), 1 for items that count as relevant; OUT out (n_lists).
    """
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef long long j
    cdef long long end
    cdef long long t
    cdef long long g
    cdef long long r
    cdef long long seen
    cdef double spread
    cdef double part
    cdef double total
    with nogil:
        for i in range(n_lists):
            end = rel_offsets[i + 1]
            total = 0.0
            seen = 0
            j = rel_offsets[i]
            while j < end and above[j] < cutoff:
                g = tied[j]
                if g == 1:
                    if good[order[j]]:
                        seen += 1
                        total += <double>seen / <double>(above[j] + 1)
                    j += 1
                    continue
                t = above[j]
                r = 0
                while j < end and above[j] == t:
                    r += good[order[j]]
                    j += 1
                if r == 0:
                    continue
                spread = <double>(r - 1) / <double>(g - 1)
                part = 0.0
                for g in range(tied[j - 1]):
                    if t + g >= cutoff:
                        break
                    part += (<double>(seen + 1) + <double>g * spread) / <double>(t + g + 1)
                total += part * <double>r / <double>tied[j - 1]
                seen += r
            out[i] = total


def reciprocal_rank(
    const long long[::1] rel_offsets,
    const long long[::1] order,
    const int[::1] above,
    const int[::1] tied,
    const unsigned char[::1] good,
    long long cutoff,
    double[::1] out,
):
    """OUT out[i]: one over the place of list i's first good item, 0 beyond the cutoff.

    Expected over the orders of tied items: of a group of g with r good ones the first t are all bad with
    chance C(g - t, r) / C(g, r).

    IN good (n_rel), 1 for items that count as relevant; OUT out (n_lists).
    """
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef long long t
    cdef Group group
    cdef double none_yet
    cdef double share
    cdef double total
    with nogil:
        for i in range(n_lists):
            group = _first_group(order, above, tied, good, rel_offsets[i], rel_offsets[i + 1])
            total = 0.0
            if group.good and group.above < cutoff:
                none_yet = 1.0
                for t in range(min(group.size - group.good + 1, cutoff - group.above)):
                    share = <double>group.good / <double>(group.size - t)
                    total += none_yet * share / <double>(group.above + t + 1)
                    none_yet *= <double>(group.size - t - group.good) / <double>(group.size - t)
            out[i] = total


def hits(
    const long long[::1] rel_offsets,
    const long long[::1] order,
    const int[::1] above,
    const int[::1] tied,
    const unsigned char[::1] good,
    long long cutoff,
    double[::1] out,
):
    """OUT out[i]: good items among the first ``cutoff`` of list i, expected over the orders of tied items.

    IN good (n_rel), 1 for items that count as relevant; OUT out (n_lists).
    """
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef long long j
    cdef double total
    with nogil:
        for i in range(n_lists):
            total = 0.0
            for j in range(rel_offsets[i], rel_offsets[i + 1]):
                if above[j] >= cutoff:
                    break
                if good[order[j]]:
                    total += <double>min(cutoff - above[j], tied[j]) / <double>tied[j]
            out[i] = total


def success(
    const long long[::1] rel_offsets,
    const long long[::1] order,
    const int[::1] above,
    const int[::1] tied,
    const unsigned char[::1] good,
    long long cutoff,
    double[::1] out,
):
    """OUT out[i]: 1 where a good item is among the first ``cutoff`` of list i, else 0.

    Expected over the orders of tied items: of a group of g with r good ones, the first t are all bad with
    chance C(g - r, t) / C(g, t).

    IN good (n_rel), 1 for items that count as relevant; OUT out (n_lists).
    """
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef long long t
    cdef Group group
    cdef double none
    with nogil:
        for i in range(n_lists):
            group = _first_group(order, above, tied, good, rel_offsets[i], rel_offsets[i + 1])
            none = 1.0
            if group.good and group.above < cutoff:
                for t in range(min(group.size - group.good + 1, cutoff - group.above)):
                    none *= <double>(group.size - t - group.good) / <double>(group.size - t)
            out[i] = 1.0 - none


def dcg(
    const long long[::1] rel_offsets,
    const long long[::1] order,
    const int[::1] above,
    const int[::1] tied,
    const double[::1] gains,
    const double[::1] divisors,
    const double[::1] discounts,
    long long cutoff,
    double[::1] out,
):
    """OUT out[i]: sum of gain / divisor of its place over the relevant items up to the cutoff.

    Tied items get the mean of their group's discounts. Additions run from the top place down.

    IN gains (n_rel); divisors (longest list) by place from 0; discounts (longest list + 1), sums of
    1 / divisor over the places before; OUT out (n_lists).
    """
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef long long j
    cdef long long a
    cdef double share
    cdef double total
    with nogil:
        for i in range(n_lists):
            total = 0.0
            for j in range(rel_offsets[i], rel_offsets[i + 1]):
                a = above[j]
                if a >= cutoff:
                    break
                if tied[j] == 1:
                    total += gains[order[j]] / divisors[a]
                else:
                    share = (discounts[min(a + tied[j], cutoff)] - discounts[a]) / <double>tied[j]
                    total += gains[order[j]] * share
            out[i] = total


def ideal_dcg(
    const long long[::1] rel_offsets,
    const double[::1] gains,
    const double[::1] divisors,
    long long cutoff,
    double[::1] out,
):
    """OUT out[i]: the DCG of the best order. IN gains (n_rel), falling within each list."""
    cdef Py_ssize_t n_lists = rel_offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef long long j
    cdef double total
    with nogil:
        for i in range(n_lists):
            total = 0.0
            for j in range(min(cutoff, rel_offsets[i + 1] - rel_offsets[i])):
                total += gains[rel_offsets[i] + j] / divisors[j]
            out[i] = total
