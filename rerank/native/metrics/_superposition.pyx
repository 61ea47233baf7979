"""GDT and TM-score: the superpositions of two chains that bring most residues close together.

Each superposition is of least squares on some residues. It starts from fragments and is refined: the residues
within a radius are superposed again until they stay the same (Zemla 2003; Zhang and Skolnick 2004).
"""

import numpy as np

from libc.math cimport INFINITY, NAN, cbrt, sqrt
from libc.string cimport memset

from rerank.native.metrics._rotation cimport MOMENTS, Placement, place

ctypedef unsigned long long word

cdef enum:
    CUTOFFS = 5
    SHORTEST = 4  # residues of a fragment
    SEEN = 1 << 14  # a power of two

cdef struct Pair:
    Py_ssize_t n
    double* a[3]
    double* b[3]
    double* d2  # (n + 1), the last is infinite
    double* sums  # (n + 1, MOMENTS): of all residues before
    word* keys  # (n + 1): of a set of residues, those of its borders combined
    word* seen  # (SEEN)
    int n_seen
    int free  # dimensions that a superposition may leave open: 1 = a or b is on a line, 2 = at a point
    double limits[CUTOFFS]
    long long best[CUTOFFS]
    double d0
    double tm


cdef inline bint is_new(Pair* p, word key) noexcept nogil:
    cdef word at
    key += key == 0
    at = key & (SEEN - 1)
    while p.seen[at]:
        if p.seen[at] == key:
            return False
        at = (at + 1) & (SEEN - 1)
    if p.n_seen < SEEN // 2:
        p.n_seen += 1
        p.seen[at] = key
    return True


cdef void apply(Pair* p, const Placement* q) noexcept nogil:
    """OUT d2, and the counts at all cutoffs."""
    cdef const double* ax = p.a[0]
    cdef const double* ay = p.a[1]
    cdef const double* az = p.a[2]
    cdef const double* bx = p.b[0]
    cdef const double* by = p.b[1]
    cdef const double* bz = p.b[2]
    cdef double* d2 = p.d2
    cdef Py_ssize_t n = p.n
    cdef Py_ssize_t i
    cdef int k
    cdef double x
    cdef double y
    cdef double z
    cdef double limit
    cdef long long count
    cdef double r0 = q.r[0]
    cdef double r1 = q.r[1]
    cdef double r2 = q.r[2]
    cdef double r3 = q.r[3]
    cdef double r4 = q.r[4]
    cdef double r5 = q.r[5]
    cdef double r6 = q.r[6]
    cdef double r7 = q.r[7]
    cdef double r8 = q.r[8]
    cdef double tx = q.t[0]
    cdef double ty = q.t[1]
    cdef double tz = q.t[2]
    for i in range(n):
        x = r0 * ax[i] + r1 * ay[i] + r2 * az[i] + tx - bx[i]
        y = r3 * ax[i] + r4 * ay[i] + r5 * az[i] + ty - by[i]
        z = r6 * ax[i] + r7 * ay[i] + r8 * az[i] + tz - bz[i]
        d2[i] = x * x + y * y + z * z
    for k in range(CUTOFFS):
        limit = p.limits[k]
        count = 0
        for i in range(n):
            count += d2[i] <= limit
        if count > p.best[k]:
            p.best[k] = count


cdef Py_ssize_t select(Pair* p, double limit, double* m, word* key) noexcept nogil:
    """OUT m, key: the moments and the key of the residues within the limit; gives how many."""
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t i
    cdef Py_ssize_t k
    cdef bint inside = False
    cdef const double* row
    for k in range(MOMENTS):
        m[k] = 0
    key[0] = 0
    for i in range(p.n + 1):
        if (p.d2[i] <= limit) != inside:
            row = p.sums + i * MOMENTS
            key[0] ^= p.keys[i]
            if inside:
                n += i
                for k in range(MOMENTS):
                    m[k] += row[k]
            else:
                n -= i
                for k in range(MOMENTS):
                    m[k] -= row[k]
            inside = not inside
    return n


cdef void refine(Pair* p, double limit, word salt) noexcept nogil:
    """Superpose the residues within the limit again until they have been superposed before."""
    cdef double m[MOMENTS]
    cdef word key
    cdef Py_ssize_t n
    cdef int _turn
    cdef Placement q
    for _turn in range(20):
        n = select(p, limit, m, &key)
        if n < 3 - p.free or not is_new(p, key + salt) or not place(m, <double>n, p.free, &q):
            return
        apply(p, &q)


cdef double tm_sum(Pair* p) noexcept nogil:
    cdef double total = 0
    cdef double scale = 1 / (p.d0 * p.d0)
    cdef Py_ssize_t i
    for i in range(p.n):
        total += 1 / (1 + p.d2[i] * scale)
    return total


cdef double reweigh(Pair* p, Placement* q) noexcept nogil:
    """IN/OUT q: a superposition, on exit one whose TM-score is a local maximum; return its sum.

    The weights 1/(1 + d²/d0²)² make the sum rise at every step.
    """
    cdef double m[MOMENTS]
    cdef double total = 0
    cdef double last
    cdef double scale = 1 / (p.d0 * p.d0)
    cdef double weight
    cdef double weights
    cdef const double* row
    cdef Py_ssize_t i
    cdef Py_ssize_t k
    cdef int _turn
    for _turn in range(100):
        apply(p, q)
        last = total
        total = tm_sum(p)
        if total <= last + 1e-10 * total:
            return max(total, last)
        for k in range(MOMENTS):
            m[k] = 0
        weights = 0
        for i in range(p.n):
            weight = 1 / (1 + p.d2[i] * scale)
            weight = weight * weight
            weights += weight
            row = p.sums + i * MOMENTS
            for k in range(MOMENTS):
                m[k] += weight * (row[MOMENTS + k] - row[k])
        if not place(m, weights, p.free, q):
            return total
    return total


