"""Lines of files from features of every layout: SVMlight, Moses, BLLIP."""

from libc.string cimport memcpy

import numpy as np

from rerank.native.data._decimal cimport put_number, put_whole
from rerank.native.data._matrix cimport MIXED, SINGLE, Matrix, Rows
from rerank.native.formats._lines cimport put_string


# The values of a row that a file names, one after the other, in the order of their columns.
cdef struct Values:
    const Rows* X
    long long row
    long long at  # the next sparse value
    Py_ssize_t m  # the next dense one
    int column
    double value


cdef inline void begin(Values* v, long long row) noexcept nogil:
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


cdef inline unsigned char* put_pair(unsigned char* out, long long index, double value) noexcept nogil:
    """Write `` index:value``."""
    out[0] = c' '
    out = put_whole(out + 1, index, 1)
    out[0] = c':'
    return put_number(out + 1, value)


def write_svmlight(
    Matrix matrix,
    long long last,
    const long long[::1] indices,
    const double[::1] labels,
    const long long[::1] items,
    const long long[::1] lists,
    const unsigned char[::1] qids,
    const long long[::1] qid_bounds,
    const unsigned char[::1] ids,
    const long long[::1] id_bounds,
    Py_ssize_t start,
    Py_ssize_t stop,
    unsigned char[::1] out,
):
    """Write the lines start to stop, ``label qid:ID index:value ... # id``; returns the number of bytes.

    Zeros of sparse and mixed rows are left out, but the first line of all names column ``last`` unless it is
    -1. IN indices (n_features), of the columns in the file; labels and lists (n_items), lists = the list of
    each item; items (n_lines), the item of each line; qids and ids as bytes with bounds (n + 1), or None; OUT
    out, large enough.
    """
    cdef unsigned char* p = &out[0]
    cdef bint zeros = matrix.rows.indptr == NULL
    cdef Py_ssize_t k
    cdef long long i
    cdef Values v
    v.X = &matrix.rows
    with nogil:
        for k in range(start, stop):
            i = items[k]
            p = put_number(p, labels[i])
            if qid_bounds is not None:
                memcpy(p, <const char*>b" qid:", 5)
                p = put_string(p + 5, qids, qid_bounds, lists[i])
            begin(&v, i)
            while advance(&v):
                if zeros or v.value != 0.0:
                    p = put_pair(p, indices[v.column], v.value)
            if k == 0 and last >= 0 and not zeros:
                p = put_pair(p, indices[last], 0.0)
            if id_bounds is not None and id_bounds[i + 1] > id_bounds[i]:
                memcpy(p, <const char*>b" # ", 3)
                p = put_string(p + 3, ids, id_bounds, i)
            p[0] = c'\n'
            p += 1
    return p - &out[0]


cdef inline unsigned char* put_zeros(
    unsigned char* out,
    long long* named,
    long long stop,
    const unsigned char[::1] names,
    const long long[::1] name_bounds,
) noexcept nogil:
    """Write columns named[0]:stop with value 0; named[0] is at least ``stop`` afterwards."""
    while named[0] < stop:
        out = put_string(out, names, name_bounds, named[0])
        out[0] = c'0'
        out += 1
        named[0] += 1
    return out


def write_moses(
    Matrix matrix,
    long long[::1] named,
    const unsigned char[::1] names,
    const long long[::1] name_bounds,
    const double[::1] totals,
    const long long[::1] items,
    const long long[::1] lists,
    const unsigned char[::1] ids,
    const long long[::1] id_bounds,
    const unsigned char[::1] texts,
    const long long[::1] text_bounds,
    Py_ssize_t start,
    Py_ssize_t stop,
    unsigned char[::1] out,
):
    """Write the lines start to stop, ``id ||| text ||| name= v ... ||| score``; returns the number of bytes.

    Columns first appear in their order, so that a reader numbers them the same: a line of sparse or mixed
    rows that has a new one also names, with 0, those before it that no line had, and the last line of all
    names the rest. IN names as bytes with bounds (n_features + 1), the bytes before each value; totals
    (n_items) or None (0); items (n_lines), the item of each line; lists (n_items), the list of each item; ids
    and texts as bytes with bounds, texts may be None; IN/OUT named (1), the number of columns that earlier
    lines had; OUT out, large enough.
    """
    cdef unsigned char* p = &out[0]
    cdef bint leaves_out = matrix.rows.indptr != NULL
    cdef Py_ssize_t k
    cdef long long i
    cdef Values v
    v.X = &matrix.rows
    with nogil:
        for k in range(start, stop):
            i = items[k]
            p = put_string(p, ids, id_bounds, lists[i])
            memcpy(p, <const char*>b" ||| ", 5)
            p += 5
            if texts is not None:
                p = put_string(p, texts, text_bounds, i)
            memcpy(p, <const char*>b" |||", 4)
            p += 4
            begin(&v, i)
            while advance(&v):
                if leaves_out:
                    p = put_zeros(p, &named[0], v.column, names, name_bounds)
                    named[0] = max(named[0], <long long>v.column + 1)
                p = put_string(p, names, name_bounds, v.column)
                p = put_number(p, v.value)
            if leaves_out and k == items.shape[0] - 1:
                p = put_zeros(p, &named[0], v.X.n_features, names, name_bounds)
            memcpy(p, <const char*>b" ||| ", 5)
            p = put_number(p + 5, totals[i] if totals is not None else 0.0)
            p[0] = c'\n'
            p += 1
    return p - &out[0]


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


cdef inline unsigned char* put_feature(unsigned char* out, long long number, double value) noexcept nogil:
    """Write `` id=value``, or `` id`` if the value is 1."""
    out = put_whole(put_blank(out), number, 1)
    if value == 1.0:
        return out
    out[0] = c'='
    return put_number(out + 1, value)


def write_bllip(
    Matrix matrix,
    long long last,
    const long long[::1] offsets,
    const long long[:, ::1] edges,
    const long long[::1] ids,
    Py_ssize_t start,
    Py_ssize_t stop,
    unsigned char[::1] out,
):
    """Write the lists start to stop, ``G=7 N=2 P=7 W=7 3 14=2, ...``; returns the number of bytes.

    All values but 0 are written; the first parse of all also names column ``last`` unless it is -1. IN
    offsets (n_lists + 1), into the rows; edges (n_items, 3), of the gold tree, of the parse, of both; ids
    (n_features); OUT out, large enough.
    """
    cdef unsigned char* p = &out[0]
    cdef Py_ssize_t k
    cdef long long i
    cdef Values v
    v.X = &matrix.rows
    with nogil:
        for k in range(start, stop):
            p = put_assigned(p, c'G', edges[offsets[k], 0])
            p = put_assigned(put_blank(p), c'N', offsets[k + 1] - offsets[k])
            for i in range(offsets[k], offsets[k + 1]):
                p = put_assigned(put_blank(p), c'P', edges[i, 1])
                p = put_assigned(put_blank(p), c'W', edges[i, 2])
                begin(&v, i)
                while advance(&v):
                    if v.value != 0.0:
                        p = put_feature(p, ids[v.column], v.value)
                if i == 0 and last >= 0:
                    p = put_feature(p, ids[last], 0.0)
                p[0] = c','
                p += 1
            p[0] = c'\n'
            p += 1
    return p - &out[0]
