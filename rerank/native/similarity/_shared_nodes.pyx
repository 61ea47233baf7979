"""Kernels in which only equal nodes count: subtrees, words."""

from rerank.native.similarity._tree_parts cimport Lists, Tree, total_of, tree_of, weight_of


cdef inline void fill(const Tree* x, int first, int last, const double* weights, double* r) noexcept nogil:
    """OUT r[u] = count(u) * weights[u] of the nodes first:last of a tree."""
    cdef int i
    for i in range(first, last):
        r[x.nodes[i]] = weight_of(x, i) * weights[x.nodes[i]]


cdef inline void clear(const Tree* x, double* r) noexcept nogil:
    cdef int i
    for i in range(x.n):
        r[x.nodes[i]] = 0.0


def rows(
    Lists lists, const long long[::1] which, Lists others, const double[::1] weights, bint words,
    double[::1] r, double[:, ::1] out,
):
    """Compute the rows of the trees ``which`` of lists and the columns of all trees of others.

    IN weights of the distinct nodes, words: whether words count or nodes with children; SCRATCH r (distinct
    nodes), all 0.
    """
    cdef Py_ssize_t row, j
    cdef Py_ssize_t n = (others.starts.shape[0] - 1) // 2
    cdef Tree x, y
    with nogil:
        for row in range(which.shape[0]):
            x = tree_of(lists, which[row])
            if x.n == 0:
                out[row, :] = 0.0
                continue
            fill(&x, x.n_inner if words else 0, x.n if words else x.n_inner, &weights[0], &r[0])
            for j in range(n):
                y = tree_of(others, j)
                out[row, j] = total_of(&y, y.n_inner if words else 0, y.n if words else y.n_inner, &r[0])
            clear(&x, &r[0])


def diagonal(Lists lists, const double[::1] weights, bint words, double[::1] r, double[::1] out):
    """OUT K(x, x) of all trees; SCRATCH r as in ``rows``."""
    cdef Py_ssize_t row
    cdef int first, last
    cdef Tree x
    with nogil:
        for row in range(out.shape[0]):
            x = tree_of(lists, row)
            out[row] = 0.0
            if x.n:
                first = x.n_inner if words else 0
                last = x.n if words else x.n_inner
                fill(&x, first, last, &weights[0], &r[0])
                out[row] = total_of(&x, first, last, &r[0])
                clear(&x, &r[0])
