"""Walking the trees of a forest for their features."""

from libc.stdlib cimport free

from rerank.native.data._number cimport u64
from rerank.extensions.parsing.native._treefeatures_keys cimport NO_MEMORY, Key, bytes_key
from rerank.extensions.parsing.native._treefeatures_walk cimport annotate, lay_out, make_room


def hash_strings(const unsigned char[::1] data, const long long[::1] bounds, u64[:, ::1] out):
    """OUT the key of each string: uint64 (n, 2); string i is data[bounds[i]:bounds[i + 1]]."""
    cdef const unsigned char* start = &data[0] if data.shape[0] else NULL
    cdef Key key
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        key = bytes_key(start + bounds[i], bounds[i + 1] - bounds[i])
        out[i, 0] = key.a
        out[i, 1] = key.b


cdef class Trees:
    """Walks the trees of a forest one at a time; each thread has its own object.

    offsets (n_trees + 1), symbols and sizes (n_nodes) as in Forest; hashes (n_symbols, 2) as from
    ``hash_strings``; facts (n_symbols), bits of CLOSED, LEFT_OUT, PREPOSITIONAL; heads is a tuple of the
    arrays of CompiledHeads; types is a bit for each type; key_bits < 64 cuts keys, to test collisions.
    """

    def __init__(
        self, const long long[::1] offsets, const int[::1] symbols, const int[::1] sizes,
        const u64[:, ::1] hashes, const unsigned char[::1] facts, tuple heads, unsigned int types,
        bint lexicalised, int key_bits=64,
    ):
        cdef const int[::1] numbers = heads[0], parents = heads[1], first = heads[2]
        cdef const unsigned char[::1] from_right = heads[3]
        cdef const int[:, ::1] ranks = heads[4]
        cdef const unsigned char[::1] coordinates = heads[5]
        self.n_trees = offsets.shape[0] - 1
        self.offsets = offsets
        self.symbols = symbols
        self.sizes = sizes
        self.held = (hashes, facts, numbers, parents, first, from_right, ranks, coordinates)
        self.grammar.hashes = &hashes[0, 0] if hashes.shape[0] else NULL
        self.grammar.facts = &facts[0] if facts.shape[0] else NULL
        self.grammar.numbers = &numbers[0] if numbers.shape[0] else NULL
        self.grammar.parents = &parents[0] if parents.shape[0] else NULL
        self.grammar.first = &first[0]
        self.grammar.from_right = &from_right[0]
        self.grammar.ranks = &ranks[0, 0]
        self.grammar.coordinates = &coordinates[0]
        self.grammar.n_columns = ranks.shape[1]
        self.builder.types = types
        self.builder.lexicalised = lexicalised
        self.builder.mask = ~<u64>0 >> (64 - key_bits)
        self.builder.stop = bytes_key(b"STOP", 4)
        self.builder.top = bytes_key(b"TOP", 3)
        self.builder.spells = False

    def __dealloc__(self):
        free(self.walk.units)
        free(self.walk.ends)
        free(self.walk.children)
        free(self.walk.open_units)
        free(self.walk.open_ends)

    cdef int look(self, long long tree) noexcept nogil:
        """OUT self.walk: one tree, annotated; 0, or NO_MEMORY."""
        cdef long long start = self.offsets[tree]
        cdef long long stop = self.offsets[tree + 1]
        self.walk.n = 0
        if start == stop:
            return 0
        if make_room(&self.walk, stop - start) != 0:
            return NO_MEMORY
        lay_out(&self.walk, &self.grammar, &self.symbols[0], &self.sizes[0], start, stop)
        annotate(&self.walk, &self.grammar)
        return 0
