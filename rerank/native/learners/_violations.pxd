"""The pairs of lists and which of them are violated, for the kernels of every learner that counts them."""

from rerank.native.learners._ranges cimport Ranges, Room

ctypedef long long count


cdef class ListPairs:
    cdef const long long[::1] offsets, items
    cdef const int[::1] start, stop
    cdef const double[::1] h
    cdef double c, tau
    cdef bint even, top, highest, plain
    cdef readonly object fast
    cdef const unsigned char[::1] engines
    cdef object keep
    cdef Room room
    cdef Ranges of(self, long long i) noexcept nogil


cdef count violations(const Ranges* p, Room* r) noexcept nogil
