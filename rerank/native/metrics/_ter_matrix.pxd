"""Edit distances of one candidate to its reference in sacrebleu's beam, unchanged and with words shifted.

A shifted candidate is scored by bit-parallel edit distance (Myers 1999; Hyyrö 2003) that starts where the
shift changes the candidate and stops once it is back in a column it has been in before. The beam matters
only where a path may leave it; there, and for references of more than 64 words, rows of the beam itself are
computed, from and to the same places.
"""

from libc.stdlib cimport abs

from rerank.native.data._tokens cimport word
from rerank.native.metrics._myers cimport BITS, hyyro_step

cdef enum:
    BEAM = 25
    FAR = 1 << 29
    # A path of d edits between lengths n and m stays (d + |n - m|) / 2 from the line between the corners;
    # rounded down, the beam's middle is less than 1 below that line.
    INSIDE = 2 * (BEAM - 1) - 2

cdef struct Pair:
    # The candidate and the reference, as numbers; 0 in the candidate equals nothing.
    int n, m
    int* hyp  # (n)
    const int* ref  # (m)
    # Beam: row i holds columns low[i]..high[i] - 1 of the matrix, from cells[at[i]].
    int* low
    int* high
    long long* at
    int* cells
    int* rows  # (2, m + 1)
    # Bit-parallel columns after i words of the candidate: vertical differences and distance; m <= 64.
    bint bits
    const word* places  # of each number in the reference
    word* plus
    word* minus
    int* score
    # The alignment of the best path, and how many words before place i are in error.
    int* align
    int* ref_errors  # (m + 1)
    int* hyp_errors  # (n + 1)
    # Places of the reference with the same word: the first by number, the next by place, else -1.
    int* first
    int* next
    int* moved  # (n)

cdef inline void shape(Pair* p) noexcept nogil:
    """Lay out the beam for n and m."""
    cdef double ratio = <double>p.m / <double>p.n if p.n else 1.0
    cdef int width = BEAM, middle, low, high, i
    cdef long long begin = 0
    if BEAM < ratio / 2:
        width = <int>(ratio / 2 + BEAM)
        if <double>width < ratio / 2 + BEAM:
            width += 1
    for i in range(p.n + 1):
        middle = <int>(i * ratio)
        low = max(0, middle - width) if i else 0
        high = min(p.m + 1, middle + width) if 0 < i < p.n else p.m + 1
        p.low[i] = low
        p.high[i] = high
        p.at[i] = begin
        begin += high - low
    for i in range(p.m + 1):
        p.cells[i] = i


cdef inline int cell(const int* row, int low, int high, int j) noexcept nogil:
    return row[j - low] if low <= j < high else FAR


cdef inline void next_row(
    const int* above, int above_low, int above_high, int token, const int* ref, int* row, int low, int high
) noexcept nogil:
    """A row of the matrix from the one above; cells outside the beam are far away."""
    cdef int left = FAR, best, j
    # The middle, where both cells above are in the beam, needs no bounds.
    cdef int middle = min(max(low, above_low + 1), high)
    cdef int tail = max(min(high, above_high), middle)
    for j in range(low, middle):
        best = FAR
        if j > 0:
            best = min(best, cell(above, above_low, above_high, j - 1) + (token != ref[j - 1]))
        best = min(min(best, cell(above, above_low, above_high, j) + 1), left + 1)
        row[j - low] = best
        left = best
    for j in range(middle, tail):
        best = min(above[j - 1 - above_low] + (token != ref[j - 1]), above[j - above_low] + 1)
        best = min(best, left + 1)
        row[j - low] = best
        left = best
    for j in range(tail, high):
        best = min(FAR, cell(above, above_low, above_high, j - 1) + (token != ref[j - 1]))
        best = min(best, left + 1)
        row[j - low] = best
        left = best


