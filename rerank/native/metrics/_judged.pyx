"""Measures of retrieval from the places of all judged items, relevant or not: bpref and inferred AP.

The placement is one of judged items; ``kinds`` (n_judged) is RELEVANT, NOT_RELEVANT or SAMPLED_OUT, an item
of the pool that was not judged. ``longest`` is the length of the longest list: items with as many above them
were not returned. With ties each measure is its expectation over the orders of tied items.
"""

from rerank.native.metrics._placement cimport Placement, Places

cdef enum:
    SAMPLED_OUT = 0
    NOT_RELEVANT = 1
    RELEVANT = 2

KINDS = {"sampled out": SAMPLED_OUT, "not relevant": NOT_RELEVANT, "relevant": RELEVANT}

cdef double EPSILON = 0.00001  # trec_eval's INFAP_EPSILON


cdef struct Seen:
    long long relevant
    long long not_relevant
    long long sampled_out


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
    Placement placement,
    const unsigned char[::1] kinds,
    const long long[::1] n_relevant,
    const long long[::1] n_not_relevant,
    long long longest,
    double[::1] out,
):
    """OUT out[i]: bpref of list i as in trec_eval (Buckley & Voorhees 2004), 0 if nothing is relevant.

    Of the n items of a tie group that are not relevant, 0, 1, ... n are above a relevant one of the group,
    all with equal probability.

    IN n_relevant, n_not_relevant (n_lists), the judged items of each list, retrieved or not.
    """
    cdef const Places* p = &placement.places
    cdef const unsigned char* kind = &kinds[0] if kinds.shape[0] else NULL
    cdef Py_ssize_t i
    cdef long long j
    cdef long long k
    cdef long long above
    cdef double part
    cdef double total
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


cdef double _inferred_in_group(
    long long above, long long size, const Seen* seen, const Seen* group, double* chance
) noexcept nogil:
    """The precision inferred at a relevant item of a tie group, expected over the group's orders.

    The item follows t others of the group, t = 0 ... size - 1. Of the others drawn, chance[x] is the
    probability that x were judged; given x, their relevant ones and those sampled out of the rest have
    independent means. WORK chance (others that are judged + 1).
    """
    cdef long long judged = group.relevant - 1 + group.not_relevant
    cdef long long rest = size - 1 - judged
    cdef double share = <double>(group.relevant - 1) / <double>judged if judged > 0 else 0.0
    cdef double out_share = <double>group.sampled_out / <double>rest if rest > 0 else 0.0
    cdef double relevant
    cdef double n
    cdef double pooled
    cdef double part
    cdef double total = 0.0
    cdef long long t
    cdef long long x
    cdef double left
    for x in range(judged + 1):
        chance[x] = 0.0
    chance[0] = 1.0
    for t in range(size):
        part = 0.0
        for x in range(max(0, t - rest), min(t, judged) + 1):
            relevant = <double>seen.relevant + <double>x * share
            n = <double>(seen.relevant + seen.not_relevant + x)
            pooled = n + <double>seen.sampled_out + <double>(t - x) * out_share
            part += chance[x] * pooled * (relevant + EPSILON) / (n + 2 * EPSILON)
        total += (1.0 + part) / <double>(above + t + 1)
        left = <double>(size - 1 - t)
        if left > 0:
            for x in range(min(t + 1, judged), -1, -1):
                part = chance[x] * <double>max(rest - (t - x), 0) if x <= t else 0.0
                if x > 0:
                    part += chance[x - 1] * <double>(judged - (x - 1))
                chance[x] = part / left
    return total / <double>size


def inferred_ap(
    Placement placement,
    const unsigned char[::1] kinds,
    const long long[::1] n_relevant,
    long long longest,
    double[::1] chance,
    double[::1] out,
):
    """OUT out[i]: inferred AP of list i as in trec_eval (Yilmaz & Aslam 2006), 0 if none is relevant.

    IN n_relevant (n_lists), relevant items, retrieved or not; WORK chance (longest list + 1).
    """
    cdef const Places* p = &placement.places
    cdef const unsigned char* kind = &kinds[0] if kinds.shape[0] else NULL
    cdef Py_ssize_t i
    cdef long long j
    cdef long long above
    cdef long long size
    cdef double part
    cdef double total
    cdef Seen seen
    cdef Seen group
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
                        part = _inferred_in_group(above, size, &seen, &group, &chance[0])
                    total += <double>group.relevant * part
                seen.relevant += group.relevant
                seen.not_relevant += group.not_relevant
                seen.sampled_out += group.sampled_out
            out[i] = total / <double>n_relevant[i] if n_relevant[i] > 0 else 0.0
