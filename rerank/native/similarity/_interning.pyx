"""Equal subtrees of many trees share one number: distinct nodes, their children and their productions.

Distinct nodes are numbered from 0, children before parents. Node v is keys[bounds[v]:bounds[v + 1]]: its
symbol, then the numbers of its children. Productions are numbered in the same way: a symbol, then the symbols
of the children.
"""

from libc.string cimport memcmp

from rerank.native.data._number cimport u64

cdef enum:
    FREE = -1


cdef struct Table:
    int* slots  # the number of the key in each slot, or FREE; a power of two of them
    u64 mask  # slots - 1
    long long* bounds
    int* keys
    int n


cdef inline Table table_of(int[::1] slots, long long[::1] bounds, int[::1] keys, int n) noexcept nogil:
    cdef Table table
    table.slots = &slots[0]
    table.mask = <u64>slots.shape[0] - 1
    table.bounds = &bounds[0]
    table.keys = &keys[0]
    table.n = n
    return table


cdef inline int find_or_add(Table* table, long long length) noexcept nogil:
    """The number of the key at the end of all keys, which stays there if it is new."""
    cdef const int* key = table.keys + table.bounds[table.n]
    cdef u64 value = <u64>length, slot
    cdef long long i
    cdef int number
    for i in range(length):
        value = (value ^ <u64>key[i]) * <u64>0xD6E8FEB86659FD93
        value ^= value >> 32
    slot = value & table.mask
    number = table.slots[slot]
    while number != FREE:
        if (
            table.bounds[number + 1] - table.bounds[number] == length
            and memcmp(table.keys + table.bounds[number], key, length * sizeof(int)) == 0
        ):
            return number
        slot = (slot + 1) & table.mask
        number = table.slots[slot]
    number = table.n
    table.slots[slot] = number
    table.n += 1
    table.bounds[table.n] = table.bounds[number] + length
    return number


def intern(
    const long long[::1] offsets, const int[::1] symbols, const int[::1] sizes, const int[::1] translation,
    int n, int[::1] slots, long long[::1] bounds, int[::1] keys, int[::1] numbers,
):
    """Return how many distinct nodes there are after those of one more forest.

    IN the arrays of a forest, the common number of each of its symbols, n distinct nodes so far; INOUT slots
    (a power of two, at least twice the nodes of all forests; -1 before the first), bounds (1 + nodes; 0
    first), keys (twice the nodes); OUT numbers (n_nodes), the distinct node of each node.
    """
    cdef Table table = table_of(slots, bounds, keys, n)
    cdef Py_ssize_t t
    cdef long long i, child, end, length
    cdef int* key
    with nogil:
        for t in range(offsets.shape[0] - 1):
            for i in range(offsets[t + 1] - 1, offsets[t] - 1, -1):
                key = table.keys + table.bounds[table.n]
                key[0] = translation[symbols[i]]
                length = 1
                child = i + 1
                end = i + sizes[i]
                while child < end:
                    key[length] = numbers[child]
                    length += 1
                    child += sizes[child]
                numbers[i] = find_or_add(&table, length)
    return table.n


def productions(
    const long long[::1] node_bounds, const int[::1] node_keys, int[::1] slots, long long[::1] bounds,
    int[::1] keys, int[::1] out,
):
    """Return the number of distinct productions.

    IN node_bounds (n + 1), node_keys; SCRATCH slots (a power of two, at least twice n, all -1), bounds
    (n + 1; 0 first), keys (as node_keys); OUT out (n), the production of each distinct node, -1 for words.
    """
    cdef Table table = table_of(slots, bounds, keys, 0)
    cdef Py_ssize_t v
    cdef long long i, length
    cdef int* key
    with nogil:
        for v in range(node_bounds.shape[0] - 1):
            length = node_bounds[v + 1] - node_bounds[v]
            if length == 1:
                out[v] = -1
                continue
            key = table.keys + table.bounds[table.n]
            key[0] = node_keys[node_bounds[v]]
            for i in range(1, length):
                key[i] = node_keys[node_bounds[node_keys[node_bounds[v] + i]]]
            out[v] = find_or_add(&table, length)
    return table.n


def listed(
    const long long[::1] offsets, const int[::1] sizes, const int[::1] numbers, int[::1] place,
    long long[::1] starts, int[::1] nodes, int[::1] counts,
):
    """List the distinct nodes of each tree: first those with children, then the words.

    Both are in the order of their last occurrences in the tree, from the last one on, so children come before
    parents and the order depends on this tree only. SCRATCH place (distinct nodes), any numbers; OUT starts
    (2 n_trees + 1): the nodes with children of tree t are nodes[starts[2 * t]:starts[2 * t + 1]], its
    words nodes[starts[2 * t + 1]:starts[2 * t + 2]]; counts, how often each occurs in the tree.
    """
    cdef Py_ssize_t t
    cdef long long i, top = 0, first
    cdef int number, at, words
    with nogil:
        starts[0] = 0
        for t in range(offsets.shape[0] - 1):
            first = top
            for words in range(2):
                for i in range(offsets[t + 1] - 1, offsets[t] - 1, -1):
                    if (sizes[i] == 1) != words:
                        continue
                    number = numbers[i]
                    at = place[number]
                    if first <= at < top and nodes[at] == number:
                        counts[at] += 1
                    else:
                        place[number] = <int>top
                        nodes[top] = number
                        counts[top] = 1
                        top += 1
                starts[2 * t + words + 1] = top


def heights(const long long[::1] bounds, const int[::1] keys, int[::1] out):
    """OUT out[v] = the height of distinct node v, 0 for words."""
    cdef Py_ssize_t v
    cdef long long i
    with nogil:
        for v in range(out.shape[0]):
            out[v] = 0
            for i in range(bounds[v] + 1, bounds[v + 1]):
                if out[keys[i]] >= out[v]:
                    out[v] = out[keys[i]] + 1


def inner(const long long[::1] bounds, const int[::1] keys, long long[::1] out):
    """OUT out[v] = nodes with children in the tree below distinct node v, itself included."""
    cdef Py_ssize_t v
    cdef long long i
    with nogil:
        for v in range(out.shape[0]):
            out[v] = bounds[v + 1] - bounds[v] > 1
            for i in range(bounds[v] + 1, bounds[v + 1]):
                out[v] += out[keys[i]]
