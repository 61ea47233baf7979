"""Metrics of summed statistics that kernels compute themselves, see ``SumForm`` in rerank/data/judge.py."""

from libc.math cimport exp, log

cdef enum:  # kinds of form
    RATIO = 0
    BLEU = 1
    CHRF = 2

cdef enum:
    ORDERS = 4
    BLEU_WIDTH = 10
    MOST_ORDERS = 24  # of chrF, characters and words

cdef enum:  # smoothing of BLEU
    FLOOR = 1
    ADD = 2
    HALVE = 3


cdef inline double bleu_of(const double* sums, int method, double value) noexcept nogil:
    """BLEU / 100 of summed statistics, as ``rerank.metrics.bleu.bleu`` computes it."""
    cdef double logs = 0.0, correct, total, halved = 1.0
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


cdef inline double chrf_of(const double* sums, int orders, double factor) noexcept nogil:
    """chrF, 0 to 100, of [n-grams of candidates, of references, matches] for each order.

    Precision and recall are means over the orders that both sides have; F weighs recall by beta, of which
    ``factor`` is the square. The operations and their order are sacrebleu's: equal to the bit.
    """
    cdef double precision = 0.0, recall = 0.0
    cdef int both = 0, n
    for n in range(orders):
        if sums[3 * n] > 0.0 and sums[3 * n + 1] > 0.0:
            precision += sums[3 * n + 2] / sums[3 * n]
            recall += sums[3 * n + 2] / sums[3 * n + 1]
            both += 1
    if both == 0:
        return 0.0
    precision /= both
    recall /= both
    if precision + recall == 0.0:
        return 0.0
    return 100.0 * ((1.0 + factor) * precision * recall / (factor * precision + recall))


cdef inline double score_of(int kind, const double* sums, double a, double b) noexcept nogil:
    """The metric of sums, as ``SumForm`` defines it; b of a ratio may be NaN."""
    if kind == BLEU:
        return 100.0 * bleu_of(sums, <int>a, b)
    if kind == CHRF:
        return chrf_of(sums, <int>a, b)
    if sums[1] > 0.0:
        return a * sums[0] / sums[1]
    return 0.0 * b if sums[0] <= 0.0 else b
