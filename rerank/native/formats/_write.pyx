"""Lines of files from features of every layout: SVMlight, Moses, BLLIP."""

import numpy as np

from libc.string cimport memcpy

from rerank.native.data._decimal cimport put_number, put_whole
from rerank.native.data._matrix cimport MIXED, SINGLE, Matrix, Rows


cdef struct Column:
    const unsigned char* data
    const long long* bounds  # string i is data[bounds[i]:bounds[i + 1]]; NULL: there is no column


cdef class Strings:
    """A column of strings (``data`` uint8, ``offsets`` int64) as kernels read it; None: no column."""

    cdef Column column
    cdef tuple held

    def __init__(self, column):
        cdef const unsigned char[::1] data
        cdef const long long[::1] bounds
        if column is None:
            return
        data = column.data
        bounds = column.offsets
        self.held = (data, bounds)
        self.column.data = &data[0] if data.shape[0] else NULL
        self.column.bounds = &bounds[0]


# The values of a row that a file names, one after the other, in the order of their columns.
cdef struct Values:
    const Rows* X
    long long row
    long long at  # the next sparse value
    Py_ssize_t m  # the next dense one
    int column
    double value


cdef inline void begin(Values* v, const Rows* X, long long row) noexcept nogil:
    v.X = X
    v.row = row
    v.at = v.X.indptr[row] if v.X.indptr != NULL else 0
    v.m = 0


cdef inline bint advance(Values* v) noexcept nogil:
    """Go to the next value: dense ones but NaN, sparse ones, and of mixed rows no dense zero."""
    cdef const Rows* X = v.X
    while v.m < X.width:
        if X.layout == MIXED:
            if v.at < X.indptr[v.row + 1] and X.indices[v.at] < X.columns[v.m]:
                break
            v.column = X.columns[v.m]
        else:
            v.column = <int> v.m
        if X.layout == SINGLE:
            v.value = X.single[v.row * X.width + v.m]
        else:
            v.value = X.dense[v.row * X.width + v.m]
        v.m += 1
        if v.value == v.value and (X.layout != MIXED or v.value != 0.0):
            return True
    if X.indptr == NULL or v.at >= X.indptr[v.row + 1]:
        return False
    v.column = X.indices[v.at]
    v.value = 1.0 if X.data == NULL else X.data[v.at]
    v.at += 1
    return True


def most_values(Matrix matrix):
    """Return the most values that a line of each row can have, int64 (n_items)."""
    cdef const Rows* X = &matrix.rows
    cdef long long[::1] out = np.empty(X.n_items, dtype=np.int64)
    cdef Py_ssize_t i
    for i in range(X.n_items):
        out[i] = X.width
        if X.indptr != NULL:
            out[i] += X.indptr[i + 1] - X.indptr[i]
    return out.base


cdef class Lines:
    """Lines of a file, of one row or more each."""

    cdef Matrix matrix
    cdef tuple held

    cdef unsigned char* put(self, unsigned char* out, Py_ssize_t k) except NULL nogil:
        """Write line k without its newline; return the place after it."""
        return out

    def render(self, Py_ssize_t start, Py_ssize_t stop, unsigned char[::1] out):
        """OUT out, large enough: the lines start to stop. Return the number of bytes."""
        cdef unsigned char* p = &out[0]
        cdef Py_ssize_t k
        with nogil:
            for k in range(start, stop):
                p = self.put(p, k)
                p[0] = c'\n'
                p += 1
        return p - &out[0]


cdef inline unsigned char* put_string(unsigned char* out, const Column* column, long long i) noexcept nogil:
    cdef long long length = column.bounds[i + 1] - column.bounds[i]
    if length:
        memcpy(out, column.data + column.bounds[i], length)
    return out + length


cdef inline unsigned char* put_pair(unsigned char* out, long long index, double value) except NULL nogil:
    """Write `` index:value``."""
    out[0] = c' '
    out = put_whole(out + 1, index, 1)
    out[0] = c':'
    return put_number(out + 1, value)


