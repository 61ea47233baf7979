"""The TM-score of a pair: its largest value from the superpositions of fragments."""

from libc.math cimport floor

from rerank.extensions.proteins.native._rotation cimport Placement
from rerank.extensions.proteins.native._superposed cimport (
    CUTOFFS,
    Pair,
    Stand,
    is_new,
    measure,
    place_weighted,
)

cdef enum:
    TM_SEEDS = 48
    TM_LAST = 8
    SCORED = 32  # purpose of is_new


cdef inline double score(Pair* p) noexcept nogil:
    """Return the sum of the TM-score; OUT weights: its slopes."""
    cdef double scale = 1 / (p.d0 * p.d0)
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(p.n):
        p.weights[i] = 1 / (1 + p.d2[i] * scale)
    for i in range(p.n):
        total += p.weights[i]
        p.weights[i] *= p.weights[i]
    return total


cdef inline double rise(Pair* p, Placement* q, int turns) noexcept nogil:
    """IN/OUT q: superpose by the slopes of the TM-score, which rises at each turn; return its sum."""
    cdef double total, last = 0
    cdef int _turn
    measure(p, q)
    total = score(p)
    for _turn in range(turns):
        if total <= last * (1 + 1e-11) or not place_weighted(p, q):
            break
        last = total
        measure(p, q)
        total = score(p)
    return max(total, last)


cdef inline void search_tm(Pair* p, Py_ssize_t n_starts) noexcept nogil:
    """IN/OUT tm: the largest sum from the best of the first superpositions of the pool."""
    cdef Py_ssize_t i, best
    cdef int _turn
    cdef Stand chosen[TM_SEEDS]
    cdef int n_chosen = 0, k = 0
    while k + 1 < CUTOFFS and p.radii[k] < p.d0:
        k += 1
    for i in range(n_starts):
        measure(p, &p.pool[i].at)
        p.pool[i].tm = floor(score(p) * 1e6)  # equal sums stay equal
    while n_chosen < TM_SEEDS:
        best = -1
        for i in range(n_starts):
            if p.pool[i].tm > (p.pool[best].tm if best >= 0 else 0):
                best = i
        if best < 0:
            break
        if is_new(p, p.pool[best].keys[k], SCORED):
            chosen[n_chosen] = p.pool[best]
            n_chosen += 1
        p.pool[best].tm = -1
    for i in range(n_chosen):
        if i & 1:  # from farther away
            p.d0 *= 2
            rise(p, &chosen[i].at, 3)
            p.d0 /= 2
        chosen[i].tm = floor(rise(p, &chosen[i].at, 4) * 1e6)
    for _turn in range(TM_LAST):
        best = -1
        for i in range(n_chosen):
            if chosen[i].tm > (chosen[best].tm if best >= 0 else 0):
                best = i
        if best < 0:
            return
        p.tm = max(p.tm, rise(p, &chosen[best].at, 200))
        chosen[best].tm = -1
