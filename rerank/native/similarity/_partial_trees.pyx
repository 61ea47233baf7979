"""The partial tree kernel: nodes of one label have delta = mu * (decay^2 + a sum over their children).

The sum runs over all pairs of equally long subsequences, one of each node's children; each counts the product
of the deltas of their members, and decay for every child left out between two members. Moschitti: Efficient
convolution kernels for dependency and constituent syntactic trees. ECML 2006.

Children of different labels have delta = 0, and most nodes have few or no children of one label. So the
sum is taken over chains of pairs of children: s(i, j) = delta(i, j) * (1 + sum of s(i', j') * decay^gaps
over i' < i and j' < j) is that of the chains that end in children i and j, and the sum of all s is that of
all subsequences. Which pairs of children have one label is found once for all nodes v of one production and
all members of x's group (``Program``). Nodes with many children are treated by ``dense``, the same in
prefix sums.
"""

import numpy as np

from rerank.native.data._number cimport u64
from rerank.native.similarity._tree_edges cimport FREE, Edges, clear_edges, find, key_of, list_edges
from rerank.native.similarity._tree_parts cimport (
    Block, Groups, Kernel, NodeTable, Output, Room, Tree, fill_first_row, group, needed, ungroup,
)
from rerank.native.similarity._tree_programs cimport (
    CELLS, ENTRIES, LINKS, MEMBERS, Program, Sweep, Weights, compile, run,
)


cdef inline long long sweep_range(Sweep* to, int begin, int end, long long top) noexcept nogil:
    """OUT base and r of the nodes begin:end, of one production; return the top of the table after them."""
    cdef const Program* p = to.p
    cdef const Groups* x = to.x
    cdef Output* out = to.out
    cdef int[CELLS] cursor
    cdef int g = x.of_key[to.y.symbol[begin]]
    cdef int size, low = 0, high, v
    if g < 0:
        for v in range(begin, end):
            out.r[v] = 0.0
        return top
    size = x.bounds[g + 1] - x.bounds[g]
    while low < size:
        high = low + MEMBERS if low + MEMBERS < size else size
        compile(to, g, low, high, begin, cursor)
        if p.n == 0 and not p.dense and high == size and low == 0:
            for v in range(begin, end):
                out.base[v] = 0
                out.r[v] = to.w.alone * x.totals[g]
            return top
        for v in range(begin, end):
            if low == 0:
                out.base[v] = top + <long long>(v - begin) * size
                out.r[v] = to.w.alone * x.totals[g]
            run(to, g, low, high, v)
        low = high
    return top + <long long>(end - begin) * size


cdef inline void sweep(Sweep* to) noexcept nogil:
    """OUT r of all nodes of a block."""
    cdef const Groups* x = to.x
    cdef const Block* y = to.y
    cdef const Weights* w = to.w
    cdef Output* out = to.out
    cdef int v, g, child, k
    cdef u64 slot
    cdef long long top = x.most
    fill_first_row(x, w.alone, out.table)
    for v in range(y.n_words):
        g = x.of_key[y.symbol[v]]
        out.base[v] = 0
        out.r[v] = w.alone * x.totals[g] if g >= 0 else 0.0
    for v in range(y.n_words, y.n_low):
        g = x.of_key[y.symbol[v]]
        if g < 0:
            out.r[v] = 0.0
            continue
        if y.first[v + 1] - y.first[v] == 1:
            child = x.of_key[y.symbol[y.children[y.first[v]]]]
            if child < 0 or find(to.e, key_of(g, child), &slot) == FREE:
                out.base[v] = 0
                out.r[v] = w.alone * x.totals[g]
                continue
        top = sweep_range(to, v, v + 1, top)
    for k in range(y.n_ranges):
        top = sweep_range(to, y.ranges[k], y.ranges[k + 1], top)


cdef inline Edges edges_of(Room room) noexcept nogil:
    cdef Edges e
    e.keys = &room.longs[1, 0]
    e.bounds = &room.ints[2, 0]
    e.slot_of = &room.ints[3, 0]
    e.member = &room.ints[4, 0]
    e.child = &room.ints[5, 0]
    e.rank = &room.ints[6, 0]
    e.number = &room.ints[7, 0]
    e.width = &room.ints[8, 0]
    e.widest = &room.ints[14, 0]
    e.slots = &room.slots[0]
    e.mask = <u64>room.slots.shape[0] - 1
    e.n = 0
    return e


cdef class PartialTrees(Kernel):
    """The kernel with its settings, and what rows need beside ``Room``; not for two threads at a time.

    IN most, the members of the longest subsequence that counts, 0 = any number.
    """

    cdef int[:, ::1] entries
    cdef double[::1] chains
    cdef int[::1] links
    cdef double[::1] link_weights, powers
    cdef Program program
    cdef Weights weights

    def __init__(self, double decay, double mu, int most):
        cdef Py_ssize_t n_links = MEMBERS * LINKS
        self.words = True
        self.entries = np.empty((6, ENTRIES + 1), dtype=np.int32)
        self.chains = np.empty(ENTRIES)
        self.links = np.empty(n_links, dtype=np.int32)
        self.link_weights = np.empty(n_links)
        self.powers = decay ** np.arange(2 * CELLS, dtype=np.float64)
        self.program.member = &self.entries[0, 0]
        self.program.i = &self.entries[1, 0]
        self.program.j = &self.entries[2, 0]
        self.program.rank = &self.entries[3, 0]
        self.program.before = &self.entries[4, 0]
        self.program.first_link = &self.entries[5, 0]
        self.program.link = &self.links[0]
        self.program.weight = &self.link_weights[0]
        self.program.chains = &self.chains[0]
        self.weights.decay = decay
        self.weights.mu = mu
        self.weights.alone = mu * decay * decay
        self.weights.most = most
        self.weights.power = &self.powers[0]

    cdef long long prepare(
        self, const Tree* x, const NodeTable* nodes, const Block* y, Room room
    ) noexcept nogil:
        cdef Groups* groups = &room.groups
        cdef Edges edges = edges_of(room)
        cdef Sweep to = Sweep(
            &self.program, &edges, nodes, groups, y, &self.weights, &room.output, &room.sums[0]
        )
        cdef long long need
        groups.of_key = &room.of_symbol[0]
        group(x, x.n, nodes.symbol, groups)
        need = needed(y, y.n_words, y.symbol, groups, room.output.room)
        if need <= room.output.room:
            list_edges(nodes, groups, &edges)
            sweep(&to)
            clear_edges(&edges)
        ungroup(x, x.n, nodes.symbol, groups)
        return need
