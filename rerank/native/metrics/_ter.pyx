"""Translation edit rate: edits of words and shifts of blocks, found by Tercom's greedy search.

The numbers are those of sacrebleu's TER (Snover et al. 2006; its limits and ties; its beam is in
``_ter_matrix``). Shifts that cannot beat the best one so far are counted, but not scored.
"""

import numpy as np

from libc.stdlib cimport abs
from libc.string cimport memcpy, memset

from rerank.native.metrics._ter_matrix cimport BEAM, BITS, INSIDE, Pair, cell, distance, fill, segments, shape
from rerank.native.data._count cimport Count
from rerank.native.data._texts cimport Ids, Numbers, reference_of
from rerank.native.data._tokens cimport word

cdef enum:
    SUBSTITUTED = 0
    INSERTED = 1
    DELETED = 2
    SHIFTED = 3
    MAX_SIZE = 10  # words of a shift
    MAX_DISTANCE = 50
    MAX_TRIED = 1000

cdef struct Shift:
    int gain, length, start, target


cdef void trace(Pair* p, int* parts) noexcept nogil:
    """Follow the best path back from the end: a match or substitution first, then a word of the candidate.

    OUT parts (3): substitutions, insertions and deletions of the path.
    """
    cdef int i = p.n, j = p.m, value
    parts[SUBSTITUTED] = parts[INSERTED] = parts[DELETED] = 0
    p.ref_errors[0] = 0
    p.hyp_errors[0] = 0
    while i > 0 or j > 0:
        value = p.cells[p.at[i] + j - p.low[i]]
        if i > 0 and j > 0 and value == (
            cell(p.cells + p.at[i - 1], p.low[i - 1], p.high[i - 1], j - 1) + (p.hyp[i - 1] != p.ref[j - 1])
        ):
            p.align[j - 1] = i - 1
            p.ref_errors[j] = p.hyp_errors[i] = p.hyp[i - 1] != p.ref[j - 1]
            parts[SUBSTITUTED] += p.ref_errors[j]
            i -= 1
            j -= 1
        elif i > 0 and value == cell(p.cells + p.at[i - 1], p.low[i - 1], p.high[i - 1], j) + 1:
            p.hyp_errors[i] = 1
            parts[INSERTED] += 1
            i -= 1
        else:
            p.align[j - 1] = i - 1
            p.ref_errors[j] = 1
            parts[DELETED] += 1
            j -= 1
    for i in range(p.n):
        p.hyp_errors[i + 1] += p.hyp_errors[i]
    for j in range(p.m):
        p.ref_errors[j + 1] += p.ref_errors[j]


cdef inline bint beats(int gain, int length, int start, int target, const Shift* best) noexcept nogil:
    """The larger gain, then the longer, the earlier, the nearer to the beginning; only a gain counts."""
    if gain <= 0 or gain < best.gain:
        return False
    if gain > best.gain:
        return True
    if length != best.length:
        return length > best.length
    return start < best.start or (start == best.start and target < best.target)


cdef int try_targets(
    Pair* p, int before, bint bounded, int start, int place, int length, Shift* best
) noexcept nogil:
    """Try a block of the candidate at each target beside its match in the reference; gives how many."""
    cdef int parts[6]
    cdef int offset, target, last = -1, tried = 0, gain
    for offset in range(-1, length):
        target = 0 if place + offset == -1 else p.align[place + offset] + 1
        if target == last:
            continue
        last = target
        tried += 1
        # Removing a block and inserting it cost at most its length each.
        if bounded and not beats(2 * length, length, start, target, best):
            continue
        segments(p.n, start, length, target, parts)
        gain = before - distance(p, parts)
        if beats(gain, length, start, target, best):
            best.gain = gain
            best.length = length
            best.start = start
            best.target = target
    return tried


cdef int find_shift(Pair* p, int before, int* tried, Shift* best) noexcept nogil:
    """OUT best: the best shift, gain 0 if none gains; IN/OUT tried, the shifts tried so far."""
    cdef bint bounded = before + abs(p.n - p.m) <= INSIDE
    cdef int start, place, length
    best.gain = best.length = best.start = best.target = 0
    for start in range(p.n):
        if p.hyp[start] == 0:
            continue
        place = p.first[p.hyp[start]]
        while place >= 0 and place <= start + MAX_DISTANCE:
            length = 0
            while (
                place >= start - MAX_DISTANCE
                and length < MAX_SIZE
                and start + length < p.n
                and place + length < p.m
                and p.hyp[start + length] == p.ref[place + length]
            ):
                length += 1
                if (
                    p.hyp_errors[start + length] == p.hyp_errors[start]
                    or p.ref_errors[place + length] == p.ref_errors[place]
                    or start <= p.align[place] < start + length
                ):
                    continue
                tried[0] += try_targets(p, before, bounded, start, place, length, best)
                if tried[0] >= MAX_TRIED:
                    return best.gain
            place = p.next[place]
    return best.gain


