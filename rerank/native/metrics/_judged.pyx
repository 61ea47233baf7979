"""Measures of retrieval from the places of all judged items, relevant or not: bpref and inferred AP.

The placement is one of judged items; ``kinds`` (n_judged) is RELEVANT, NOT_RELEVANT or SAMPLED_OUT, an item
of the pool that was not judged. ``longest`` is the length of the longest list: items with as many above them
were not returned. With ties each measure is its expectation over the orders of tied items.
"""

from libc.math cimport sqrt

from rerank.native.metrics._placement cimport Placement, Places

cdef enum:
    SAMPLED_OUT = 0
    NOT_RELEVANT = 1
    RELEVANT = 2

KINDS = {"sampled out": SAMPLED_OUT, "not relevant": NOT_RELEVANT, "relevant": RELEVANT}

cdef double EPSILON = 0.00001  # trec_eval's INFAP_EPSILON


cdef struct Seen:
    long long relevant, not_relevant, sampled_out


cdef inline Seen _group(
    const Places* p, long long* j, long long end, const unsigned char* kinds
) noexcept nogil:
    """Count the judged items of the tie group of item j; IN/OUT j, the first item after it."""
    cdef Seen group
    cdef long long above = p.above[j[0]]
    group.relevant = group.not_relevant = group.sampled_out = 0
    while j[0] < end and p.above[j[0]] == above:
        group.relevant += kinds[p.order[j[0]]] == RELEVANT
        group.not_relevant += kinds[p.order[j[0]]] == NOT_RELEVANT
        group.sampled_out += kinds[p.order[j[0]]] == SAMPLED_OUT
        j[0] += 1
    return group


cdef inline double _preferred(long long above, long long n_relevant, long long n_not) noexcept nogil:
    """The share of the first items not relevant that are below an item with ``above`` of them above it."""
    if above == 0:
        return 1.0
    return 1.0 - <double>min(above, n_relevant) / <double>min(n_not, n_relevant)


def bpref(
    Placement placement, const unsigned char[::1] kinds, const long long[::1] n_relevant,
    const long long[::1] n_not_relevant, long long longest, double[::1] out,
):
    """OUT out[i]: bpref of list i as in trec_eval (Buckley & Voorhees 2004), 0 if nothing is relevant.

    Of the n items of a tie group that are not relevant, 0, 1, ... n are above a relevant one of the group,
    all with equal probability.

    IN n_relevant, n_not_relevant (n_lists), the judged items of each list, retrieved or not.
    """
    cdef const Places* p = &placement.places
    cdef const unsigned char* kind = &kinds[0] if kinds.shape[0] else NULL
    cdef Py_ssize_t i
    cdef long long j, k, above
    cdef double part, total
    cdef Seen group
    with nogil:
        for i in range(p.n_lists):
            above = 0
            total = 0.0
            j = p.offsets[i]
            while j < p.offsets[i + 1] and p.above[j] < longest:
                group = _group(p, &j, p.offsets[i + 1], kind)
                if group.relevant > 0:
                    part = 0.0
                    for k in range(group.not_relevant + 1):
                        part += _preferred(above + k, n_relevant[i], n_not_relevant[i])
                    if group.not_relevant > 0:
                        part /= <double>(group.not_relevant + 1)
                    total += <double>group.relevant * part
                above += group.not_relevant
            out[i] = total / <double>n_relevant[i] if n_relevant[i] > 0 else 0.0


cdef inline double _inferred(long long place, const Seen* seen) noexcept nogil:
    """The precision inferred at a relevant item with ``place`` items above it, ``seen`` of them judged."""
    cdef double above = <double>place
    cdef long long judged = seen.relevant + seen.not_relevant
    if place == 0:
        return 1.0
    return 1.0 / (above + 1.0) + (above / (above + 1.0)) * (
        <double>(judged + seen.sampled_out) / above
    ) * ((<double>seen.relevant + EPSILON) / (<double>judged + 2 * EPSILON))


# What is drawn before an item of a tie group: M others, J of them judged, and ``rise``, which is d below.
cdef struct Drawn:
    double others, judged, rise


# Means over x, the judged ones among t that are drawn: of 1 / (x + d), 1 / (x + d + 1), x / (x + d) and
# x / (x + d + 1).
cdef struct Means:
    double h, k, e, g


cdef inline void _next_means(const Drawn* p, double t, Means* m) noexcept nogil:
    """Go from the first terms of t draws and the second ones of t - 1 to those of t + 1 and t."""
    cdef double d = p.rise
    cdef double more = p.others - p.judged - t - d
    m.k = (d * m.h + t * m.k) / (d + 1 + t)
    m.g = ((d + 1) * m.e + t * m.g) / (d + 1 + t)
    if t < p.others:
        m.h = ((d + 1 + p.judged) * m.k + more * m.h) / (p.others - t)
        m.e = (p.judged / (d + 1) + d * (d + 1 + p.judged) / (d + 1) * m.g + more * m.e) / (p.others - t)


