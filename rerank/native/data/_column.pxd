"""The values of one feature in one list, in order."""

from rerank.native.data._merge cimport sort_down

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t order_column(
    const real[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t j, double* keys, long long* rows,
    Py_ssize_t room,
) noexcept nogil:
    """OUT keys, rows: the values of column j in rows start..stop and their rows, largest first, without NaN.

    Equal values keep the order of the rows. Both have 2 * room entries, room >= stop - start, of which the
    second half is scratch. Returns how many values there are.
    """
    cdef Py_ssize_t n = 0, r
    for r in range(start, stop):
        if X[r, j] == X[r, j]:
            keys[n] = X[r, j]
            rows[n] = r
            n += 1
    sort_down(keys, rows, keys + room, rows + room, n)
    return n


cdef inline Py_ssize_t end_of_tie(const double* keys, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
    """The last of the keys that equal the one at ``first``."""
    cdef Py_ssize_t last = first
    while last + 1 < n and keys[last + 1] == keys[first]:
        last += 1
    return last