cdef class SvmlightLines(Lines):
    """Lines ``label qid:ID index:value ... # id``; with classes (n_items), these instead of labels.

    Zeros of sparse and mixed rows are left out, but the first line of all names column ``last`` unless it is
    -1. A line without a class, qid and value names the first column. IN indices (n_features), of the columns
    in the file; labels and lists (n_items), lists = the list of each item; items (n_lines), the item of each
    line; qids, ids and classes, or None.
    """

    cdef long long last
    cdef const long long* indices
    cdef const double* labels
    cdef const long long* items
    cdef const long long* lists
    cdef Column qids, ids, classes

    def __init__(
        self, Matrix matrix, long long last, const long long[::1] indices, const double[::1] labels,
        const long long[::1] items, const long long[::1] lists, qids, ids, classes,
    ):
        cdef Strings of_lists = Strings(qids)
        cdef Strings of_items = Strings(ids)
        cdef Strings of_classes = Strings(classes)
        self.held = (indices, labels, items, lists, of_lists, of_items, of_classes)
        self.matrix = matrix
        self.last = last
        self.indices = &indices[0] if indices.shape[0] else NULL
        self.labels = &labels[0]
        self.items = &items[0]
        self.lists = &lists[0]
        self.qids = of_lists.column
        self.ids = of_items.column
        self.classes = of_classes.column

    cdef unsigned char* put(self, unsigned char* out, Py_ssize_t k) except NULL nogil:
        cdef const long long* indices = self.indices
        cdef const unsigned char* start = out
        cdef bint zeros = self.matrix.rows.indptr == NULL
        cdef long long i = self.items[k]
        cdef Values v
        if self.classes.bounds != NULL:
            out = put_string(out, &self.classes, i)
        else:
            out = put_number(out, self.labels[i])
        if self.qids.bounds != NULL:
            memcpy(out, <const char*>b" qid:", 5)
            out = put_string(out + 5, &self.qids, self.lists[i])
        begin(&v, &self.matrix.rows, i)
        while advance(&v):
            if zeros or v.value != 0.0:
                out = put_pair(out, indices[v.column], v.value)
        if k == 0 and self.last >= 0 and not zeros:
            out = put_pair(out, indices[self.last], 0.0)
        if out == start:  # a blank line would be skipped
            out = put_pair(out, indices[0], 0.0)
        if self.ids.bounds != NULL and self.ids.bounds[i + 1] > self.ids.bounds[i]:
            memcpy(out, <const char*>b" # ", 3)
            out = put_string(out + 3, &self.ids, i)
        return out


