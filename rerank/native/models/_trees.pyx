"""Scores of regression trees with LightGBM's rules for missing values."""

import numpy as np

from libc.math cimport fabs

from rerank.native.data._matrix cimport DENSE, Matrix, Rows, SINGLE

cdef enum:
    BLOCK = 16  # rows that walk a tree one after the other, while its nodes are in the cache
    LANES = 8  # rows that walk together, so that a step of one does not wait for that of another
    LEFT = 2  # bits of a kind: what is missing goes left
    ZEROS = 4  # zeros are missing, and NaN is 0
    NANS = 8  # NaN is missing

# Smaller values are 0: LightGBM's kZeroThreshold, a float.
cdef double TINY = <float>1e-35


# A split, or a leaf, whose children are itself. ``nan_left`` and ``zero_left``: where NaN and 0 go.
cdef struct Node:
    double threshold
    int place  # of its feature among those that are used
    int child[2]  # right, left
    unsigned char nan_left, zero_left, knows_nan


cdef class Trees:
    """Trees whose nodes are numbered through, as are their leaves.

    IN used (n_used), rising: the features of splits; place, threshold, kind (n_splits) and children
    (2, n_splits), left and right; leaf (n_leaves); root (n_trees), a split, or -1 - leaf.
    """

    cdef Node[::1] nodes
    cdef const double[::1] leaf
    cdef int[::1] root
    cdef int n_splits
    cdef const int[::1] used
    cdef bint zeros_missing

    def __init__(
        self, const int[::1] used, const int[::1] place, const double[::1] threshold, const int[::1] kind,
        const int[:, ::1] children, const double[::1] leaf, const int[::1] root,
    ):
        cdef Py_ssize_t n = place.shape[0], i
        cdef Node* node
        cdef bint left, of_zero
        self.used, self.leaf, self.n_splits = used, leaf, <int>n
        self.nodes = np.zeros(n + leaf.shape[0], dtype=_NODE)
        self.root = np.empty(root.shape[0], dtype=np.int32)
        self.zeros_missing = False
        for i in range(root.shape[0]):
            self.root[i] = self.number(root[i])
        for i in range(n):
            node = &self.nodes[i]
            node.threshold = threshold[i]
            node.place = place[i]
            node.child[1] = self.number(children[0, i])
            node.child[0] = self.number(children[1, i])
            left = kind[i] & LEFT != 0
            of_zero = left if kind[i] & ZEROS else 0.0 <= threshold[i]
            node.zero_left = of_zero
            node.nan_left = left if kind[i] & NANS else of_zero
            node.knows_nan = kind[i] & (NANS | ZEROS) != 0
            self.zeros_missing = self.zeros_missing or kind[i] & ZEROS
        for i in range(n, n + leaf.shape[0]):
            self.nodes[i].child[0] = self.nodes[i].child[1] = <int>i

    cdef int number(self, int child):
        """Return the number of a child among splits and leaves."""
        return child if child >= 0 else self.n_splits - 1 - child


_NODE = np.dtype(
    [
        ("threshold", "f8"), ("place", "i4"), ("child", "i4", 2), ("nan_left", "u1"), ("zero_left", "u1"),
        ("knows_nan", "u1"),
    ],
    align=True,
)


cdef inline double flushed(double x) noexcept nogil:
    return 0.0 if fabs(x) <= TINY else x


cdef void gather(
    const Rows* X, long long i, const int* used, Py_ssize_t n_used, const int* place, double* row
) noexcept nogil:
    """OUT row (n_used): the values of row i, of the features that are used."""
    cdef Py_ssize_t m
    cdef long long at
    if X.layout == DENSE:
        for m in range(n_used):
            row[m] = flushed(X.dense[i * X.width + used[m]])
        return
    if X.layout == SINGLE:
        for m in range(n_used):
            row[m] = flushed(X.single[i * X.width + used[m]])
        return
    for m in range(n_used):
        row[m] = 0.0
    for at in range(X.indptr[i], X.indptr[i + 1]):
        if place[X.indices[at]] >= 0:
            row[place[X.indices[at]]] = 1.0 if X.data == NULL else flushed(X.data[at])
    for m in range(X.width):
        if place[X.columns[m]] >= 0:
            row[place[X.columns[m]]] = flushed(X.dense[i * X.width + m])


