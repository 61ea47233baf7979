"""Substitutions, insertions and deletions between candidates and the references of their list.

Both are numbers, see ``Numbers``: 0 in a candidate equals nothing in a reference.
"""

import numpy as np

from libc.string cimport memcpy, memset

from rerank.native.data._count cimport Count
from rerank.native.data._texts cimport Ids, Numbers, reference_of
from rerank.native.data._tokens cimport word
from rerank.native.metrics._myers cimport BITS, next_block


cdef struct Room:
    word* places  # (largest number + 1), zeros before and after
    signed char* carries  # (blocks of the reference) x (tokens of the candidate)
    word* kept  # (tokens of the candidate, 2)


cdef inline void set_places(word* places, const int* reference, int rows, bint on) noexcept nogil:
    cdef int t
    for t in range(rows):
        if on:
            places[reference[t]] |= 1ULL << t
        else:
            places[reference[t]] = 0


cdef void _aligned(
    const int* reference, long long m, const int* text, long long n, const Room* room, double* found
) noexcept nogil:
    """OUT found (4): substitutions, insertions, deletions and m, of one of the shortest edit scripts.

    Equal tokens at both ends are matched. Then, from the end: the last token of the reference is deleted if
    the text is nearer to the reference without it. Otherwise the last token of the text is inserted if the
    text without it is nearer to the reference than to the reference without its last token. Otherwise the two
    last tokens are matched or substituted. This is the script of rapidfuzz. Blocks of 64 rows are computed
    from the top, which keeps the steps into each, and again from the last one up.
    """
    cdef double length = <double>m
    cdef long long block, i, t
    cdef int rows
    cdef signed char* carry
    found[0] = found[1] = found[2] = 0.0
    found[3] = length
    while m > 0 and n > 0 and reference[m - 1] == text[n - 1]:
        m -= 1
        n -= 1
    while m > 0 and n > 0 and reference[0] == text[0]:
        reference += 1
        text += 1
        m -= 1
        n -= 1
    if m > 0 and n > 0:
        memset(room.carries, 1, n)
    i = m
    t = n
    block = 0
    while n > 0 and block + BITS < m:
        carry = room.carries + (block // BITS + 1) * n
        memcpy(carry, carry - n, n)
        set_places(room.places, reference + block, BITS, True)
        next_block(room.places, text, n, BITS, carry, NULL)
        set_places(room.places, reference + block, BITS, False)
        block += BITS
    while i > 0 and t > 0:
        rows = <int>min(m - block, BITS)
        set_places(room.places, reference + block, rows, True)
        next_block(room.places, text, n, rows, room.carries + block // BITS * n, room.kept)
        set_places(room.places, reference + block, rows, False)
        while i > block and t > 0:
            if room.kept[2 * (t - 1)] >> (i - 1 - block) & 1:
                i -= 1
                found[2] += 1.0
                continue
            t -= 1
            if t > 0 and room.kept[2 * (t - 1) + 1] >> (i - 1 - block) & 1:
                found[1] += 1.0
            else:
                i -= 1
                found[0] += reference[i] != text[t]
        block -= BITS
    found[1] += <double>t
    found[2] += <double>i


cdef (long long, long long) _room_needed(const Ids* p) noexcept nogil:
    """The bytes of carries, and the tokens of the longest candidate, that ``operations`` needs."""
    cdef long long carries = 0, longest = 0, most, m = 0, j
    cdef Py_ssize_t i, r
    for i in range(p.n_lists):
        most = 0
        for j in range(p.offsets[i] - p.offsets[0], p.offsets[i + 1] - p.offsets[0]):
            most = max(most, p.bounds[j + 1] - p.bounds[j])
        longest = max(longest, most)
        for r in range(p.n_references):
            reference_of(p, i, r, &m)
            carries = max(carries, (m // BITS + 1) * most)
    return carries, longest


def operations(Numbers numbers, Count[:, ::1] out, long long most_bytes):
    """OUT out (n_items, 4): substitutions, insertions and deletions that turn the reference into the item.

    The last column is the tokens of the reference. Of several references the one with the fewest edits
    counts, on ties the longest, then the first. Returns the bytes that it needs if they are more than
    ``most_bytes``, and counts nothing then; else 0.
    """
    cdef const Ids* p = &numbers.here
    cdef long long carry_bytes, longest, m = 0, j
    cdef Py_ssize_t i, r, c
    cdef const int* reference
    cdef double[4] found
    cdef double more
    cdef Room room
    carry_bytes, longest = _room_needed(p)
    if carry_bytes > most_bytes:
        return carry_bytes
    cdef word[::1] places = np.zeros(numbers.largest + 1, dtype=np.uint64)
    cdef signed char[::1] carries = np.empty(carry_bytes + 1, dtype=np.int8)
    cdef word[::1] kept = np.empty(2 * longest + 1, dtype=np.uint64)
    room.places = &places[0]
    room.carries = &carries[0]
    room.kept = &kept[0]
    with nogil:
        for i in range(p.n_lists):
            for j in range(p.offsets[i] - p.offsets[0], p.offsets[i + 1] - p.offsets[0]):
                for r in range(p.n_references):
                    reference = reference_of(p, i, r, &m)
                    _aligned(
                        reference, m, p.ids + p.bounds[j], p.bounds[j + 1] - p.bounds[j], &room, found
                    )
                    more = found[0] + found[1] + found[2] - out[j, 0] - out[j, 1] - out[j, 2]
                    if r == 0 or more < 0 or (more == 0 and found[3] > out[j, 3]):
                        for c in range(4):
                            out[j, c] = <Count>found[c]
    return 0
