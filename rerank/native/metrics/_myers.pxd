"""Levenshtein's matrix in blocks of 64 rows, as bits (Myers 1999; Hyyrö 2003).

A column of a block is two words: the bits of rows that are one more, and one less, than the row above.
``masks`` (by number) holds the places of each number in the block's rows.
"""

from rerank.native.data._tokens cimport word

cdef enum:
    BITS = 64


cdef inline long long one_block(
    const word* masks, int first, const int* ids, long long n, int m
) noexcept nogil:
    """Levenshtein's distance of n numbers to m in 1..64 of a reference from its place ``first`` on."""
    cdef word plus = ~<word>0  # vertical differences of a column of the matrix
    cdef word minus = 0, equal, across, up, down
    cdef int top = m - 1
    cdef long long distance = m, t
    for t in range(n):
        equal = masks[ids[t]] >> first
        across = (((equal & plus) + plus) ^ plus) | equal
        up = minus | ~(across | plus)
        down = plus & across
        distance += <long long>(up >> top & 1) - <long long>(down >> top & 1)
        up = up << 1 | 1
        down = down << 1
        equal |= minus
        plus = down | ~(equal | up)
        minus = up & equal
    return distance


cdef inline long long next_block(
    const word* masks, const int* ids, long long n, int m, signed char* carry, word* kept
) noexcept nogil:
    """64 rows of the matrix, or the last m: IN/OUT carry (n), the steps along the row above and below.

    Gives the sum of the steps along the last row. OUT kept (n, 2): the vertical differences of each column,
    up and down, unless NULL.
    """
    cdef word plus = ~<word>0
    cdef word minus = 0, equal, joined, across, up, down
    cdef int top = m - 1, step
    cdef long long total = 0, t
    for t in range(n):
        equal = masks[ids[t]]
        joined = equal | minus
        equal |= <word>(carry[t] < 0)
        across = (((equal & plus) + plus) ^ plus) | equal
        up = minus | ~(across | plus)
        down = plus & across
        step = <int>(up >> top & 1) - <int>(down >> top & 1)
        up = up << 1 | <word>(carry[t] > 0)
        down = down << 1 | <word>(carry[t] < 0)
        plus = down | ~(joined | up)
        minus = up & joined
        carry[t] = <signed char>step
        total += step
        if kept != NULL:
            kept[2 * t] = plus
            kept[2 * t + 1] = minus
    return total
