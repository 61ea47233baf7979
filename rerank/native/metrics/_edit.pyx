"""Edits of candidates against the references of their list: Levenshtein's distance and bags of tokens.

Both take texts as numbers, see ``Numbers``: 0 in a candidate equals nothing in a reference.
"""

import numpy as np

from libc.string cimport memset

from rerank.native.data._count cimport Count
from rerank.native.data._texts cimport Ids, Numbers, reference_of
from rerank.native.data._tokens cimport word
from rerank.native.metrics._myers cimport BITS, hyyro_step, one_block

cdef inline void keep_best(Count* out, long long edits, long long length, bint first) noexcept nogil:
    """Keep the reference with the fewest edits, on ties the longest."""
    if first or <Count>edits < out[0] or (<Count>edits == out[0] and <Count>length > out[1]):
        out[0] = <Count>edits
        out[1] = <Count>length


# One candidate and one reference, without the tokens that they share at both ends.
cdef struct Lane:
    word* places  # (largest number + 1), zeros before and after
    const int* reference
    const int* text
    long long rows  # tokens of the reference
    long long columns  # tokens of the candidate
    long long low  # the band: cells up to `low` below the diagonal, and `high` to the right of it
    long long high
    signed char* steps  # (columns) steps along the row above: 1, 0 or -1
    long long first  # the first column of the band in that row
    long long value  # the distance there
    long long length  # of the whole reference
    long long item
    bint new  # whether this is the first reference of the item


cdef inline long long enter_block(Lane* lane, long long block, int* top) noexcept nogil:
    """Set the places of a block's rows. Return the columns of its band, from ``first`` on; OUT top: last row.

    Left of the band a column has one more for each row; right of it the row above has one more for each
    column: both are lengths of edit scripts.
    """
    cdef long long rows = min(lane.rows - block, BITS)
    cdef long long begin = max(block - lane.low, 0)
    cdef long long t
    if rows <= 0:
        top[0] = 0
        return 0
    for t in range(lane.first, begin):
        lane.value += lane.steps[t]
    lane.first = begin
    lane.value += rows
    for t in range(rows):
        lane.places[lane.reference[block + t]] |= 1ULL << t
    top[0] = <int>rows - 1
    return max(min(lane.columns, block + rows + lane.high) - begin, 0)


cdef inline void leave_block(Lane* lane, long long block) noexcept nogil:
    cdef long long t
    for t in range(block, min(lane.rows, block + BITS)):
        lane.places[lane.reference[t]] = 0


cdef void measure(Lane* a, Lane* b) noexcept nogil:
    """OUT value: the length of the shortest edit script within the band, of two lanes at once.

    A step waits for the one before it; two lanes together take little longer than one.
    """
    cdef long long block = 0, in_a, in_b, t
    cdef int top_a = 0, top_b = 0
    cdef word plus_a, plus_b, minus_a, minus_b
    cdef const int* text_a
    cdef const int* text_b
    cdef signed char* steps_a
    cdef signed char* steps_b
    memset(a.steps, 1, a.columns)
    memset(b.steps, 1, b.columns)
    a.first = a.value = b.first = b.value = 0
    while block < max(a.rows, b.rows):
        in_a = enter_block(a, block, &top_a)
        in_b = enter_block(b, block, &top_b)
        plus_a = plus_b = ~<word>0
        minus_a = minus_b = 0
        text_a = a.text + a.first
        text_b = b.text + b.first
        steps_a = a.steps + a.first
        steps_b = b.steps + b.first
        for t in range(min(in_a, in_b)):
            steps_a[t] = hyyro_step(a.places[text_a[t]], steps_a[t], &plus_a, &minus_a, top_a)
            steps_b[t] = hyyro_step(b.places[text_b[t]], steps_b[t], &plus_b, &minus_b, top_b)
        for t in range(min(in_a, in_b), in_a):
            steps_a[t] = hyyro_step(a.places[text_a[t]], steps_a[t], &plus_a, &minus_a, top_a)
        for t in range(min(in_a, in_b), in_b):
            steps_b[t] = hyyro_step(b.places[text_b[t]], steps_b[t], &plus_b, &minus_b, top_b)
        leave_block(a, block)
        leave_block(b, block)
        block += BITS
    for t in range(a.first, a.columns):
        a.value += a.steps[t]
    for t in range(b.first, b.columns):
        b.value += b.steps[t]


cdef inline void limit_band(Lane* lane, long long most) noexcept nogil:
    """OUT low, high: the band that contains every edit script of at most ``most`` edits."""
    cdef long long longer = lane.columns - lane.rows
    most = max(most, longer, -longer)
    lane.low = (most - longer) // 2
    lane.high = (most + longer) // 2


cdef void finish(Lane* lane, Lane* empty) noexcept nogil:
    """Widen the band of a measured lane until it contains the shortest edit script (Ukkonen 1985)."""
    cdef long long most = lane.low + lane.high
    while lane.value > most + 1:  # halves are rounded down
        most = min(lane.value, 4 * most + BITS)
        limit_band(lane, most)
        measure(lane, empty)


