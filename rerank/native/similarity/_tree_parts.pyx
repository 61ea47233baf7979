"""The arrays of tree kernels; see _tree_parts.pxd."""

import numpy as np

cdef enum:
    INTS = 15  # vectors of as many numbers as the largest tree has nodes
    FLOATS = 2


cdef class Nodes:
    """All distinct nodes: the arrays of similarity/trees/interning.py."""

    def __init__(
        self, const long long[::1] bounds, const int[::1] keys, const int[::1] symbols,
        const int[::1] productions,
    ):
        self.bounds = bounds
        self.keys = keys
        self.symbols = symbols
        self.productions = productions
        self.table.bounds = &bounds[0]
        self.table.keys = &keys[0] if keys.shape[0] else NULL
        self.table.symbol = &symbols[0] if symbols.shape[0] else NULL
        self.table.production = &productions[0] if symbols.shape[0] else NULL


cdef class Lists:
    """The distinct nodes of each tree: those with children at starts[2 * t], words at starts[2 * t + 1].

    weights, as long as nodes: what they count in sums of trees, which are rows only, in place of counts.
    """

    def __init__(
        self, const long long[::1] starts, const int[::1] nodes, const int[::1] counts,
        const double[::1] weights=None,
    ):
        self.starts = starts
        self.nodes = nodes
        self.counts = counts
        self.first_node = &nodes[0] if nodes.shape[0] else NULL
        self.first_count = &counts[0] if nodes.shape[0] else NULL
        self.weights = weights
        self.first_weight = &weights[0] if weights is not None and nodes.shape[0] else NULL


cdef class Part:
    """The distinct nodes of some trees, numbered as ``Block`` describes, and the trees themselves."""

    def __init__(
        self, const int[::1] symbols, const int[::1] productions, const long long[::1] first,
        const int[::1] children, const int[::1] ranges, int n_words, int n_low, Lists lists, int n,
    ):
        self.symbols = symbols
        self.productions = productions
        self.first = first
        self.children = children
        self.ranges = ranges
        self.lists = lists
        self.n = n
        self.block.symbol = &symbols[0] if symbols.shape[0] else NULL
        self.block.production = &productions[0] if symbols.shape[0] else NULL
        self.block.first = &first[0]
        self.block.children = &children[0] if children.shape[0] else NULL
        self.block.ranges = &ranges[0]
        self.block.n_words = n_words
        self.block.n_low = n_low
        self.block.n_ranges = <int>ranges.shape[0] - 1


cdef class Room:
    """What rows are computed in; not for two threads at a time.

    IN the numbers of symbols, productions and distinct nodes, and the nodes of the largest tree.
    """

    def __init__(
        self, Py_ssize_t n_symbols, Py_ssize_t n_productions, Py_ssize_t n_nodes, Py_ssize_t largest
    ):
        cdef Py_ssize_t slots = 4
        self.largest = largest
        while slots < 2 * largest:
            slots *= 2
        self.of_symbol = np.full(n_symbols + 1, -1, dtype=np.int32)
        self.of_production = np.full(n_productions + 1, -1, dtype=np.int32)
        self.rank = np.empty(n_nodes + 1, dtype=np.int32)
        self.place = np.empty(n_nodes + 1, dtype=np.int32)
        self.ints = np.empty((INTS, largest + 1), dtype=np.int32)
        self.longs = np.empty((2, largest + 1), dtype=np.int64)
        self.floats = np.empty((FLOATS, largest + 1))
        self.slots = np.full(slots, -1, dtype=np.int32)
        self.r, self.base = np.empty(largest + 1), np.empty(largest + 1, dtype=np.int64)
        self.table, self.sums = np.empty(1), np.empty(1)
        self.fit(largest, 1, 1)
        self.groups.bounds = &self.ints[0, 0]
        self.groups.members = &self.ints[1, 0]
        self.groups.counts = &self.floats[0, 0]
        self.groups.totals = &self.floats[1, 0]
        self.groups.rank = &self.rank[0]

    @property
    def size(self):
        """The room of the table."""
        return self.table.shape[0]

    def fit(self, Py_ssize_t n_nodes, Py_ssize_t table, Py_ssize_t sums):
        """Make room for parts of so many nodes, and for so many numbers of the table and of sums."""
        if self.r.shape[0] <= n_nodes:
            self.r = np.empty(n_nodes + 1)
            self.base = np.empty(n_nodes + 1, dtype=np.int64)
        if self.table.shape[0] < table:
            self.table = np.empty(table)
        if self.sums.shape[0] < sums:
            self.sums = np.empty(sums)
        self.output.r = &self.r[0]
        self.output.base = &self.base[0]
        self.output.table = &self.table[0]
        self.output.room = self.table.shape[0]


