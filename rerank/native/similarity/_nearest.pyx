"""The k best entries of each row of a matrix that comes in blocks.

They are kept as heaps, the worst one first: values (n, k), and places (n, k), its columns. A heap begins with
values of 0 and places of -1; only larger values enter. Of equal values the first column is better. No two
entries of a row are equally good, so the k best do not depend on the order in which they come.
"""


cdef inline bint worse(double v, long long j, double w, long long k) noexcept nogil:
    return v < w or (v == w and j > k)


cdef inline void offer(double* values, long long* places, Py_ssize_t k, double v, long long j) noexcept nogil:
    """Put column j with value v in the place of the worst entry if it is better. INOUT values, places (k)."""
    cdef Py_ssize_t at = 0, child = 1
    if not (v > 0.0 and worse(values[0], places[0], v, j)):
        return
    while child < k:
        if child + 1 < k and worse(values[child + 1], places[child + 1], values[child], places[child]):
            child += 1
        if not worse(values[child], places[child], v, j):
            break
        values[at] = values[child]
        places[at] = places[child]
        at = child
        child = 2 * at + 1
    values[at] = v
    places[at] = j


def offer_rows(
    const double[:, :] rows, Py_ssize_t first, bint square, double[:, ::1] values, long long[:, ::1] places
):
    """Offer each entry of rows (b, m) to its row's heap, the first one's is ``first``.

    IN square: whether the entry of a row's own column is left out. INOUT values, places (n, k).
    """
    cdef Py_ssize_t k = values.shape[1]
    cdef Py_ssize_t i, j
    if k == 0:
        return
    with nogil:
        for i in range(rows.shape[0]):
            for j in range(rows.shape[1]):
                if not (square and j == first + i):
                    offer(&values[first + i, 0], &places[first + i, 0], k, rows[i, j], j)


def offer_pairs(const double[:, :] rows, Py_ssize_t first, double[:, ::1] values, long long[:, ::1] places):
    """Offer each entry right of the diagonal to the heaps of its row and of its column.

    IN rows (b, n) of a symmetric matrix, first: the number of the first one. INOUT values, places (n, k).
    """
    cdef Py_ssize_t k = values.shape[1]
    cdef Py_ssize_t i, j
    if k == 0:
        return
    with nogil:
        for i in range(first, first + rows.shape[0]):
            for j in range(i + 1, rows.shape[1]):
                offer(&values[i, 0], &places[i, 0], k, rows[i - first, j], j)
                offer(&values[j, 0], &places[j, 0], k, rows[i - first, j], i)
