"""Lines of a Moses N-best file from arrays: ``id ||| text ||| name= value ... ||| score``."""

from libc.string cimport memcpy

from rerank.native.data._decimal cimport put_number
from rerank.native.formats._lines cimport put_string

ctypedef fused real:
    float
    double


cdef inline unsigned char* put_start(
    unsigned char* out,
    const unsigned char[::1] ids,
    const long long[::1] id_bounds,
    long long list_number,
    const unsigned char[::1] texts,
    const long long[::1] text_bounds,
    long long i,
) noexcept nogil:
    """Write id and text; without texts (None) they are empty."""
    out = put_string(out, ids, id_bounds, list_number)
    memcpy(out, <const char*>b" ||| ", 5)
    out += 5
    if texts is not None:
        out = put_string(out, texts, text_bounds, i)
    memcpy(out, <const char*>b" |||", 4)
    return out + 4


cdef inline unsigned char* put_total(
    unsigned char* out, const double[::1] totals, long long i
) noexcept nogil:
    memcpy(out, <const char*>b" ||| ", 5)
    out = put_number(out + 5, totals[i] if totals is not None else 0.0)
    out[0] = c'\n'
    return out + 1


def write_dense(
    const real[:, ::1] X,
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
    """Write the lines start to stop, those of ``items``, without NaN; returns the number of bytes.

    IN X (n_items, n_features); names as bytes with bounds (n_features + 1), the bytes before each value;
    totals (n_items) or None (0); items (n_lines), the item of each line; lists (n_items), the list of each
    item; ids and texts as bytes with bounds, texts may be None; OUT out, large enough.
    """
    cdef unsigned char* p = &out[0]
    cdef Py_ssize_t k
    cdef Py_ssize_t j
    cdef long long i
    with nogil:
        for k in range(start, stop):
            i = items[k]
            p = put_start(p, ids, id_bounds, lists[i], texts, text_bounds, i)
            for j in range(X.shape[1]):
                if X[i, j] == X[i, j]:
                    p = put_string(p, names, name_bounds, j)
                    p = put_number(p, X[i, j])
            p = put_total(p, totals, i)
    return p - &out[0]


def write_sparse(
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    long long n_features,
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
    """Write lines as write_dense does, from compressed rows (data None = all 1).

    Columns first appear in their order, so that a reader numbers them the same: a line that has a new one
    also names, with 0, those before it that no line had, and the last line of all names the rest.
    IN/OUT named (1), the number of columns that earlier lines had.
    """
    cdef unsigned char* p = &out[0]
    cdef Py_ssize_t k
    cdef long long at
    cdef long long i
    cdef int column
    with nogil:
        for k in range(start, stop):
            i = items[k]
            p = put_start(p, ids, id_bounds, lists[i], texts, text_bounds, i)
            for at in range(indptr[i], indptr[i + 1]):
                column = indices[at]
                p = put_zeros(p, &named[0], column, names, name_bounds)
                named[0] = max(named[0], <long long>column + 1)
                p = put_string(p, names, name_bounds, column)
                p = put_number(p, 1.0 if data is None else data[at])
            if k == items.shape[0] - 1:
                p = put_zeros(p, &named[0], n_features, names, name_bounds)
            p = put_total(p, totals, i)
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
