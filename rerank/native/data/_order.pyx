"""Whether the scores of lists fall in the order of their places."""


def rises(
    const long long[::1] offsets, const double[::1] places, const double[::1] scores,
    unsigned char[::1] by_score, unsigned char[::1] by_line, unsigned char[::1] apart,
):
    """OUT for each list whether a score is above that of the place before; larger places come later.

    IN offsets (n_lists + 1), lists may be empty; places, scores (n_items), no NaN. OUT (n_lists): by_score
    with the items of one place sorted by score, by_line with them in their order; apart: the places fall
    somewhere, so that the list must be sorted first and the others say nothing of it.
    """
    cdef Py_ssize_t i
    cdef long long k
    cdef double lowest, lowest_before
    cdef double inf = float("inf")
    with nogil:
        for i in range(offsets.shape[0] - 1):
            by_score[i] = by_line[i] = apart[i] = False
            if offsets[i] == offsets[i + 1]:
                continue
            lowest_before = inf
            lowest = scores[offsets[i]]
            for k in range(offsets[i] + 1, offsets[i + 1]):
                by_line[i] |= scores[k] > scores[k - 1]
                if places[k] == places[k - 1]:
                    lowest = min(lowest, scores[k])
                else:
                    apart[i] |= places[k] < places[k - 1]
                    lowest_before = lowest
                    lowest = scores[k]
                by_score[i] |= scores[k] > lowest_before
