"""One round of k-best batch MIRA (Cherry & Foster 2012); see rerank/learners/tuning/mira.py.

The worth of a candidate is ``factor`` times the metric of the background's sums plus its own, times the
length of the background and of the list (the sum and the mean of the last column), so that one word more or
less is worth about 1 in any list. With kind VALUES the worth is given. NaN excludes a candidate.
"""

import numpy as np

from rerank.native.data._matrix cimport Difference, Matrix, Rows, Step, dots, subtract
from rerank.native.data._sums cimport score_of
from rerank.native.learners._weights cimport Moving, Weights, seen_by

cdef enum:  # a kind beside those of _sums
    VALUES = -1


cdef class Worths:
    """What candidates are worth: statistics of each, a form of their sums, and the background.

    IN offsets (n_lists + 1); stats (n_items, k); kind, a, b: the form; factor; decay of the background, which
    starts as all 1.
    """

    cdef const long long[::1] offsets
    cdef const double[:, ::1] stats
    cdef int kind
    cdef double a, b, factor, decay
    cdef double[::1] background, sums, score, worth

    def __init__(
        self, const long long[::1] offsets, const double[:, ::1] stats, int kind, double a, double b,
        double factor, double decay,
    ):
        cdef Py_ssize_t longest = max(int(np.diff(offsets).max(initial=0)), 1)
        self.offsets = offsets
        self.stats = stats
        self.kind = kind
        self.a = a
        self.b = b
        self.factor = factor
        self.decay = decay
        self.background = np.ones(stats.shape[1])
        self.sums = np.empty(stats.shape[1])
        self.score = np.empty(longest)
        self.worth = np.empty(longest)

    @property
    def sums_before(self):
        """The background, float64 (k), which rounds change."""
        return np.asarray(self.background)

    cdef void judge(self, long long first, Py_ssize_t n) noexcept nogil:
        """OUT self.worth of the n candidates from ``first`` on."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t k = self.stats.shape[1]
        cdef const double* rows = &self.stats[first, 0]
        cdef double length = 0.0
        if self.kind == VALUES:
            for i in range(n):
                self.worth[i] = rows[i]
            return
        for i in range(n):
            length += rows[i * k + k - 1]
        length = self.background[k - 1] + length / n
        for i in range(n):
            for j in range(k):
                self.sums[j] = self.background[j] + rows[i * k + j]
            self.worth[i] = self.factor * score_of(self.kind, &self.sums[0], self.a, self.b) * length

    cdef void pass_on(self, long long hope) noexcept nogil:
        """Decay the background and add the statistics of the hope."""
        cdef Py_ssize_t j
        if self.kind != VALUES:
            for j in range(self.stats.shape[1]):
                self.background[j] = self.background[j] * self.decay + self.stats[hope, j]


cdef bint hope_and_fear(
    const double* score, const double* worth, Py_ssize_t n, Py_ssize_t* hope, Py_ssize_t* fear
) noexcept nogil:
    """OUT hope and fear: the largest score + worth and score - worth, on ties the first.

    Return whether the hope is worth more than the fear.
    """
    cdef Py_ssize_t i
    cdef double most_hoped = 0.0, most_feared = 0.0
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
    """Return the passive-aggressive step, at most c; 0 if there is no loss or the features are the same."""
    if not (loss > 0.0 and norm > 0.0):
        return 0.0
    return min(c, loss / norm)


cdef inline double norm_and_loss(const Step* step, const double* w, double* loss) noexcept nogil:
    """Return the squared norm of a step; INOUT loss: less its product with w."""
    cdef double norm = 0.0, left = loss[0]
    cdef Py_ssize_t i
    if step.all:
        for i in range(step.size):
            norm += step.value[i] * step.value[i]
            left -= w[i] * step.value[i]
    else:
        for i in range(step.size):
            norm += step.value[i] * step.value[i]
            left -= w[step.place[i]] * step.value[i]
    loss[0] = left
    return norm


cdef inline void move(const Step* step, double eta, Moving* to) noexcept nogil:
    """INOUT weights += eta * step."""
    cdef double* w = to.w
    cdef double* drift = to.drift
    cdef double t = to.t
    cdef Py_ssize_t i
    if step.all:
        for i in range(step.size):
            w[i] += eta * step.value[i]
            drift[i] += t * (eta * step.value[i])
    else:
        for i in range(step.size):
            w[step.place[i]] += eta * step.value[i]
            drift[step.place[i]] += t * (eta * step.value[i])


def mira_round(
    Matrix matrix, Worths worths, const long long[::1] visits, const double[::1] caps, Weights weights,
    Difference difference,
):
    """Visit lists in turn. Return the number of updates and the sum of their losses.

    IN visits (n_visits), caps (n_lists): the largest step of each list. INOUT weights (n_features), the
    background of worths.
    """
    cdef Rows rows = matrix.rows  # a copy: the compiler sees that no step changes it
    cdef const Rows* X = &rows
    cdef Moving* to = &weights.moving
    cdef Step* step = &difference.step
    cdef Py_ssize_t v, n, hope, fear
    cdef long long first
    cdef double norm, loss, eta, total = 0.0
    cdef long long updates = 0
    with nogil:
        for v in range(visits.shape[0]):
            first = worths.offsets[visits[v]]
            n = worths.offsets[visits[v] + 1] - first
            dots(X, NULL, first, n, seen_by(X, visits[v], weights), &worths.score[0])
            worths.judge(first, n)
            if hope_and_fear(&worths.score[0], &worths.worth[0], n, &hope, &fear):
                loss = worths.worth[hope] - worths.worth[fear]
                subtract(X, first + hope, first + fear, step)
                norm = norm_and_loss(step, to.w, &loss)
                eta = step_size(loss, norm, caps[visits[v]])
                if eta > 0.0:
                    updates += 1
                    total += loss
                    move(step, eta, to)
                worths.pass_on(first + hope)
            to.t += 1.0
    return updates, total
