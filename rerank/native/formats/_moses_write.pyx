"""Lines of a Moses N-best file from arrays: ``id ||| text ||| name= value ... ||| score``."""

from libc.string cimport memcpy

from rerank.native.data._decimal cimport put_number

ctypedef fused real:
    float
    double


cdef inline unsigned char* put_string(
    unsigned char* out, const unsigned char[::1] data, const long long[::1] bounds, long long i
) noexcept nogil:
    cdef long long length = bounds[i + 1] - bounds[i]
    if length:
        memcpy(out, &data[bounds[i]], length)
    return out + length


cdef inline unsigned char* put_start(
    unsigned char* out,
    const unsigned char[::1] ids,
    const long long[::1] id_bounds,
    long long list_number,
    const unsigned char[::1] texts,
    const long long[::1] text_bounds,
    long long i,
) noexcept nogil:
    """Id and text; no texts (None) are empty ones."""
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
    unsigned char[::1] out,
):
    """Lines of the items at ``items``, in that order, all values but NaN; returns the bytes written.

    IN X (n_items, n_features); names as bytes with bounds (n_features + 1), what stands before each
    value; totals (n_items) or None (0); items (n_lines); lists (n_items), the list of each; ids and texts
    as bytes with bounds, texts may be None; OUT out, large enough.
    """
    cdef unsigned char* p = &out[0]
    cdef Py_ssize_t k
    cdef Py_ssize_t j
    cdef long long i
    with nogil:
        for k in range(items.shape[0]):
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
    long long named,
    const unsigned char[::1] names,
    const long long[::1] name_bounds,
    const double[::1] totals,
    const long long[::1] items,
    const long long[::1] lists,
    const unsigned char[::1] ids,
    const long long[::1] id_bounds,
    const unsigned char[::1] texts,
    const long long[::1] text_bounds,
    unsigned char[::1] out,
    bint is_last,
):
    """As write_dense for compressed rows (data None = all 1).

    Columns come up in their order, so that a reader numbers them the same: a line that has a new one
    also names, with 0, those before it that no line had; the last line of all (is_last) the rest.
    named : columns that earlier lines had. Returns (bytes written, columns named so far).
    """
    cdef unsigned char* p = &out[0]
    cdef Py_ssize_t k
    cdef long long at
    cdef long long i
    cdef int column
    with nogil:
        for k in range(items.shape[0]):
            i = items[k]
            p = put_start(p, ids, id_bounds, lists[i], texts, text_bounds, i)
            for at in range(indptr[i], indptr[i + 1]):
                column = indices[at]
                p = put_zeros(p, &named, column, names, name_bounds)
                named = max(named, <long long>column + 1)
                p = put_string(p, names, name_bounds, column)
                p = put_number(p, 1.0 if data is None else data[at])
            if is_last and k == items.shape[0] - 1:
                p = put_zeros(p, &named, n_features, names, name_bounds)
            p = put_total(p, totals, i)
    return p - &out[0], named


cdef inline unsigned char* put_zeros(
    unsigned char* out,
    long long* named,
    long long stop,
    const unsigned char[::1] names,
    const long long[::1] name_bounds,
) noexcept nogil:
    """Columns named[0]:stop with value 0; named[0] is ``stop`` at least afterwards."""
    while named[0] < stop:
        out = put_string(out, names, name_bounds, named[0])
        out[0] = c'0'
        out += 1
        named[0] += 1
    return out
