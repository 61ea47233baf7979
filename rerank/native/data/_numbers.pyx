"""Texts as numbers: words, or characters, of candidates and of the references of their list.

Tokens of a list's references are numbered from 1 in the order of their first occurrence, in a table for that
list alone. Candidates are looked up in it; a token that no reference contains is 0. Edit kernels then compare
numbers.
"""

import numpy as np

from libc.string cimport memcpy

from rerank.native.data._texts cimport Ids, Numbers, Sides, Texts
from rerank.native.data._tokens cimport (
    NUMBER, ONES, SLOT, TokenTable, bits_for, blank_at, bytes_at, is_free, next_list, next_token, slot_of,
    take, word,
)

cdef enum:
    CODE_POINTS = 0x110000
    BASIC_PLANE = 0x10000  # also contains the code points of invalid bytes
    ASCII = 128

# What the tokens of a text are; those after SEPARATED are characters, that is code points.
cdef enum:
    WORDS = 0  # between white space, as in str.split()
    SEPARATED = 1  # the same, and ASCII punctuation at a word's end, or else at its start, is one
    STRIPPED = 2  # characters without white space at a text's ends
    UNSPACED = 3  # characters without any white space
    ALL = 4


cdef struct Numbering:
    TokenTable known  # of characters, slots are (code points): mark | number
    int met  # tokens numbered in this list


cdef inline int number_of(
    const TokenTable* known, int* met, bytes_at p, word length, bytes_at limit, bint enter
) noexcept nogil:
    """Return the number of a token in this list; a new token gets one if ``enter``, else it is 0."""
    cdef word* slot = slot_of(known, p, length, limit)
    if not is_free(known, slot):
        return <int>slot[NUMBER]
    if not enter:
        return 0
    met[0] += 1
    take(known, slot, p, length, limit, <word>met[0])
    return met[0]


cdef inline long long number_words(
    Numbering* to, bytes_at p, bytes_at end, bytes_at limit, bint enter, int* out
) noexcept nogil:
    """Write the numbers of a text's tokens; return how many there are."""
    cdef long long n_tokens = 0
    cdef bytes_at start
    cdef TokenTable known = to.known  # a copy: the compiler sees that no step changes it
    while True:
        start = next_token(&p, end, limit)
        if start == NULL:
            return n_tokens
        out[n_tokens] = number_of(&known, &to.met, start, <word>(p - start), limit, enter)
        n_tokens += 1


cdef inline bint is_punctuation(unsigned char c) noexcept nogil:
    return 0x21 <= c <= 0x2F or 0x3A <= c <= 0x40 or 0x5B <= c <= 0x60 or 0x7B <= c <= 0x7E


cdef inline long long number_separated(
    Numbering* to, bytes_at p, bytes_at end, bytes_at limit, bint enter, int* out
) noexcept nogil:
    """Write the numbers of a text's words and of punctuation at one of their ends; return how many."""
    cdef long long n_tokens = 0
    cdef bytes_at start, cut
    while True:
        start = next_token(&p, end, limit)
        if start == NULL:
            return n_tokens
        cut = p
        if p - start > 1:
            if is_punctuation((p - 1)[0]):
                cut = p - 1
            elif is_punctuation(start[0]):
                cut = start + 1
        out[n_tokens] = number_of(&to.known, &to.met, start, <word>(cut - start), limit, enter)
        n_tokens += 1
        if cut < p:
            out[n_tokens] = number_of(&to.known, &to.met, cut, <word>(p - cut), limit, enter)
            n_tokens += 1


cdef inline bint follows(unsigned char c) noexcept nogil:
    return c & 0xC0 == 0x80