cdef int perform(Pair* p, const Shift* shift) noexcept nogil:
    """Shift the candidate's words; return how many at the beginning are unchanged."""
    cdef int parts[6]
    cdef int t = 0, i
    segments(p.n, shift.start, shift.length, shift.target, parts)
    for i in range(parts[0], parts[1]):
        p.moved[t] = p.hyp[i]
        t += 1
    for i in range(parts[2], parts[3]):
        p.moved[t] = p.hyp[i]
        t += 1
    for i in range(t):
        p.hyp[parts[4] + i] = p.moved[i]
    return parts[4]


cdef int edits_of(Pair* p, int* parts) noexcept nogil:
    """Return the shifts and edits of one candidate; the words in ``hyp`` are reordered.

    OUT parts (4): substitutions, insertions, deletions and shifts.
    """
    cdef Shift best
    cdef int tried = 0, edits, known = 0
    memset(parts, 0, 4 * sizeof(int))
    if p.m == 0:
        parts[INSERTED] = p.n
        return p.n
    shape(p)
    p.plus[0] = ~<word>0
    p.minus[0] = 0
    p.score[0] = p.m
    while True:
        edits = fill(p, known)
        trace(p, parts)
        if edits == 0 or find_shift(p, edits, &tried, &best) <= 0 or tried >= MAX_TRIED:
            return parts[SHIFTED] + edits
        known = perform(p, &best)
        parts[SHIFTED] += 1


cdef void lay_out(Pair* p, int* ints, word* words, long long* at, int n, int m, int largest) noexcept nogil:
    """Divide the work arrays for candidates of n words and references of m at most."""
    p.low = ints
    p.high = p.low + n + 1
    p.score = p.high + n + 1
    p.hyp_errors = p.score + n + 1
    p.hyp = p.hyp_errors + n + 1
    p.moved = p.hyp + n
    p.align = p.moved + n
    p.next = p.align + m
    p.ref_errors = p.next + m
    p.rows = p.ref_errors + m + 1
    p.first = p.rows + 2 * (m + 1)
    p.cells = p.first + largest + 1
    p.places = words
    p.plus = words + largest + 1
    p.minus = p.plus + n + 1
    p.at = at


cdef void enter(Pair* p, word* places, bint new) noexcept nogil:
    """Record the places of each number in the reference, or clear them."""
    cdef int j
    p.bits = p.m <= BITS
    for j in range(p.m - 1, -1, -1):
        if new:
            p.next[j] = p.first[p.ref[j]]
        p.first[p.ref[j]] = j if new else -1
        if p.bits:
            places[p.ref[j]] = places[p.ref[j]] | 1ULL << j if new else 0


def edits(Numbers numbers, Count[:, ::1] out):
    """OUT out (n_items, 2): the fewest edits and shifts to a reference, the references' mean length.

    An out (n_items, 6) gets their substitutions, insertions, deletions and shifts too; of the first reference
    on ties. An out of int is for one reference.
    """
    cdef const Ids* given = &numbers.here
    cdef const long long* bounds = given.bounds
    cdef const long long* offsets = given.offsets
    cdef const long long* reference_bounds = given.reference_bounds
    cdef Py_ssize_t n_references = given.n_references, i, r, k
    cdef long long j, total, length = 0
    cdef Count found
    cdef bint detailed = out.shape[1] > 2
    cdef int[4] parts
    cdef Py_ssize_t part
    cdef Pair p
    cdef int n = numbers.longest_item, m = numbers.longest_reference, largest = numbers.largest
    cdef long long cells = min((n + 1) * <long long>(m + 1), 2 * (m + 1) + m + 2 * (BEAM + 1) * <long long>n)
    cdef int[::1] ints = np.empty(6 * n + 5 * m + 7 + largest + 1 + cells, dtype=np.int32)
    cdef word[::1] words = np.zeros(largest + 1 + 2 * (n + 1), dtype=np.uint64)
    cdef long long[::1] at = np.empty(n + 1, dtype=np.int64)
    lay_out(&p, &ints[0], &words[0], &at[0], n, m, largest)
    with nogil:
        for k in range(largest + 1):
            p.first[k] = -1
        for i in range(given.n_lists):
            total = reference_bounds[(i + 1) * n_references] - reference_bounds[i * n_references]
            for r in range(n_references):
                p.ref = reference_of(given, i, r, &length)
                p.m = <int>length
                enter(&p, &words[0], True)
                for j in range(offsets[i] - offsets[0], offsets[i + 1] - offsets[0]):
                    p.n = <int>(bounds[j + 1] - bounds[j])
                    memcpy(p.hyp, given.ids + bounds[j], p.n * sizeof(int))
                    found = <Count>edits_of(&p, parts)
                    if r == 0 or found < out[j, 0]:
                        out[j, 0] = found
                        if detailed:
                            for part in range(4):
                                out[j, 2 + part] = <Count>parts[part]
                    out[j, 1] = <Count>(<double>total / <double>n_references)
                enter(&p, &words[0], False)
