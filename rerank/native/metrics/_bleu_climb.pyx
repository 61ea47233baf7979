"""The climb to the best corpus BLEU of one choice per list."""

from rerank.native.data._count cimport Count
from rerank.native.data._sums cimport BLEU_WIDTH, bleu_of


def climb(
    const Count[:, ::1] rows, const long long[::1] offsets, long long[::1] chosen, double[:, ::1] sums,
    int method, double value,
):
    """One pass over the lists: each takes the row that gives the best corpus BLEU with all others kept.

    IN rows (n, 10), list i's at ``offsets[i]:offsets[i + 1]``; INOUT chosen (n_lists), rows by number, kept
    if nothing is strictly better; INOUT sums (2, 10), in row 0 the sums over the chosen rows. WORK row 1.
    method 0 none, 1 floor, 2 add-k, 3 exp.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i, k
    cdef long long j, best
    cdef double highest, found
    with nogil:
        for i in range(n_lists):
            best = chosen[i]
            highest = bleu_of(&sums[0, 0], method, value)
            for j in range(offsets[i], offsets[i + 1]):
                if j == chosen[i]:
                    continue
                for k in range(BLEU_WIDTH):
                    sums[1, k] = sums[0, k] - rows[chosen[i], k] + rows[j, k]
                found = bleu_of(&sums[1, 0], method, value)
                if found > highest:
                    highest = found
                    best = j
            for k in range(BLEU_WIDTH):
                sums[0, k] += <double>rows[best, k] - <double>rows[chosen[i], k]
            chosen[i] = best
