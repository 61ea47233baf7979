"""Candidates and references of lists, as texts and as numbers; see ``_texts.pyx``."""

from rerank.native.data._tokens cimport bytes_at


# Item j is text[text_offsets[j]:text_offsets[j + 1]]; reference r of list i is number i * n_references + r in
# starts and stops.
cdef struct Sides:
    Py_ssize_t n_lists
    Py_ssize_t n_references  # of each list
    const long long* offsets
    bytes_at text, text_limit
    const long long* text_offsets
    bytes_at reference, reference_limit
    const long long* starts
    const long long* stops


cdef class Texts:
    cdef Sides sides
    cdef readonly object reference_bytes
    cdef tuple held


# Item offsets[0] + j is ids[bounds[j]:bounds[j + 1]]; references are numbered as in Sides.
cdef struct Ids:
    Py_ssize_t n_lists, n_references
    const long long* offsets
    int* ids
    long long* bounds
    int* reference_ids
    long long* reference_bounds


cdef class Numbers:
    cdef Ids here
    cdef int least
    cdef readonly object offsets
    cdef object ids, bounds, reference_ids, reference_bounds


cdef inline const int* reference_of(
    const Ids* p, Py_ssize_t i, Py_ssize_t r, long long* length
) noexcept nogil:
    """Return the numbers of reference r of list i. OUT length."""
    cdef Py_ssize_t k = i * p.n_references + r
    length[0] = p.reference_bounds[k + 1] - p.reference_bounds[k]
    return p.reference_ids + p.reference_bounds[k]
