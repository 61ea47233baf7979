"""Statistics of chrF: n-grams of candidates and of the references of their list, and clipped matches.

The n-grams of a reference are the nodes of a tree (a trie): a node is its parent's n-gram and one more token.
Each node links to the n-gram without its first token. A candidate is read along the tree: the node after a
token is the longest n-gram of the reference that ends there, and the links lead to the shorter ones. So a
token takes about one step, and the matches of all orders are added up at the end, from the longest n-grams
down the links (Aho & Corasick 1975).
"""

import numpy as np

from libc.limits cimport INT_MAX
from libc.string cimport memset

from rerank.native.data._sums cimport MOST_ORDERS, chrf_of
from rerank.native.data._texts cimport Ids, Numbers, reference_of
from rerank.native.data._tokens cimport MULTIPLIER, bits_for, word


# What a step reads. Most nodes of a text have one child; the others keep further ones in a table.
cdef struct Node:
    int token  # the token of the first child, -1 if there is none
    int child, link
    int more  # whether there are further children


cdef struct Entry:
    word key  # node << 32 | token; 0 = free: no further child is the root's
    int child


cdef struct Tree:
    int orders
    int n_nodes  # the root is node 0
    int deepest  # the first node of the largest order: its children are those of its link
    Node* nodes
    int* limit  # (nodes) occurrences in the reference
    int* count  # (nodes) occurrences in a candidate, zeros before and after
    int* root  # (largest number + 1) nodes of single tokens, 0 if there is none; [0] = 0
    Entry* table
    word mask
    int shift
    int* at  # (tokens of the reference) scratch
    int* met  # (orders, tokens of a candidate) nodes that a candidate contains, by order
    long long stride


cdef inline Entry* entry_of(const Tree* tree, int node, int token) noexcept nogil:
    """Return the entry of a further child, or the free one where it belongs."""
    cdef word key = (<word>node << 32) | <word>token
    cdef word at = (key * MULTIPLIER) >> tree.shift
    while tree.table[at].key != 0 and tree.table[at].key != key:
        at = (at + 1) & tree.mask
    return &tree.table[at]


cdef inline int child_of(Tree* tree, int node, int token) noexcept nogil:
    """Return the child of a node that is not the root; a new one has a limit of 0."""
    cdef Node* here = tree.nodes + node
    cdef Entry* entry
    if here.token == token:
        return here.child
    if here.token < 0:
        here.token = token
        here.child = tree.n_nodes
    else:
        here.more = 1
        entry = entry_of(tree, node, token)
        if entry.key != 0:
            return entry.child
        entry.key = (<word>node << 32) | <word>token
        entry.child = tree.n_nodes
    tree.limit[tree.n_nodes] = 0
    return tree.n_nodes


cdef void grow(Tree* tree, const int* tokens, long long m, int n_tokens) noexcept nogil:
    """Make the tree of a reference, order after order: a node has a larger number than its parent and link.

    A parent that occurs once has one child, which is new.
    """
    cdef long long i
    cdef int n, node
    cdef int bits = bits_for(m)  # a tree of m leaves has fewer further children
    tree.shift = 64 - bits
    tree.mask = (1ULL << bits) - 1
    memset(tree.table, 0, sizeof(Entry) << bits)
    memset(tree.root, 0, sizeof(int) * (n_tokens + 1))
    tree.nodes[0].token = -1
    tree.nodes[0].more = tree.nodes[0].link = 0
    tree.n_nodes = 1
    tree.deepest = 1
    for i in range(m):
        node = tree.root[tokens[i]]
        if node == 0:
            node = tree.root[tokens[i]] = tree.n_nodes
            tree.limit[node] = 0
            enter(tree, node, 0)
        tree.limit[node] += 1
        tree.at[i] = node
    for n in range(1, tree.orders):
        tree.deepest = tree.n_nodes
        for i in range(m - n):
            node = child_of(tree, tree.at[i], tokens[i + n])
            if node == tree.n_nodes:
                enter(tree, node, tree.at[i + 1])
            tree.limit[node] += 1
            tree.at[i] = node
    if tree.orders > 1:
        for node in range(tree.deepest, tree.n_nodes):
            tree.nodes[node].token = tree.nodes[tree.nodes[node].link].token
            tree.nodes[node].child = tree.nodes[tree.nodes[node].link].child


cdef inline void enter(Tree* tree, int node, int link) noexcept nogil:
    tree.nodes[node].token = -1
    tree.nodes[node].more = 0
    tree.nodes[node].link = link
    tree.n_nodes += 1


