"""Lines of a BLLIP feature file from arrays: ``G=7 N=2 P=7 W=7 3 14=2, P=7 W=6 0=1.5 3,``."""

from rerank.native.data._decimal cimport put_number, put_whole


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
    out = put_whole(put_blank(out), number, 1)
    if value == 1.0:
        return out
    out[0] = c'='
    return put_number(out + 1, value)


def write_sentences(
    const long long[::1] offsets,
    const long long[:, ::1] edges,
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    const long long[::1] ids,
    long long last,
    unsigned char[::1] out,
):
    """Write lines of the lists bounded by ``offsets``, all values but 0; returns the number of bytes.

    IN offsets (n_lists + 1), into the rows of edges (n_items, 3; of the gold tree, of the parse, of
    both) and indptr (n_items + 1); indices, data (data None = all 1); ids (n_features); last = an id that
    the first of these parses also gets, with the value 0, or -1. OUT out, large enough.
    """
    cdef unsigned char* p = &out[0]
    cdef Py_ssize_t line
    cdef long long i
    cdef long long at
    with nogil:
        for line in range(offsets.shape[0] - 1):
            p = put_assigned(p, c'G', edges[offsets[line], 0])
            p = put_assigned(put_blank(p), c'N', offsets[line + 1] - offsets[line])
            for i in range(offsets[line], offsets[line + 1]):
                p = put_assigned(put_blank(p), c'P', edges[i, 1])
                p = put_assigned(put_blank(p), c'W', edges[i, 2])
                for at in range(indptr[i], indptr[i + 1]):
                    if data is None:
                        p = put_feature(p, ids[indices[at]], 1.0)
                    elif data[at] != 0.0:
                        p = put_feature(p, ids[indices[at]], data[at])
                if last >= 0:
                    p = put_feature(p, last, 0.0)
                    last = -1
                p[0] = c','
                p += 1
            p[0] = c'\n'
            p += 1
    return p - &out[0]
