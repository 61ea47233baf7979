"""Rows of CSV and TSV straight into arrays: numbers row by row, strings one after the other.

Cells are quoted as Python's csv module does it in its strict mode. A row that is not as it should be is only
recognised here; the reader looks at it again and words the fault.
"""

from libc.math cimport NAN, isinf
from libc.string cimport memchr, memcmp, memcpy

from rerank.native.data._number cimport (
    load_text, long_number, short_number_below, trailing_zeros, u64, zero_bytes,
)

cdef enum Kind:
    SKIPPED = 0
    FEATURE = 1  # a number, to ``features``
    LABEL = 2  # a number, to ``labels``
    LOOKED_AT = 3  # text, but the numbers among its first cells are counted
    STRING = 4  # to ``strings``
    LIST = 5  # the same, without cells that are equal to the one before; none may be empty

# A row of a plan: what happens to a column of the table.
cdef struct Column:
    long long kind
    long long place  # IN the column of ``features``, or the row of ``strings`` and ``lengths``
    long long blank  # OUT of numbers: where the first row with a blank cell starts; set if -1
    long long cells  # IN/OUT of a column that is looked at: cells that are not blank
    long long numbers  # IN/OUT the numbers among them
    long long last  # SCRATCH

cdef enum:
    LOOKED = 1000  # cells that are looked at
    LIMIT = 0x2D  # a number ends at a byte below: separators, quotes and blanks, but also "+"

KINDS = {
    "skipped": SKIPPED,
    "feature": FEATURE,
    "label": LABEL,
    "looked at": LOOKED_AT,
    "string": STRING,
    "list": LIST,
}


cdef struct Table:
    const unsigned char* base
    const unsigned char* stop
    unsigned char mark
    Py_ssize_t width
    Column* plan
    double* features
    Py_ssize_t n_features
    double* labels
    unsigned char* strings
    Py_ssize_t n_bytes  # in a row of ``strings``
    long long* lengths
    long long* starts
    long long* runs
    Py_ssize_t room, row, n_runs
    Py_ssize_t n_name  # bytes of the name of the last run


def read_rows(
    const unsigned char[::1] text, Py_ssize_t at, unsigned char mark, long long[:, ::1] plan,
    double[:, ::1] features, double[::1] labels, unsigned char[:, ::1] strings, long long[:, ::1] lengths,
    long long[::1] starts, long long[::1] runs,
):
    """Read rows up to the end, the room in the arrays, or the first row that is not as it should be.

    IN text, whole lines and 64 zeros; at, where a row starts; mark, the separator, a comma or tab. IN/OUT
    plan (n_columns, entries of ``Column``). OUT features (room, n_features) and labels (room), NaN for blank
    cells; strings (n_strings, at least 16 more than the bytes from ``at`` on), the cells of a column one
    after the other, and lengths (n_strings, room); starts (room), of rows in ``text``; runs (room), the rows
    whose list has another name than the row before, to which the strings of that column belong. Further
    entries are SCRATCH. Blank lines are skipped.

    Returns the number of rows and of runs, and where the next row starts.
    """
    cdef Table t
    cdef const unsigned char* p = &text[0] + at
    cdef const unsigned char* after
    cdef Py_ssize_t j
    t.base = &text[0]
    t.stop = t.base + text.shape[0] - 64
    t.mark = mark
    t.width = plan.shape[0]
    t.plan = <Column*>&plan[0, 0]
    t.n_features = features.shape[1]
    t.features = &features[0, 0] if features.shape[1] else NULL
    t.labels = &labels[0]
    t.n_bytes = strings.shape[1]
    t.strings = &strings[0, 0] if strings.shape[0] else NULL
    t.lengths = &lengths[0, 0] if strings.shape[0] else NULL
    t.starts = &starts[0]
    t.runs = &runs[0]
    t.room = starts.shape[0]
    t.row = t.n_runs = 0
    t.n_name = -1
    with nogil:
        for j in range(t.width):
            t.plan[j].last = 0
        while p < t.stop and t.row < t.room:
            after = _next_line(p) if p[0] == c'\n' or p[0] == c'\r' else _row(&t, p)
            if after == NULL:
                break
            p = after
    return t.row, t.n_runs, p - t.base


cdef const unsigned char* _row(Table* t, const unsigned char* p) noexcept nogil:
    """Read the row at ``p``; return where the next one starts, NULL if the row is to be read again."""
    cdef const unsigned char* after = NULL
    cdef Column* column = t.plan
    cdef Column* last = column + t.width
    cdef double* features = t.features + t.row * t.n_features
    cdef double* number
    cdef Py_ssize_t n_runs = t.n_runs
    cdef long long kind
    cdef bint again = True
    t.starts[t.row] = p - t.base
    while column < last:
        kind = column.kind
        if kind == FEATURE or kind == LABEL:
            number = features + column.place if kind == FEATURE else t.labels + t.row
            after = short_number_below(p, LIMIT, number)
            if after == NULL or not _ends(after[0], t.mark):
                after = _number_cell(t, p, number, column)
        elif kind >= STRING:
            after = _string_cell(t, p, column)
        else:
            after = _other_cell(t, p, column)
        if after == NULL:
            break
        column += 1
        if after[0] != t.mark:
            again = column < last
            break
        p = after + 1
    if not again:
        after = _next_line(after)
        again = after == NULL
    if again:
        t.n_runs = n_runs
        while column > t.plan:
            column -= 1
            if column.kind == LOOKED_AT:
                column.cells -= column.last & 1
                column.numbers -= column.last >> 1
        return NULL
    t.row += 1
    return after


