"""The counts of a pair: superpositions of fragments are improved, for most residues within each cutoff."""

from libc.math cimport sqrt
from libc.string cimport memcpy

from rerank.extensions.proteins.native._rotation cimport Placement
from rerank.extensions.proteins.native._superposed cimport (
    CUTOFFS, Pair, Stand, add_to_pool, apply, is_new, measure, place_weighted, settle, settle_within, sharpen,
)

cdef enum:
    SEEDS = 12  # superpositions improved at each cutoff, and one more for each 32 residues
    FEW_SEEDS = 6
    MOST_SEEDS = 100
    RADII = 12  # steps from 0.5 Å to 10 Å
    NEAR = 8  # residues outside that are brought inside
    NEAR_OTHERS = 4  # the same, of a superposition that is not the best one
    PULLS = 12
    HOPELESS = 3  # turn after which the residue should be near, and few others lost
    # purposes of is_new
    IMPROVED = 8
    EXCHANGED = 16
    PULLED = 24
    AT_RADIUS = 40
    CHOSEN = 80


cdef inline void rank(Pair* p, int k) noexcept nogil:
    """OUT heads (3n + 1), next: the pool by twice the count at a cutoff plus that at the next one."""
    cdef Py_ssize_t i, score
    cdef int other = k + 1 if k + 1 < CUTOFFS else k - 1
    for i in range(3 * p.n + 1):
        p.heads[i] = -1
    for i in range(p.n_pool - 1, -1, -1):
        score = 2 * (p.pool[i].keys[k] >> p.bits) + (p.pool[i].keys[other] >> p.bits)
        p.next[i] = p.heads[score]
        p.heads[score] = i


cdef inline void improve(Pair* p, double radius, bint wide, int turns) noexcept nogil:
    """Weighted superpositions at a radius, by a step that becomes steeper; ``wide``: from a larger radius."""
    cdef int stage, _turn
    cdef double widened = 1.5
    for stage in range(3):
        for _turn in range(turns):
            if not sharpen(p, radius * widened if wide else radius, stage + 1 if wide else min(stage + 2, 3)):
                return
        widened = sqrt(widened) if stage == 0 else 1


