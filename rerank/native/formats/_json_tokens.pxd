"""Tokens of JSON, as strict as Python's json: a function returns the place after its token, or NULL.

NULL means that the token is wrong or unusual (a lone surrogate, more than 18 digits, a number too large for
float64, deep nesting), and that a slower reader has to decide. Text must end in a newline, which ends every
token, and 64 bytes after it must be readable.
"""

from libc.math cimport fabs
from libc.string cimport memcmp, memcpy

from rerank.native.data._number cimport (
    Digits, digits, exponent, load_text, scaled, trailing_zeros, u64, zero_bytes,
)
from rerank.native.formats._lines cimport FLOAT64_END, Bytes

cdef enum Kind:
    NO_VALUE  # no such key
    NOTHING  # null
    FALSE
    TRUE
    WHOLE  # a number without a point and exponent
    REAL
    STRING
    NESTED  # an array or an object

cdef enum:
    MOST_DIGITS = 18


cdef inline Bytes after_blanks(Bytes p) noexcept nogil:
    while p[0] == c' ' or p[0] == c'\t' or p[0] == c'\r':
        p += 1
    return p


cdef inline u64 special_bytes(u64 word) noexcept nogil:
    """0x80 in the lowest byte that is a quote, a backslash or a control character."""
    return (
        zero_bytes(word ^ <u64>0x2222222222222222)
        | zero_bytes(word ^ <u64>0x5C5C5C5C5C5C5C5C)
        | ((word - <u64>0x2020202020202020) & ~word & <u64>0x8080808080808080)
    )


cdef inline Bytes special(Bytes p) noexcept nogil:
    """The next quote, backslash or control character."""
    cdef u64 marks = special_bytes(load_text(p))
    while marks == 0:
        p += 8
        marks = special_bytes(load_text(p))
    return p + (trailing_zeros(marks) >> 3)


cdef inline Bytes key_end(Bytes p) noexcept nogil:
    """The quote that ends a key, whose first byte is at ``p``; NULL if an escape is in it."""
    p = special(p)
    return p if p[0] == c'"' else NULL


cdef inline int hex_digits(Bytes p) noexcept nogil:
    """The number that four hexadecimal digits spell, or -1."""
    cdef int value = 0, k, c
    for k in range(4):
        c = p[k]
        if c'0' <= c <= c'9':
            c -= c'0'
        elif c'a' <= (c | 0x20) <= c'f':
            c = (c | 0x20) - c'a' + 10
        else:
            return -1
        value = value << 4 | c
    return value


cdef inline Bytes unescaped(Bytes p, unsigned char** out) noexcept nogil:
    """Write the character of the escape whose backslash is before ``p``, at most 4 bytes."""
    cdef unsigned char* to = out[0]
    cdef int code, low
    cdef unsigned char c = p[0]
    if c != c'u':
        if c == c'n':
            c = c'\n'
        elif c == c't':
            c = c'\t'
        elif c == c'r':
            c = c'\r'
        elif c == c'b':
            c = 8
        elif c == c'f':
            c = 12
        elif c != c'"' and c != c'\\' and c != c'/':
            return NULL
        to[0] = c
        out[0] = to + 1
        return p + 1
    code = hex_digits(p + 1)
    if code < 0:
        return NULL
    p += 5
    if 0xD800 <= code < 0xE000:
        if code >= 0xDC00 or p[0] != c'\\' or p[1] != c'u':
            return NULL
        low = hex_digits(p + 2)
        if low < 0xDC00 or low >= 0xE000:
            return NULL
        p += 6
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
    if code < 0x80:
        to[0] = <unsigned char>code
        out[0] = to + 1
    elif code < 0x800:
        to[0] = <unsigned char>(0xC0 | code >> 6)
        to[1] = <unsigned char>(0x80 | (code & 0x3F))
        out[0] = to + 2
    elif code < 0x10000:
        to[0] = <unsigned char>(0xE0 | code >> 12)
        to[1] = <unsigned char>(0x80 | (code >> 6 & 0x3F))
        to[2] = <unsigned char>(0x80 | (code & 0x3F))
        out[0] = to + 3
    else:
        to[0] = <unsigned char>(0xF0 | code >> 18)
        to[1] = <unsigned char>(0x80 | (code >> 12 & 0x3F))
        to[2] = <unsigned char>(0x80 | (code >> 6 & 0x3F))
        to[3] = <unsigned char>(0x80 | (code & 0x3F))
        out[0] = to + 4
    return p


cdef inline Bytes copied_string(Bytes p, unsigned char** out) noexcept nogil:
    """Write a string, whose first byte after the quote is at ``p``, and up to 8 bytes after it."""
    cdef u64 marks
    cdef int length
    while p != NULL:
        marks = special_bytes(load_text(p))
        memcpy(out[0], p, 8)
        if marks == 0:
            p += 8
            out[0] += 8
            continue
        length = trailing_zeros(marks) >> 3
        p += length
        out[0] += length
        if p[0] == c'"':
            return p + 1
        p = unescaped(p + 1, out) if p[0] == c'\\' else NULL
    return NULL


cdef inline Bytes skipped_string(Bytes p) noexcept nogil:
    """As ``copied_string``, without writing."""
    cdef unsigned char[4] character
    cdef unsigned char* to
    while p != NULL:
        p = special(p)
        if p[0] == c'"':
            return p + 1
        to = &character[0]
        p = unescaped(p + 1, &to) if p[0] == c'\\' else NULL
    return NULL


cdef inline bint is_digit(unsigned char c) noexcept nogil:
    return <unsigned char>(c - c'0') <= 9


cdef inline Bytes json_number(Bytes p, double* value, Kind* kind) noexcept nogil:
    """A finite number of JSON, correctly rounded; -0 without a point is 0, as it is in Python."""
    cdef bint negative = p[0] == c'-'
    cdef Bytes start = p + negative, after
    cdef Digits d = Digits(0, 0, 0, False)
    kind[0] = WHOLE
    p = digits(start, False, &d)
    if p == start or p - start > MOST_DIGITS or (start[0] == c'0' and p - start > 1):
        return NULL
    if p[0] == c'.':
        kind[0] = REAL
        after = digits(p + 1, True, &d)
        if after == p + 1:
            return NULL
        p = after
    if p[0] == c'e' or p[0] == c'E':
        kind[0] = REAL
        after = exponent(p, &d)
        if after == p:
            return NULL
        p = after
    if kind[0] == WHOLE:
        value[0] = <double><long long>d.w
        if negative and d.w:
            value[0] = -value[0]
        return p
    value[0] = scaled(d.w, d.q, d.longer, start)
    if negative:
        value[0] = -value[0]
    return p if fabs(value[0]) <= FLOAT64_END else NULL


cdef inline Bytes word_token(Bytes p, double* value, Kind* kind) noexcept nogil:
    """true, false or null; ``value`` is left as it is for null."""
    if memcmp(p, b"true", 4) == 0:
        kind[0] = TRUE
        value[0] = 1.0
        return p + 4
    if memcmp(p, b"false", 5) == 0:
        kind[0] = FALSE
        value[0] = 0.0
        return p + 5
    if memcmp(p, b"null", 4) == 0:
        kind[0] = NOTHING
        return p + 4
    return NULL
