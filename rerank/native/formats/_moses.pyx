"""A Moses N-best file, first pass: places of texts, ids and names as numbers, totals.

At the first bad line a kernel stops and returns the fault and its place, which Python puts into words.
"""

from libc.string cimport memchr

from rerank.native.formats._lines cimport Bytes, FLOAT64_END
from rerank.native.formats._moses_line cimport (
    ABSENT, COLUMNS, FEATURES, Fault, ID, JOINED, LOOSE, NAME, NONE, NO_ROOM, NO_ROOM_FOR_ID, NO_VALUE, OTHER,
    SCORE, Span, TOTAL, TWICE, Table, Token, UNNAMED, WIDTH, WORD_SCORES, bare, find_or_add, first_bar,
    follows, is_blank, is_name, line_end, next_bar, read_token, read_value, trimmed,
)
from rerank.native.data._names cimport Names

FAULTS = (
    "none",
    "columns",
    "id",
    "name",
    "loose",
    "twice",
    "width",
    "no value",
    "score",
    "no room",
    "no room for id",
)


cdef struct Scan:
    Table* names
    int* followers  # of name i at i + 1: the name that last followed it; at 0 the first of a line
    long long* stats  # (n, 3): attempt that saw the name last, values of a block or -1, first row
    long long attempt, row
    int open  # name of the block that is being read, or ABSENT
    Py_ssize_t count  # its values
    Bytes open_at
    long long n_values  # of the line
    int last  # previous name
    Fault fault
    Bytes place


cdef inline bint stopped(Scan* at, Fault fault, Bytes place) noexcept nogil:
    at.fault = fault
    at.place = place
    return False


cdef inline bint close_block(Scan* at) noexcept nogil:
    """Close the open block: every block of a name has equally many values."""
    cdef long long* stats
    if at.open == ABSENT:
        return True
    stats = &at.stats[3 * at.open]
    if at.open == WORD_SCORES:
        at.n_values += 2
    elif at.count == 0:
        return stopped(at, NO_VALUE, at.open_at)
    elif stats[1] < 0:
        stats[1] = at.count
    elif stats[1] != at.count:
        return stopped(at, WIDTH, at.open_at)
    if at.open != WORD_SCORES:
        at.n_values += at.count
    at.open = ABSENT
    return True


cdef inline bint open_block(Scan* at, int name, Bytes p) noexcept nogil:
    cdef long long* stats
    if not close_block(at):
        return False
    stats = &at.stats[3 * name]
    if stats[0] == at.attempt:
        return stopped(at, TWICE, p)
    if stats[0] == 0:
        stats[2] = at.row
    stats[0] = at.attempt
    at.followers[at.last + 1] = name
    at.last = name
    at.open = name
    at.count = 0
    at.open_at = p
    return True


cdef bint scan_features(Scan* at, Bytes p, Bytes stop) noexcept nogil:
    """Read the names and count the values of a column of features."""
    cdef Bytes name_end = p, token_end = p
    cdef Token token
    cdef int name
    at.open = ABSENT
    while True:
        while p < stop and is_blank(p[0]):
            p += 1
        if p == stop:
            return close_block(at)
        # If the block has as many values as before, the name that followed before is likely.
        if at.open == ABSENT or at.count == at.stats[3 * at.open + 1]:
            name = at.followers[at.last + 1]
            if follows(at.names, name, p, stop):
                if not open_block(at, name, p):
                    return False
                p += at.names.bounds[name + 1] - at.names.bounds[name] + 1
                continue
        token = read_token(p, stop, &name_end, &token_end)
        if token == OTHER:
            if at.open == ABSENT:
                if at.last != ABSENT:
                    return stopped(at, LOOSE, p)
                if not open_block(at, UNNAMED, p):
                    return False
            at.count += 1
        else:
            if name_end == p:
                return stopped(at, NAME, p)
            name = find_or_add(at.names, p, name_end - p)
            if name < 0:
                return stopped(at, NO_ROOM, p)
            if not open_block(at, name, p):
                return False
            if token == JOINED:
                at.count = 1
                if not close_block(at):
                    return False
        p = token_end


