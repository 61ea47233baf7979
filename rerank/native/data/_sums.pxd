"""Metrics of summed statistics that kernels compute themselves, see ``SumForm`` in rerank/data/judge.py."""

from libc.math cimport exp, log

cdef enum:  # kinds of form
    RATIO = 0
    BLEU = 1

cdef enum:
    ORDERS = 4
    BLEU_WIDTH = 10

cdef enum:  # smoothing of BLEU
    FLOOR = 1
    ADD = 2
    HALVE = 3


cdef inline double bleu_of(const double* sums, int method, double value) noexcept nogil:
    """BLEU / 100 of summed statistics, as ``rerank.metrics.bleu.bleu`` computes it."""
    cdef double logs = 0.0
    cdef double correct
    cdef double total
    cdef double halved = 1.0
    cdef int n
    if sums[0] + sums[1] + sums[2] + sums[3] <= 0.0:
        return 0.0
    for n in range(ORDERS):
        correct = sums[n]
        total = sums[ORDERS + n]
        if method == ADD and n > 0:
            correct += value
            total += value
        if total <= 0.0:
            return 0.0
        if correct <= 0.0:
            if method == HALVE:
                halved *= 0.5
                correct = halved
            elif method == FLOOR and value > 0.0:
                correct = value
            else:
                return 0.0
        logs += log(correct / total)
    if sums[8] < sums[9]:
        return exp(logs / ORDERS + 1.0 - sums[9] / sums[8])
    return exp(logs / ORDERS)


cdef inline double score_of(int kind, const double* sums, double a, double b) noexcept nogil:
    """The metric of sums, as ``SumForm`` defines it; b of a ratio may be NaN."""
    if kind == BLEU:
        return 100.0 * bleu_of(sums, <int>a, b)
    if sums[1] > 0.0:
        return a * sums[0] / sums[1]
    return 0.0 * b if sums[0] <= 0.0 else b
