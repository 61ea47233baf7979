"""A Moses N-best file, second pass: numbers of features into rows that are already in place.

The first pass (_moses.pyx) has seen every line: names are known, each with the same number of values
on every line. Only a number can still be wrong.
"""

from libc.string cimport memchr

from rerank.native.formats._lines cimport Bytes, FLOAT32_END, FLOAT64_END
from rerank.native.formats._moses_line cimport (
    ABSENT, FEATURES, JOINED, NAME_TOKEN, OTHER, Table, Token, UNNAMED, WORD_SCORES, find, follows, hash_of,
    is_blank, line_end, next_bar, read_token, read_value,
)
from rerank.native.formats._sort_row cimport sort_row
from rerank.native.data._names cimport Names

ctypedef fused real:
    float
    double


cdef struct Sink:
    Bytes text, stop
    const long long* spans
    const signed char* kinds
    const long long* places
    const Table* names
    int* followers
    const long long* columns  # first column of each name
    double* row  # values of a row, in the order of its line
    int* at  # their columns
    Py_ssize_t n
    double largest
    Bytes place  # of a bad number


cdef inline void put(Sink* to, long long column, double value) noexcept nogil:
    to.row[to.n] = value
    to.at[to.n] = <int>column
    to.n += 1


cdef inline bint is_value(Bytes p, Bytes stop) noexcept nogil:
    """Whether the token at ``p`` is meant as a value, not as a name."""
    cdef Bytes name_end = p, token_end = p
    return read_token(p, stop, &name_end, &token_end) == OTHER


cdef bint read_features(Sink* to, Bytes p, Bytes stop, int* last) noexcept nogil:
    """Read the values of a column of features and their columns; False at a token that is not a number."""
    cdef Bytes name_end = p, token_end = p, q
    cdef Token token
    cdef int name
    cdef long long column
    cdef double value = 0.0, total
    cdef Py_ssize_t count
    while True:
        while p < stop and is_blank(p[0]):
            p += 1
        if p == stop:
            return True
        token = NAME_TOKEN
        name = to.followers[last[0] + 1]
        if follows(to.names, name, p, stop):
            p += to.names.bounds[name + 1] - to.names.bounds[name] + 1
        else:
            token = read_token(p, stop, &name_end, &token_end)
            if token == OTHER:
                name = UNNAMED
                if last[0] != ABSENT:
                    to.place = p
                    return False
            else:
                name = find(to.names, p, name_end - p, hash_of(p, name_end - p))
                p = name_end + 1
            to.followers[last[0] + 1] = name
        last[0] = name
        column = to.columns[name]
        total = 0.0
        count = 0
        while True:
            while p < stop and is_blank(p[0]):
                p += 1
            q = read_value(p, stop, to.largest, &value) if p < stop else NULL
            if q == NULL:
                break
            p = q
            total += value
            if name != WORD_SCORES:
                put(to, column + count, value)
            count += 1
            if token == JOINED:
                break
        if q == NULL and p < stop and (token == JOINED or is_value(p, stop)):
            to.place = p
            return False
        if name == WORD_SCORES:
            put(to, column, total)
            put(to, column + 1, total / count if count else 0.0)


cdef inline bint read_line(Sink* to, Py_ssize_t i) noexcept nogil:
    """Read the features of line i; False at a token that is not a number."""
    cdef Bytes p = to.text + to.spans[2 * i] + to.spans[2 * i + 1]
    cdef Bytes end = line_end(p, <Bytes>memchr(p, c'\n', to.stop - p))
    cdef Py_ssize_t column = 2
    cdef int last = ABSENT
    cdef Bytes stop
    p += is_blank(p[0])  # the bar after the text
    to.n = 0
    while p < end:
        p += 3
        stop = next_bar(p, end)
        if to.kinds[column] == FEATURES and not read_features(to, p, stop, &last):
            return False
        column += 1
        p = stop
    return True


cdef class FeatureLines:
    """Lines of a part of a file, and where their features go.

    IN text (n_bytes), spans (n_lines, 2) of the texts, kinds and names as ``scan`` left them; columns
    (n_names), the first column of each name; places (n_lines), the row of each line; IN/OUT followers.
    """

    cdef Sink sink
    cdef Py_ssize_t n
    cdef tuple held

    def __init__(
        self, const unsigned char[::1] text, const long long[:, ::1] spans, const signed char[::1] kinds,
        Names names not None, int[::1] followers, const long long[::1] columns, const long long[::1] places,
    ):
        cdef Sink* to = &self.sink
        self.held = (text, spans, kinds, names, followers, columns, places)
        self.n = spans.shape[0]
        to.text = &text[0]
        to.stop = to.text + text.shape[0]
        to.spans = &spans[0, 0]
        to.kinds = &kinds[0]
        to.names = &names.table
        to.followers = &followers[0]
        to.columns = &columns[0]
        to.places = &places[0]
        to.place = to.text


def fill_dense(FeatureLines lines not None, double nothing, int[::1] at, double[::1] values, real[:, ::1] X):
    """Read the features of lines into rows of a dense array.

    IN nothing = value of absent features. SCRATCH at and values, as long as a line has features at most;
    OUT X (n_items, n_features).
    Returns (row, place in text) of the first bad number, (-1, 0) if all are good.
    """
    cdef Sink to = lines.sink
    cdef Py_ssize_t i, j
    cdef Py_ssize_t width = X.shape[1]
    cdef real* row
    to.largest = FLOAT32_END if real is float else FLOAT64_END
    to.at = &at[0]
    to.row = &values[0]
    with nogil:
        for i in range(lines.n):
            if not read_line(&to, i):
                break
            if width == 0:
                continue
            row = &X[to.places[i], 0]
            if to.n < width:
                for j in range(width):
                    row[j] = <real>nothing
            for j in range(to.n):
                row[to.at[j]] = <real>to.row[j]
        else:
            i = -1
    return i, to.place - to.text


def fill_sparse(FeatureLines lines not None, const long long[::1] indptr, int[::1] indices, double[::1] data):
    """Read features as fill_dense does, into compressed rows.

    IN indptr (n_items + 1); OUT indices, data (indptr[n_items]).
    """
    cdef Sink to = lines.sink
    cdef Py_ssize_t i
    to.largest = FLOAT64_END
    with nogil:
        for i in range(lines.n):
            to.at = &indices[indptr[to.places[i]]]
            to.row = &data[indptr[to.places[i]]]
            if not read_line(&to, i):
                break
            sort_row(to.at, to.row, to.n)
        else:
            i = -1
    return i, to.place - to.text
