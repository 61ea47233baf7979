"""Greedy orders of the items of a list: each next item is the best one, given those that are chosen.

Items are numbered by falling relevance, so that the more relevant item is chosen on ties. Every function
fills in the first ``depth`` places of the order; it returns how many it could fill.
"""

from libc.math cimport INFINITY, log


def mmr(
    const double[:, ::1] similar, const double[::1] relevance, double share, double[::1] nearest,
    unsigned char[::1] taken, long long[::1] order, Py_ssize_t depth,
):
    """Maximal marginal relevance: share * relevance - (1 - share) * similarity to the nearest chosen item.

    The first item is the most relevant one. IN similar (n, n), relevance (n); WORK nearest (n), taken (n),
    which are 0; OUT order (n).
    """
    cdef Py_ssize_t n = relevance.shape[0], place, i, best
    cdef double score, largest
    with nogil:
        for place in range(depth):
            best, largest = -1, -INFINITY
            for i in range(n):
                if taken[i]:
                    continue
                score = share * relevance[i]
                if place > 0:
                    score -= (1.0 - share) * nearest[i]
                if score > largest:
                    best, largest = i, score
            if best < 0:
                break
            order[place] = best
            taken[best] = 1
            for i in range(n):
                if place == 0 or similar[best, i] > nearest[i]:
                    nearest[i] = similar[best, i]
        else:
            place = depth
    return place


def xquad(
    const double[::1] relevance, const double[:, ::1] aspects, const double[::1] weights, double share,
    double[::1] left, unsigned char[::1] taken, long long[::1] order, Py_ssize_t depth,
):
    """xQuAD: (1 - share) * relevance + share * sum over aspects of weight * value * what is left of it.

    A chosen item leaves 1 - value of an aspect. IN relevance (n), aspects (n, m) of 0 to 1, weights (m); WORK
    left (m), which are 1, taken (n), which are 0; OUT order (n).
    """
    cdef Py_ssize_t n = relevance.shape[0], m = weights.shape[0], place, i, j, best
    cdef double score, largest
    with nogil:
        for place in range(depth):
            best, largest = -1, -INFINITY
            for i in range(n):
                if taken[i]:
                    continue
                score = 0.0
                for j in range(m):
                    score += weights[j] * aspects[i, j] * left[j]
                score = (1.0 - share) * relevance[i] + share * score
                if score > largest:
                    best, largest = i, score
            if best < 0:
                break
            order[place] = best
            taken[best] = 1
            for j in range(m):
                left[j] *= 1.0 - aspects[best, j]
        else:
            place = depth
    return place


def pm2(
    const double[:, ::1] aspects, const double[::1] weights, double share, double[::1] seats,
    double[::1] quotients, unsigned char[::1] taken, long long[::1] order, Py_ssize_t depth,
):
    """PM-2: places are seats of aspects, which the aspect with the largest Sainte-Laguë quotient has next.

    The item is the one with the largest share * quotient * value of that aspect + (1 - share) * the same of
    all others. It ends when no item is left with a value above 0 that counts. IN aspects (n, m), weights (m);
    WORK seats (m), which are 0, quotients (m), taken (n), which are 0; OUT order (n).
    """
    cdef Py_ssize_t n = aspects.shape[0], m = weights.shape[0], place, i, j, best, next_one
    cdef double score, largest, total
    with nogil:
        for place in range(depth):
            next_one = 0
            for j in range(m):
                quotients[j] = weights[j] / (2.0 * seats[j] + 1.0)
                if quotients[j] > quotients[next_one]:
                    next_one = j
            best, largest = -1, 0.0
            for i in range(n):
                if taken[i]:
                    continue
                score = 0.0
                for j in range(m):
                    score += (share if j == next_one else 1.0 - share) * quotients[j] * aspects[i, j]
                if score > largest:
                    best, largest = i, score
            if best < 0:
                break
            order[place] = best
            taken[best] = 1
            total = 0.0
            for j in range(m):
                total += aspects[best, j]
            for j in range(m):
                seats[j] += aspects[best, j] / total
        else:
            place = depth
    return place


def dpp(
    const double[:, ::1] similar, const double[::1] relevance, double share, double least,
    double[:, ::1] factors, double[::1] left, unsigned char[::1] taken, long long[::1] order,
    Py_ssize_t depth,
):
    """Greedy maximum of share * relevance + (1 - share) * log determinant of the chosen items' similarities.

    ``left`` is what the determinant is multiplied by if an item is chosen: the square of its entry on the
    diagonal of the Cholesky factor, which grows by a row with each item. It ends when none is above
    ``least``. IN similar (n, n), relevance (n); WORK factors (n, depth), left (n), the diagonal of similar,
    taken (n), which are 0; OUT order (n).
    """
    cdef Py_ssize_t n = relevance.shape[0], place, i, k, best
    cdef double score, largest, entry, root
    with nogil:
        for place in range(depth):
            best, largest = -1, -INFINITY
            for i in range(n):
                if taken[i] or left[i] <= least:
                    continue
                score = share * relevance[i] + (1.0 - share) * log(left[i])
                if score > largest:
                    best, largest = i, score
            if best < 0:
                break
            order[place] = best
            taken[best] = 1
            root = left[best] ** 0.5
            for i in range(n):
                if taken[i]:
                    continue
                entry = similar[best, i]
                for k in range(place):
                    entry -= factors[best, k] * factors[i, k]
                entry /= root
                factors[i, place] = entry
                left[i] -= entry * entry
        else:
            place = depth
    return place
