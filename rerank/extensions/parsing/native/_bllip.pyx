"""The bytes of a BLLIP feature file to compressed rows: ``G=7 N=2 P=7 W=7 3 14=2, P=7 W=6 0=1.5 3,``.

A kernel reads whole lines (each ends in a newline), one sentence each; 32 bytes after them must be
readable. ``scan`` counts, so that ``fill`` gets arrays of the right size. At the first bad line ``fill``
stops and returns a code of FAULTS and its place, which Python puts into words. Blanks are space, tab
and carriage return; lines of blanks are skipped.
"""

from libc.string cimport memchr

from rerank.native.data._number cimport join_digits, load_text, number, trailing_zeros, u64
from rerank.native.formats._lines cimport Bytes, FLOAT64_END, is_blank

FAULTS = (
    "none",
    "edges",
    "count",
    "matched",
    "parses",
    "no comma",
    "feature",
    "order",
    "changed",
)

cdef enum Fault:
    NONE
    EDGES
    COUNT
    MATCHED
    PARSES
    NO_COMMA
    FEATURE
    ORDER
    CHANGED

cdef extern from *:
    """
    #define RERANK_LARGEST_ID 99999999LL
    #define RERANK_LARGEST_COUNT 999999999LL
    """
    const long long LARGEST_ID "RERANK_LARGEST_ID"
    const long long LARGEST_COUNT "RERANK_LARGEST_COUNT"

MOST_FEATURES = LARGEST_ID + 1


cdef struct Place:
    Bytes p  # the place of reading
    Py_ssize_t row  # parses and values read so far
    Py_ssize_t filled
    long long widest
    Fault fault
    long long detail


cdef inline bint is_digit(unsigned char c) noexcept nogil:
    return <unsigned char>(c - c'0') <= 9


cdef inline bint ends_token(unsigned char c) noexcept nogil:
    return is_blank(c) or c == c',' or c == c'\n'


cdef inline bint failed(Place* at, Fault fault, Bytes p) noexcept nogil:
    """Note a fault at ``p``; False."""
    at.fault = fault
    at.p = p
    return False


cdef inline void skip_blanks(Place* at) noexcept nogil:
    while is_blank(at.p[0]):
        at.p += 1


def scan(const unsigned char[::1] text):
    """Count lines that are not blank, parses, values, and values that are spelt out (id=value).

    IN text (n_bytes), whole lines. The counts are exact for the lines before the first bad one.
    """
    cdef Bytes p = &text[0]
    cdef Bytes stop = p + text.shape[0]
    cdef Bytes end
    cdef long long[3] totals
    cdef long long n_lines = 0
    totals[:] = [0, 0, 0]
    with nogil:
        while p < stop:
            end = <Bytes>memchr(p, c'\n', stop - p)
            while is_blank(p[0]):
                p += 1
            if p != end:
                n_lines += 1
                count_marks(p, end, totals)
            p = end + 1
    return n_lines, totals[0], totals[1], totals[2]


cdef void count_marks(Bytes p, Bytes end, long long* totals) noexcept nogil:
    """Add up commas, digits after a blank, and = signs after a digit in p:end without its first byte."""
    cdef unsigned char commas, starts, signs, before
    cdef Py_ssize_t i, n
    p += 1
    while p < end:
        n = min(end - p, 255)
        commas = 0
        starts = 0
        signs = 0
        for i in range(n):
            before = (p + i - 1)[0]
            commas += p[i] == c','
            starts += is_digit(p[i]) & is_blank(before)
            signs += (p[i] == c'=') & is_digit(before)
        totals[0] += commas
        totals[1] += starts
        totals[2] += signs
        p += n


def fill(
    const unsigned char[::1] text, int[::1] sizes, double[:, ::1] edges, long long[::1] indptr,
    int[::1] indices, double[::1] data,
):
    """Read sentences into compressed rows; data None = every value is 1.

    IN text (n_bytes); OUT sizes (n_lines), the parses of each; edges (n_parses, 3), of the gold tree, of
    the parse, of both; indptr (n_parses), the end of each parse in indices; indices, data (n_values),
    indices rising in a row. Returns (fault, place in text, detail, columns needed).
    """
    cdef Place at
    cdef Bytes stop = &text[0] + text.shape[0]
    cdef Py_ssize_t n_lines = sizes.shape[0], line = 0
    cdef int no_index = 0
    cdef int* columns = &indices[0] if indices.shape[0] else &no_index
    cdef double* values = &data[0] if data is not None and data.shape[0] else NULL
    at.p = &text[0]
    at.row = 0
    at.filled = 0
    at.widest = 0
    at.fault = NONE
    at.detail = 0
    with nogil:
        while at.p < stop:
            skip_blanks(&at)
            if at.p[0] != c'\n':
                if line == n_lines:
                    failed(&at, CHANGED, at.p)
                    break
                if not sentence(&at, &sizes[line], edges, indptr, columns, values, indices.shape[0]):
                    break
                line += 1
            at.p += 1
        if at.fault == NONE and (
            line != n_lines or at.row != indptr.shape[0] or at.filled != indices.shape[0]
        ):
            failed(&at, CHANGED, at.p)
    return at.fault, at.p - &text[0], at.detail, at.widest