cdef inline bint above_words(const NodeTable* nodes, int v) noexcept nogil:
    """Whether all children of a node are words."""
    cdef long long i
    for i in range(nodes.bounds[v] + 1, nodes.bounds[v + 1]):
        if nodes.production[nodes.keys[i]] >= 0:
            return False
    return True


cdef inline Block block_of(const NodeTable* nodes, const Tree* x, Room room) noexcept nogil:
    """One tree as a block; room.ints[9, i] is the number there of its node i."""
    cdef Block out = Block(NULL, NULL, NULL, NULL, NULL, 0, 0, 0)
    cdef int* symbol = &room.ints[10, 0]
    cdef int* production = &room.ints[11, 0]
    cdef int* children = &room.ints[12, 0]
    cdef int* ranges = &room.ints[13, 0]
    cdef int n = 0, i, u, kind
    cdef long long k, at = 0
    for kind in range(3):  # words, nodes with words only below them, others
        if kind == 1:
            out.n_words = n
        elif kind == 2:
            out.n_low = n
        for i in range(0 if kind else x.n_inner, x.n_inner if kind else x.n):
            u = x.nodes[i]
            if kind and above_words(nodes, u) != (kind == 1):
                continue
            if kind == 2:
                ranges[n - out.n_low] = n
            room.place[u] = n
            room.ints[9, i] = n
            symbol[n] = nodes.symbol[u]
            production[n] = nodes.production[u]
            room.longs[0, n] = at
            for k in range(nodes.bounds[u] + 1, nodes.bounds[u + 1]):
                children[at] = room.place[nodes.keys[k]]
                at += 1
            n += 1
    room.longs[0, n] = at
    ranges[n - out.n_low] = n
    out.n_ranges = n - out.n_low
    out.symbol = symbol
    out.production = production
    out.first = &room.longs[0, 0]
    out.children = children
    out.ranges = ranges
    return out


def gather(Nodes nodes, const int[::1] order, int[::1] place, long long[::1] first, int[::1] children):
    """Number the nodes of a part in the order given, in which children come before parents.

    OUT place (distinct nodes), the number of each node of the part; first (n + 1), children (of all of them).
    """
    cdef Py_ssize_t v
    cdef long long i, at = 0
    with nogil:
        for v in range(order.shape[0]):
            place[order[v]] = <int>v
            first[v] = at
            for i in range(nodes.bounds[order[v]] + 1, nodes.bounds[order[v] + 1]):
                children[at] = place[nodes.keys[i]]
                at += 1
        first[order.shape[0]] = at


cdef class Kernel:
    """A tree kernel, which computes r."""

    cdef long long prepare(
        self, const Tree* x, const NodeTable* nodes, const Block* y, Room room
    ) noexcept nogil:
        """Compute r for one tree if there is room; return the room of the table that it needs."""
        return 0

    def rows(
        self, Nodes nodes, Lists lists, const long long[::1] which, Py_ssize_t start, Part part, Room room,
        double[:, ::1] out, Py_ssize_t column,
    ):
        """Compute the rows of the trees which[start:] and the columns of a part.

        SCRATCH room; OUT out[:, column:column + trees of the part]. Return the number of the first row that
        was not computed, and the room of the table that it needs.
        """
        cdef Py_ssize_t row = start, j
        cdef Py_ssize_t n = (part.lists.starts.shape[0] - 1) // 2
        cdef long long need = 0
        cdef Tree x, y
        with nogil:
            while row < which.shape[0]:
                x = tree_of(lists, which[row])
                need = self.prepare(&x, &nodes.table, &part.block, room)
                if need > room.output.room:
                    break
                for j in range(n):
                    y = tree_of(part.lists, j)
                    out[row, column + j] = total_of(&y, 0, y.n if self.words else y.n_inner, room.output.r)
                row += 1
        return row, need

    def diagonal(self, Nodes nodes, Lists lists, Py_ssize_t start, Room room, double[::1] out):
        """OUT out[start:], K(x, x) of the trees of lists; else as ``rows``."""
        cdef Py_ssize_t row = start
        cdef long long need = 0
        cdef Tree x
        cdef Block block
        with nogil:
            while row < out.shape[0]:
                x = tree_of(lists, row)
                block = block_of(&nodes.table, &x, room)
                need = self.prepare(&x, &nodes.table, &block, room)
                if need > room.output.room:
                    break
                x.nodes = &room.ints[9, 0]
                out[row] = total_of(&x, 0, x.n if self.words else x.n_inner, room.output.r)
                row += 1
        return row, need
