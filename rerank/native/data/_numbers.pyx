"""Texts as numbers: words, or characters, of candidates and of the references of their list.

Tokens of a list's references are numbered from 1 in the order of their first occurrence, in a table for that
list alone. Candidates are looked up in it; a token that no reference contains is 0. Edit kernels then compare
numbers.
"""

import numpy as np

from libc.string cimport memcmp

from rerank.native.data._texts cimport Ids
from rerank.native.data._texts cimport Numbers
from rerank.native.data._texts cimport Sides
from rerank.native.data._texts cimport Texts
from rerank.native.data._tokens cimport MULTIPLIER
from rerank.native.data._tokens cimport bits_for
from rerank.native.data._tokens cimport blank_at
from rerank.native.data._tokens cimport bytes_at
from rerank.native.data._tokens cimport key_of
from rerank.native.data._tokens cimport token_end
from rerank.native.data._tokens cimport word

cdef enum:
    KEY = 0
    MARK = 1  # list number << 32 | length
    NUMBER = 2
    PLACE = 3
    BITS = 64
    CODE_POINTS = 0x110000

cdef struct Table:
    word* slots  # of words (size, 4); of characters (code points): mark | number
    int shift  # 64 - log2 of the slots in use
    word mask
    word mark  # list number << 32
    int met  # tokens numbered in this list


cdef inline int number_of(
    Table* table, bytes_at p, word length, bytes_at limit, bint enter
) noexcept nogil:
    """Return the number of a token in this list; a new token gets one if ``enter``, else it is 0."""
    cdef word key = key_of(p, length, limit)
    cdef word mark = table.mark | length
    cdef word at = (key * MULTIPLIER) >> table.shift
    cdef word* slot = table.slots + 4 * at
    while (slot[MARK] ^ table.mark) >> 32 == 0:
        if slot[KEY] == key and slot[MARK] == mark:
            if length <= 8 or memcmp(<const void*>slot[PLACE], p, length) == 0:
                return <int>slot[NUMBER]
        at = (at + 1) & table.mask
        slot = table.slots + 4 * at
    if not enter:
        return 0
    table.met += 1
    slot[KEY] = key
    slot[MARK] = mark
    slot[NUMBER] = <word>table.met
    slot[PLACE] = <word>p
    return table.met


cdef inline long long number_words(
    Table* table, bytes_at p, bytes_at end, bytes_at limit, bint enter, int* out
) noexcept nogil:
    """Write the numbers of a text's tokens; return how many there are."""
    cdef long long n_tokens = 0
    cdef int blank
    cdef bytes_at start
    while p < end:
        blank = blank_at(p, end)
        if blank:
            p += blank
            continue
        start = p
        p = token_end(p, end, limit)
        out[n_tokens] = number_of(table, start, <word>(p - start), limit, enter)
        n_tokens += 1
    return n_tokens


cdef inline int code_point(bytes_at p, bytes_at end, int* length) noexcept nogil:
    """Return the character at p, as Python decodes UTF-8: an invalid byte is U+DC00 + byte."""
    cdef int c = p[0]
    cdef int low = 0x80  # bounds of the second byte: no surrogates, nothing overlong or beyond U+10FFFF
    cdef int high = 0xBF
    cdef int more
    cdef int value
    cdef int i
    length[0] = 1
    if c < 0x80:
        return c
    if 0xC2 <= c <= 0xDF:
        more = 1
        value = c & 0x1F
    elif 0xE0 <= c <= 0xEF:
        more = 2
        value = c & 0x0F
        if c == 0xE0:
            low = 0xA0
        elif c == 0xED:
            high = 0x9F
    elif 0xF0 <= c <= 0xF4:
        more = 3
        value = c & 0x07
        if c == 0xF0:
            low = 0x90
        elif c == 0xF4:
            high = 0x8F
    else:
        return 0xDC00 + c
    if end - p <= more:
        return 0xDC00 + c
    for i in range(1, more + 1):
        if p[i] < low or p[i] > high:
            return 0xDC00 + c
        value = value << 6 | (p[i] & 0x3F)
        low = 0x80
        high = 0xBF
    length[0] = more + 1
    return value