cdef inline int fill(Pair* p, int known) noexcept nogil:
    """Fill the matrix of the candidate, whose first ``known`` words are unchanged; return its distance."""
    cdef int i
    for i in range(known + 1, p.n + 1):
        next_row(
            p.cells + p.at[i - 1],
            p.low[i - 1],
            p.high[i - 1],
            p.hyp[i - 1],
            p.ref,
            p.cells + p.at[i],
            p.low[i],
            p.high[i],
        )
    if p.bits:
        for i in range(known, p.n):
            p.plus[i + 1] = p.plus[i]
            p.minus[i + 1] = p.minus[i]
            p.score[i + 1] = p.score[i] + hyyro_step(
                p.places[p.hyp[i]], 1, &p.plus[i + 1], &p.minus[i + 1], p.m - 1
            )
    return p.cells[p.at[p.n] + p.m - p.low[p.n]]


cdef inline void segments(int n, int start, int length, int target, int* parts) noexcept nogil:
    """The words that a shift moves past one another: [a, b) then [c, d), from place e up to f."""
    if target < start:
        parts[0], parts[1], parts[2], parts[3] = start, start + length, target, start
        parts[4], parts[5] = target, start + length
    elif target > start + length:
        parts[0], parts[1], parts[2], parts[3] = start + length, target, start, start + length
        parts[4], parts[5] = start, target
    else:
        parts[0], parts[1] = start + length, min(n, length + target)
        parts[2], parts[3] = start, start + length
        parts[4], parts[5] = start, min(n, length + target)


cdef inline int by_bits(Pair* p, const int* parts) noexcept nogil:
    """The distance of the candidate with its words as ``segments`` gave them; any path."""
    cdef int at = parts[4]
    cdef word plus = p.plus[at], minus = p.minus[at]
    cdef word used = ~<word>0 >> (BITS - p.m)
    cdef int score = p.score[at]
    cdef int top = p.m - 1, i
    for i in range(parts[0], parts[1]):
        score += hyyro_step(p.places[p.hyp[i]], 1, &plus, &minus, top)
    for i in range(parts[2], parts[3]):
        score += hyyro_step(p.places[p.hyp[i]], 1, &plus, &minus, top)
    for i in range(parts[5], p.n):
        if ((plus ^ p.plus[i]) | (minus ^ p.minus[i])) & used == 0:
            return score + p.score[p.n] - p.score[i]
        score += hyyro_step(p.places[p.hyp[i]], 1, &plus, &minus, top)
    return score


cdef inline int by_beam(Pair* p, const int* parts) noexcept nogil:
    """The same in the beam."""
    cdef int i = parts[4]
    cdef int t, j, width, flip = 0
    cdef const int* above = p.cells + p.at[i]
    cdef const int* old
    cdef int* row
    for t in range(p.n - i):
        row = p.rows + flip * (p.m + 1)
        if t < parts[1] - parts[0]:
            j = parts[0] + t
        elif i < parts[5]:
            j = parts[2] + t - (parts[1] - parts[0])
        else:
            j = i
        next_row(above, p.low[i], p.high[i], p.hyp[j], p.ref, row, p.low[i + 1], p.high[i + 1])
        i += 1
        above = row
        flip = 1 - flip
        if i >= parts[5]:
            old = p.cells + p.at[i]
            width = p.high[i] - p.low[i]
            j = 0
            while j < width and row[j] == old[j]:
                j += 1
            if j == width:
                return p.cells[p.at[p.n] + p.m - p.low[p.n]]
    return above[p.m - p.low[p.n]]


cdef inline int distance(Pair* p, const int* parts) noexcept nogil:
    """The distance in the beam of a shifted candidate."""
    cdef int found
    if parts[4] >= parts[5]:
        return p.cells[p.at[p.n] + p.m - p.low[p.n]]
    if p.bits:
        found = by_bits(p, parts)
        if found + abs(p.n - p.m) <= INSIDE:
            return found
    return by_beam(p, parts)