cdef inline bint trim(
    Lane* lane, const int* reference, long long m, const int* text, long long n
) noexcept nogil:
    """Set a lane to what differs. Return whether it takes a search; if not, its value is the distance."""
    cdef long long t = 0
    cdef long long least = min(m, n)
    while t < least and reference[t] == text[t]:
        t += 1
    while least > t and reference[m - 1] == text[n - 1]:
        m -= 1
        n -= 1
        least -= 1
    lane.reference = reference + t
    lane.text = text + t
    lane.rows = m - t
    lane.columns = n - t
    lane.value = max(m, n) - t
    return least - t > 0


def levenshtein(Numbers numbers, Count[:, ::1] out):
    """OUT out (n_items, 2): edits (insertions, deletions, substitutions) and tokens of the reference.

    Of several references the one with the fewest edits counts, on ties the longest. The matrix is computed 64
    rows at a time (Myers 1999; Hyyrö 2003), within a band around the diagonal, for two candidates at once.
    """
    cdef const Ids* p = &numbers.here
    cdef Py_ssize_t i, r
    cdef long long j, m = 0
    cdef long long last = 0  # edits of the lane before, of `last_rows` rows
    cdef long long last_rows = 1
    cdef const int* reference
    cdef word[:, ::1] places = np.zeros((2, numbers.largest + 1), dtype=np.uint64)
    cdef signed char[:, ::1] steps = np.empty((2, numbers.longest_item + 1), dtype=np.int8)
    cdef Lane lanes[2]
    cdef Lane empty
    cdef Lane* lane
    cdef int waiting = 0  # lanes that are set
    cdef bint shared  # whether a short reference's places are set once for all candidates
    cdef int k
    for k in range(2):
        lanes[k].places = &places[k, 0]
        lanes[k].steps = &steps[k, 0]
    empty.rows = empty.columns = empty.low = empty.high = 0
    empty.places = NULL
    empty.reference = empty.text = NULL
    empty.steps = &steps[0, 0]
    with nogil:
        for r in range(p.n_references):
            for i in range(p.n_lists):
                reference = reference_of(p, i, r, &m)
                shared = m <= BITS and p.offsets[i + 1] - p.offsets[i] > 1
                if shared:
                    for k in range(m):
                        places[0, reference[k]] |= 1ULL << k
                for j in range(p.offsets[i] - p.offsets[0], p.offsets[i + 1] - p.offsets[0]):
                    lane = &lanes[waiting]
                    if not trim(lane, reference, m, p.ids + p.bounds[j], p.bounds[j + 1] - p.bounds[j]):
                        keep_best(&out[j, 0], lane.value, m, r == 0)
                        continue
                    if shared:
                        k = <int>(lane.reference - reference)
                        lane.value = one_block(&places[0, 0], k, lane.text, lane.columns, <int>lane.rows)
                        keep_best(&out[j, 0], lane.value, m, r == 0)
                        continue
                    lane.length = m
                    lane.item = j
                    lane.new = r == 0
                    if lane.rows > BITS:
                        limit_band(lane, BITS // 2 + last * lane.rows // last_rows * 5 // 4)
                    else:
                        limit_band(lane, lane.rows + lane.columns)
                    waiting += 1
                    if waiting == 2:
                        measure(&lanes[0], &lanes[1])
                        for k in range(2):
                            finish(&lanes[k], &empty)
                            keep_best(&out[lanes[k].item, 0], lanes[k].value, lanes[k].length, lanes[k].new)
                        last = lanes[0].value
                        last_rows = lanes[0].rows
                        waiting = 0
                if shared:
                    for k in range(m):
                        places[0, reference[k]] = 0
            if waiting == 1:  # before the next reference of its item
                measure(&lanes[0], &empty)
                finish(&lanes[0], &empty)
                keep_best(&out[lanes[0].item, 0], lanes[0].value, lanes[0].length, lanes[0].new)
                waiting = 0


def bags(Numbers numbers, Count[:, ::1] out):
    """OUT out (n_items, 2): max(h, r) - matches and r, of h tokens of a candidate and r of a reference.

    matches is the size of the bags' intersection; of several references the best, as in ``levenshtein``.
    """
    cdef const Ids* p = &numbers.here
    cdef const long long* bounds = p.bounds
    cdef const long long* offsets = p.offsets
    cdef int[::1] left = np.zeros(numbers.largest + 1, dtype=np.int32)
    cdef Py_ssize_t i, r
    cdef long long j, t, m = 0, n, matches
    cdef const int* reference
    cdef const int* text
    with nogil:
        for i in range(p.n_lists):
            for r in range(p.n_references):
                reference = reference_of(p, i, r, &m)
                for t in range(m):
                    left[reference[t]] += 1
                for j in range(offsets[i] - offsets[0], offsets[i + 1] - offsets[0]):
                    text = p.ids + bounds[j]
                    n = bounds[j + 1] - bounds[j]
                    matches = 0
                    for t in range(n):
                        matches += left[text[t]] > 0
                        left[text[t]] -= 1
                    for t in range(n):
                        left[text[t]] += 1
                    keep_best(&out[j, 0], max(n, m) - matches, m, r == 0)
                for t in range(m):
                    left[reference[t]] = 0
