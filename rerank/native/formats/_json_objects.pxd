"""Objects of JSON key by key, and values that are checked and skipped; see _json_tokens.pxd."""

from libc.string cimport memcmp

from rerank.native.formats._json_tokens cimport (
    NESTED, STRING, Kind, after_blanks, is_digit, json_number, key_end, skipped_string, word_token,
)
from rerank.native.formats._lines cimport Bytes

cdef enum:
    DEEPEST = 16
    MOST_KEYS = 32  # of an object, which are compared in pairs


cdef struct Keys:
    Bytes[MOST_KEYS] starts
    Py_ssize_t[MOST_KEYS] lengths
    int n
    bint closed  # the object has ended


cdef inline bint is_last(const Keys* keys, const char* name, Py_ssize_t length) noexcept nogil:
    """Whether the last key that was found is ``name``."""
    return keys.lengths[keys.n - 1] == length and memcmp(keys.starts[keys.n - 1], name, length) == 0


cdef inline Bytes key_at(Keys* keys, Bytes p) noexcept nogil:
    """Find a key, which may not be one of those before; return the place of its value."""
    cdef int k
    cdef Py_ssize_t length
    if p[0] != c'"' or keys.n == MOST_KEYS:
        return NULL
    keys.starts[keys.n] = p + 1
    p = key_end(p + 1)
    if p == NULL:
        return NULL
    length = p - keys.starts[keys.n]
    for k in range(keys.n):
        if keys.lengths[k] == length and memcmp(keys.starts[k], keys.starts[keys.n], length) == 0:
            return NULL
    keys.lengths[keys.n] = length
    keys.n += 1
    p = after_blanks(p + 1)
    return after_blanks(p + 1) if p[0] == c':' else NULL


cdef inline Bytes first_key(Keys* keys, Bytes p) noexcept nogil:
    """Enter the object at ``p``; return the place of its first value, or, if it is closed, after it."""
    keys.n = 0
    p = after_blanks(p + 1)
    keys.closed = p[0] == c'}'
    return p + 1 if keys.closed else key_at(keys, p)


cdef inline Bytes next_key(Keys* keys, Bytes p) noexcept nogil:
    """As ``first_key``, from the place after a value on."""
    p = after_blanks(p)
    keys.closed = p[0] == c'}'
    if keys.closed:
        return p + 1
    return key_at(keys, after_blanks(p + 1)) if p[0] == c',' else NULL


cdef inline Bytes skipped_value(Bytes p, int depth, Kind* kind) noexcept nogil:
    """Any value; no object in it may have a key twice."""
    cdef double value
    if p[0] == c'"':
        kind[0] = STRING
        return skipped_string(p + 1)
    if p[0] == c'-' or is_digit(p[0]):
        return json_number(p, &value, kind)
    if p[0] != c'{' and p[0] != c'[':
        return word_token(p, &value, kind)
    kind[0] = NESTED
    if depth >= DEEPEST:
        return NULL
    return skipped_object(p, depth) if p[0] == c'{' else skipped_array(p, depth)


cdef inline Bytes skipped_object(Bytes p, int depth) noexcept nogil:
    cdef Keys keys
    cdef Kind kind
    p = first_key(&keys, p)
    while p != NULL and not keys.closed:
        p = skipped_value(p, depth + 1, &kind)
        p = next_key(&keys, p) if p != NULL else NULL
    return p


cdef inline Bytes skipped_array(Bytes p, int depth) noexcept nogil:
    cdef Kind kind
    p = after_blanks(p + 1)
    if p[0] == c']':
        return p + 1
    while True:
        p = skipped_value(p, depth + 1, &kind)
        if p == NULL:
            return NULL
        p = after_blanks(p)
        if p[0] == c']':
            return p + 1
        if p[0] != c',':
            return NULL
        p = after_blanks(p + 1)
