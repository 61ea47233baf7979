"""GDT and TM-score: the superpositions of two chains that bring most residues close together.

The search for counts, whose first, second and fourth step are those of Zhang and Skolnick (2004):

1. fragments of all lengths n, n/2, n/4 ... 4 are superposed, at all places;
2. the residues near those of a promising fragment are superposed again, some times;
3. at each cutoff, the best of the fragments that are half a length apart are improved by weighted
   superpositions, whose weights are the slopes of a step that becomes steeper: only residues near the cutoff
   matter;
4. the residues within the cutoff are superposed again until they stay the same;
5. the best superposition of each cutoff is tried at other radii and cutoffs;
6. residues just outside are brought inside by weights that grow with the distance.

Each superposition counts at all cutoffs. The TM-score has its own search, from the fragments of step 3. Both
chains are first placed in a frame of their own, in the order of their coordinates, so that the search is the
same however they lie in space and whichever is given first.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, cbrt, sqrt

from rerank.extensions.proteins.native._canonical cimport canonical, centre, comes_first
from rerank.extensions.proteins.native._counted cimport MOST_SEEDS, search_counts
from rerank.extensions.proteins.native._rotation cimport MOMENTS, Placement, place
from rerank.extensions.proteins.native._scored cimport search_tm
from rerank.extensions.proteins.native._superposed cimport (
    CUTOFFS, SEEN, Pair, Stand, add_to_pool, apply, forget, measure, settle, word,
)

cdef enum:
    SHORTEST = 4  # residues of a fragment
    SMALL = 32  # residues up to which all fragments of three and more are tried
    MOST_STARTS = 2000  # of a length
    SHARE = 50  # percentage of the most residues so far that a promising fragment brings together
    TURNS_NEAR = 3
    TURNS_WIDE = 2
    # purposes of is_new
    NEARBY = 64
    AROUND = 65


cdef bint promising(Pair* p) noexcept nogil:
    """Return whether ``now`` has a fair share of the most residues so far within 4 or 8 Å."""
    cdef int k
    for k in range(CUTOFFS - 2, CUTOFFS):
        if 100 * (p.now.keys[k] >> p.bits) >= SHARE * (p.best[k].keys[k] >> p.bits):
            return True
    return False


cdef void start(Pair* p, bint thorough) noexcept nogil:
    """Superpose fragments: OUT pool: those that are half a length apart; IN/OUT best.

    ``thorough``: those at all places, and the residues near them at the radii of TMscore.
    """
    cdef Py_ssize_t length = p.n, step
    cdef Py_ssize_t every = 1 + p.n // MOST_STARTS
    cdef Py_ssize_t first, i
    cdef double m[MOMENTS]
    cdef double near = min(max(p.d0, 4.5), 8.0) - 1
    cdef double wide = near + 2
    cdef bint coarse
    cdef Placement q
    while True:
        step = max(1 if p.n <= SMALL else length // 2, every)
        for first in range(p.n - length + 1):
            coarse = first % step == 0 or first == p.n - length
            if not coarse and not (thorough and first % every == 0):
                continue
            for i in range(MOMENTS):
                m[i] = p.sums[(first + length) * MOMENTS + i] - p.sums[first * MOMENTS + i]
            if not place(m, <double>length, p.free, &q):
                continue
            apply(p, &q)
            if coarse:
                add_to_pool(p)
            if thorough and promising(p):
                settle(p, near * near, NEARBY, TURNS_NEAR)
                settle(p, wide * wide, AROUND, TURNS_WIDE)
        if length <= (3 if p.n <= SMALL else SHORTEST):
            return
        length = length - 1 if p.n <= SMALL else max(length // 2, SHORTEST)


cdef void search(Pair* p, bint gdt, bint tm, bint thorough) noexcept nogil:
    """OUT best, tm."""
    cdef Py_ssize_t n_starts
    forget(p)
    p.n_pool = 0
    start(p, gdt and thorough)
    n_starts = p.n_pool
    if n_starts == 0:
        return
    if tm:
        forget(p)
        search_tm(p, n_starts)
    if gdt:
        forget(p)  # what is found must not depend on whether the TM-score is asked for
        search_counts(p, thorough)


cdef int freedom(double* const* x, Py_ssize_t n) noexcept nogil:
    """Return 2 if centred points are one, 1 if on a line (one eigenvalue of their scatter), else 0."""
    cdef double s[9]
    cdef double trace, square = 0
    cdef Py_ssize_t i
    cdef int j, k
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


cdef void add_up(Pair* p) noexcept nogil:
    """OUT rows, sums, marks, before, bits, free."""
    cdef Py_ssize_t i
    cdef int j, k
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
    const double[:, ::1] a, const double[:, ::1] b, const long long[::1] rows_a, const long long[::1] rows_b,
    const long long[::1] offsets, const double[::1] lengths, bint gdt, bint tm, bint thorough,
    double[:, ::1] out,
):
    """OUT out (pairs, 7): see ``rerank.metrics.superposition``."""
    cdef Py_ssize_t n_pairs = out.shape[0]
    cdef Py_ssize_t longest = 0, i
    cdef int k
    cdef Pair p
    for i in range(n_pairs):
        longest = max(longest, offsets[i + 1] - offsets[i])
    cdef Py_ssize_t room = longest + 1
    cdef Py_ssize_t pooled = 2 * longest + SMALL * SMALL + 2 * CUTOFFS * MOST_SEEDS
    cdef double[::1] floats = np.zeros((9 + 2 * MOMENTS) * room)
    cdef long long[::1] marks = np.zeros(2 * room, dtype=np.int64)
    cdef word[::1] seen = np.zeros(SEEN, dtype=np.uint64)
    cdef Py_ssize_t[::1] order = np.zeros(3 * room + pooled, dtype=np.intp)
    cdef char[::1] stands = np.zeros(pooled * sizeof(Stand), dtype=np.int8)
    cdef double cutoff = 0.5
    cdef double* spare
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
    p.bits = 0  # a first pair without residues has none
    for k in range(CUTOFFS):
        p.radii[k] = cutoff
        p.limits[k] = cutoff * cutoff + 1e-5
        cutoff *= 2
    with nogil:
        for i in range(n_pairs):
            p.n = offsets[i + 1] - offsets[i]
            for k in range(CUTOFFS):
                p.best[k].keys[k] = -1
            p.tm = <double>(p.n > 0)  # any residue can be superposed on its counterpart
            out[i, 6] = NAN
            if p.n:
                centre(p.a, &a[0, 0], &rows_a[offsets[i]], p.n)
                centre(p.b, &b[0, 0], &rows_b[offsets[i]], p.n)
                add_up(&p)
                p.d2[p.n] = INFINITY
                p.d0 = max(0.5, 1.24 * cbrt(lengths[i] - 15) - 1.8)
                out[i, 6] = deviation(&p)
                if gdt or tm:
                    canonical(p.a, p.n)
                    canonical(p.b, p.n)
                    if not comes_first(p.a, p.b, p.n):
                        for k in range(3):
                            spare = p.a[k]
                            p.a[k] = p.b[k]
                            p.b[k] = spare
                    add_up(&p)
                    search(&p, gdt, tm, thorough)
            for k in range(CUTOFFS):
                out[i, k] = max(<double>(p.n > 0), <double>(p.best[k].keys[k] >> p.bits)) if gdt else NAN
            out[i, 5] = p.tm / lengths[i] if tm else NAN
