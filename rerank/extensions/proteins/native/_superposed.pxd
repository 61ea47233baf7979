"""Pairs of chains under a superposition: distances, counts, sums over residues, and what was found so far."""

from libc.string cimport memset

from rerank.extensions.proteins.native._rotation cimport MOMENTS, Placement, place

ctypedef unsigned long long word

cdef enum:
    CUTOFFS = 5
    SEEN = 16384  # a power of two

cdef struct Stand:  # a superposition, with the keys of the residues within each cutoff
    Placement at
    long long keys[CUTOFFS]
    double tm

cdef struct Pair:
    Py_ssize_t n
    int bits  # keys hold a count above them and a hash below them
    int free  # turns that change nothing: 1 = a or b is on a line, 2 = at one point
    double* a[3]
    double* b[3]
    double* d2  # (n + 1): squared distances now; the last is infinite
    double* weights  # (n)
    double* kept  # (n)
    double* rows  # (n, MOMENTS): a residue's share of the moments
    double* sums  # (n + 1, MOMENTS): rows before it, added up
    long long* marks  # (n): 1 << bits, and a random number; those of a set add up to its key
    long long* before  # (n + 1): marks before it, added up
    word* seen  # (SEEN)
    int n_seen
    double radii[CUTOFFS]
    double limits[CUTOFFS]  # of d²
    Stand now
    Stand best[CUTOFFS]  # the superposition with most residues within each cutoff
    Stand* pool
    Py_ssize_t n_pool
    Py_ssize_t* heads
    Py_ssize_t* next
    double d0, tm


cdef inline void add_to_pool(Pair* p) noexcept nogil:
    """Keep ``now``."""
    p.pool[p.n_pool] = p.now
    p.n_pool += 1


cdef inline void forget(Pair* p) noexcept nogil:
    """Make all sets of residues new."""
    memset(p.seen, 0, SEEN * sizeof(word))
    p.n_seen = 0


