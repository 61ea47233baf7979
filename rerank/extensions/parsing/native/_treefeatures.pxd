"""A walker of the trees of a forest; see _treefeatures.pyx."""

from rerank.native.data._number cimport u64
from rerank.extensions.parsing.native._treefeatures_templates cimport Builder
from rerank.extensions.parsing.native._treefeatures_walk cimport Grammar, Walk


cdef class Trees:
    cdef readonly long long n_trees
    cdef const long long[::1] offsets
    cdef const int[::1] symbols, sizes
    cdef object held  # the arrays that ``grammar`` points into
    cdef Grammar grammar
    cdef Walk walk
    cdef Builder builder
    cdef int look(self, long long tree) noexcept nogil