cdef bint sentence(
    Place* at, int* size, double[:, ::1] edges, long long[::1] indptr, int* indices, double* values,
    Py_ssize_t room,
) noexcept nogil:
    """Read a line; False at a fault, otherwise at.p is at its newline."""
    cdef Py_ssize_t before = at.row
    cdef long long gold = 0, proposed = 0, matched = 0, expected = 0
    cdef Bytes count, token
    if not assigned(at, c'G', EDGES, &gold):
        return False
    skip_blanks(at)
    count = at.p
    if not assigned(at, c'N', COUNT, &expected):
        return False
    skip_blanks(at)
    while at.p[0] != c'\n':
        if not assigned(at, c'P', EDGES, &proposed):
            return False
        skip_blanks(at)
        token = at.p
        if not assigned(at, c'W', EDGES, &matched):
            return False
        if matched > proposed or matched > gold:
            at.detail = min(gold, proposed)
            return failed(at, MATCHED, token)
        if not parse_features(at, indices, values, room):
            return False
        if at.row == indptr.shape[0]:
            return failed(at, CHANGED, at.p)
        edges[at.row, 0] = <double>gold
        edges[at.row, 1] = <double>proposed
        edges[at.row, 2] = <double>matched
        indptr[at.row] = at.filled
        at.row += 1
        skip_blanks(at)
    if at.row - before != expected:
        at.detail = at.row - before
        return failed(at, PARSES, count)
    size[0] = <int>expected
    return True


cdef inline bint assigned(Place* at, unsigned char name, Fault fault, long long* value) noexcept nogil:
    """Read "NAME=NUMBER", a whole number; False at a fault, otherwise at.p is after it."""
    cdef Bytes p = at.p
    cdef long long total = 0
    if p[0] != name or p[1] != c'=' or not is_digit(p[2]):
        at.detail = name
        return failed(at, fault, at.p)
    p += 2
    while is_digit(p[0]):
        total = total * 10 + (p[0] - c'0')
        if total > LARGEST_COUNT:
            break
        p += 1
    if not ends_token(p[0]):
        at.detail = name
        return failed(at, fault, at.p)
    value[0] = total
    at.p = p
    return True


cdef inline Bytes read_id(Bytes p, long long* feature) noexcept nogil:
    """Read a feature's id; returns the place after it, or NULL if there is none or it is too large."""
    cdef u64 digits = load_text(p) ^ <u64>0x3030303030303030
    cdef u64 others = ((digits + <u64>0x7676767676767676) | digits) & <u64>0x8080808080808080
    cdef int length = trailing_zeros(others) >> 3 if others else 8
    cdef int half = 4 * (8 - length)
    cdef long long value = 0
    if length == 0:
        return NULL
    if length < 8:
        feature[0] = <long long>join_digits((digits << half) << half)
        return p + length
    while is_digit(p[0]):
        value = value * 10 + (p[0] - c'0')
        if value > LARGEST_ID:
            return NULL
        p += 1
    feature[0] = value
    return p


cdef inline bint parse_features(Place* at, int* indices, double* values, Py_ssize_t room) noexcept nogil:
    """Read the features of a parse and its comma; False at a fault, otherwise at.p is after them."""
    cdef Bytes p = at.p, token
    cdef Py_ssize_t end = at.filled
    cdef long long feature = 0, last = -1
    cdef double value
    while True:
        # This byte ends a token: it is a blank, a comma or a newline.
        if p[0] == c' ' and is_digit(p[1]):
            p += 1
        else:
            while is_blank(p[0]):
                p += 1
            if p[0] == c',':
                break
            if p[0] == c'\n':
                return failed(at, NO_COMMA, p)
        token = p
        p = read_id(token, &feature)
        if p == NULL:
            return failed(at, FEATURE, token)
        value = 1.0
        if p[0] == c'=':
            p = number(p + 1, &value)
            if p == NULL or not -FLOAT64_END <= value <= FLOAT64_END:
                return failed(at, FEATURE, token)
        if not ends_token(p[0]):
            return failed(at, FEATURE, token)
        if feature <= last:
            at.detail = last
            return failed(at, ORDER, token)
        if end == room or (values == NULL and value != 1.0):
            return failed(at, CHANGED, token)
        indices[end] = <int>feature
        if values != NULL:
            values[end] = value
        last = feature
        end += 1
    at.filled = end
    at.widest = max(at.widest, last + 1)
    at.p = p + 1
    return True