cdef inline void walk_together(
    const Node* nodes, int root, int n_splits, const double* row, Py_ssize_t width, int* at
) noexcept nogil:
    """OUT at (LANES): the leaves of as many rows, if no split takes zeros for missing."""
    cdef int lane
    cdef double x
    cdef const Node* node
    cdef bint done = root >= n_splits
    for lane in range(LANES):
        at[lane] = root
    while not done:
        done = True
        for lane in range(LANES):
            node = nodes + at[lane]
            x = row[lane * width + node.place]
            at[lane] = node.child[(x <= node.threshold) | ((x != x) & node.nan_left)]
            done &= at[lane] >= n_splits


cdef inline int walk(const Node* nodes, int at, int n_splits, const double* row) noexcept nogil:
    """Return the leaf of a row, from node ``at`` down."""
    cdef double x
    while at < n_splits:
        x = row[nodes[at].place]
        if x == 0.0:
            at = nodes[at].child[nodes[at].zero_left]
        elif x != x:
            at = nodes[at].child[nodes[at].nan_left]
        else:
            at = nodes[at].child[x <= nodes[at].threshold]
    return at


cdef int unknown_nan(const double* row, Py_ssize_t n_used, const unsigned char[::1] known) noexcept nogil:
    """Return a used feature that is NaN in a row though no training had a NaN of it, -1 if there is none."""
    cdef Py_ssize_t m
    for m in range(n_used):
        if row[m] != row[m] and not known[m]:
            return <int>m
    return -1


def scores(Matrix matrix, Trees trees, const int[::1] place, double[::1] out):
    """OUT out[i]: the sum of the leaves that row i reaches, in the order of the trees.

    Return a feature, by its place among those used, that is NaN in a row though no split of it knows missing
    values; -1 if there is none. IN place (n_features) of each feature among those used, or -1; OUT out
    (n_items).
    """
    cdef const Rows* X = &matrix.rows
    cdef Py_ssize_t n_used = trees.used.shape[0], n_trees = trees.root.shape[0]
    cdef Py_ssize_t i, r, n, t
    cdef int found = -1
    cdef double[:, ::1] rows = np.empty((BLOCK, n_used + 1))
    cdef unsigned char[::1] known = np.zeros(n_used + 1, dtype=np.uint8)
    cdef int n_splits = trees.n_splits, lane
    cdef int[LANES] at
    cdef const Node* nodes
    cdef const double* leaf
    if n_trees == 0:
        out[:] = 0.0
        return -1
    nodes, leaf = &trees.nodes[0], &trees.leaf[0] - n_splits
    for i in range(n_splits):
        known[nodes[i].place] |= nodes[i].knows_nan
    with nogil:
        i = 0
        while i < X.n_items:
            n = min(<Py_ssize_t>BLOCK, X.n_items - i)
            for r in range(n):
                out[i + r] = 0.0
                if n_used:
                    gather(X, i + r, &trees.used[0], n_used, &place[0], &rows[r, 0])
                if found < 0:
                    found = unknown_nan(&rows[r, 0], n_used, known)
            for t in range(n_trees):
                r = 0
                while r + LANES <= n and not trees.zeros_missing:
                    walk_together(nodes, trees.root[t], n_splits, &rows[r, 0], n_used + 1, at)
                    for lane in range(LANES):
                        out[i + r + lane] += leaf[at[lane]]
                    r += LANES
                while r < n:
                    out[i + r] += leaf[walk(nodes, trees.root[t], n_splits, &rows[r, 0])]
                    r += 1
            i += n
    return found
