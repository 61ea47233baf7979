"""What tree kernels work on: distinct nodes, one tree x whose nodes are grouped, and a block of trees y.

K(x, y) is the sum of count(u) * count(v) * delta(u, v) over the distinct nodes u of x and v of y. The nodes
of x are grouped by production or by label. delta(u, v) is computed once for all trees y of a block that
contain v, children first, for the u of one group only: they are a row of the table, which begins at base[v].
r[v] is the sum of count(u) * delta(u, v) over u. Row 0 of the table holds the delta of nodes whose children
do not matter; it is shared by all v for which delta is the same for all u.
"""


cdef struct NodeTable:  # all distinct nodes; see _interning.pyx
    const long long* bounds
    const int* keys
    const int* symbol
    const int* production


cdef struct Tree:  # the distinct nodes of one tree: those with children, then words
    const int* nodes
    const int* counts
    const double* weights  # in place of counts in a sum of trees, else NULL
    int n_inner, n


cdef struct Block:  # distinct nodes of trees: words, nodes with words only below them, then all others
    const int* symbol
    const int* production
    const long long* first  # the children of v are children[first[v]:first[v + 1]], nodes of this block
    const int* children
    const int* ranges  # bounds of other nodes of one production, no one below another of its range
    int n_words
    int n_low  # words, and nodes with words only below them
    int n_ranges


cdef struct Groups:  # of the nodes of one tree
    int* of_key  # the group of a production or symbol, -1 for none
    int* bounds  # the members of group g are members[bounds[g]:bounds[g + 1]]
    int* members  # nodes
    double* counts  # of members, or their weights
    double* totals  # counts of all members of a group
    int* rank  # of a node among the members of its group
    int n
    int most  # members of the largest group


cdef struct Output:
    double* table
    long long* base
    double* r
    long long room  # of the table


cdef class Nodes:
    cdef const long long[::1] bounds
    cdef const int[::1] keys, symbols, productions
    cdef NodeTable table


cdef class Lists:
    cdef const long long[::1] starts
    cdef const int[::1] nodes, counts
    cdef const double[::1] weights
    cdef const int* first_node
    cdef const int* first_count
    cdef const double* first_weight


cdef class Part:
    cdef const int[::1] symbols, productions
    cdef const long long[::1] first
    cdef const int[::1] children, ranges
    cdef Block block
    cdef Lists lists
    cdef readonly int n


cdef class Room:
    cdef int[::1] of_symbol, of_production, rank, place
    cdef int[:, ::1] ints
    cdef long long[:, ::1] longs
    cdef double[:, ::1] floats
    cdef int[::1] slots
    cdef double[::1] table
    cdef long long[::1] base
    cdef double[::1] r, sums
    cdef readonly Py_ssize_t largest
    cdef Groups groups
    cdef Output output


cdef class Kernel:
    cdef bint words  # whether words have an r
    cdef long long prepare(
        self, const Tree* x, const NodeTable* nodes, const Block* y, Room room
    ) noexcept nogil


cdef inline Tree tree_of(Lists lists, Py_ssize_t t) noexcept nogil:
    """Tree t of a set."""
    cdef Tree tree
    cdef long long start = lists.starts[2 * t]
    tree.nodes = lists.first_node + start
    tree.counts = lists.first_count + start
    tree.weights = NULL
    if lists.first_weight != NULL:
        tree.weights = lists.first_weight + start
    tree.n_inner = <int>(lists.starts[2 * t + 1] - start)
    tree.n = <int>(lists.starts[2 * t + 2] - start)
    return tree


cdef inline double weight_of(const Tree* x, int i) noexcept nogil:
    """The weight of node i of a sum of trees, or its count."""
    return <double>x.counts[i] if x.weights == NULL else x.weights[i]


cdef inline double total_of(const Tree* y, int first, int last, const double* r) noexcept nogil:
    """The sum of count(v) * r[v] over the nodes first:last of a tree, as four sums, which is faster."""
    cdef int i = first
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    while i + 4 <= last:
        a += y.counts[i] * r[y.nodes[i]]
        b += y.counts[i + 1] * r[y.nodes[i + 1]]
        c += y.counts[i + 2] * r[y.nodes[i + 2]]
        d += y.counts[i + 3] * r[y.nodes[i + 3]]
        i += 4
    while i < last:
        a += y.counts[i] * r[y.nodes[i]]
        i += 1
    return (a + b) + (c + d)


cdef inline void group(const Tree* x, int last, const int* key_of, Groups* g) noexcept nogil:
    """Group the nodes :last of a tree by their keys, in their order.

    INOUT of_key, -1 for all keys; OUT the rest.
    """
    cdef int i, k, key, at = 0
    g.n = 0
    g.most = 0
    for i in range(last):
        key = key_of[x.nodes[i]]
        k = g.of_key[key]
        if k < 0:
            k = g.n
            g.of_key[key] = k
            g.bounds[k] = 0
            g.totals[k] = 0.0
            g.n += 1
        g.rank[x.nodes[i]] = g.bounds[k]
        g.bounds[k] += 1
        g.totals[k] += weight_of(x, i)
        if g.bounds[k] > g.most:
            g.most = g.bounds[k]
    for k in range(g.n):
        at += g.bounds[k]
        g.bounds[k] = at - g.bounds[k]
    g.bounds[g.n] = at
    for i in range(last):
        at = g.bounds[g.of_key[key_of[x.nodes[i]]]] + g.rank[x.nodes[i]]
        g.members[at] = x.nodes[i]
        g.counts[at] = weight_of(x, i)


cdef inline void ungroup(const Tree* x, int last, const int* key_of, Groups* g) noexcept nogil:
    """INOUT of_key: -1 again."""
    cdef int i
    for i in range(last):
        g.of_key[key_of[x.nodes[i]]] = -1


cdef inline long long needed(
    const Block* y, int first, const int* key_of, const Groups* g, long long room
) noexcept nogil:
    """The room of the table if the nodes from ``first`` on have rows, or a bound up to ``room``."""
    cdef int v, k
    cdef int end = y.ranges[y.n_ranges]
    cdef long long need = <long long>g.most * (1 + end - first)
    if need <= room:
        return need
    need = g.most
    for v in range(first, end):
        k = g.of_key[key_of[v]]
        if k >= 0:
            need += g.bounds[k + 1] - g.bounds[k]
    return need


cdef inline void fill_first_row(const Groups* g, double value, double* table) noexcept nogil:
    cdef int i
    for i in range(g.most):
        table[i] = value