cdef class MosesLines(Lines):
    """Lines ``id ||| text ||| name= v ... ||| score``.

    Columns first appear in their order, so that a reader numbers them the same: a line of sparse or mixed
    rows that has a new one also names, with 0, those before it that no line had, and the last line of all
    names the rest if ``last``. So lines must be rendered in their order, once; ``named`` columns were named
    by lines before these.
    IN names (n_features), the bytes before each value; totals (n_items) or None (0); items (n_lines), the
    item of each line; lists (n_items), the list of each item; ids (n_lists); texts (n_items) or None.
    """

    cdef const double* totals
    cdef const long long* items
    cdef const long long* lists
    cdef Py_ssize_t last_line
    cdef long long named  # columns that earlier lines had
    cdef Column names, ids, texts

    def __init__(
        self, Matrix matrix, names, const double[::1] totals, const long long[::1] items,
        const long long[::1] lists, ids, texts, long long named, bint last,
    ):
        cdef Strings of_columns = Strings(names)
        cdef Strings of_lists = Strings(ids)
        cdef Strings of_items = Strings(texts)
        self.held = (totals, items, lists, of_columns, of_lists, of_items)
        self.matrix = matrix
        self.totals = &totals[0] if totals is not None else NULL
        self.items = &items[0]
        self.lists = &lists[0]
        self.last_line = items.shape[0] - 1 if last else -1
        self.named = named
        self.names = of_columns.column
        self.ids = of_lists.column
        self.texts = of_items.column

    def n_named(self):
        """Return how many columns lines have named so far."""
        return self.named

    cdef unsigned char* put_zeros(self, unsigned char* out, long long stop) noexcept nogil:
        """Write the columns up to ``stop`` that no line had, with value 0."""
        while self.named < stop:
            out = put_string(out, &self.names, self.named)
            out[0] = c'0'
            out += 1
            self.named += 1
        return out

    cdef unsigned char* put(self, unsigned char* out, Py_ssize_t k) except NULL nogil:
        cdef bint leaves_out = self.matrix.rows.indptr != NULL
        cdef Column names = self.names
        cdef long long i = self.items[k]
        cdef Values v
        out = put_string(out, &self.ids, self.lists[i])
        memcpy(out, <const char*>b" ||| ", 5)
        out += 5
        if self.texts.bounds != NULL:
            out = put_string(out, &self.texts, i)
        memcpy(out, <const char*>b" |||", 4)
        out += 4
        begin(&v, &self.matrix.rows, i)
        while advance(&v):
            if leaves_out and self.named <= v.column:
                out = self.put_zeros(out, v.column)
                self.named = v.column + 1
            out = put_string(out, &names, v.column)
            out = put_number(out, v.value)
        if leaves_out and k == self.last_line:
            out = self.put_zeros(out, v.X.n_features)
        memcpy(out, <const char*>b" ||| ", 5)
        return put_number(out + 5, self.totals[i] if self.totals != NULL else 0.0)


cdef inline unsigned char* put_assigned(
    unsigned char* out, unsigned char name, unsigned long long value
) noexcept nogil:
    """Write ``name=`` and a whole number."""
    out[0] = name
    out[1] = c'='
    return put_whole(out + 2, value, 1)


cdef inline unsigned char* put_blank(unsigned char* out) noexcept nogil:
    out[0] = c' '
    return out + 1


cdef inline unsigned char* put_feature(unsigned char* out, long long number, double value) except NULL nogil:
    """Write `` id=value``, or `` id`` if the value is 1."""
    out = put_whole(put_blank(out), number, 1)
    if value == 1.0:
        return out
    out[0] = c'='
    return put_number(out + 1, value)


cdef class BllipLines(Lines):
    """Lines of lists, ``G=7 N=2 P=7 W=7 3 14=2, ...``.

    All values but 0 are written; the first parse of all also names column ``last`` unless it is -1. IN
    offsets (n_lists + 1), into the rows; edges (n_items, 3), of the gold tree, of the parse, of both; ids
    (n_features).
    """

    cdef long long last
    cdef const long long* offsets
    cdef const long long* edges
    cdef const long long* ids

    def __init__(
        self, Matrix matrix, long long last, const long long[::1] offsets, const long long[:, ::1] edges,
        const long long[::1] ids,
    ):
        self.held = (offsets, edges, ids)
        self.matrix = matrix
        self.last = last
        self.offsets = &offsets[0]
        self.edges = &edges[0, 0]
        self.ids = &ids[0] if ids.shape[0] else NULL

    cdef unsigned char* put(self, unsigned char* out, Py_ssize_t k) except NULL nogil:
        cdef const long long* edges = self.edges
        cdef const long long* ids = self.ids
        cdef long long first = self.offsets[k]
        cdef long long stop = self.offsets[k + 1]
        cdef long long i
        cdef Values v
        out = put_assigned(out, c'G', edges[3 * first])
        out = put_assigned(put_blank(out), c'N', stop - first)
        for i in range(first, stop):
            out = put_assigned(put_blank(out), c'P', edges[3 * i + 1])
            out = put_assigned(put_blank(out), c'W', edges[3 * i + 2])
            begin(&v, &self.matrix.rows, i)
            while advance(&v):
                if v.value != 0.0:
                    out = put_feature(out, ids[v.column], v.value)
            if i == 0 and self.last >= 0:
                out = put_feature(out, ids[self.last], 0.0)
            out[0] = c','
            out += 1
        return out
