"""The weights of stored pairs, and the sums of items; see ``ExplicitPairs``."""

from libc.math cimport exp


def advance(
    const int[:, ::1] pairs, const double[::1] h, double step, const double[:, ::1] costs, double[::1] logs,
    double[::1] shares, double reference, double[:, ::1] sums,
):
    """Multiply the weights of pairs for one weak ranker. Return their sum, with the factor exp(-reference).

    IN pairs (2, n_pairs): the better and the worse item, at least one pair; h (n_items); costs (2, n_pairs)
    of pairs put right and put wrong, None = 1. INOUT logs (n_pairs), and shares (n_pairs), the
    exponentials of logs - reference: only those of pairs with different h are computed. OUT sums
    (2, n_items): of the pairs that an item must win, and must lose.
    """
    cdef Py_ssize_t n = pairs.shape[1], i
    cdef const int* better = &pairs[0, 0]
    cdef const int* worse = &pairs[1, 0]
    cdef const double* right = NULL
    cdef const double* wrong = NULL
    cdef double change, share, total = 0.0
    if costs is not None:
        right, wrong = &costs[0, 0], &costs[1, 0]
    sums[:, :] = 0.0
    with nogil:
        for i in range(n):
            share = shares[i]
            change = h[better[i]] - h[worse[i]]
            if change != 0:
                change *= step
                if right != NULL:
                    change *= right[i] if change > 0 else wrong[i]
                logs[i] -= change
                share = exp(logs[i] - reference)
                shares[i] = share
            sums[0, better[i]] += share
            sums[1, worse[i]] += share
            total += share
    return total


def split(const int[:, ::1] pairs, const double[::1] h, const double[::1] shares):
    """Return the sums of the shares (n_pairs) of pairs that h (n_items) puts right, and puts wrong."""
    cdef Py_ssize_t i
    cdef double right = 0.0, wrong = 0.0, change
    with nogil:
        for i in range(pairs.shape[1]):
            change = h[pairs[0, i]] - h[pairs[1, i]]
            if change > 0:
                right += shares[i]
            elif change < 0:
                wrong += shares[i]
    return right, wrong