cdef inline int code_point(bytes_at p, bytes_at end, int* length) noexcept nogil:
    """Return the character at p, as Python decodes UTF-8: an invalid byte is U+DC00 + byte."""
    cdef int c = p[0], value
    length[0] = 1
    if c < 0x80:
        return c
    if 0xE0 <= c <= 0xEF and end - p >= 3 and follows(p[1]) and follows(p[2]):
        value = (c & 0x0F) << 12 | (p[1] & 0x3F) << 6 | p[2] & 0x3F
        if value >= 0x800 and value & 0xF800 != 0xD800:  # neither overlong nor a surrogate
            length[0] = 3
            return value
    elif 0xC2 <= c <= 0xDF and end - p >= 2 and follows(p[1]):
        length[0] = 2
        return (c & 0x1F) << 6 | p[1] & 0x3F
    elif 0xF0 <= c <= 0xF4 and end - p >= 4 and follows(p[1]) and follows(p[2]) and follows(p[3]):
        value = (c & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | p[3] & 0x3F
        if 0x10000 <= value <= 0x10FFFF:
            length[0] = 4
            return value
    return 0xDC00 + c


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
    Numbering* to, bytes_at p, bytes_at end, int tokens, bint enter, int* out
) noexcept nogil:
    """Write the numbers of a text's characters; return how many there are."""
    cdef long long n_characters = 0
    cdef int blank = 1, length = 0, point, i
    cdef word part = 0
    cdef unsigned char eight[8]
    cdef word* slots = to.known.slots
    cdef word mark = to.known.mark
    if tokens == STRIPPED:
        end = without_blanks(p, end)
        while p < end and blank:
            blank = blank_at(p, end)
            p += blank
    while p < end:
        if tokens != UNSPACED and end - p >= 8:
            memcpy(&part, p, 8)
            if part & 0x80 * ONES == 0:
                memcpy(eight, &part, 8)  # a copy: the compiler sees that no step changes it
                for i in range(8):
                    out[n_characters + i] = eight[i] + 1
                n_characters += 8
                p += 8
                continue
        if p[0] < 0x80:
            out[n_characters] = p[0] + 1
            n_characters += tokens != UNSPACED or not blank_at(p, end)
            p += 1
            continue
        if tokens == UNSPACED:
            blank = blank_at(p, end)
            if blank:
                p += blank
                continue
        point = code_point(p, end, &length)
        p += length
        if (slots[point] ^ mark) >> 32 == 0:
            out[n_characters] = <int>(slots[point] & 0x7FFFFFFF)
        elif enter:
            to.met += 1
            slots[point] = mark | <word>to.met
            out[n_characters] = to.met
        else:
            out[n_characters] = 0
        n_characters += 1
    return n_characters


cdef inline long long number_text(
    Numbering* to, bytes_at p, bytes_at end, bytes_at limit, int tokens, bint enter, int* out
) noexcept nogil:
    """Write the numbers of a text's tokens; return how many there are."""
    if tokens == WORDS:
        return number_words(to, p, end, limit, enter, out)
    if tokens == SEPARATED:
        return number_separated(to, p, end, limit, enter, out)
    return number_characters(to, p, end, tokens, enter, out)


KINDS = {"words": WORDS, "separated": SEPARATED, "stripped": STRIPPED, "unspaced": UNSPACED, "all": ALL}


def number(
    Texts texts, Py_ssize_t first, Py_ssize_t stop, str kind="words", unsigned long long[::1] points=None
):
    """Return ``Numbers`` of the tokens of lists first:stop, by ``kind`` one of KINDS.

    Words are separated by white space, as in ``str.split()``; "separated" ones longer than a byte lose ASCII
    punctuation at the end, or else at the start, to a token of its own. Characters are code points: without
    white space at a text's ends ("stripped"), without any ("unspaced") or all. SCRATCH points, for
    characters, from ``character_table``, for all lists in their order.
    """
    cdef int tokens = KINDS[kind]
    cdef bint characters = tokens >= STRIPPED
    cdef Numbers numbers = Numbers(texts, first, stop, tokens != WORDS)
    numbers.least = ASCII if characters else 0
    cdef const Sides* s = &texts.sides
    cdef Ids* to = &numbers.here
    cdef Py_ssize_t i, k, k0 = first * s.n_references
    cdef long long j, room, here = 0, there = 0
    cdef Numbering numbering
    if not characters:
        room = texts.reference_bytes[first:stop].max()
        points = np.zeros(SLOT << bits_for(room), dtype=np.uint64)
    numbering.known.slots = &points[0]
    with nogil:
        for i in range(first, stop):
            room = 0
            for k in range(i * s.n_references, (i + 1) * s.n_references):
                room += s.stops[k] - s.starts[k]
            next_list(&numbering.known, i + 1, bits_for(room))
            numbering.met = ASCII if characters else 0
            for k in range(i * s.n_references, (i + 1) * s.n_references):
                there += number_text(
                    &numbering, s.reference + s.starts[k], s.reference + s.stops[k], s.reference_limit,
                    tokens, True, to.reference_ids + there,
                )
                to.reference_bounds[k + 1 - k0] = there
            for j in range(s.offsets[i], s.offsets[i + 1]):
                here += number_text(
                    &numbering, s.text + s.text_offsets[j], s.text + s.text_offsets[j + 1], s.text_limit,
                    tokens, False, to.ids + here,
                )
                to.bounds[j + 1 - s.offsets[first]] = here
    return numbers


def character_table(int largest):
    """Return scratch for numbering characters of texts, of whose bytes ``largest`` is the largest."""
    if largest < ASCII:
        return np.zeros(1, dtype=np.uint64)  # is not read
    return np.zeros(BASIC_PLANE if largest < 0xF0 else CODE_POINTS, dtype=np.uint64)