cdef inline void match(const Tree* tree, const int* tokens, long long n, int* out) noexcept nogil:
    """OUT out (3 * orders): every third number from the third, the clipped matches of an order."""
    cdef int node = 0
    cdef int depth = 0  # the order of the node
    cdef int token, link, found
    cdef int* met
    cdef const Entry* entry
    cdef long long sizes[MOST_ORDERS]
    cdef long long i
    for depth in range(tree.orders):
        sizes[depth] = 0
    depth = 0
    for i in range(n):
        token = tokens[i]
        if tree.nodes[node].token == token:
            node = tree.nodes[node].child
            depth += depth < tree.orders
        else:
            if depth == tree.orders:
                node = tree.nodes[node].link
                depth -= 1
            while node != 0:
                if tree.nodes[node].token == token:
                    node = tree.nodes[node].child
                    break
                if tree.nodes[node].more:
                    entry = entry_of(tree, node, token)
                    if entry.key != 0:
                        node = entry.child
                        break
                node = tree.nodes[node].link
                depth -= 1
            else:
                node = tree.root[token]
                depth = 0
                if node == 0:
                    continue
            depth += 1
        tree.met[(depth - 1) * tree.stride + sizes[depth - 1]] = node
        sizes[depth - 1] += tree.count[node] == 0
        tree.count[node] += 1
    for depth in range(tree.orders - 1, -1, -1):
        met = tree.met + depth * tree.stride
        found = 0
        for i in range(sizes[depth]):
            node = met[i]
            link = tree.nodes[node].link
            found += min(tree.count[node], tree.limit[node])
            if depth > 0:
                (met - tree.stride)[sizes[depth - 1]] = link
                sizes[depth - 1] += tree.count[link] == 0
                tree.count[link] += tree.count[node]
            tree.count[node] = 0
        out[3 * depth + 2] = found


def statistics(Numbers numbers, Py_ssize_t reference, int orders, int[:, :] out):
    """OUT out (n_items, 3 * orders): n-grams of the candidate, of one of the references, clipped matches.

    For each order in turn. If the reference has no n-gram, those of the candidate count as none, as in
    sacrebleu. IN orders, 1 to 20; the rows of out are contiguous.
    """
    cdef const Ids* p = &numbers.here
    cdef long long most = numbers.longest_reference, longest = numbers.longest_item
    cdef int n_tokens = numbers.largest
    if max(orders * most, longest) >= INT_MAX:
        raise MemoryError("a text has too many n-grams")
    cdef unsigned char[::1] nodes = np.empty((orders * most + 1) * sizeof(Node), dtype=np.uint8)
    cdef unsigned char[::1] table = np.empty(sizeof(Entry) << bits_for(most), dtype=np.uint8)
    cdef int[::1] limit = np.empty(orders * most + 1, dtype=np.int32)
    cdef int[::1] count = np.zeros(orders * most + 1, dtype=np.int32)
    cdef int[::1] root = np.zeros(n_tokens + 1, dtype=np.int32)
    cdef int[::1] at = np.empty(most + 1, dtype=np.int32)
    cdef int[:, ::1] met = np.empty((orders, longest + 1), dtype=np.int32)
    cdef Py_ssize_t i
    cdef long long j, m = 0, length
    cdef int n
    cdef int* row
    cdef const int* tokens
    cdef Tree tree
    tree.orders = orders
    tree.nodes = <Node*>&nodes[0]
    tree.table = <Entry*>&table[0]
    tree.limit = &limit[0]
    tree.count = &count[0]
    tree.root = &root[0]
    tree.at = &at[0]
    tree.met = &met[0, 0]
    tree.stride = met.shape[1]
    with nogil:
        for i in range(p.n_lists):
            tokens = reference_of(p, i, reference, &m)
            grow(&tree, tokens, m, n_tokens)
            for j in range(p.offsets[i] - p.offsets[0], p.offsets[i + 1] - p.offsets[0]):
                row = &out[j, 0]
                length = p.bounds[j + 1] - p.bounds[j]
                match(&tree, p.ids + p.bounds[j], length, row)
                for n in range(orders):
                    row[3 * n] = <int>max(length - n, 0) if m > n else 0
                    row[3 * n + 1] = <int>max(m - n, 0)


def best(const int[:, :, ::1] rows, double factor, int[:, ::1] out):
    """OUT out (n, 3 * orders): for each candidate the row with the largest F-score, the first on ties.

    IN rows (n_references, n, 3 * orders); factor, the square of beta.
    """
    cdef double sums[3 * MOST_ORDERS]
    cdef int orders = <int>(rows.shape[2] // 3)
    cdef Py_ssize_t j, r, k
    cdef double value, highest
    with nogil:
        for j in range(out.shape[0]):
            highest = -1.0
            for r in range(rows.shape[0]):
                for k in range(3 * orders):
                    sums[k] = rows[r, j, k]
                value = chrf_of(sums, orders, factor)
                if value > highest:
                    highest = value
                    out[j] = rows[r, j]


def values(const double[:, ::1] sums, double factor, double[::1] out):
    """OUT out (n): chrF, 0 to 100, of sums (n, 3 * orders); factor is the square of beta."""
    cdef int orders = <int>(sums.shape[1] // 3)
    cdef Py_ssize_t i
    with nogil:
        for i in range(sums.shape[0]):
            out[i] = chrf_of(&sums[i, 0], orders, factor)
