"""The subset tree kernel: nodes of one production have delta = decay * product of 1 + delta of children.

Collins, Duffy: New ranking algorithms for parsing and tagging. ACL 2002. Only nodes of equal productions are
compared: Moschitti, Making tree kernels practical for natural language learning. EACL 2006.
"""

from rerank.native.similarity._tree_parts cimport (
    Block, Groups, Kernel, NodeTable, Output, Room, Tree, fill_first_row, group, needed, ungroup,
    weight_of,
)


cdef struct Children:  # of the members of all groups, in their order
    int* first  # of member m: first[m]
    int* production  # -2 for words
    int* rank


cdef inline void pack(const NodeTable* nodes, const Groups* x, Children* c) noexcept nogil:
    """OUT c: the children of the members of groups."""
    cdef int m, u, child, at = 0
    cdef long long i
    for m in range(x.bounds[x.n]):
        u = x.members[m]
        c.first[m] = at
        for i in range(nodes.bounds[u] + 1, nodes.bounds[u + 1]):
            child = nodes.keys[i]
            c.production[at] = nodes.production[child] if nodes.production[child] >= 0 else -2
            c.rank[at] = x.rank[child]
            at += 1


cdef inline double delta_of(
    const int* mine, const int* ranks, const int* theirs, int n, const Block* y, const Output* out,
    double decay,
) noexcept nogil:
    """The delta of two nodes with n children each: productions and ranks of mine, numbers of theirs."""
    cdef int i
    cdef double delta = decay
    for i in range(n):
        if mine[i] == y.production[theirs[i]]:
            delta *= 1.0 + out.table[out.base[theirs[i]] + ranks[i]]
    return delta


cdef inline void sweep(
    const Groups* x, const Children* c, const Block* y, double decay, Output* out
) noexcept nogil:
    """OUT r of all nodes of a block but its words."""
    cdef int v, g, m, k, n, last, begin
    cdef long long top = x.most
    cdef double delta, total
    cdef const int* children
    fill_first_row(x, decay, out.table)
    for v in range(y.n_words, y.n_low):
        g = x.of_key[y.production[v]]
        out.r[v] = decay * x.totals[g] if g >= 0 else 0.0
        out.base[v] = 0
    for k in range(y.n_ranges):
        v = y.ranges[k]
        g = x.of_key[y.production[v]]
        if g < 0:
            for v in range(y.ranges[k], y.ranges[k + 1]):
                out.r[v] = 0.0
            continue
        begin = x.bounds[g]
        last = x.bounds[g + 1]
        n = <int>(y.first[v + 1] - y.first[v])
        children = y.children + y.first[v]
        for v in range(y.ranges[k], y.ranges[k + 1]):
            out.base[v] = top
            total = 0.0
            for m in range(begin, last):
                delta = delta_of(
                    c.production + c.first[m], c.rank + c.first[m], children, n, y, out, decay
                )
                out.table[top] = delta
                top += 1
                total += x.counts[m] * delta
            out.r[v] = total
            children += n


cdef inline void sweep_words(
    const Tree* x, const NodeTable* nodes, const Block* y, int* of_symbol, double decay, double* r
) noexcept nogil:
    """OUT r of the words of a block; INOUT of_symbol, all -1."""
    cdef int i, v
    for i in range(x.n_inner, x.n):
        of_symbol[nodes.symbol[x.nodes[i]]] = i
    for v in range(y.n_words):
        i = of_symbol[y.symbol[v]]
        r[v] = decay * weight_of(x, i) if i >= 0 else 0.0
    for i in range(x.n_inner, x.n):
        of_symbol[nodes.symbol[x.nodes[i]]] = -1


cdef class SubsetTrees(Kernel):
    """The kernel with its settings; ``words``: equal words count decay."""

    cdef double decay

    def __init__(self, double decay, bint words):
        self.decay = decay
        self.words = words

    cdef long long prepare(
        self, const Tree* x, const NodeTable* nodes, const Block* y, Room room
    ) noexcept nogil:
        cdef Groups* groups = &room.groups
        cdef Children children
        cdef long long need
        groups.of_key = &room.of_production[0]
        children.first = &room.ints[2, 0]
        children.production = &room.ints[3, 0]
        children.rank = &room.ints[4, 0]
        group(x, x.n_inner, nodes.production, groups)
        need = needed(y, y.n_low, y.production, groups, room.output.room)
        if need <= room.output.room:
            pack(nodes, groups, &children)
            sweep(groups, &children, y, self.decay, &room.output)
        ungroup(x, x.n_inner, nodes.production, groups)
        if self.words:
            sweep_words(x, nodes, y, &room.of_symbol[0], self.decay, room.output.r)
        return need
