"""The logistic loss of lists, and its weights of pairs."""

from rerank.native.learners._boosting cimport Boost


cdef class LogLoss(Boost):
    cdef const long long[::1] groups
    cdef int[::1] group_of
    cdef const double[::1] cost
    cdef double[::1] losses
    cdef double whole

    cdef double softmax(self, Py_ssize_t i, bint apply, long long* work) noexcept nogil
