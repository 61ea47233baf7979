"""Predtron's tasks on examples; see ``_predtron_tasks.pyx``."""


cdef class Task:
    cdef readonly Py_ssize_t d
    cdef Py_ssize_t m
    cdef const long long[::1] offsets
    cdef const int[::1] codes
    cdef bint loss_driven
    cdef double* t  # IN (d): the scores of the outputs
    cdef int* place  # OUT: the outputs that an update changes, each once
    cdef double* change  # OUT: rep(target) - rep(rival) there
    cdef Py_ssize_t n_changes
    cdef object held
    cdef double visit(self, long long i) noexcept nogil
    cdef void add_change(self, Py_ssize_t c, double value) noexcept nogil


cdef class TwoClasses(Task):
    cdef const double[::1] weights


cdef class OneClass(Task):
    cdef const double[::1] weights, values, reject
    cdef double root
    cdef double loss(self, Py_ssize_t c, int y) noexcept nogil
    cdef Py_ssize_t rival(self, int y, bint augmented, double* similarity) noexcept nogil
