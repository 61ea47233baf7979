"""Which items of a list must beat which: the ranges that a pair relation allows.

Items are in the order of decreasing labels within their list, so every relation of the package is a
range [start, stop) of later positions for each item.
"""


def first_beyond(
    const double[::1] values, const long long[::1] offsets, const double[::1] limit, int[::1] first
):
    """OUT first[i] = first position of the list with a value larger than limit[i], or its length.

    IN values (n) and limit (n), non-decreasing within each list; offsets (n_lists + 1). OUT first (n),
    counted from the start of the list.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1, i
    cdef long long at, ahead
    with nogil:
        for i in range(n_lists):
            ahead = offsets[i]
            for at in range(offsets[i], offsets[i + 1]):
                while ahead < offsets[i + 1] and values[ahead] <= limit[at]:
                    ahead += 1
                first[at] = <int> (ahead - offsets[i])