cdef inline bytes_at without_blanks(bytes_at p, bytes_at end) noexcept nogil:
    """Return the end of a text without its trailing white space."""
    cdef int length = 1
    while length <= 3 and end - p >= length:
        if blank_at(end - length, end) == length:
            end -= length
            length = 1
        else:
            length += 1
    return end


cdef inline long long number_characters(
    Table* table, bytes_at p, bytes_at end, bint enter, int* out
) noexcept nogil:
    """Write the numbers of the characters of a stripped text; return how many there are."""
    cdef long long n_characters = 0
    cdef int blank = 1
    cdef int length = 0
    cdef int point
    end = without_blanks(p, end)
    while p < end and blank:
        blank = blank_at(p, end)
        p += blank
    while p < end:
        point = code_point(p, end, &length)
        p += length
        if (table.slots[point] ^ table.mark) >> 32 == 0:
            out[n_characters] = <int>(table.slots[point] & 0x7FFFFFFF)
        elif enter:
            table.met += 1
            table.slots[point] = table.mark | <word>table.met
            out[n_characters] = table.met
        else:
            out[n_characters] = 0
        n_characters += 1
    return n_characters


cdef inline long long number_text(
    Table* table, bytes_at p, bytes_at end, bytes_at limit, bint characters, bint enter, int* out
) noexcept nogil:
    """Write the numbers of a text's words or characters; return how many there are."""
    if characters:
        return number_characters(table, p, end, enter, out)
    return number_words(table, p, end, limit, enter, out)


def number(Texts texts, Py_ssize_t first, Py_ssize_t stop, unsigned long long[::1] points=None):
    """Return ``Numbers`` of the tokens of lists first:stop: words, or characters if there are ``points``.

    Words are separated by white space, as in ``str.split()``; characters are code points, without white
    space at a text's ends. SCRATCH points, from ``character_table``, for all lists in their order.
    """
    cdef bint characters = points is not None
    cdef Numbers numbers = Numbers(texts, first, stop, characters)
    cdef const Sides* s = &texts.sides
    cdef Ids* to = &numbers.here
    cdef Py_ssize_t i
    cdef Py_ssize_t k
    cdef Py_ssize_t k0 = first * s.n_references
    cdef long long j
    cdef long long room
    cdef long long here = 0
    cdef long long there = 0
    cdef int bits
    cdef Table known
    if not characters:
        room = texts.reference_bytes[first:stop].max()
        points = np.zeros(4 << bits_for(room), dtype=np.uint64)
    known.slots = &points[0]
    with nogil:
        for i in range(first, stop):
            room = 0
            for k in range(i * s.n_references, (i + 1) * s.n_references):
                room += s.stops[k] - s.starts[k]
            bits = bits_for(room)
            known.shift = BITS - bits
            known.mask = (1ULL << bits) - 1
            known.mark = <word>(i + 1) << 32
            known.met = 0
            for k in range(i * s.n_references, (i + 1) * s.n_references):
                there += number_text(
                    &known, s.reference + s.starts[k], s.reference + s.stops[k], s.reference_limit,
                    characters, True, to.reference_ids + there,
                )
                to.reference_bounds[k + 1 - k0] = there
            for j in range(s.offsets[i], s.offsets[i + 1]):
                here += number_text(
                    &known, s.text + s.text_offsets[j], s.text + s.text_offsets[j + 1], s.text_limit,
                    characters, False, to.ids + here,
                )
                to.bounds[j + 1 - s.offsets[first]] = here
    return numbers


def character_table():
    """Return scratch for numbering characters."""
    return np.zeros(CODE_POINTS, dtype=np.uint64)
