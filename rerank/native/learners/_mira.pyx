"""One round of k-best batch MIRA (Cherry & Foster 2012); rerank/learners/mira.py says what it does.

What a candidate is worth is counted in ``factor`` times the metric of the background's sums and its own,
times the length of the background and of the list (the last column's sum and mean), so that one word more or
less is worth about 1 in any list; or it is given, with kind VALUES. NaN keeps a candidate out.
"""

from rerank.native.data._rows cimport csr_difference
from rerank.native.data._rows cimport csr_dot
from rerank.native.data._rows cimport dense_dot
from rerank.native.data._rows cimport real
from rerank.native.data._sums cimport score_of

cdef enum:  # a kind beside those of _sums
    VALUES = -1


cdef void worths(
    int kind, double a, double b, double factor, const double* rows, Py_ssize_t n, Py_ssize_t k,
    const double* background, double* sums, double* worth
) noexcept nogil:
    """OUT worth (n) of the candidates whose statistics are rows (n, k); sums (k) is scratch."""
    cdef Py_ssize_t i
    cdef Py_ssize_t j
    cdef double length = 0.0
    if kind == VALUES:
        for i in range(n):
            worth[i] = rows[i]
        return
    for i in range(n):
        length += rows[i * k + k - 1]
    length = background[k - 1] + length / n
    for i in range(n):
        for j in range(k):
            sums[j] = background[j] + rows[i * k + j]
        worth[i] = factor * score_of(kind, sums, a, b) * length


cdef bint hope_and_fear(
    const double* score, const double* worth, Py_ssize_t n, Py_ssize_t* hope, Py_ssize_t* fear
) noexcept nogil:
    """OUT the largest score + worth and score - worth, earliest of equals; whether hope is worth more."""
    cdef Py_ssize_t i
    cdef double most_hoped = 0.0
    cdef double most_feared = 0.0
    hope[0] = fear[0] = -1
    for i in range(n):
        if worth[i] != worth[i]:
            continue
        if hope[0] < 0 or score[i] + worth[i] > most_hoped:
            hope[0] = i
            most_hoped = score[i] + worth[i]
        if fear[0] < 0 or score[i] - worth[i] > most_feared:
            fear[0] = i
            most_feared = score[i] - worth[i]
    return hope[0] >= 0 and worth[hope[0]] > worth[fear[0]]


cdef inline double step_size(double loss, double norm, double c) noexcept nogil:
    """The passive-aggressive step, at most c; 0 where there is no loss or the features are the same."""
    if not (loss > 0.0 and norm > 0.0):
        return 0.0
    return min(c, loss / norm)


cdef inline void pass_on(
    int kind, double decay, const double* row, Py_ssize_t k, double* background
) noexcept nogil:
    """OUT background * decay + row, which is the hope's."""
    cdef Py_ssize_t j
    if kind != VALUES:
        for j in range(k):
            background[j] = background[j] * decay + row[j]


def dense_round(
    const real[:, ::1] X, const long long[::1] visits, const long long[::1] offsets,
    const double[:, ::1] stats, int kind, double a, double b, double factor, double c, double decay,
    double[::1] background, double[::1] w, double[::1] drift, double t, double[::1] score,
    double[::1] worth, double[::1] sums, double[::1] step,
):
    """Visits lists in turn; returns the number of updates and the sum of their losses.

    IN X (n_items, n_features > 0), visits, offsets, stats (n_items, k), kind to decay, t: visits before this
    round; INOUT background (k), w and drift (n_features): the mean of w over T visits is w - drift / T;
    scratch score, worth (longest list), sums (k), step (n_features).
    """
    cdef Py_ssize_t d = X.shape[1]
    cdef Py_ssize_t k = stats.shape[1]
    cdef Py_ssize_t v
    cdef Py_ssize_t i
    cdef Py_ssize_t n
    cdef Py_ssize_t hope
    cdef Py_ssize_t fear
    cdef long long first
    cdef double norm
    cdef double loss
    cdef double eta
    cdef double total = 0.0
    cdef long long updates = 0
    with nogil:
        for v in range(visits.shape[0]):
            first = offsets[visits[v]]
            n = offsets[visits[v] + 1] - first
            for i in range(n):
                score[i] = dense_dot(&X[first + i, 0], &w[0], d)
            worths(kind, a, b, factor, &stats[first, 0], n, k, &background[0], &sums[0], &worth[0])
            if hope_and_fear(&score[0], &worth[0], n, &hope, &fear):
                norm = 0.0
                loss = worth[hope] - worth[fear]
                for i in range(d):
                    step[i] = <double>X[first + hope, i] - <double>X[first + fear, i]
                    norm += step[i] * step[i]
                    loss -= w[i] * step[i]
                eta = step_size(loss, norm, c)
                if eta > 0.0:
                    updates += 1
                    total += loss
                    for i in range(d):
                        w[i] += eta * step[i]
                        drift[i] += t * (eta * step[i])
                pass_on(kind, decay, &stats[first + hope, 0], k, &background[0])
            t += 1.0
    return updates, total


def csr_round(
    const long long[::1] indptr, const int[::1] indices, const double[::1] data, const long long[::1] visits,
    const long long[::1] offsets, const double[:, ::1] stats, int kind, double a, double b, double factor,
    double c, double decay, double[::1] background, double[::1] w, double[::1] drift, double t,
    double[::1] score, double[::1] worth, double[::1] sums, double[::1] step, int[::1] place,
):
    """As dense_round, of CSR rows (at least one value); data None stands for all ones.

    Scratch step and place hold the values of two rows, at least one.
    """
    cdef Py_ssize_t k = stats.shape[1]
    cdef Py_ssize_t v
    cdef Py_ssize_t i
    cdef Py_ssize_t n
    cdef Py_ssize_t size
    cdef Py_ssize_t hope
    cdef Py_ssize_t fear
    cdef long long first
    cdef long long x
    cdef long long y
    cdef double norm
    cdef double loss
    cdef double eta
    cdef double total = 0.0
    cdef long long updates = 0
    cdef const double* values = NULL
    if data is not None:
        values = &data[0]
    with nogil:
        for v in range(visits.shape[0]):
            first = offsets[visits[v]]
            n = offsets[visits[v] + 1] - first
            for i in range(n):
                x = first + i
                score[i] = csr_dot(&indices[0], values, indptr[x], indptr[x + 1], &w[0])
            worths(kind, a, b, factor, &stats[first, 0], n, k, &background[0], &sums[0], &worth[0])
            if hope_and_fear(&score[0], &worth[0], n, &hope, &fear):
                norm = 0.0
                loss = worth[hope] - worth[fear]
                x = first + hope
                y = first + fear
                size = csr_difference(
                    &indices[0], values, indptr[x], indptr[x + 1], indptr[y], indptr[y + 1],
                    &place[0], &step[0]
                )
                for i in range(size):
                    norm += step[i] * step[i]
                    loss -= w[place[i]] * step[i]
                eta = step_size(loss, norm, c)
                if eta > 0.0:
                    updates += 1
                    total += loss
                    for i in range(size):
                        w[place[i]] += eta * step[i]
                        drift[place[i]] += t * (eta * step[i])
                pass_on(kind, decay, &stats[first + hope, 0], k, &background[0])
            t += 1.0
    return updates, total