cdef inline void _previous_means(const Drawn* p, double t, Means* m) noexcept nogil:
    """Go from the first terms of t draws and the second ones of t to those of t - 1."""
    cdef double d = p.rise
    cdef double fewer = p.judged + d - 1 + t - p.others
    m.k = ((d + 1 + t) * m.k - d * m.h) / t
    m.g = ((d + 1 + t) * m.g - (d + 1) * m.e) / t
    m.h = ((d + 1 + p.judged) * m.k - (p.others - t + 1) * m.h) / fewer
    m.e = (p.judged / (d + 1) + d * (d + 1 + p.judged) / (d + 1) * m.g - (p.others - t + 1) * m.e) / fewer


cdef double _inferred_in_group(
    long long above, long long size, const Seen* seen, const Seen* group
) noexcept nogil:
    """The precision inferred at a relevant item of a tie group, expected over the group's orders.

    The item follows t others of the group, t = 0 ... size - 1, of which x are judged, by the hypergeometric
    distribution; given x, their relevant ones and those sampled out of the rest have independent means. What
    is inferred is then linear in x except for 1 / (x + d), whose means over x for rising t follow from one
    another (contiguous relations of 3F2). They are found from t = 0 up, and beyond the t where errors would
    grow from the largest t down, each in the direction in which errors die out.
    """
    cdef Drawn p
    cdef Means m
    cdef double others = <double>(size - 1)
    cdef double judged = <double>(group.relevant - 1 + group.not_relevant)
    cdef double share = <double>(group.relevant - 1) / judged if judged > 0 else 0.0
    cdef double out_share = <double>group.sampled_out / (others - judged) if others > judged else 0.0
    cdef double d = <double>(seen.relevant + seen.not_relevant) + 2 * EPSILON
    cdef double relevant = <double>seen.relevant + EPSILON
    cdef double middle = 2 * others - judged - 2 * d - 1
    cdef double total = 0.0
    cdef long long turn, t
    middle = (middle + sqrt(middle * middle + 8 * others * (d + 1))) / 4
    turn = min(<long long>middle, size - 1)
    p.others = others
    p.judged = judged
    p.rise = d
    m.h = 1 / d
    m.k = m.e = m.g = 0.0
    for t in range(turn + 1):
        total += _at_draw(above, t, &p, &m, seen, relevant, share, out_share)
        _next_means(&p, <double>t, &m)
    m.h = 1 / (judged + d)
    m.k = 1 / (judged + d + 1)
    m.e = judged / (judged + d)
    m.g = judged / (judged + d + 1)
    for t in range(size - 1, turn, -1):
        total += _at_draw(above, t, &p, &m, seen, relevant, share, out_share)
        _previous_means(&p, <double>t, &m)
    return total / <double>size


cdef inline double _at_draw(
    long long above, long long t, const Drawn* p, const Means* m, const Seen* seen, double relevant,
    double share, double out_share,
) noexcept nogil:
    """The precision inferred at an item that follows t others of its group."""
    cdef double x = <double>t * p.judged / p.others if p.others > 0 else 0.0
    cdef double pooled = <double>seen.sampled_out + out_share * (<double>t + p.rise) - 2 * EPSILON
    cdef double part = (1 - out_share) * (relevant + share * x) + pooled * (relevant * m.h + share * m.e)
    return (1.0 + part) / <double>(above + t + 1)


def inferred_ap(
    Placement placement, const unsigned char[::1] kinds, const long long[::1] n_relevant, long long longest,
    double[::1] out,
):
    """OUT out[i]: inferred AP of list i as in trec_eval (Yilmaz & Aslam 2006), 0 if none is relevant.

    IN n_relevant (n_lists), relevant items, retrieved or not.
    """
    cdef const Places* p = &placement.places
    cdef const unsigned char* kind = &kinds[0] if kinds.shape[0] else NULL
    cdef Py_ssize_t i
    cdef long long j, above, size
    cdef double part, total
    cdef Seen seen, group
    with nogil:
        for i in range(p.n_lists):
            seen.relevant = seen.not_relevant = seen.sampled_out = 0
            total = 0.0
            j = p.offsets[i]
            while j < p.offsets[i + 1] and p.above[j] < longest:
                above = p.above[j]
                size = p.tied[j]
                group = _group(p, &j, p.offsets[i + 1], kind)
                if group.relevant > 0:
                    if size == 1:
                        part = _inferred(above, &seen)
                    else:
                        part = _inferred_in_group(above, size, &seen, &group)
                    total += <double>group.relevant * part
                seen.relevant += group.relevant
                seen.not_relevant += group.not_relevant
                seen.sampled_out += group.sampled_out
            out[i] = total / <double>n_relevant[i] if n_relevant[i] > 0 else 0.0
