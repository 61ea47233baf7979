"""GDT and TM-score: the superpositions of two chains that bring most residues close together.

The search for counts, whose first and third step are those of Zhang and Skolnick (2004):

1. fragments of all lengths n, n/2, n/4 ... 4 are superposed;
2. at each cutoff, the best of them are improved by weighted superpositions, whose weights are the slopes of a
   step that becomes steeper: only residues near the cutoff matter;
3. the residues within the cutoff are superposed again until they stay the same;
4. the best superposition of each cutoff is tried at other radii and cutoffs;
5. residues just outside are brought inside by weights that grow with the distance.

Each superposition counts at all cutoffs. The TM-score has its own search, from the same fragments. Choices
are by whole numbers, then by position, so that rounding does not lead to another path.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, cbrt, floor, sqrt
from libc.string cimport memcpy, memset

from rerank.native.metrics._rotation cimport MOMENTS, Placement, place
from rerank.native.metrics._superposed cimport (
    CUTOFFS, SEEN, Pair, Stand, apply, is_new, measure, place_weighted, settle, sharpen, word
)

cdef enum:
    SHORTEST = 4  # residues of a fragment
    SMALL = 32  # residues up to which all fragments of three and more are tried
    MOST_STARTS = 2000  # of a length
    SEEDS = 26  # superpositions improved at each cutoff, and one more for each 32 residues
    MOST_SEEDS = 100
    RADII = 12  # steps from 0.5 Å to 10 Å
    NEAR = 12  # residues outside that are brought inside
    PULLS = 6
    TM_SEEDS = 48
    TM_LAST = 4
    # purposes of is_new
    IMPROVED = 8
    EXCHANGED = 16
    PULLED = 24
    SCORED = 32
    AT_RADIUS = 40


cdef void add_to_pool(Pair* p) noexcept nogil:
    p.pool[p.n_pool] = p.now
    p.n_pool += 1


cdef void start(Pair* p) noexcept nogil:
    """OUT pool: the superpositions of fragments."""
    cdef Py_ssize_t length = p.n
    cdef Py_ssize_t step
    cdef Py_ssize_t first
    cdef Py_ssize_t i
    cdef double m[MOMENTS]
    cdef Placement q
    p.n_pool = 0
    while True:
        step = max(1 if p.n <= SMALL else length // 2, p.n // MOST_STARTS)
        first = 0
        while True:
            first = min(first, p.n - length)
            for i in range(MOMENTS):
                m[i] = p.sums[(first + length) * MOMENTS + i] - p.sums[first * MOMENTS + i]
            if place(m, <double>length, p.free, &q):
                apply(p, &q)
                add_to_pool(p)
            if first + length >= p.n:
                break
            first += step
        if length <= (3 if p.n <= SMALL else SHORTEST):
            return
        length = length - 1 if p.n <= SMALL else max(length // 2, SHORTEST)


cdef void rank(Pair* p, int k) noexcept nogil:
    """OUT heads (3n + 1), next: the pool by twice the count at a cutoff plus that at the next one."""
    cdef Py_ssize_t i
    cdef Py_ssize_t score
    cdef int other = k + 1 if k + 1 < CUTOFFS else k - 1
    for i in range(3 * p.n + 1):
        p.heads[i] = -1
    for i in range(p.n_pool - 1, -1, -1):
        score = 2 * (p.pool[i].keys[k] >> p.bits) + (p.pool[i].keys[other] >> p.bits)
        p.next[i] = p.heads[score]
        p.heads[score] = i


cdef void improve(Pair* p, double radius, bint wide, int turns) noexcept nogil:
    """Weighted superpositions at a radius, by a step that becomes steeper; ``wide``: from a larger radius."""
    cdef int stage
    cdef int _turn
    cdef double widened = 1.5
    for stage in range(3):
        for _turn in range(turns):
            if not sharpen(p, radius * widened if wide else radius, stage + 1 if wide else min(stage + 2, 3)):
                return
        widened = sqrt(widened) if stage == 0 else 1


cdef void improve_best(Pair* p, int k) noexcept nogil:
    """Improve the best of the pool at a cutoff, no set of residues twice; the results join the pool."""
    cdef Py_ssize_t score
    cdef Py_ssize_t i
    cdef int left = <int>min(SEEDS + p.n // 32, MOST_SEEDS)
    rank(p, k)
    for score in range(3 * p.n, -1, -1):
        i = p.heads[score]
        while i >= 0:
            if is_new(p, p.pool[i].keys[k], IMPROVED + k):
                p.now = p.pool[i]
                measure(p, &p.now.at)
                improve(p, p.radii[k], left & 1, 1)
                add_to_pool(p)
                settle(p, p.limits[k], k)
                left -= 1
                if left == 0:
                    return
            i = p.next[i]


cdef void try_radii(Pair* p) noexcept nogil:
    """Superpose the residues within many radii of the best superpositions."""
    cdef Stand from_here[CUTOFFS]
    cdef int k
    cdef int r
    cdef double radius
    for k in range(CUTOFFS):
        from_here[k] = p.best[k]
    for k in range(CUTOFFS):
        radius = 0.5
        for r in range(RADII + 1):
            measure(p, &from_here[k].at)
            settle(p, radius * radius, AT_RADIUS + r)
            radius *= 1.2835676  # 20 ** (1 / 12)


cdef void exchange(Pair* p) noexcept nogil:
    """Improve the best superposition of each cutoff at each other one, until nothing changes."""
    cdef int _turn
    cdef int k
    cdef int j
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
                    settle(p, p.limits[k], k)
            changed = changed or p.best[k].keys[k] != before
        if not changed:
            return


cdef int nearest_outside(Pair* p, double limit, Py_ssize_t* near) noexcept nogil:
    """OUT near (NEAR): the residues nearest to the limit outside it, within twice its distance.

    Of residues less than 1e-7 Å² apart the first in the chain comes first.
    """
    cdef int found = 0
    cdef int j
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


cdef void pull(Pair* p, int k, Py_ssize_t outside) noexcept nogil:
    """Superpose residues of ``kept`` within a cutoff, and one outside, so that the largest distance falls.

    The weights grow with the distances; they are the geometric mean with those of the turn before.
    """
    cdef double limit = p.limits[k]
    cdef double scale = 1 / limit
    cdef double weight
    cdef Py_ssize_t i
    cdef int turn
    cdef long long before = p.best[k].keys[k]
    cdef Placement q
    memcpy(p.d2, p.kept, p.n * sizeof(double))
    for turn in range(PULLS):
        for i in range(p.n):
            weight = p.d2[i] * scale
            weight = weight * weight + 1e-3
            if turn:
                weight = sqrt(weight * p.weights[i])
            p.weights[i] = weight if p.kept[i] <= limit or i == outside else 0
        if not place_weighted(p, &q):
            return
        apply(p, &q)
        if p.best[k].keys[k] != before:
            return


cdef void polish(Pair* p, int k) noexcept nogil:
    """Bring one residue after the other within a cutoff of the best superposition."""
    cdef Py_ssize_t near[NEAR]
    cdef int found
    cdef int j
    cdef int _turn
    cdef long long before
    for _turn in range(NEAR):
        before = p.best[k].keys[k]
        if before >> p.bits == p.n or not is_new(p, before, PULLED + k):
            return
        measure(p, &p.best[k].at)
        memcpy(p.kept, p.d2, p.n * sizeof(double))
        found = nearest_outside(p, p.limits[k], near)
        for j in range(found):
            pull(p, k, near[j])
            if p.best[k].keys[k] != before:
                break


cdef double score(Pair* p) noexcept nogil:
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


cdef double rise(Pair* p, Placement* q, int turns) noexcept nogil:
    """IN/OUT q: superpose by the slopes of the TM-score, which rises at each turn; return its sum."""
    cdef double total
    cdef double last = 0
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


cdef void search_tm(Pair* p, Py_ssize_t n_starts) noexcept nogil:
    """IN/OUT tm: the largest sum from the best of the first superpositions of the pool."""
    cdef Py_ssize_t i
    cdef Py_ssize_t best
    cdef int _turn
    cdef Stand chosen[TM_SEEDS]
    cdef int n_chosen = 0
    cdef int k = 0
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


cdef void search(Pair* p, bint gdt, bint tm) noexcept nogil:
    """OUT best, tm."""
    cdef Py_ssize_t n_starts
    cdef int k
    memset(p.seen, 0, SEEN * sizeof(word))
    p.n_seen = 0
    start(p)
    n_starts = p.n_pool
    if n_starts == 0:
        return
    if tm:
        search_tm(p, n_starts)
    if gdt:
        for k in range(CUTOFFS - 1, -1, -1):
            if p.best[k].keys[k] >> p.bits < p.n:
                improve_best(p, k)
        try_radii(p)
        exchange(p)
        for k in range(CUTOFFS):
            polish(p, k)


cdef int freedom(double* const* x, Py_ssize_t n) noexcept nogil:
    """Return 2 if centred points are one, 1 if on a line (one eigenvalue of their scatter), else 0."""
    cdef double s[9]
    cdef double trace
    cdef double square = 0
    cdef Py_ssize_t i
    cdef int j
    cdef int k
    for j in range(3):
        for k in range(3):
            s[3 * j + k] = 0
            for i in range(n):
                s[3 * j + k] += x[j][i] * x[k][i]
            square += s[3 * j + k] * s[3 * j + k]
    trace = s[0] + s[4] + s[8]
    if trace <= 1e-12 * <double>n:
        return 2
    return trace * trace - square <= 1e-13 * trace * trace


cdef void enter(double** to, const double* xyz, const long long* rows, Py_ssize_t n) noexcept nogil:
    """OUT to (3, n): the positions of the rows about their centre."""
    cdef Py_ssize_t i
    cdef int j
    cdef double mean
    for j in range(3):
        mean = 0
        for i in range(n):
            mean += xyz[3 * rows[i] + j]
        mean /= <double>n
        for i in range(n):
            to[j][i] = xyz[3 * rows[i] + j] - mean


cdef void add_up(Pair* p) noexcept nogil:
    """OUT rows, sums, marks, before, bits, free."""
    cdef Py_ssize_t i
    cdef int j
    cdef int k
    cdef double* row
    cdef word key
    cdef int size = 1
    while p.n >> size:
        size += 1
    p.bits = 62 - size
    p.before[0] = 0
    for k in range(MOMENTS):
        p.sums[k] = 0
    for i in range(p.n):
        row = p.rows + i * MOMENTS
        for j in range(3):
            row[j] = p.a[j][i]
            row[3 + j] = p.b[j][i]
            for k in range(3):
                row[7 + 3 * j + k] = p.a[j][i] * p.b[k][i]
        row[6] = 0
        for j in range(6):
            row[6] += row[j] * row[j]
        for k in range(MOMENTS):
            p.sums[(i + 1) * MOMENTS + k] = p.sums[i * MOMENTS + k] + row[k]
        key = <word>(i + 1) * 0x9E3779B97F4A7C15ULL  # splitmix64
        key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9ULL
        key = (key ^ (key >> 27)) * 0x94D049BB133111EBULL
        key ^= key >> 31
        p.marks[i] = (1LL << p.bits) + <long long>(key >> (64 - p.bits + size))
        p.before[i + 1] = p.before[i] + p.marks[i]
    p.free = max(freedom(p.a, p.n), freedom(p.b, p.n))


cdef double deviation(Pair* p) noexcept nogil:
    """Return the RMSD of all residues, whose superposition is applied."""
    cdef Placement q
    cdef double total = 0
    cdef Py_ssize_t i
    place(p.sums + p.n * MOMENTS, <double>p.n, p.free, &q)
    measure(p, &q)
    for i in range(p.n):
        total += p.d2[i]
    return sqrt(total / <double>p.n)


def superpositions(
    const double[:, ::1] a,
    const double[:, ::1] b,
    const long long[::1] rows_a,
    const long long[::1] rows_b,
    const long long[::1] offsets,
    const double[::1] lengths,
    bint gdt,
    bint tm,
    double[:, ::1] out,
):
    """OUT out (pairs, 7): see ``rerank.metrics.superposition``."""
    cdef Py_ssize_t n_pairs = out.shape[0]
    cdef Py_ssize_t longest = 0
    cdef Py_ssize_t i
    cdef int k
    cdef Pair p
    for i in range(n_pairs):
        longest = max(longest, offsets[i + 1] - offsets[i])
    cdef Py_ssize_t room = longest + 1
    cdef Py_ssize_t pooled = 2 * longest + SMALL * SMALL + CUTOFFS * MOST_SEEDS
    cdef double[::1] floats = np.zeros((9 + 2 * MOMENTS) * room)
    cdef long long[::1] marks = np.zeros(2 * room, dtype=np.int64)
    cdef word[::1] seen = np.zeros(SEEN, dtype=np.uint64)
    cdef Py_ssize_t[::1] order = np.zeros(3 * room + pooled, dtype=np.intp)
    cdef char[::1] stands = np.zeros(pooled * sizeof(Stand), dtype=np.int8)
    cdef double cutoff = 0.5
    for k in range(3):
        p.a[k] = &floats[k * room]
        p.b[k] = &floats[(3 + k) * room]
    p.d2 = &floats[6 * room]
    p.weights = p.d2 + room
    p.kept = p.weights + room
    p.rows = p.kept + room
    p.sums = p.rows + room * MOMENTS
    p.marks = &marks[0]
    p.before = p.marks + room
    p.seen = &seen[0]
    p.heads = &order[0]
    p.next = p.heads + 3 * room
    p.pool = <Stand*> &stands[0]
    for k in range(CUTOFFS):
        p.radii[k] = cutoff
        p.limits[k] = cutoff * cutoff + 1e-6
        cutoff *= 2
    with nogil:
        for i in range(n_pairs):
            p.n = offsets[i + 1] - offsets[i]
            for k in range(CUTOFFS):
                p.best[k].keys[k] = -1
            p.tm = <double>(p.n > 0)  # any residue can be superposed on its counterpart
            out[i, 6] = NAN
            if p.n:
                enter(p.a, &a[0, 0], &rows_a[offsets[i]], p.n)
                enter(p.b, &b[0, 0], &rows_b[offsets[i]], p.n)
                add_up(&p)
                p.d2[p.n] = INFINITY
                p.d0 = max(0.5, 1.24 * cbrt(lengths[i] - 15) - 1.8)
                out[i, 6] = deviation(&p)
                if gdt or tm:
                    search(&p, gdt, tm)
            for k in range(CUTOFFS):
                out[i, k] = max(<double>(p.n > 0), <double>(p.best[k].keys[k] >> p.bits)) if gdt else NAN
            out[i, 5] = p.tm / lengths[i] if tm else NAN
