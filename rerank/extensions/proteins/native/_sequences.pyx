"""Global alignment of two sequences of letters with affine gaps; gaps at the ends cost nothing."""

cdef enum:
    # The best alignment of two prefixes ends with a pair, with a letter of a alone, or with one of b alone.
    PAIR = 0
    ALONE_A = 1
    ALONE_B = 2
    ENDS = 3  # mask of the three above
    LONGER_A = 4  # the gap that ends here with a letter of a is longer than one letter
    LONGER_B = 8
    LOWEST = -(1 << 29)


cdef void fill(
    const unsigned char[::1] a, const unsigned char[::1] b, const signed char[:, ::1] scores, int first,
    int further, int[:, ::1] rows, unsigned char[:, ::1] steps,
) noexcept nogil:
    """IN rows (3, n + 1): zeros. OUT rows[0]: the last row of scores. OUT rows[2, 0:3]: best score, its i, j.

    rows[1] holds the best scores of alignments that end with a letter of a alone.
    """
    cdef Py_ssize_t m = a.shape[0], n = b.shape[0]
    cdef Py_ssize_t i, j
    cdef int diagonal, value, opened
    cdef int across  # the best score that ends with a letter of b alone
    cdef unsigned char step
    cdef int best = LOWEST
    cdef Py_ssize_t at_i = m, at_j = n
    cdef const signed char* row
    for j in range(n + 1):
        rows[1, j] = LOWEST
    for i in range(1, m + 1):
        row = &scores[a[i - 1], 0]
        diagonal = 0
        across = LOWEST
        for j in range(1, n + 1):
            step = PAIR
            value = diagonal + row[b[j - 1]]
            diagonal = rows[0, j]
            opened = diagonal - first
            rows[1, j] -= further
            if rows[1, j] > opened:
                step |= LONGER_A
            else:
                rows[1, j] = opened
            opened = rows[0, j - 1] - first
            across -= further
            if across > opened:
                step |= LONGER_B
            else:
                across = opened
            if rows[1, j] > value:
                value = rows[1, j]
                step |= ALONE_A
            if across > value:
                value = across
                step = (step & ~ENDS) | ALONE_B
            rows[0, j] = value
            steps[i - 1, j - 1] = step
        # The last column: later cells, which are nearer to the corner, win ties.
        if rows[0, n] >= best:
            best = rows[0, n]
            at_i = i
    for j in range(n - 1, -1, -1):
        if rows[0, j] > best or (rows[0, j] == best and m + j > at_i + at_j):
            best = rows[0, j]
            at_i = m
            at_j = j
    rows[2, 0] = best
    rows[2, 1] = <int>at_i
    rows[2, 2] = <int>at_j


cdef void trace_back(
    const unsigned char[:, ::1] steps, Py_ssize_t i, Py_ssize_t j, long long[::1] partners
) noexcept nogil:
    """OUT partners: of each letter of a its letter of b; those without one stay as they are."""
    cdef unsigned char step
    while i > 0 and j > 0:
        step = steps[i - 1, j - 1]
        if step & ENDS == PAIR:
            i -= 1
            j -= 1
            partners[i] = j
        elif step & ENDS == ALONE_A:
            while i > 1 and steps[i - 1, j - 1] & LONGER_A:
                i -= 1
            i -= 1
        else:
            while j > 1 and steps[i - 1, j - 1] & LONGER_B:
                j -= 1
            j -= 1


def align(
    const unsigned char[::1] a, const unsigned char[::1] b, const signed char[:, ::1] scores, int first,
    int further, int[:, ::1] rows, unsigned char[:, ::1] steps, long long[::1] partners,
):
    """Align two sequences that are not empty and return the score (Gotoh 1982).

    IN a (m), b (n): rows of scores (k, k), symmetric. IN first, further: what the first letter of a gap and
    each further one cost, above 0, except at the ends of the sequences. IN rows (3, max(n + 1, 3)): zeros.
    OUT steps (m, n): overwritten. OUT partners (m): the letter of b beside each letter of a, -1 = a gap.

    On ties a pair wins over a letter of a alone, that over a letter of b alone, and a shorter gap over a
    longer one. Of ends of equal score the one nearest to both ends of the sequences wins, then that at the
    end of b.
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(partners.shape[0]):
            partners[i] = -1
        fill(a, b, scores, first, further, rows, steps)
        trace_back(steps, rows[2, 1], rows[2, 2], partners)
    return rows[2, 0]
