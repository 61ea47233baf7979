"""Sums over the subsequences of two nodes' children, for many nodes of one production at a time."""

from rerank.native.data._number cimport u64
from rerank.native.similarity._tree_edges cimport FREE, Edges, find, key_of
from rerank.native.similarity._tree_parts cimport Block, Groups, NodeTable, Output

cdef enum:
    CELLS = 64  # pairs of children of two nodes, beyond which they are treated by ``dense``
    MEMBERS = 64  # of a group that are treated at a time
    ENTRIES = 4096  # CELLS * MEMBERS
    LINKS = 784  # pairs of pairs of children, one before the other: 28 * 28 for 8 * 8 children


cdef struct Weights:
    double decay, mu
    double alone  # delta of nodes without children of one label
    int most  # members of a subsequence, 0 = any number
    const double* power  # of decay, 0 to 2 * CELLS


cdef struct Program:  # pairs of children of one label: child j of v, child i of a member of a group
    int* member
    int* i
    int* j
    int* rank
    int* before  # the previous pair of the same member
    int* first_link  # of a pair; links are the pairs that may come before it in a chain
    int* link
    double* weight  # decay^gaps
    double* chains  # s of each pair
    int n
    bint dense  # whether a member is left to ``dense``


cdef struct Sweep:  # what a sweep over the nodes of a block needs
    Program* p
    Edges* e
    const NodeTable* nodes
    const Groups* x
    const Block* y
    const Weights* w
    Output* out
    double* sums  # see ``dense``


cdef inline bint is_dense(int p, int q, int most) noexcept nogil:
    """Whether nodes with p and q children are left to ``dense``."""
    return <long long>p * q > CELLS or (0 < most < p and most < q)


cdef inline void add(
    Program* p, int member, int i, int j, int rank, int* last, const Weights* w
) noexcept nogil:
    """Add a pair of children; INOUT last, the last pair of each member so far."""
    cdef int t = p.n, at = p.first_link[t], s = last[member]
    p.member[t] = member
    p.i[t] = i
    p.j[t] = j
    p.rank[t] = rank
    p.before[t] = s
    last[member] = t
    while s != FREE:
        if p.i[s] < i and p.j[s] < j:
            p.link[at] = s
            p.weight[at] = w.power[i - p.i[s] + j - p.j[s] - 2]
            at += 1
        s = p.before[s]
    p.first_link[t + 1] = at
    p.n += 1


cdef inline void compile(Sweep* to, int g, int low, int high, int v, int* cursor) noexcept nogil:
    """OUT the program of v, and all others of its production, with the members low:high of group g.

    INOUT cursor (CELLS): the next edge of each child of v, set if low is 0.
    """
    cdef Program* p = to.p
    cdef Edges* e = to.e
    cdef const Groups* x = to.x
    cdef const Block* y = to.y
    cdef const Weights* w = to.w
    cdef int[MEMBERS] last
    cdef int q = <int>(y.first[v + 1] - y.first[v])
    cdef const int* children = y.children + y.first[v]
    cdef const int* widths = e.width + x.bounds[g]
    cdef int m, j, k, at
    cdef u64 slot
    p.n = 0
    p.dense = is_dense(e.widest[g], q, w.most)
    p.first_link[0] = 0
    for m in range(high - low):
        last[m] = FREE
    for j in range(q if q <= CELLS else 0):
        k = x.of_key[y.symbol[children[j]]]
        k = find(e, key_of(g, k), &slot) if k >= 0 else FREE
        if k == FREE:
            continue
        at = cursor[j] if low else e.bounds[k]
        while at < e.bounds[k + 1] and e.member[at] < high:
            m = e.member[at]
            if not p.dense or not is_dense(widths[m], q, w.most):
                add(p, m - low, e.child[at], j, e.rank[at], last, w)
            at += 1
        cursor[j] = at


cdef inline double dense(const Sweep* to, int u, int v) noexcept nogil:
    """The sum over subsequences of the children of u and v.

    SCRATCH sums (children of v, times the most members of a subsequence if that is limited): sums[l, j] is
    the sum of s(i', j') * decay^gaps over the children i' before i and j' up to j, of chains of l + 1 pairs,
    or of all chains.
    """
    cdef const NodeTable* nodes = to.nodes
    cdef const Groups* x = to.x
    cdef const Block* y = to.y
    cdef const Weights* w = to.w
    cdef const Output* out = to.out
    cdef double* sums = to.sums
    cdef const int* mine = nodes.keys + nodes.bounds[u] + 1
    cdef const int* theirs = y.children + y.first[v]
    cdef int p = <int>(nodes.bounds[u + 1] - nodes.bounds[u]) - 1
    cdef int q = <int>(y.first[v + 1] - y.first[v])
    cdef bint limited = 0 < w.most < p and w.most < q
    cdef int levels = w.most if limited else 1
    cdef int i, j, l, symbol, rank
    cdef double total = 0.0, s, run, before, here
    cdef double* row
    for i in range(levels * q):
        sums[i] = 0.0
    for i in range(p):
        symbol = nodes.symbol[mine[i]]
        rank = x.rank[mine[i]]
        for l in range(levels - 1, -1, -1):
            row = sums + <long long>l * q
            run = 0.0
            before = 0.0 if limited and l else 1.0
            for j in range(q):
                if limited:
                    here = sums[<long long>(l - 1) * q + j] if l else 1.0
                else:
                    here = 1.0 + row[j]
                run *= w.decay
                if symbol == y.symbol[theirs[j]]:
                    s = out.table[out.base[theirs[j]] + rank] * before
                    total += s
                    run += s
                row[j] = w.decay * row[j] + run
                before = here
    return total


cdef inline void run(Sweep* to, int g, int low, int high, int v) noexcept nogil:
    """OUT the deltas of v with the members low:high of group g; INOUT r[v], without children before."""
    cdef const Program* p = to.p
    cdef const Edges* e = to.e
    cdef const Groups* x = to.x
    cdef const Block* y = to.y
    cdef const Weights* w = to.w
    cdef Output* out = to.out
    cdef const int* children = y.children + y.first[v]
    cdef int q = <int>(y.first[v + 1] - y.first[v])
    cdef int first = x.bounds[g] + low
    cdef int m, t, l
    cdef double s, chain
    cdef double r = out.r[v]
    cdef double* row = out.table + out.base[v] + low
    for m in range(high - low):
        row[m] = w.alone
    for t in range(p.n):
        s = out.table[out.base[children[p.j[t]]] + p.rank[t]]
        if p.first_link[t] < p.first_link[t + 1]:
            chain = 1.0
            for l in range(p.first_link[t], p.first_link[t + 1]):
                chain += p.weight[l] * p.chains[p.link[l]]
            s *= chain
        p.chains[t] = s
        s *= w.mu
        row[p.member[t]] += s
        r += x.counts[first + p.member[t]] * s
    if p.dense:
        for m in range(high - low):
            if is_dense(e.width[first + m], q, w.most):
                s = w.mu * dense(to, x.members[first + m], v)
                row[m] += s
                r += x.counts[first + m] * s
    out.r[v] = r
