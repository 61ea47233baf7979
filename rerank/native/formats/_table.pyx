"""Rows of CSV and TSV: where their cells are, and what is in a column of cells.

Cells are quoted as Python's csv module does it in its strict mode. ``spans`` (n, 2) are the start and the
length of each cell in ``text``.
"""

from libc.math cimport NAN, isinf
from libc.string cimport memcmp

from rerank.native.data._number cimport number

cdef enum Fault:
    NONE = 0
    OPEN = 1  # the text ends within quotes
    QUOTE = 2  # something follows a closing quote
    RETURN = 3  # a carriage return is not at the end of the line
    WIDTH = 4  # too few or too many cells

FAULTS = {"open": OPEN, "quote": QUOTE, "return": RETURN, "width": WIDTH}


def split_rows(
    unsigned char[::1] text,
    Py_ssize_t size,
    unsigned char mark,
    bint any_width,
    long long[:, :, ::1] spans,
    long long[::1] lines,
):
    """Find the cells of rows, as many as ``spans`` has room for or up to the first fault.

    IN/OUT text, whole lines of ``size`` bytes and 16 more; quoted cells are unquoted in place, and a newline
    replaces the separator after a cell because numbers that end in a blank are parsed faster. IN mark, the
    separator; any_width, whether rows may have fewer cells than ``spans`` has columns. OUT spans (rows,
    columns, 2); lines (rows + 1), the line on which each row starts, from 0, and that after the last row,
    where the fault is. Blank lines are skipped.

    Returns the number of rows, the bytes they take, the fault, and how many cells the last row has.
    """
    cdef unsigned char[256] ends
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t cells = 0
    cdef long long line = 0
    cdef int fault = NONE
    cdef int c
    with nogil:
        for c in range(256):
            ends[c] = c == mark or c == c'\n' or c == c'\r'
        lines[0] = 0
        while at < size and row < spans.shape[0]:
            start = at
            lines[row] = line
            fault = _row(&text[0], size, mark, ends, spans[row], &at, &line, &cells)
            if fault == NONE and cells > 0:
                if cells > spans.shape[1] or (cells < spans.shape[1] and not any_width):
                    fault = WIDTH
                else:
                    row += 1
            if fault != NONE:
                break
            start = at
            lines[row] = line
    return row, start, fault, cells


cdef int _row(
    unsigned char* text,
    Py_ssize_t size,
    unsigned char mark,
    const unsigned char* ends,
    long long[:, ::1] spans,
    Py_ssize_t* place,
    long long* line,
    Py_ssize_t* cells,
) noexcept nogil:
    """Split the row at ``place``, which moves to the next one; a blank line has 0 cells."""
    cdef Py_ssize_t at = place[0]
    cdef Py_ssize_t begin
    cdef Py_ssize_t end
    cdef Py_ssize_t n = 0
    cdef unsigned char c
    cells[0] = 0
    while True:
        begin = at
        if text[at] == c'"':
            begin += 1
            end = _unquoted(text, size, &at, line)
            if end < 0:
                return OPEN
            if not ends[text[at]]:
                return QUOTE
        else:
            while not ends[text[at]]:
                at += 1
            end = at
        c = text[at]
        if n == 0 and at == place[0] and c != mark:
            n = -1  # a blank line
        elif n < spans.shape[0]:
            spans[n, 0] = begin
            spans[n, 1] = end - begin
        n += 1
        if c != mark:
            break
        text[at] = c'\n'
        at += 1
    while text[at] == c'\r':
        at += 1
    if text[at] != c'\n':
        return RETURN
    line[0] += 1
    place[0] = at + 1
    cells[0] = n
    return NONE


cdef inline Py_ssize_t _unquoted(
    unsigned char* text, Py_ssize_t size, Py_ssize_t* place, long long* line
) noexcept nogil:
    """Unquote the cell whose opening quote is at ``place``, which moves past the closing one.

    Returns the end of the content, -1 if there is no closing quote.
    """
    cdef Py_ssize_t at = place[0] + 1
    cdef Py_ssize_t to = at
    cdef unsigned char c
    while at < size:
        c = text[at]
        at += 1
        if c == c'"':
            if text[at] != c'"':
                place[0] = at
                return to
            at += 1
        line[0] += c == c'\n'
        text[to] = c
        to += 1
    return -1


cdef inline bint _blank(unsigned char c) noexcept nogil:
    return c == c' ' or 9 <= c <= 13


def parse_cells(const unsigned char[::1] text, const long long[:, :] spans, double[::1] values):
    """Parse cells as finite numbers: NaN if blank; blanks around a number are allowed.

    OUT values (n). Returns the number of the first cell that is neither, -1 if there is none.
    """
    cdef Py_ssize_t i
    cdef Py_ssize_t bad = -1
    cdef const unsigned char* p
    cdef const unsigned char* end
    with nogil:
        for i in range(spans.shape[0]):
            p = &text[0] + spans[i, 0]
            end = p + spans[i, 1]
            while p < end and _blank(p[0]):
                p += 1
            while p < end and _blank((end - 1)[0]):
                end -= 1
            values[i] = NAN
            if p < end and (number(p, &values[i]) != end or isinf(values[i])):
                bad = i
                break
    return bad


def mark_runs(const unsigned char[::1] text, const long long[:, :] spans, unsigned char[::1] starts):
    """OUT starts (n) = whether a cell is another than the one before."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(spans.shape[0]):
            starts[i] = (
                i == 0
                or spans[i, 1] != spans[i - 1, 1]
                or memcmp(&text[spans[i, 0]], &text[spans[i - 1, 0]], <size_t>spans[i, 1]) != 0
            )