cdef inline bint is_new(Pair* p, long long key, int purpose) noexcept nogil:
    """Return whether this set of residues was not seen for this purpose before; it is from now on."""
    cdef word mixed = (<word>key + <word>(purpose + 1) * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL
    cdef word at
    mixed ^= mixed >> 29
    mixed += mixed == 0
    at = mixed & (SEEN - 1)
    while p.seen[at]:
        if p.seen[at] == mixed:
            return False
        at = (at + 1) & (SEEN - 1)
    if p.n_seen < SEEN // 2:  # a full table forgets: then work is repeated
        p.n_seen += 1
        p.seen[at] = mixed
    return True


cdef inline void measure(Pair* p, const Placement* q) noexcept nogil:
    """OUT d2."""
    cdef const double* ax = p.a[0]
    cdef const double* ay = p.a[1]
    cdef const double* az = p.a[2]
    cdef const double* bx = p.b[0]
    cdef const double* by = p.b[1]
    cdef const double* bz = p.b[2]
    cdef double* d2 = p.d2
    cdef double r0 = q.r[0], r1 = q.r[1], r2 = q.r[2], r3 = q.r[3], r4 = q.r[4], r5 = q.r[5], r6 = q.r[6]
    cdef double r7 = q.r[7], r8 = q.r[8], tx = q.t[0], ty = q.t[1], tz = q.t[2]
    cdef Py_ssize_t i, n = p.n
    cdef double x, y, z
    for i in range(n):
        x = r0 * ax[i] + r1 * ay[i] + r2 * az[i] + tx - bx[i]
        y = r3 * ax[i] + r4 * ay[i] + r5 * az[i] + ty - by[i]
        z = r6 * ax[i] + r7 * ay[i] + r8 * az[i] + tz - bz[i]
        d2[i] = x * x + y * y + z * z


cdef inline void count(Pair* p) noexcept nogil:
    """OUT now.keys; IN/OUT best: the first superposition of most residues within each cutoff."""
    cdef const double* d2 = p.d2
    cdef const long long* marks = p.marks
    cdef double l0 = p.limits[0], l1 = p.limits[1], l2 = p.limits[2], l3 = p.limits[3], l4 = p.limits[4]
    cdef long long k0 = 0, k1 = 0, k2 = 0, k3 = 0, k4 = 0, mark
    cdef double d
    cdef Py_ssize_t n = p.n, i
    cdef int k
    for i in range(n):
        mark = marks[i]
        d = d2[i]
        k0 += mark if d <= l0 else 0
        k1 += mark if d <= l1 else 0
        k2 += mark if d <= l2 else 0
        k3 += mark if d <= l3 else 0
        k4 += mark if d <= l4 else 0
    p.now.keys[0] = k0
    p.now.keys[1] = k1
    p.now.keys[2] = k2
    p.now.keys[3] = k3
    p.now.keys[4] = k4
    for k in range(CUTOFFS):
        if p.now.keys[k] >> p.bits > p.best[k].keys[k] >> p.bits:
            p.best[k] = p.now


cdef inline void apply(Pair* p, const Placement* q) noexcept nogil:
    """Superpose: OUT d2, now; IN/OUT best."""
    p.now.at = q[0]
    measure(p, q)
    count(p)


cdef inline long long select(Pair* p, double limit, double* m) noexcept nogil:
    """OUT m: the moments of the residues within the limit; gives their key."""
    cdef long long key = 0
    cdef Py_ssize_t i, k
    cdef bint inside = False
    cdef const double* row
    for k in range(MOMENTS):
        m[k] = 0
    for i in range(p.n + 1):
        if (p.d2[i] <= limit) != inside:  # runs are added from the sums at their ends
            row = p.sums + i * MOMENTS
            if inside:
                key += p.before[i]
                for k in range(MOMENTS):
                    m[k] += row[k]
            else:
                key -= p.before[i]
                for k in range(MOMENTS):
                    m[k] -= row[k]
            inside = not inside
    return key


cdef inline bint place_weighted(Pair* p, Placement* q) noexcept nogil:
    """OUT q: the superposition by weights; False if they do not determine one."""
    cdef double m[MOMENTS]
    cdef double total = 0, weight
    cdef const double* row
    cdef Py_ssize_t i, k
    for k in range(MOMENTS):
        m[k] = 0
    for i in range(p.n):
        weight = p.weights[i]
        if weight > 0:
            total += weight
            row = p.rows + i * MOMENTS
            for k in range(MOMENTS):
                m[k] += weight * row[k]
    return total > 0 and place(m, total, p.free, q)


cdef inline bint sharpen(Pair* p, double radius, int doublings) noexcept nogil:
    """Superpose again by how much each residue's nearness matters at this radius: IN/OUT d2, now, best.

    The weight is the slope of 1/(1 + uᵖ), u = d²/radius², a soft step at the radius; p = 2 ** doublings.
    """
    cdef double scale = 1 / (radius * radius)
    cdef double limit = 9 * radius * radius + 1e-6
    cdef double* w = p.weights
    cdef const double* d2 = p.d2
    cdef Py_ssize_t i, n = p.n
    cdef int _turn
    cdef double f
    cdef Placement q
    for i in range(n):
        w[i] = d2[i] * scale
    for _turn in range(doublings):
        for i in range(n):
            w[i] *= w[i]
    for i in range(n):
        f = w[i] / ((d2[i] * scale + 1e-30) * (1 + w[i]) * (1 + w[i]))
        w[i] = f if d2[i] <= limit else 0
    if not place_weighted(p, &q):
        return False
    apply(p, &q)
    return True


cdef inline void settle(Pair* p, double limit, int purpose, int turns) noexcept nogil:
    """Superpose the residues within the limit, until they were superposed before: IN/OUT d2, now, best."""
    cdef double m[MOMENTS]
    cdef long long key
    cdef Placement q
    cdef int _turn
    for _turn in range(turns):
        key = select(p, limit, m)
        if key >> p.bits < 3 - p.free or not is_new(p, key, purpose):
            return
        if not place(m, <double>(key >> p.bits), p.free, &q):
            return
        apply(p, &q)


cdef inline void settle_within(Pair* p, int k, int purpose, int turns) noexcept nogil:
    """Superpose the residues within a cutoff, until they were superposed before: IN/OUT d2, now, best."""
    cdef double m[MOMENTS]
    cdef Placement q
    cdef int _turn
    for _turn in range(turns):
        if p.now.keys[k] >> p.bits < 3 - p.free or not is_new(p, p.now.keys[k], purpose):
            return
        select(p, p.limits[k], m)
        if not place(m, <double>(p.now.keys[k] >> p.bits), p.free, &q):
            return
        apply(p, &q)
