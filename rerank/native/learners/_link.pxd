"""The link function of Predtron's norm p: weights from sums of steps; see ``_link.pyx``."""

from rerank.native.learners._weights cimport Weights


cdef class Link:
    cdef readonly object theta
    cdef double[::1] sums, drift, moved, factors
    cdef Py_ssize_t k, p
    cdef Py_ssize_t row  # element (i, j) is at i * row + j * column
    cdef Py_ssize_t column
    cdef double q


cdef void move_linked(Link link, Weights weights) noexcept nogil