cdef void search(Pair* p, bint tm) noexcept nogil:
    """OUT best, tm: the largest counts and the largest TM-score's sum that the search finds."""
    cdef Py_ssize_t length = p.n
    cdef Py_ssize_t start
    cdef Py_ssize_t i
    cdef int k
    cdef double m[MOMENTS]
    cdef double of_cutoff[CUTOFFS][MOMENTS]
    cdef Py_ssize_t counts[CUTOFFS]
    cdef word keys[CUTOFFS]
    cdef double score
    cdef Placement q
    cdef Placement highest
    cdef Placement* best = NULL
    memset(p.seen, 0, SEEN * sizeof(word))
    p.n_seen = 0
    while True:
        for start in range(p.n - length + 1):
            for i in range(MOMENTS):
                m[i] = p.sums[(start + length) * MOMENTS + i] - p.sums[start * MOMENTS + i]
            if not place(m, <double>length, p.free, &q):
                continue
            apply(p, &q)
            if tm:
                score = tm_sum(p)
                if best == NULL or score > p.tm:
                    p.tm = score
                    highest = q
                    best = &highest
            for k in range(CUTOFFS):
                counts[k] = select(p, p.limits[k], of_cutoff[k], &keys[k])
            for k in range(CUTOFFS):
                if counts[k] >= 3 - p.free and is_new(p, keys[k] + k):
                    if place(of_cutoff[k], <double>counts[k], p.free, &q):
                        apply(p, &q)
                        refine(p, p.limits[k], k)
                        if tm:
                            score = tm_sum(p)
                            if score > p.tm:
                                p.tm = score
                                highest = q
                                best = &highest
        if length <= SHORTEST:
            break
        length = max(length // 2, SHORTEST)
    if best != NULL:
        p.tm = max(p.tm, reweigh(p, best))


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
    """OUT sums, keys, free."""
    cdef Py_ssize_t i
    cdef int j
    cdef int k
    cdef double* row = p.sums
    cdef word key
    for k in range(MOMENTS):
        row[k] = 0
    p.keys[0] = 0
    for i in range(p.n):
        row = p.sums + (i + 1) * MOMENTS
        for j in range(3):
            row[j] = p.a[j][i]
            row[3 + j] = p.b[j][i]
            for k in range(3):
                row[7 + 3 * j + k] = p.a[j][i] * p.b[k][i]
        row[6] = 0
        for j in range(6):
            row[6] += row[j] * row[j]
        for k in range(MOMENTS):
            row[k] += row[k - MOMENTS]
        key = <word>(i + 1) * 0x9E3779B97F4A7C15ULL  # splitmix64
        key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9ULL
        key = (key ^ (key >> 27)) * 0x94D049BB133111EBULL
        p.keys[i + 1] = key ^ (key >> 31)
    p.free = max(freedom(p.a, p.n), freedom(p.b, p.n))


cdef double deviation(Pair* p) noexcept nogil:
    """Return the RMSD of all residues, whose superposition is applied."""
    cdef Placement q
    cdef double total = 0
    cdef Py_ssize_t i
    place(p.sums + p.n * MOMENTS, <double>p.n, p.free, &q)
    apply(p, &q)
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
    cdef double[::1] floats = np.zeros(7 * (longest + 1) + (longest + 1) * MOMENTS)
    cdef word[::1] words = np.zeros(SEEN + longest + 1, dtype=np.uint64)
    for k in range(3):
        p.a[k] = &floats[k * (longest + 1)]
        p.b[k] = &floats[(3 + k) * (longest + 1)]
    p.d2 = &floats[6 * (longest + 1)]
    p.sums = p.d2 + longest + 1
    p.seen = &words[0]
    p.keys = p.seen + SEEN
    cdef double cutoff = 0.5
    for k in range(CUTOFFS):
        p.limits[k] = cutoff * cutoff + 1e-6
        cutoff *= 2
    with nogil:
        for i in range(n_pairs):
            p.n = offsets[i + 1] - offsets[i]
            for k in range(CUTOFFS):
                p.best[k] = p.n > 0  # any residue can be superposed on its counterpart
            p.tm = <double>(p.n > 0)
            out[i, 6] = NAN
            if p.n:
                enter(p.a, &a[0, 0], &rows_a[offsets[i]], p.n)
                enter(p.b, &b[0, 0], &rows_b[offsets[i]], p.n)
                add_up(&p)
                p.d2[p.n] = INFINITY
                p.d0 = max(0.5, 1.24 * cbrt(lengths[i] - 15) - 1.8)
                out[i, 6] = deviation(&p)
                if gdt or tm:
                    search(&p, tm)
            for k in range(CUTOFFS):
                out[i, k] = <double>p.best[k] if gdt else NAN
            out[i, 5] = p.tm / lengths[i] if tm else NAN
