"""Where the relevant items of each list are placed; see ``_placement.pyx``."""


cdef struct Places:
    Py_ssize_t n_lists
    const long long* offsets
    long long* order
    int* above
    int* tied


cdef class Placement:
    cdef Places places
    cdef readonly object order, above, tied
    cdef public object n_returned
    cdef object offsets
