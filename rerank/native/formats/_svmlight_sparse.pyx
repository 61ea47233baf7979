"""The bytes of a SVMlight/LETOR file to compressed rows; ``_svmlight.pyx`` documents what they share."""

from libc.math cimport NAN

from rerank.native.formats._lines cimport FLOAT64_END
from rerank.native.formats._sort_row cimport sort_row
from rerank.native.formats._svmlight_line cimport (
    CHANGED, FEATURE, NONE, NOT_ONES, TWICE, Place, begin, failed, next_feature, next_row, read_comment,
    read_missing, read_value,
)


def parse_sparse(
    const unsigned char[::1] text, long long origin, bint has_qid, int first, bint may_miss,
    long long[::1] indptr, int[::1] indices, double[::1] data, double[::1] labels, long long[:, ::1] spans,
):
    """Read item lines into compressed rows; data None = stop at the first value that is not 1.

    IN text (n_bytes), at ``origin`` in the file; first = index of column 0; may_miss = whether values may be
    missing; OUT indptr (n_rows), where
    each row ends in indices; indices, data (n_values), columns rising in a row; labels (n_rows), spans
    (n_rows, 4). Returns (fault, place in text, detail, values read, columns needed).
    """
    cdef Place at
    cdef Py_ssize_t n_rows = labels.shape[0], room = indices.shape[0], row = 0
    cdef long long filled = 0, widest = 0
    cdef int no_index = 0
    cdef int* columns = &indices[0] if room else &no_index
    cdef double* values = &data[0] if data is not None and room else NULL
    cdef bint ones = data is None
    begin(&at, text, origin, has_qid)
    with nogil:
        while next_row(
            &at, &labels[row] if row < n_rows else NULL, &spans[row, 0] if row < n_rows else NULL
        ):
            if not sparse_row(&at, columns, values, ones, may_miss, room, first, &filled, &widest):
                break
            if not read_comment(&at, &spans[row, 0]):
                break
            indptr[row] = filled
            row += 1
        if at.fault == NONE and (row != n_rows or filled != room):
            failed(&at, CHANGED, at.p)
    return at.fault, at.p - at.text, at.detail, filled, widest


cdef bint sparse_row(
    Place* at, int* columns, double* values, bint ones, bint may_miss, Py_ssize_t room, int first,
    long long* filled, long long* widest,
) noexcept nogil:
    """One row's features from filled[0] on; False at a fault."""
    cdef const unsigned char* p = at.p
    cdef const unsigned char* line = p
    cdef const unsigned char* after
    cdef const unsigned char* token = p
    cdef long long start = filled[0]
    cdef long long end = start, index = 0, last = -1, i
    cdef double value = 0.0
    cdef bint rising = True
    while next_feature(&p, &token, first, &index):
        if ones and p[0] == c'1' and (p[1] == c' ' or p[1] == c'\n'):
            p += 1
        else:
            after = read_value(p, &value, FLOAT64_END)
            if after == NULL and may_miss:
                after = read_missing(p)
                value = NAN
            p = after
            if p == NULL:
                break
            if ones and value != 1.0:
                return failed(at, NOT_ONES, token)
        if end == room:
            return failed(at, CHANGED, token)
        index -= first
        columns[end] = <int>index
        if not ones:
            values[end] = value
        rising &= index > last
        last = index
        end += 1
    if not rising:
        sort_row(columns + start, NULL if ones else values + start, end - start)
        for i in range(start + 1, end):
            if columns[i] == columns[i - 1]:
                at.detail = columns[i] + first
                return failed(at, TWICE, line)
    if p == NULL:
        return failed(at, FEATURE, token)
    if end > start:
        widest[0] = max(widest[0], columns[end - 1] + <long long>1)
    filled[0] = end
    at.p = p
    return True
