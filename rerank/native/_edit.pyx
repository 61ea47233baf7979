"""Edits of candidates against the references of their list: Levenshtein's distance and bags of tokens.

Texts become numbers first. Tokens of a list's references are numbered from 1 in the order they are met, in
a table of the list's own; candidates are looked up in it, and what no reference holds is 0. All that
follows compares numbers.
"""

from libc.string cimport memcmp, memset

from rerank.native._tokens cimport MULTIPLIER
from rerank.native._tokens cimport blank_at
from rerank.native._tokens cimport bytes_at
from rerank.native._tokens cimport key_of
from rerank.native._tokens cimport token_end
from rerank.native._tokens cimport word

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
    """Write the numbers of a text's tokens; gives how many they are."""
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


def number_words(
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
    """Number the tokens of some lists: the runs between white space, as ``str.split()`` makes them.

    IN text with text_offsets (all items + 1); offsets (n_lists + 1), the items of these lists; reference r
    of list i is ``reference[starts[i, r]:stops[i, r]]``. WORK table (s, 4) of zeros, s a power of two, at
    least 8 and twice the bytes of the longest list's references. OUT ids: numbers of item
    ``offsets[0] + j`` in ``bounds[j]:bounds[j + 1]``; reference_ids, by list and reference in
    reference_bounds (n_lists * n_references + 1). Both hold half the bytes and one a text, at least.
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
    cdef Table words
    cdef bytes_at texts = &text[0] if text.shape[0] else NULL
    cdef bytes_at references = &reference[0] if reference.shape[0] else NULL
    cdef bytes_at text_limit = texts + text.shape[0]
    cdef bytes_at reference_limit = references + reference.shape[0]
    words.slots = &table[0, 0]
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
            words.shift = BITS - bits
            words.mask = (1ULL << bits) - 1
            words.mark = <word>(i + 1) << 32
            words.met = 0
            for r in range(n_references):
                there += number_text(
                    &words,
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
                    &words, texts + text_offsets[j], texts + text_offsets[j + 1], text_limit, False, &ids[here]
                )
                bounds[j + 1 - offsets[0]] = here


cdef inline int code_point(bytes_at p, bytes_at end, int* length) noexcept nogil:
    """The character at p, as Python decodes UTF-8: a byte of what is none is U+DC00 + byte."""
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


cdef inline long long number_characters_of(
    long long* table, long long mark, int* met, bytes_at p, bytes_at end, bint enter, int* out
) noexcept nogil:
    """Write the numbers of a text's characters without white space at its ends; gives how many."""
    cdef long long n_all = 0
    cdef long long n_kept = 0
    cdef int blank
    cdef int length = 0
    cdef int point
    while p < end:
        blank = blank_at(p, end)
        if blank and n_all == 0:
            p += blank
            continue
        point = code_point(p, end, &length)
        if table[point] >> 32 == mark:
            out[n_all] = <int>(table[point] & 0x7FFFFFFF)
        elif enter:  # white space at the end too: a number more does no harm
            met[0] += 1
            table[point] = mark << 32 | met[0]
            out[n_all] = met[0]
        else:
            out[n_all] = 0
        n_all += 1
        p += length
        if not blank:
            n_kept = n_all
    return n_kept


def number_characters(
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

    As ``number_words``, but: IN first, the lists numbered before these; WORK table (0x110000), zeros before
    the first of them; ids and reference_ids hold a number a byte.
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


cdef inline long long distance_one_block(const word* masks, const int* ids, long long n, int m) noexcept nogil:
    """Levenshtein's distance of n numbers to a reference of m in 1..64, whose places are ``masks``."""
    cdef word plus = ~<word>0  # vertical differences of a column of the matrix
    cdef word minus = 0
    cdef word equal
    cdef word across
    cdef word up
    cdef word down
    cdef int top = m - 1
    cdef long long distance = m
    cdef long long t
    for t in range(n):
        equal = masks[ids[t]]
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
    const word* masks, const int* ids, long long n, int m, signed char* carry
) noexcept nogil:
    """64 rows of the matrix, or the last m: IN/OUT carry (n), the steps along the row above and below.

    Gives the sum of the steps along the last row.
    """
    cdef word plus = ~<word>0
    cdef word minus = 0
    cdef word equal
    cdef word joined
    cdef word across
    cdef word up
    cdef word down
    cdef int top = m - 1
    cdef int step
    cdef long long total = 0
    cdef long long t
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
    return total


cdef inline void keep_best(double* out, long long edits, long long length, bint first) noexcept nogil:
    """The reference with the fewest edits counts, the longest of equals."""
    if first or <double>edits < out[0] or (<double>edits == out[0] and <double>length > out[1]):
        out[0] = <double>edits
        out[1] = <double>length


def levenshtein(
    const int[::1] ids,
    const long long[::1] bounds,
    const long long[::1] offsets,
    const int[::1] reference_ids,
    const long long[::1] reference_bounds,
    Py_ssize_t n_references,
    unsigned long long[::1] masks,
    signed char[::1] carry,
    double[:, ::1] out,
):
    """OUT out (n_items, 2): edits (insertions, deletions, substitutions) and tokens of the reference.

    Of several references the one with the fewest edits counts, the longest of equals. IN as
    ``number_words`` writes it; WORK masks of zeros, more than the largest number; carry, as many as a list's
    candidates have tokens. Rows of the matrix go 64 at a time (Myers 1999; Hyyrö 2003).
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t r
    cdef long long j
    cdef long long t
    cdef long long m
    cdef long long block
    cdef long long begin
    cdef long long end
    cdef long long steps
    cdef int rows
    cdef const int* reference
    cdef const int* text = &ids[0]
    cdef word* places = &masks[0]
    cdef signed char* above = &carry[0]
    with nogil:
        for i in range(n_lists):
            begin = offsets[i] - offsets[0]
            end = offsets[i + 1] - offsets[0]
            for r in range(n_references):
                reference = &reference_ids[0] + reference_bounds[i * n_references + r]
                m = reference_bounds[i * n_references + r + 1] - reference_bounds[i * n_references + r]
                if m == 0:
                    for j in range(begin, end):
                        keep_best(&out[j, 0], bounds[j + 1] - bounds[j], 0, r == 0)
                    continue
                if m > BITS:
                    memset(above, 1, bounds[end] - bounds[begin])
                block = 0
                while block < m:
                    rows = <int>min(m - block, BITS)
                    for t in range(rows):
                        places[reference[block + t]] |= 1ULL << t
                    if m <= BITS:
                        for j in range(begin, end):
                            steps = distance_one_block(
                                places, text + bounds[j], bounds[j + 1] - bounds[j], rows
                            )
                            keep_best(&out[j, 0], steps, m, r == 0)
                    else:
                        for j in range(begin, end):
                            steps = next_block(
                                places,
                                text + bounds[j],
                                bounds[j + 1] - bounds[j],
                                rows,
                                above + (bounds[j] - bounds[begin]),
                            )
                            if block + rows == m:
                                keep_best(&out[j, 0], m + steps, m, r == 0)
                    for t in range(rows):
                        places[reference[block + t]] = 0
                    block += rows


def bags(
    const int[::1] ids,
    const long long[::1] bounds,
    const long long[::1] offsets,
    const int[::1] reference_ids,
    const long long[::1] reference_bounds,
    Py_ssize_t n_references,
    int[::1] left,
    double[:, ::1] out,
):
    """OUT out (n_items, 2): max(h, r) - matches and r, of h tokens of a candidate and r of a reference.

    matches is the size of the bags' intersection; references, IN and WORK left (int, zeros) as in
    ``levenshtein``.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t r
    cdef long long j
    cdef long long t
    cdef long long m
    cdef long long n
    cdef long long matches
    cdef const int* reference
    cdef const int* text
    with nogil:
        for i in range(n_lists):
            for r in range(n_references):
                reference = &reference_ids[0] + reference_bounds[i * n_references + r]
                m = reference_bounds[i * n_references + r + 1] - reference_bounds[i * n_references + r]
                for t in range(m):
                    left[reference[t]] += 1
                for j in range(offsets[i] - offsets[0], offsets[i + 1] - offsets[0]):
                    text = &ids[0] + bounds[j]
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