cdef inline bint scan_columns(
    Scan* at, Bytes p, Bytes end, const signed char[::1] kinds, double* total
) noexcept nogil:
    """Read the columns after the text; ``p`` is at the bar after it."""
    cdef Py_ssize_t column = 2
    cdef Bytes stop, q
    cdef Span number
    at.last = ABSENT
    at.n_values = 0
    while p < end:
        p += 3
        stop = next_bar(p, end)
        if column == kinds.shape[0]:
            return stopped(at, COLUMNS, p)
        if kinds[column] == FEATURES:
            if not scan_features(at, p, stop):
                return False
        elif kinds[column] == TOTAL:
            number = trimmed(p, stop)
            q = NULL
            if number.start < number.stop:
                q = read_value(number.start, number.stop, FLOAT64_END, total)
            if q == NULL or q != number.stop:
                return stopped(at, SCORE, number.start)
        column += 1
        p = stop
    return column == kinds.shape[0] or stopped(at, COLUMNS, p)


def scan(
    const unsigned char[::1] text, const signed char[::1] kinds, Names ids not None, Names names not None,
    int[::1] followers, long long[:, ::1] stats, long long[::1] state, tuple rows,
):
    """Read lines of a part of a file from the place in ``state``.

    IN text (n_bytes), whole lines; kinds (n_columns), 1 = features, 2 = the total score, 0 = left out;
    IN/OUT ids, names; followers (names.room + 1), stats (names.room, 3): names that follow each other
    and the values of each, see Scan; state (4): place in text, row of the part, attempts, rows before this
    part; OUT rows: spans (n_rows, 2), start and length of each text; totals (n_rows); codes (n_rows), the
    number of each line's id; counts (n_rows), features of each line.
    Returns (fault, place in text): "no room" if names (or ids) must grow before it can continue.
    """
    cdef long long[:, ::1] spans
    cdef double[::1] totals
    cdef int[::1] codes
    cdef long long[::1] counts
    cdef Bytes start = &text[0]
    cdef Bytes stop = start + text.shape[0]
    cdef Bytes line = start + state[0]
    cdef Bytes newline, end, p
    cdef Span part
    cdef Scan at
    cdef int code = ABSENT
    cdef long long row = state[1]
    spans, totals, codes, counts = rows
    at.names = &names.table
    at.followers = &followers[0]
    at.stats = &stats[0, 0]
    at.attempt = state[2]
    at.fault = NONE
    at.place = line
    at.open_at = line
    at.open = ABSENT
    at.count = 0
    with nogil:
        while line < stop:
            newline = <Bytes>memchr(line, c'\n', stop - line)
            end = line_end(line, newline)
            at.attempt += 1
            at.row = state[3] + row
            p = first_bar(line, end)
            if p == end:
                stopped(&at, COLUMNS, line)
                break
            part = trimmed(line, p)
            if part.start == part.stop:
                stopped(&at, ID, line)
                break
            if code == ABSENT or not is_name(&ids.table, code, part.start, part.stop - part.start):
                code = find_or_add(&ids.table, part.start, part.stop - part.start)
                if code < 0:
                    stopped(&at, NO_ROOM_FOR_ID, part.start)
                    break
            line_text(&part, &p, end)
            if not scan_columns(&at, p, end, kinds, &totals[row]):
                break
            spans[row, 0] = part.start - start
            spans[row, 1] = part.stop - part.start
            codes[row] = code
            counts[row] = at.n_values
            row += 1
            line = newline + 1
    state[0] = line - start
    state[1] = row
    state[2] = at.attempt
    return at.fault, at.place - start


cdef inline void line_text(Span* part, Bytes* p, Bytes end) noexcept nogil:
    """OUT part = the text between the bar at ``p`` and the next one, the new place of p."""
    cdef Bytes start = p[0] + 3
    p[0] = next_bar(start, end)
    part[0] = bare(start, p[0])


def count_lines(const unsigned char[::1] text):
    """Newlines in text (n_bytes)."""
    cdef Bytes p = NULL, stop
    cdef long long n = 0
    if text.shape[0] == 0:
        return 0
    p = &text[0]
    stop = p + text.shape[0]
    with nogil:
        while p < stop:
            p = <Bytes>memchr(p, c'\n', stop - p)
            if p == NULL:
                break
            n += 1
            p += 1
    return n
