"""The one violated pair of a list that is worst under the current scores, in O(k)."""

from rerank.native.learners._ranges cimport Ranges, Room


cdef inline int highest(const double* z, int first, int last) noexcept nogil:
    """Return the position of the largest z in first..last-1; on ties the first."""
    cdef int best = first, i
    for i in range(first + 1, last):
        if z[i] > z[best]:
            best = i
    return best


cdef inline int worst_of_best(const Ranges* p, const double* z, int* rival) noexcept nogil:
    """Return the item tied for best that scores highest, or -1 if it beats all others. OUT rival.

    For relations in which only the first item must beat others: those that are not tied with it.
    """
    cdef int best = highest(z, 0, p.start[0])
    rival[0] = highest(z, p.start[0], p.stop[0])
    return best if z[best] <= z[rival[0]] + p.c * p.tau else -1


cdef inline int worst_of_all(const Ranges* p, const double* z, int* queue, int* rival) noexcept nogil:
    """Return the item of the violated pair with the largest z[l] + c * tau - z[j], -1: none. OUT rival.

    Each item's rival is the one of its range with the largest z. On ties the first item and its first rival
    win. Ranges never move back, so that a queue of falling z has the largest one of each range in front.
    """
    cdef double c_tau = p.c * p.tau, excess, most = 0.0
    cdef int worst = -1, front = 0, back = 0, ahead = 0, j
    for j in range(p.k):
        if p.start[j] >= p.stop[j]:
            continue
        if ahead < p.start[j]:
            ahead = p.start[j]
        while ahead < p.stop[j]:
            while back > front and z[queue[back - 1]] < z[ahead]:
                back -= 1
            queue[back] = ahead
            back += 1
            ahead += 1
        while queue[front] < p.start[j]:
            front += 1
        if z[j] <= z[queue[front]] + c_tau:
            excess = z[queue[front]] + c_tau - z[j]
            if worst < 0 or excess > most:
                worst = j
                rival[0] = queue[front]
                most = excess
    return worst


cdef inline int top_rival(const Ranges* p, Room* r) noexcept nogil:
    """OUT r.u: the update of the worst violated pair, from r.s. Return how many pairs there are: 0 or 1."""
    cdef double step
    cdef int rival = 0, j, worst
    for j in range(p.k):
        r.z[j] = r.s[j] - p.tau * p.h[j]
        r.u[j] = 0.0
    if p.highest:
        worst = worst_of_best(p, r.z, &rival)
    else:
        worst = worst_of_all(p, r.z, r.order, &rival)
    if worst < 0:
        return 0
    step = 1.0 if p.plain else p.h[worst] - p.h[rival] + p.c
    r.u[worst] = step
    r.u[rival] = -step
    return 1
