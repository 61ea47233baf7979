"""Kernels in which only equal nodes count: subtrees, words."""

from rerank.native.similarity._tree_parts cimport Lists, Tree, total_of, tree_of


def rows(
    Lists lists,
    const long long[::1] which,
    Lists others,
    const double[::1] weights,
    bint words,
    double[::1] r,
    double[:, ::1] out,
):
    """Compute the rows of the trees ``which`` of lists and the columns of all trees of others.

    IN weights of the distinct nodes, words: whether words count or nodes with children; SCRATCH r (distinct
    nodes), all 0.
    """
    cdef Py_ssize_t row
    cdef Py_ssize_t j
    cdef Py_ssize_t n = (others.starts.shape[0] - 1) // 2
    cdef int i
    cdef Tree x
    cdef Tree y
    with nogil:
        for row in range(which.shape[0]):
            x = tree_of(lists, which[row])
            for i in range(x.n_inner if words else 0, x.n if words else x.n_inner):
                r[x.nodes[i]] = x.counts[i] * weights[x.nodes[i]]
            for j in range(n):
                y = tree_of(others, j)
                out[row, j] = total_of(&y, y.n_inner if words else 0, y.n if words else y.n_inner, &r[0])
            for i in range(x.n):
                r[x.nodes[i]] = 0.0


def diagonal(Lists lists, const double[::1] weights, bint words, double[::1] out):
    """OUT K(x, x) of all trees."""
    cdef Py_ssize_t row
    cdef int i
    cdef Tree x
    cdef double total
    with nogil:
        for row in range(out.shape[0]):
            x = tree_of(lists, row)
            total = 0.0
            for i in range(x.n_inner if words else 0, x.n if words else x.n_inner):
                total += x.counts[i] * (x.counts[i] * weights[x.nodes[i]])
            out[row] = total