cdef inline bint _ends(unsigned char c, unsigned char mark) noexcept nogil:
    return c == mark or c == c'\n' or c == c'\r'


cdef inline bint _blank(unsigned char c) noexcept nogil:
    return c == c' ' or 9 <= c <= 13


cdef inline const unsigned char* _next_line(const unsigned char* p) noexcept nogil:
    """The line after the line end at ``p``, NULL if it is a carriage return alone."""
    while p[0] == c'\r':
        p += 1
    return p + 1 if p[0] == c'\n' else NULL


cdef inline u64 _any_end(u64 word, unsigned char mark) noexcept nogil:
    """0x80 in the lowest byte that ends a cell without quotes; bytes above it may be marked wrongly."""
    return (
        zero_bytes(word ^ (<u64>0x0101010101010101 * mark))
        | zero_bytes(word ^ <u64>0x0A0A0A0A0A0A0A0A)
        | zero_bytes(word ^ <u64>0x0D0D0D0D0D0D0D0D)
    )


cdef const unsigned char* _content(
    Table* t, const unsigned char* p, const unsigned char** begin, const unsigned char** end
) noexcept nogil:
    """Find the content of the cell at ``p``, its quotes still doubled, without blanks at its ends.

    Returns the place after the cell, NULL if its quotes are not closed or something follows them.
    """
    cdef u64 ends
    begin[0] = p
    if p[0] != c'"':
        ends = _any_end(load_text(p), t.mark)
        while not ends:
            p += 8
            ends = _any_end(load_text(p), t.mark)
        p += trailing_zeros(ends) >> 3
        end[0] = p
    else:
        p += 1
        begin[0] = p
        while True:
            p = <const unsigned char*>memchr(p, c'"', t.stop - p)
            if p == NULL:
                return NULL
            if p[1] != c'"':
                break
            p += 2
        end[0] = p
        p += 1
        if not _ends(p[0], t.mark):
            return NULL
    while begin[0] < end[0] and _blank(begin[0][0]):
        begin[0] += 1
    while begin[0] < end[0] and _blank((end[0] - 1)[0]):
        end[0] -= 1
    return p


cdef const unsigned char* _number_cell(
    Table* t, const unsigned char* p, double* value, Column* column
) noexcept nogil:
    """Read any cell as a finite number, NaN if it is blank; NULL if it is neither."""
    cdef const unsigned char* begin
    cdef const unsigned char* end
    cdef const unsigned char* after = long_number(p, value)
    if after != NULL and _ends(after[0], t.mark) and not isinf(value[0]):
        return after
    after = _content(t, p, &begin, &end)
    if after == NULL:
        return NULL
    if begin == end:
        value[0] = NAN
        if column.blank == -1:
            column.blank = t.starts[t.row]
        return after
    p = short_number_below(begin, LIMIT, value)
    if p == NULL:
        p = long_number(begin, value)
    if p != end or isinf(value[0]):
        return NULL
    return after


cdef const unsigned char* _other_cell(Table* t, const unsigned char* p, Column* column) noexcept nogil:
    """Pass a cell, and count it if its column is looked at."""
    cdef const unsigned char* begin
    cdef const unsigned char* end
    cdef double value
    p = _content(t, p, &begin, &end)
    if p == NULL or column.kind != LOOKED_AT:
        return p
    column.last = 0
    if column.cells < LOOKED and begin < end:
        column.last = 3 if long_number(begin, &value) == end else 1
        column.cells += 1
        column.numbers += column.last >> 1
    return p


cdef const unsigned char* _string_cell(Table* t, const unsigned char* p, Column* column) noexcept nogil:
    """Copy a cell; of lists only a name other than the one before, and NULL if it is empty."""
    cdef unsigned char* start = t.strings + column.place * t.n_bytes + column.last
    cdef unsigned char* end = start
    cdef long long* lengths = t.lengths + column.place * t.room
    cdef Py_ssize_t n
    p = _copied(t, p, &end)
    n = end - start
    if column.kind == STRING:
        lengths[t.row] = n
        column.last += n
    elif n == 0:
        return NULL
    elif n != t.n_name or memcmp(start, start - n, <size_t>n) != 0:
        t.n_name = n
        t.runs[t.n_runs] = t.row
        lengths[t.n_runs] = n
        t.n_runs += 1
        column.last += n
    return p


cdef inline const unsigned char* _copied(Table* t, const unsigned char* p, unsigned char** to) noexcept nogil:
    """Copy the content of the cell at ``p``, up to 7 bytes more; return as ``_content``."""
    cdef u64 ends
    cdef int n
    if p[0] != c'"':
        while True:
            memcpy(to[0], p, 8)
            ends = _any_end(load_text(p), t.mark)
            n = trailing_zeros(ends) >> 3 if ends else 8
            p += n
            to[0] += n
            if ends:
                return p
    p += 1
    while p < t.stop:
        memcpy(to[0], p, 8)
        ends = zero_bytes(load_text(p) ^ <u64>0x2222222222222222)
        n = trailing_zeros(ends) >> 3 if ends else 8
        p += n
        to[0] += n
        if ends:
            if p[1] != c'"':
                return p + 1 if _ends(p[1], t.mark) else NULL
            p += 2
            to[0] += 1
    return NULL
