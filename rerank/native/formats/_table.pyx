"""Rows of a table in which no cell is quoted: numbers parsed in place, other cells as spans of bytes.

Only the plain case is known here. Whatever is not plain (a row of another length, an empty line, a cell
that should be a number) makes a block fail as a whole; the caller then goes through it row by row, which
says what is wrong, or takes it.
"""

from libc.math cimport NAN, isinf
from libc.string cimport memcmp, memcpy

from rerank.native.data._number cimport number

cdef enum Kind:
    SKIPPED = 0
    NUMBER = 1
    EMPTY = 2
    STRING = 3
    LIST = 4

KINDS = {"skipped": SKIPPED, "number": NUMBER, "empty": EMPTY, "string": STRING, "list": LIST}


def parse_rows(
    const unsigned char[::1] text,
    unsigned char mark,
    const unsigned char[::1] kinds,
    double[:, ::1] values,
    long long[:, :, ::1] spans,
):
    """Parse ``len(values)`` lines; whether all were plain.

    text : IN, whole lines that end in newlines, and 32 bytes behind the last.
    mark : the byte between cells.
    kinds : IN (n_columns), of KINDS: a number, or empty (NaN); always empty; a string; the list's id; any.
    values : OUT (n_rows, numbers among the columns).
    spans : OUT (n_rows, strings and lists among the columns, 2): where a cell starts and its length. A list's
        id that is that of the row before starts at -1 - its place.
    """
    cdef const unsigned char* start = &text[0]
    cdef const unsigned char* p = start
    cdef Py_ssize_t row
    cdef bint plain = True
    with nogil:
        for row in range(values.shape[0]):
            p = _row(start, p, mark, kinds, values[row], spans[row])
            if p == NULL:
                plain = False
                break
            if row > 0:
                _mark_same(start, kinds, spans, row)
    return plain


cdef inline bint _ends(unsigned char c, unsigned char mark) noexcept nogil:
    return c == mark or c == c'\n' or c == c'\r'


cdef const unsigned char* _row(
    const unsigned char* start,
    const unsigned char* p,
    unsigned char mark,
    const unsigned char[::1] kinds,
    double[::1] values,
    long long[:, ::1] spans,
) noexcept nogil:
    """One line from ``p``: the start of the next, or NULL where it is not plain."""
    cdef Py_ssize_t n_columns = kinds.shape[0]
    cdef Py_ssize_t j
    cdef Py_ssize_t value = 0
    cdef Py_ssize_t span = 0
    cdef const unsigned char* cell
    if p[0] == c'\n' or p[0] == c'\r':
        return NULL
    for j in range(n_columns):
        if kinds[j] == NUMBER or kinds[j] == EMPTY:
            while p[0] == c' ':
                p += 1
            if kinds[j] == NUMBER:
                values[value] = NAN
                if not _ends(p[0], mark):
                    p = number(p, &values[value])
                    if p == NULL or isinf(values[value]):
                        return NULL
                    while p[0] == c' ':
                        p += 1
                value += 1
        else:
            cell = p
            while not _ends(p[0], mark):
                p += 1
            if kinds[j] == LIST and p == cell:
                return NULL
            if kinds[j] != SKIPPED:
                spans[span, 0] = cell - start
                spans[span, 1] = p - cell
                span += 1
        if j + 1 < n_columns:
            if p[0] != mark:
                return NULL
            p += 1
    if p[0] == c'\r':
        p += 1
    return p + 1 if p[0] == c'\n' else NULL


cdef inline void _mark_same(
    const unsigned char* text, const unsigned char[::1] kinds, long long[:, :, ::1] spans, Py_ssize_t row
) noexcept nogil:
    """Sets the start of a list's id to -1 - its place where it is that of the row before."""
    cdef Py_ssize_t j
    cdef Py_ssize_t span = 0
    cdef long long before
    for j in range(kinds.shape[0]):
        if kinds[j] == LIST:
            before = spans[row - 1, span, 0]
            before = -1 - before if before < 0 else before
            if spans[row, span, 1] == spans[row - 1, span, 1] and memcmp(
                text + spans[row, span, 0], text + before, <size_t>spans[row, span, 1]
            ) == 0:
                spans[row, span, 0] = -1 - spans[row, span, 0]
        span += kinds[j] == STRING or kinds[j] == LIST


def gather(const unsigned char[::1] text, const long long[:, :] spans, unsigned char[::1] out):
    """Cells put side by side.

    spans : IN (n, 2), start and length in ``text``; out : OUT (sum of the lengths).
    """
    cdef Py_ssize_t i
    cdef Py_ssize_t at = 0
    with nogil:
        for i in range(spans.shape[0]):
            if spans[i, 1]:
                memcpy(&out[at], &text[spans[i, 0]], <size_t>spans[i, 1])
            at += spans[i, 1]
