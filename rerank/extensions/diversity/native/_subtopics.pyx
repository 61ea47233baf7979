"""Sums of gains that fall with every relevant item above, for measures of diversity."""

import numpy as np

from rerank.native.metrics._placement cimport Placement, Places


cdef double _tied_group(
    const double* discounts, long long limit, long long g, long long r, double kept, double* chance
) noexcept nogil:
    """Expected sum over the places of a group of g tied items, r of them relevant, in any order.

    A relevant item with c others of the group above it counts discount * kept ** c. chance[c] is the
    probability that c of the items so far are relevant (hypergeometric); WORK chance (r + 1).
    """
    cdef long long t, c
    cdef double total = 0.0, gain, power, here
    for c in range(r + 1):
        chance[c] = 0.0
    chance[0] = 1.0
    for t in range(min(g, limit)):
        gain, power = 0.0, 1.0
        for c in range(min(t, r) + 1):
            gain += chance[c] * <double>(r - c) * power
            power *= kept
        total += discounts[t] * gain / <double>(g - t)
        for c in range(min(t + 1, r), -1, -1):
            here = <double>(g - t - r + c) / <double>(g - t)
            chance[c] = chance[c] * max(here, 0.0)
            if c > 0:
                chance[c] += chance[c - 1] * <double>(r - c + 1) / <double>(g - t)
    return total


def falling_gains(
    Placement placement, const double[::1] discounts, double kept, long long cutoff, double[::1] out
):
    """OUT out[i]: sum over the items of list i of discount at the item's place * kept ** (items above).

    Only places below ``cutoff`` count. With ties it is the expectation over the orders of tied items.

    IN placement, whose lists are subtopics and whose items are all relevant to theirs; discounts (cutoff) by
    place from 0; kept, 0 to 1, where 0 ** 0 is 1; OUT out (n_lists).
    """
    cdef const Places* p = &placement.places
    cdef Py_ssize_t i
    cdef long long first, last, a, g, _
    cdef double weight
    cdef long long most = 0
    for i in range(p.n_lists):
        most = max(most, p.offsets[i + 1] - p.offsets[i])
    cdef double[::1] chance = np.empty(most + 1)
    with nogil:
        for i in range(p.n_lists):
            out[i] = 0.0
            weight = 1.0
            first = p.offsets[i]
            while first < p.offsets[i + 1]:
                a, g = p.above[first], p.tied[first]
                if a >= cutoff:
                    break
                last = first + 1
                while last < p.offsets[i + 1] and p.above[last] == a and g > 1:
                    last += 1
                if g == 1:
                    out[i] += weight * discounts[a]
                else:
                    out[i] += weight * _tied_group(
                        &discounts[a], cutoff - a, g, last - first, kept, &chance[0]
                    )
                for _ in range(last - first):
                    weight *= kept
                first = last
