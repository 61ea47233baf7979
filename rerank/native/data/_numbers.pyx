"""Texts as numbers: words, or characters, of candidates and of the references of their list.

Tokens of a list's references are numbered from 1 in the order of their first occurrence, in a table of the
list's own. Candidates are looked up in it; a token that no reference contains is 0. Edit kernels then
compare numbers.
"""

from libc.string cimport memcmp

from rerank.native.data._tokens cimport MULTIPLIER
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

cdef struct Table:
    word* slots  # (size, 4)
    int shift  # 64 - log2 of the slots in use
    word mask
    word mark
    int met  # tokens numbered in this list


cdef inline int number_of(
    Table* table, bytes_at p, word length, bytes_at limit, bint enter
) noexcept nogil:
    """The number of a token in this list; a new token gets one if ``enter``, else it is 0."""
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


cdef inline long long number_text(
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


def words(
    const unsigned char[::1] text,
    const long long[::1] text_offsets,
    const long long[::1] offsets,
    const unsigned char[::1] reference,
    const long long[:, ::1] starts,
    const long long[:, ::1] stops,
    unsigned long long[:, ::1] table,
    int[::1] ids,
    long long[::1] bounds,
    int[::1] reference_ids,
    long long[::1] reference_bounds,
):
    """Number the tokens of some lists: the runs between white space, as in ``str.split()``.

    IN text with text_offsets (all items + 1); offsets (n_lists + 1), the items of these lists; reference r
    of list i is ``reference[starts[i, r]:stops[i, r]]``. SCRATCH table (s, 4) of zeros, s a power of two, at
    least 8 and twice the bytes of the longest list's references. OUT ids: numbers of item
    ``offsets[0] + j`` in ``bounds[j]:bounds[j + 1]``; reference_ids, by list and reference in
    reference_bounds (n_lists * n_references + 1). Both have room for half the bytes plus one per text.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t n_references = starts.shape[1]
    cdef Py_ssize_t i
    cdef Py_ssize_t r
    cdef Py_ssize_t k = 0
    cdef long long j
    cdef long long room
    cdef long long here = 0
    cdef long long there = 0
    cdef int bits
    cdef Table known
    cdef bytes_at texts = &text[0] if text.shape[0] else NULL
    cdef bytes_at references = &reference[0] if reference.shape[0] else NULL
    cdef bytes_at text_limit = texts + text.shape[0]
    cdef bytes_at reference_limit = references + reference.shape[0]
    known.slots = &table[0, 0]
    with nogil:
        bounds[0] = 0
        reference_bounds[0] = 0
        for i in range(n_lists):
            room = 0
            for r in range(n_references):
                room += stops[i, r] - starts[i, r]
            bits = 3
            while (1LL << bits) < 2 * room:
                bits += 1
            known.shift = BITS - bits
            known.mask = (1ULL << bits) - 1
            known.mark = <word>(i + 1) << 32
            known.met = 0
            for r in range(n_references):
                there += number_text(
                    &known,
                    references + starts[i, r],
                    references + stops[i, r],
                    reference_limit,
                    True,
                    &reference_ids[there],
                )
                k += 1
                reference_bounds[k] = there
            for j in range(offsets[i], offsets[i + 1]):
                here += number_text(
                    &known,
                    texts + text_offsets[j],
                    texts + text_offsets[j + 1],
                    text_limit,
                    False,
                    &ids[here],
                )
                bounds[j + 1 - offsets[0]] = here


cdef inline int code_point(bytes_at p, bytes_at end, int* length) noexcept nogil:
    """The character at p, as Python decodes UTF-8: an invalid byte is U+DC00 + byte."""
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
    """The end of a text without its trailing white space."""
    cdef int length = 1
    while length <= 3 and end - p >= length:
        if blank_at(end - length, end) == length:
            end -= length
            length = 1
        else:
            length += 1
    return end


cdef inline long long number_characters_of(
    long long* table, long long mark, int* met, bytes_at p, bytes_at end, bint enter, int* out
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
        if table[point] >> 32 == mark:
            out[n_characters] = <int>(table[point] & 0x7FFFFFFF)
        elif enter:
            met[0] += 1
            table[point] = mark << 32 | met[0]
            out[n_characters] = met[0]
        else:
            out[n_characters] = 0
        n_characters += 1
    return n_characters


def characters(
    const unsigned char[::1] text,
    const long long[::1] text_offsets,
    const long long[::1] offsets,
    const unsigned char[::1] reference,
    const long long[:, ::1] starts,
    const long long[:, ::1] stops,
    Py_ssize_t first,
    long long[::1] table,
    int[::1] ids,
    long long[::1] bounds,
    int[::1] reference_ids,
    long long[::1] reference_bounds,
):
    """Number the characters of some lists: code points, without white space at a text's ends.

    As ``words``, but: IN first, the lists numbered before these; SCRATCH table (0x110000), zeros before
    the first of them; ids and reference_ids have room for one number per byte.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t n_references = starts.shape[1]
    cdef Py_ssize_t i
    cdef Py_ssize_t r
    cdef Py_ssize_t k = 0
    cdef long long j
    cdef long long here = 0
    cdef long long there = 0
    cdef int met
    cdef bytes_at texts = &text[0] if text.shape[0] else NULL
    cdef bytes_at references = &reference[0] if reference.shape[0] else NULL
    with nogil:
        bounds[0] = 0
        reference_bounds[0] = 0
        for i in range(n_lists):
            met = 0
            for r in range(n_references):
                there += number_characters_of(
                    &table[0],
                    first + i + 1,
                    &met,
                    references + starts[i, r],
                    references + stops[i, r],
                    True,
                    &reference_ids[there],
                )
                k += 1
                reference_bounds[k] = there
            for j in range(offsets[i], offsets[i + 1]):
                here += number_characters_of(
                    &table[0],
                    first + i + 1,
                    &met,
                    texts + text_offsets[j],
                    texts + text_offsets[j + 1],
                    False,
                    &ids[here],
                )
                bounds[j + 1 - offsets[0]] = here
