"""One line of a Moses N-best file, ``id ||| text ||| features ||| score``, piece by piece.

A line ends at its newline; a carriage return before that is not part of it. Columns are separated by "|||"
between blanks (the first may touch the id); blanks are space and tab. 64 bytes after the last line
must be readable.
"""

from libc.string cimport memchr, memcmp

from rerank.native.data._names cimport ABSENT, Table, find, find_or_add, hash_of, is_name
from rerank.native.data._number cimport number
from rerank.native.formats._lines cimport Bytes

cdef enum Fault:
    NONE
    COLUMNS
    ID
    NAME
    LOOSE
    TWICE
    WIDTH
    NO_VALUE
    SCORE
    NO_ROOM
    NO_ROOM_FOR_ID

cdef enum Kind:
    LEFT_OUT
    FEATURES
    TOTAL

cdef enum:
    # Numbers of the names that exist from the start.
    WORD_SCORES = 0
    UNNAMED = 1


cdef struct Span:
    Bytes start, stop


cdef enum Token:
    NAME_TOKEN  # "name=" or "name:", values follow
    JOINED  # "name=value"
    OTHER


cdef inline bint is_blank(unsigned char c) noexcept nogil:
    return c == c' ' or c == c'\t'


cdef inline Bytes line_end(Bytes p, Bytes newline) noexcept nogil:
    return newline - 1 if newline > p and (newline - 1)[0] == c'\r' else newline


cdef inline Bytes first_bar(Bytes p, Bytes end) noexcept nogil:
    """Return the first "|||" of a line, with or without blanks; ``end`` if there is none."""
    while True:
        p = <Bytes>memchr(p, c'|', end - p)
        if p == NULL or end - p < 3:
            return end
        if p[1] == c'|' and p[2] == c'|':
            return p
        p += 1


cdef inline Bytes next_bar(Bytes p, Bytes end) noexcept nogil:
    """Return the next "|||" between blanks or before the line's end; ``end`` if there is none."""
    while True:
        p = first_bar(p, end)
        if p == end or (is_blank((p - 1)[0]) and (p + 3 == end or is_blank(p[3]))):
            return p
        p += 1


cdef inline Span bare(Bytes start, Bytes stop) noexcept nogil:
    """Return the text without one blank on each side."""
    cdef Span out
    if start < stop and is_blank(start[0]):
        start += 1
    if start < stop and is_blank((stop - 1)[0]):
        stop -= 1
    out.start = start
    out.stop = stop
    return out


cdef inline Span trimmed(Bytes start, Bytes stop) noexcept nogil:
    """Return the text without the blanks on each side."""
    cdef Span out
    while start < stop and is_blank(start[0]):
        start += 1
    while start < stop and is_blank((stop - 1)[0]):
        stop -= 1
    out.start = start
    out.stop = stop
    return out


cdef inline Bytes read_value(Bytes p, Bytes stop, double largest, double* value) noexcept nogil:
    """Read a number within -largest..largest that ends at a blank or ``stop``.

    Returns the place after it, or NULL if there is none.
    """
    p = number(p, value)
    if p == NULL or p > stop or (p < stop and not is_blank(p[0])):
        return NULL
    return p if -largest <= value[0] <= largest else NULL


cdef inline Token read_token(Bytes p, Bytes stop, Bytes* name_end, Bytes* token_end) noexcept nogil:
    """Return the kind of token at ``p``, which is not a blank."""
    cdef Bytes equals = NULL, start = p
    while p < stop and not is_blank(p[0]):
        if p[0] == c'=':
            equals = p
        p += 1
    token_end[0] = p
    name_end[0] = p - 1
    if (p - 1)[0] == c'=' or ((p - 1)[0] == c':' and p - 1 > start):
        return NAME_TOKEN
    if equals != NULL:
        name_end[0] = equals
        return JOINED
    return OTHER


cdef inline bint follows(const Table* names, int guess, Bytes p, Bytes stop) noexcept nogil:
    """Whether the token at ``p`` is the name ``guess`` and its sign, with values after a blank.

    Numbers alone have an empty name and no sign.
    """
    cdef Py_ssize_t length
    if guess == ABSENT:
        return False
    length = names.bounds[guess + 1] - names.bounds[guess]
    return (
        length > 0
        and stop - p > length
        and (p[length] == c'=' or p[length] == c':')
        and (p + length + 1 == stop or is_blank(p[length + 1]))
        and memcmp(p, names.arena + names.bounds[guess], length) == 0
    )
