"""The parents and children of one tree by their groups: which children of one label can two nodes have?"""

from rerank.native.data._number cimport u64
from rerank.native.similarity._tree_parts cimport Groups, NodeTable

cdef enum:
    FREE = -1


cdef struct Edges:  # those of the groups keys[k] of parent and child are bounds[k]:bounds[k + 1]
    long long* keys
    int* bounds
    int* slot_of
    int* slots
    u64 mask
    int n
    int* member  # of the parent among its group
    int* child  # which child of the parent it is
    int* rank  # of the child among its group
    int* width  # the children of each member of groups
    int* widest  # the most children of the members of each group
    int* number  # scratch: the pair of groups of each edge


cdef inline int find(Edges* e, long long key, u64* slot) noexcept nogil:
    """The number of a pair of groups, or FREE; OUT slot, where it is or belongs."""
    cdef u64 value = <u64>key * <u64>0x9E3779B97F4A7C15
    slot[0] = (value >> 32) & e.mask
    while e.slots[slot[0]] != FREE:
        if e.keys[e.slots[slot[0]]] == key:
            return e.slots[slot[0]]
        slot[0] = (slot[0] + 1) & e.mask
    return FREE


cdef inline long long key_of(int parent, int child) noexcept nogil:
    return (<long long>parent << 32) | <long long>child


cdef inline void list_edges(const NodeTable* nodes, const Groups* x, Edges* e) noexcept nogil:
    """OUT the edges of a tree; slots are all FREE before."""
    cdef int g, m, k, at = 0, u
    cdef long long i, key
    cdef u64 slot
    e.n = 0
    for g in range(x.n):
        e.widest[g] = 0
        for m in range(x.bounds[g], x.bounds[g + 1]):
            u = x.members[m]
            e.width[m] = <int>(nodes.bounds[u + 1] - nodes.bounds[u]) - 1
            if e.width[m] > e.widest[g]:
                e.widest[g] = e.width[m]
            for i in range(nodes.bounds[u] + 1, nodes.bounds[u + 1]):
                key = key_of(g, x.of_key[nodes.symbol[nodes.keys[i]]])
                k = find(e, key, &slot)
                if k == FREE:
                    k = e.n
                    e.keys[k] = key
                    e.slots[slot] = k
                    e.slot_of[k] = <int>slot
                    e.bounds[k] = 0
                    e.n += 1
                e.bounds[k] += 1
                e.number[at] = k
                at += 1
    at = 0
    for k in range(e.n):
        at += e.bounds[k]
        e.bounds[k] = at - e.bounds[k]
    e.bounds[e.n] = at
    fill_edges(nodes, x, e)


cdef inline void fill_edges(const NodeTable* nodes, const Groups* x, Edges* e) noexcept nogil:
    """OUT member, child, rank: the edges of each pair of groups, in the order of parents and children."""
    cdef int g, m, k, u, edge = 0, at
    cdef long long i
    for g in range(x.n):
        for m in range(x.bounds[g], x.bounds[g + 1]):
            u = x.members[m]
            for i in range(nodes.bounds[u] + 1, nodes.bounds[u + 1]):
                k = e.number[edge]
                edge += 1
                at = e.bounds[k]
                e.bounds[k] += 1
                e.member[at] = m - x.bounds[g]
                e.child[at] = <int>(i - nodes.bounds[u] - 1)
                e.rank[at] = x.rank[nodes.keys[i]]
    for k in range(e.n, 0, -1):
        e.bounds[k] = e.bounds[k - 1]
    e.bounds[0] = 0


cdef inline void clear_edges(Edges* e) noexcept nogil:
    cdef int k
    for k in range(e.n):
        e.slots[e.slot_of[k]] = FREE
