"""Tokens of UTF-8 text: runs between white space of Unicode, as in Python's ``str.split()``."""

from libc.string cimport memcmp, memcpy

ctypedef unsigned long long word
ctypedef const unsigned char* bytes_at

cdef extern from *:
    """
    #define MULTIPLIER 0x9E3779B97F4A7C15ULL
    #define ONES 0x0101010101010101ULL
    /* The first n of eight bytes, 1 <= n <= 8, and the number of a mask's first byte that is not zero. */
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    #define FIRST_BYTES(part, n) ((part) << (64 - 8 * (n)))
    #define FIRST_SET(mask) (__builtin_ctzll(mask) >> 3)
    #define BY_EIGHT 1
    #else
    #define FIRST_BYTES(part, n) (part)
    #define FIRST_SET(mask) 0
    #define BY_EIGHT 0
    #endif
    """
    const word MULTIPLIER  # 2^64 / golden ratio: spreads keys over the top bits
    const word ONES
    const bint BY_EIGHT
    word FIRST_BYTES(word part, word n) noexcept nogil
    int FIRST_SET(word mask) noexcept nogil


cdef enum:
    # What a slot of a table of tokens holds.
    KEY = 0
    MARK = 1  # list number << 32 | length
    NUMBER = 2
    PLACE = 3
    SLOT = 4


# Tokens of one list, by number. A slot that another list has filled counts as free.
cdef struct TokenTable:
    word* slots  # (size, SLOT)
    int shift  # 64 - log2 of the slots in use
    word mask
    word mark  # list number << 32


cdef inline int blank_at(bytes_at p, bytes_at end) noexcept nogil:
    """Bytes of the white space character at p, 0 if there is none."""
    cdef unsigned char c = p[0]
    if c > 0x20:
        if c < 0xC2 or c > 0xE3:
            return 0
        if c == 0xC2:  # U+0085, U+00A0
            return 2 if end - p > 1 and (p[1] == 0x85 or p[1] == 0xA0) else 0
        if c < 0xE1 or end - p < 3:
            return 0
        if c == 0xE2:
            if p[1] == 0x80:  # U+2000 to U+200A, U+2028, U+2029, U+202F
                return 3 if 0x80 <= p[2] <= 0x8A or p[2] == 0xA8 or p[2] == 0xA9 or p[2] == 0xAF else 0
            return 3 if p[1] == 0x81 and p[2] == 0x9F else 0  # U+205F
        if c == 0xE1:  # U+1680
            return 3 if p[1] == 0x9A and p[2] == 0x80 else 0
        return 3 if p[1] == 0x80 and p[2] == 0x80 else 0  # U+3000
    return c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F


cdef inline bytes_at token_end(bytes_at p, bytes_at end, bytes_at limit) noexcept nogil:
    """The end of the token at p, at most ``end``; memory is readable up to ``limit``."""
    cdef word part = 0, mask
    while True:
        if BY_EIGHT and limit - p >= 8:
            # The first byte up to 0x20 or from 0x80 is marked correctly: borrows go to later bytes.
            memcpy(&part, p, 8)
            mask = (((part - 0x21 * ONES) & ~part) | part) & 0x80 * ONES
            if mask == 0:
                p += 8
                if p >= end:
                    return end
                continue
            p += FIRST_SET(mask)
        if p >= end:
            return end
        if blank_at(p, end):
            return p
        p += 1


cdef inline bytes_at next_token(bytes_at* place, bytes_at end, bytes_at limit) noexcept nogil:
    """Return the next token from ``place``, which moves to its end; NULL if there is none."""
    cdef bytes_at p = place[0]
    cdef int blank
    while p < end:
        blank = blank_at(p, end)
        if blank == 0:
            place[0] = token_end(p, end, limit)
            return p
        p += blank
    return NULL


cdef inline word key_of(bytes_at p, word length, bytes_at limit) noexcept nogil:
    """A token's key: distinct for tokens of one length up to 8 bytes, a hash for longer ones."""
    cdef word key = 0, part = 0, i = 0
    if length <= 8:
        if BY_EIGHT and limit - p >= 8:
            memcpy(&part, p, 8)
            return FIRST_BYTES(part, length)
        for i in range(length):  # the same bytes to the same places
            key |= <word>p[i] << (8 * i + 64 - 8 * length)
        return key
    while i + 8 < length:
        memcpy(&part, p + i, 8)
        key = (key ^ part) * MULTIPLIER
        key ^= key >> 29
        i += 8
    memcpy(&part, p + length - 8, 8)
    return (key ^ part) * MULTIPLIER


cdef inline word* slot_of(const TokenTable* table, bytes_at p, word length, bytes_at limit) noexcept nogil:
    """Return the slot of a token, or the free one where it belongs."""
    cdef word key = key_of(p, length, limit)
    cdef word mark = table.mark | length
    cdef word at = (key * MULTIPLIER) >> table.shift
    cdef word* slot = table.slots + SLOT * at
    while not is_free(table, slot):
        if slot[KEY] == key and slot[MARK] == mark:
            if length <= 8 or memcmp(<const void*>slot[PLACE], p, length) == 0:
                break
        at = (at + 1) & table.mask
        slot = table.slots + SLOT * at
    return slot


cdef inline bint is_free(const TokenTable* table, const word* slot) noexcept nogil:
    return (slot[MARK] ^ table.mark) >> 32 != 0


cdef inline void take(
    const TokenTable* table, word* slot, bytes_at p, word length, bytes_at limit, word number
) noexcept nogil:
    """Give a free slot to a token."""
    slot[KEY] = key_of(p, length, limit)
    slot[MARK] = table.mark | length
    slot[NUMBER] = number
    slot[PLACE] = <word>p


cdef inline void next_list(TokenTable* table, word number, int bits) noexcept nogil:
    """Empty a table, for list ``number`` (from 1), and let it use 2^bits slots."""
    table.shift = 64 - bits
    table.mask = (1ULL << bits) - 1
    table.mark = number << 32


cdef inline long long tokens_of(bytes_at p, bytes_at end) noexcept nogil:
    """The number of tokens of a text."""
    cdef long long n_tokens = 0
    cdef bint inside = False
    cdef int blank
    while p < end:
        blank = blank_at(p, end)
        n_tokens += not blank and not inside
        inside = not blank
        p += max(blank, 1)
    return n_tokens


cdef inline int bits_for(long long entries) noexcept nogil:
    """Return log2 of the size of a table that these entries fill at most half."""
    cdef int bits = 3
    while (1LL << bits) < 2 * entries:
        bits += 1
    return bits
