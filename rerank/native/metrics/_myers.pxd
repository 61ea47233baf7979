"""Levenshtein's matrix in blocks of 64 rows, as bits (Myers 1999; Hyyrö 2003).

A column of a block is two words: the bits of rows that are one more, and one less, than the row above.
``masks`` (by number) holds the places of each number in the block's rows.
"""

from rerank.native.data._tokens cimport word

cdef enum:
    BITS = 64


cdef inline signed char hyyro_step(
    word equal, int above, word* plus, word* minus, int top
) noexcept nogil:
    """A column of a block, from the rows that ``equal`` its token and the step along the row above.

    IN/OUT plus, minus. Return the step along the row ``top``; steps are -1, 0 or 1.
    """
    cdef word joined = equal | minus[0], across, up, down
    cdef signed char step
    equal |= <word>(above < 0)
    across = (((equal & plus[0]) + plus[0]) ^ plus[0]) | equal
    up = minus[0] | ~(across | plus[0])
    down = plus[0] & across
    step = <signed char>(up >> top & 1) - <signed char>(down >> top & 1)
    up = up << 1 | <word>(above > 0)
    down = down << 1 | <word>(above < 0)
    plus[0] = down | ~(joined | up)
    minus[0] = up & joined
    return step


cdef inline long long one_block(
    const word* masks, int first, const int* ids, long long n, int m
) noexcept nogil:
    """Levenshtein's distance of n numbers to m in 1..64 of a reference from its place ``first`` on."""
    cdef word plus = ~<word>0, minus = 0
    cdef long long distance = m, t
    for t in range(n):
        distance += hyyro_step(masks[ids[t]] >> first, 1, &plus, &minus, m - 1)
    return distance


cdef inline long long next_block(
    const word* masks, const int* ids, long long n, int m, signed char* carry, word* kept
) noexcept nogil:
    """64 rows of the matrix, or the last m: IN/OUT carry (n), the steps along the row above and below.

    Gives the sum of the steps along the last row. OUT kept (n, 2): the vertical differences of each column,
    up and down, unless NULL.
    """
    cdef word plus = ~<word>0, minus = 0
    cdef long long total = 0, t
    for t in range(n):
        carry[t] = hyyro_step(masks[ids[t]], carry[t], &plus, &minus, m - 1)
        total += carry[t]
        if kept != NULL:
            kept[2 * t] = plus
            kept[2 * t + 1] = minus
    return total
