"""Lines of a SVMlight file from arrays: ``label qid:ID index:value ... # id``."""

from libc.string cimport memcpy

from rerank.native.data._decimal cimport put_number, put_whole
from rerank.native.formats._lines cimport put_string

ctypedef fused real:
    float
    double


cdef inline unsigned char* put_head(
    unsigned char* out, double label, const unsigned char[::1] qids, const long long[::1] bounds, long long i
) noexcept nogil:
    """Label and, if there are qids, the qid of list ``i``."""
    out = put_number(out, label)
    if bounds is not None:
        memcpy(out, <const char*>b" qid:", 5)
        out = put_string(out + 5, qids, bounds, i)
    return out


cdef inline unsigned char* put_feature(unsigned char* out, long long column, double value) noexcept nogil:
    out[0] = c' '
    out = put_whole(out + 1, column + 1, 1)
    out[0] = c':'
    return put_number(out + 1, value)


cdef inline unsigned char* put_tail(
    unsigned char* out, const unsigned char[::1] ids, const long long[::1] bounds, long long i
) noexcept nogil:
    """The id of item ``i`` as a comment, if it has one, and the newline."""
    if bounds is not None and bounds[i + 1] > bounds[i]:
        memcpy(out, <const char*>b" # ", 3)
        out = put_string(out + 3, ids, bounds, i)
    out[0] = c'\n'
    return out + 1


def write_dense(
    const real[:, ::1] X,
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
    """Write the lines start to stop, those of ``items``, without NaN; returns the number of bytes.

    IN X (n_items, n_features); labels and lists (n_items), lists = the list of each item; items (n_lines),
    the item of each line; qids and ids as bytes with bounds (n + 1), or None; OUT out, large enough.
    """
    cdef unsigned char* p = &out[0]
    cdef Py_ssize_t k
    cdef Py_ssize_t j
    cdef long long i
    with nogil:
        for k in range(start, stop):
            i = items[k]
            p = put_head(p, labels[i], qids, qid_bounds, lists[i])
            for j in range(X.shape[1]):
                if X[i, j] == X[i, j]:
                    p = put_feature(p, j, X[i, j])
            p = put_tail(p, ids, id_bounds, i)
    return p - &out[0]


def write_sparse(
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    long long last,
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
    """Write lines as write_dense does, from compressed rows: all values but 0 (data None = all 1).

    last : a column that the first line of all also gets, with the value 0, or -1.
    """
    cdef unsigned char* p = &out[0]
    cdef Py_ssize_t k
    cdef long long at
    cdef long long i
    with nogil:
        for k in range(start, stop):
            i = items[k]
            p = put_head(p, labels[i], qids, qid_bounds, lists[i])
            for at in range(indptr[i], indptr[i + 1]):
                if data is None:
                    p = put_feature(p, indices[at], 1.0)
                elif data[at] != 0.0:
                    p = put_feature(p, indices[at], data[at])
            if k == 0 and last >= 0:
                p = put_feature(p, last, 0.0)
            p = put_tail(p, ids, id_bounds, i)
    return p - &out[0]