cdef inline void improve_best(Pair* p, int k, int most) noexcept nogil:
    """Improve the best of the pool at a cutoff, no set of residues twice; the results join the pool."""
    cdef Py_ssize_t score, i
    cdef int left = <int>min(most + p.n // 32, MOST_SEEDS)
    rank(p, k)
    for score in range(3 * p.n, -1, -1):
        i = p.heads[score]
        while i >= 0:
            if is_new(p, p.pool[i].keys[k], IMPROVED + k):
                p.now = p.pool[i]
                measure(p, &p.now.at)
                improve(p, p.radii[k], left & 1, 1)
                add_to_pool(p)
                settle_within(p, k, k, 20)
                add_to_pool(p)
                left -= 1
                if left == 0:
                    return
            i = p.next[i]


cdef inline void try_radii(Pair* p) noexcept nogil:
    """Superpose the residues within many radii of the best superpositions."""
    cdef Stand from_here[CUTOFFS]
    cdef int k, r
    cdef double radius
    for k in range(CUTOFFS):
        from_here[k] = p.best[k]
    for k in range(CUTOFFS):
        radius = 0.5
        for r in range(RADII + 1):
            measure(p, &from_here[k].at)
            settle(p, radius * radius, AT_RADIUS + r, 20)
            radius *= 1.2835676  # 20 ** (1 / 12)


cdef inline void exchange(Pair* p) noexcept nogil:
    """Improve the best superposition of each cutoff at each other one, until nothing changes."""
    cdef int _turn, k, j
    cdef long long before
    cdef bint changed
    for _turn in range(3):
        changed = False
        for k in range(CUTOFFS):
            before = p.best[k].keys[k]
            if before >> p.bits == p.n:
                continue
            for j in range(CUTOFFS):
                if is_new(p, p.best[j].keys[k], EXCHANGED + k):
                    p.now = p.best[j]
                    measure(p, &p.now.at)
                    improve(p, p.radii[k], False, 2)
                    settle_within(p, k, k, 20)
            changed = changed or p.best[k].keys[k] != before
        if not changed:
            return


cdef inline int nearest_outside(Pair* p, double limit, Py_ssize_t* near) noexcept nogil:
    """OUT near (NEAR): the residues nearest to the limit outside it, within twice its distance.

    Of residues less than 1e-7 Å² apart the first in the chain comes first.
    """
    cdef int found = 0, j
    cdef Py_ssize_t i
    for i in range(p.n):
        if limit < p.d2[i] <= 4 * limit:
            j = found
            if found < NEAR:
                found += 1
            elif p.d2[i] >= p.d2[near[NEAR - 1]] - 1e-7:
                continue
            else:
                j = NEAR - 1
            while j > 0 and p.d2[i] < p.d2[near[j - 1]] - 1e-7:
                near[j] = near[j - 1]
                j -= 1
            near[j] = i
    return found


cdef inline bint pull(Pair* p, int k, Py_ssize_t outside, long long least) noexcept nogil:
    """Superpose residues of ``kept`` within a cutoff, and one outside, so that the largest distance falls.

    Weights grow with the distances; they are the geometric mean with those of the turn before. True if
    ``now`` has more residues within the cutoff than the key ``least``.
    """
    cdef double limit = p.limits[k]
    cdef double scale = 1 / limit
    cdef double weight
    cdef Py_ssize_t i
    cdef int turn
    cdef Placement q
    memcpy(p.d2, p.kept, p.n * sizeof(double))
    for turn in range(PULLS):
        for i in range(p.n):
            weight = p.d2[i] * scale
            weight = weight * weight * (weight if turn > 5 else 1) + 1e-3
            if turn:
                weight = sqrt(weight * p.weights[i])
            p.weights[i] = weight if p.kept[i] <= limit or i == outside else 0
        if not place_weighted(p, &q):
            return False
        apply(p, &q)
        if p.now.keys[k] >> p.bits > least >> p.bits:
            return True
        if turn == HOPELESS:
            if p.d2[outside] > 1.3 * limit or (p.now.keys[k] >> p.bits) + 2 < least >> p.bits:
                return False
    return False


cdef inline void polish(Pair* p, Stand here, int k, int most) noexcept nogil:
    """Bring one residue after the other within a cutoff of a superposition, from those nearest outside."""
    cdef Py_ssize_t near[NEAR]
    cdef int found, j, _turn
    cdef bint better
    for _turn in range(NEAR):
        if here.keys[k] >> p.bits == p.n or not is_new(p, here.keys[k], PULLED + k):
            return
        measure(p, &here.at)
        memcpy(p.kept, p.d2, p.n * sizeof(double))
        found = min(most, nearest_outside(p, p.limits[k], near))
        better = False
        for j in range(found):
            better = pull(p, k, near[j], here.keys[k])
            if better:
                here = p.now
                break
        if not better:
            return


cdef inline void polish_best(Pair* p, int k, bint others) noexcept nogil:
    """Polish the best superposition of a cutoff, and if asked one of another set of residues."""
    cdef Py_ssize_t score, i
    polish(p, p.best[k], k, NEAR)
    if not others:
        return
    rank(p, k)
    for score in range(3 * p.n, -1, -1):
        i = p.heads[score]
        while i >= 0:
            if is_new(p, p.pool[i].keys[k], CHOSEN + k):
                polish(p, p.pool[i], k, NEAR_OTHERS)
                return
            i = p.next[i]


cdef inline void search_counts(Pair* p, bint thorough) noexcept nogil:
    """IN/OUT best, pool: the most residues within each cutoff, from the superpositions of the pool."""
    cdef int k
    for k in range(CUTOFFS - 1, -1, -1):
        if p.best[k].keys[k] >> p.bits < p.n:
            improve_best(p, k, SEEDS if thorough else FEW_SEEDS)
    try_radii(p)
    exchange(p)
    for k in range(CUTOFFS):
        polish_best(p, k, thorough)
