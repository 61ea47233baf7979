"""Predtron's tasks on examples with any number of classes; see ``_predtron_sets.pyx``."""

from rerank.native.data._sort cimport word
from rerank.native.learners._predtron_tasks cimport Task
from rerank.native.learners._ranking_argmax cimport RankingRoom


cdef enum Losses:
    ZERO_ONE
    HAMMING
    ERROR_SET


cdef class SomeClasses(Task):
    cdef char* has  # (m): whether the example has each class, between two calls of ``mark``
    cdef double* z
    cdef int* order
    cdef int* own
    cdef int* others
    cdef word* words
    cdef int* counts
    cdef Py_ssize_t mark(self, long long i, char value) noexcept nogil
    cdef void split(self, Py_ssize_t k, double sign) noexcept nogil
    cdef void sort(self, int* some, Py_ssize_t n, double factor) noexcept nogil


cdef class ClassSets(SomeClasses):
    cdef Losses kind
    cdef double root
    cdef void swap(self, Py_ssize_t c) noexcept nogil
    cdef void swap_below(self, double threshold) noexcept nogil
    cdef void swap_pairs(self, Py_ssize_t k) noexcept nogil


cdef class ClassRankings(SomeClasses):
    cdef const double[:, ::1] values
    cdef double scale
    cdef double gain_scale  # 1 / the ideal DCG of the example
    cdef RankingRoom ranked
    cdef double* gains
    cdef int* position_of
    cdef int* item_at
    cdef bint overtaken(self, Py_ssize_t k) noexcept nogil
    cdef double predict(self, Py_ssize_t k) noexcept nogil
    cdef void augment(self, Py_ssize_t k) noexcept nogil
