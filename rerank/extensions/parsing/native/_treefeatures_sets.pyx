"""Features of the parses of a sentence: counted over sentences, then written as rows of columns.

The parses of a sentence share most of their rules in the same context: the features of such a group are
made once, and a parse is the union of its groups.
"""

from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np

from rerank.native.data._number cimport trailing_zeros, u64
from rerank.native.data._prefetch cimport prefetch
from rerank.native.data._sort cimport BUCKETS, counting_pass, word
from rerank.extensions.parsing.native._treefeatures cimport Trees
from rerank.extensions.parsing.native._treefeatures_keys cimport (
    ABSENT, NO_MEMORY, Key, Keys, find, find_or_add, key_ahead, reserve, slot_ahead,
)
from rerank.extensions.parsing.native._treefeatures_sentence cimport Seen, Sentence, begin, release, scan
from rerank.extensions.parsing.native._treefeatures_templates cimport N_TYPES


cdef struct Rows:
    # Scratch for the rows of one sentence.
    word* order  # column and feature of those that have a column, by column
    word* other
    int* ranks  # of a feature among those, or ABSENT
    u64* bits
    int* tallies
    long long order_room, other_room, rank_room, bit_room, tally_room


cdef class Counts:
    """The number of sentences in which each feature was seen, in the order of first appearance.

    IN most, how many features may be held, and four times as many occurrences in a sentence: more raise a
    MemoryError.
    """

    cdef Keys keys
    cdef Seen* seen
    cdef int* sentences
    cdef long long seen_room, sentence_room

    def __init__(self, long long most):
        self.keys.most = most

    def __dealloc__(self):
        free(self.keys.keys)
        free(self.keys.slots)
        free(self.seen)
        free(self.sentences)

    cdef int add(self, Key key, Seen seen, int sentences) noexcept nogil:
        """Add to the count of a feature: 0; or NO_MEMORY, and the counts are as they were."""
        cdef long long before = self.keys.n
        cdef int i
        if reserve(<void**>&self.seen, &self.seen_room, before + 1, sizeof(Seen)) != 0:
            return NO_MEMORY
        if reserve(<void**>&self.sentences, &self.sentence_room, before + 1, sizeof(int)) != 0:
            return NO_MEMORY
        i = find_or_add(&self.keys, key)
        if i == NO_MEMORY:
            return NO_MEMORY
        if self.keys.n > before:
            self.seen[i] = seen
            self.sentences[i] = 0
        self.sentences[i] += sentences
        return 0

    def count(self, Trees trees, const long long[::1] lists, long long first, long long last):
        """Add the sentences first:last; the trees of sentence i are lists[i]:lists[i + 1]."""
        cdef Sentence s
        cdef long long i, k
        cdef int fault = 0
        begin(&s, self.keys.most)
        try:
            with nogil:
                for i in range(first, last):
                    fault = scan(&s, trees, lists[i], lists[i + 1])
                    for k in range(s.features.n if fault == 0 else 0):
                        prefetch(slot_ahead(&self.keys, s.features.keys, k, s.features.n))
                        prefetch(key_ahead(&self.keys, s.features.keys, k, s.features.n))
                        fault |= self.add(s.features.keys[k], s.seen[k], 1)
                    if fault != 0:
                        break
        finally:
            release(&s)
        if fault != 0:
            raise MemoryError

    def merge(self, Counts other):
        """Add the counts of another object over later sentences."""
        cdef long long i
        cdef int fault = 0
        with nogil:
            for i in range(other.keys.n):
                fault |= self.add(other.keys.keys[i], other.seen[i], other.sentences[i])
        if fault != 0:
            raise MemoryError

    def __reduce__(self):
        return counts_of, self.kept(1)

    def __len__(self):
        return self.keys.n

    def by_type(self):
        """Return how many features of each type were seen: int64 (2 N_TYPES), the second pass last."""
        out = np.zeros(2 * N_TYPES, dtype=np.int64)
        cdef long long[::1] counts = out
        cdef long long i
        for i in range(self.keys.n):
            counts[self.seen[i].type] += 1
        return out

    def kept(self, int cutoff):
        """Return the features of at least ``cutoff`` sentences, in order of appearance.

        Keys uint64 (n, 2), sentences int32 (n), and int32 (n, 4): tree, unit, number, type.
        """
        cdef long long n = 0, i
        for i in range(self.keys.n):
            n += self.sentences[i] >= cutoff
        keys_out = np.empty((n, 2), dtype=np.uint64)
        sentences_out = np.empty(n, dtype=np.int32)
        seen_out = np.empty((n, 4), dtype=np.int32)
        cdef u64[:, ::1] keys = keys_out
        cdef int[::1] sentences = sentences_out
        cdef int[:, ::1] seen = seen_out
        n = 0
        for i in range(self.keys.n):
            if self.sentences[i] >= cutoff:
                keys[n, 0] = self.keys.keys[i].a
                keys[n, 1] = self.keys.keys[i].b
                sentences[n] = self.sentences[i]
                seen[n, 0] = self.seen[i].tree
                seen[n, 1] = self.seen[i].unit
                seen[n, 2] = self.seen[i].number
                seen[n, 3] = self.seen[i].type
                n += 1
        return keys_out, sentences_out, seen_out


def counts_of(const u64[:, ::1] keys, const int[::1] sentences, const int[:, ::1] seen):
    """Return Counts of what ``Counts.kept`` returned."""
    cdef Counts counts = Counts(keys.shape[0])
    cdef Key key
    cdef Seen where
    cdef Py_ssize_t i
    cdef int fault = 0
    for i in range(keys.shape[0]):
        key.a = keys[i, 0]
        key.b = keys[i, 1]
        where.tree = seen[i, 0]
        where.unit = seen[i, 1]
        where.number = seen[i, 2]
        where.type = seen[i, 3]
        fault |= counts.add(key, where, sentences[i])
    if fault != 0:
        raise MemoryError
    return counts


cdef class Columns:
    """The features that have a column. IN keys uint64 (n, 2), all different, by column; most as in Counts."""

    cdef Keys keys
    cdef long long most

    def __init__(self, const u64[:, ::1] keys, long long most):
        cdef Key key
        cdef Py_ssize_t i
        cdef int fault = 0
        self.most = most
        for i in range(keys.shape[0]):
            key.a = keys[i, 0]
            key.b = keys[i, 1]
            fault |= find_or_add(&self.keys, key) == NO_MEMORY
        if fault != 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.keys.keys)
        free(self.keys.slots)

    def __len__(self):
        return self.keys.n

    def fill(
        self, Trees trees, const long long[::1] lists, long long first, long long last, int shift,
        int[::1] indices, double[::1] values, long long[::1] lengths,
    ):
        """Write the rows of the parses of sentences first:last, as many sentences as there is room for.

        OUT indices, columns plus ``shift``, rising in a row; values or None, how often each feature occurs;
        lengths (n_items) of the rows. Return the next sentence, the number of indices, the features of each
        sentence that have a column and those that have none, summed, and the room that the next one needs.
        """
        cdef Sentence s
        cdef Rows r
        cdef long long i, used = 0, needed = 0, known = 0, unknown = 0, n = 0
        cdef int fault = 0
        begin(&s, self.most)
        memset(&r, 0, sizeof(Rows))
        i = first
        try:
            with nogil:
                while i < last:
                    fault = scan(&s, trees, lists[i], lists[i + 1])
                    fault |= rank(&r, &s, &self.keys, &n) if fault == 0 else 0
                    needed = most_indices(&s, n, lists[i + 1] - lists[i]) if fault == 0 else 0
                    if fault != 0 or used + needed > indices.shape[0]:
                        break
                    known += n
                    unknown += s.features.n - n
                    used = put_rows(&r, &s, n, lists[i], lists[i + 1], shift, used, indices, values, lengths)
                    i += 1
        finally:
            release(&s)
            free(r.order)
            free(r.other)
            free(r.ranks)
            free(r.bits)
            free(r.tallies)
        if fault != 0:
            raise MemoryError
        return i, used, known, unknown, needed


cdef int rank(Rows* r, Sentence* s, const Keys* columns, long long* n_known) noexcept nogil:
    """OUT r.order, r.ranks, and the members of s that have a column, as ranks: 0 or NO_MEMORY."""
    cdef long long n = s.features.n, k, g, used = 0, start = 0, stop
    cdef int column, shift = 32
    cdef word* swap
    cdef int[BUCKETS] counts
    if (
        reserve(<void**>&r.order, &r.order_room, n, sizeof(word))
        | reserve(<void**>&r.other, &r.other_room, n, sizeof(word))
        | reserve(<void**>&r.ranks, &r.rank_room, n, sizeof(int))
    ) != 0:
        return NO_MEMORY
    for k in range(n):
        r.ranks[k] = ABSENT
        prefetch(slot_ahead(columns, s.features.keys, k, n))
        prefetch(key_ahead(columns, s.features.keys, k, n))
        column = find(columns, s.features.keys[k])
        if column != ABSENT:
            r.order[used] = <word>column << 32 | <word>k
            used += 1
    n_known[0] = used
    while shift == 32 or columns.n >> (shift - 32):
        counting_pass(r.order, r.other, <int>used, shift, 11, counts)
        swap = r.order
        r.order = r.other
        r.other = swap
        r.order_room, r.other_room = r.other_room, r.order_room
        shift += 11
    for k in range(used):
        r.ranks[r.order[k] & <word>0xFFFFFFFF] = <int>k
    used = 0
    for g in range(s.groups.n):
        stop = s.bounds[g + 1]
        for k in range(start, stop):
            column = r.ranks[s.members[k]]
            s.members[used] = column
            used += column != ABSENT
        start = stop
        s.bounds[g + 1] = used
    k = n_known[0]
    if r.bit_room < k // 64 + 1:
        if reserve(<void**>&r.bits, &r.bit_room, k // 64 + 1, sizeof(u64)) != 0:
            return NO_MEMORY
        memset(r.bits, 0, <size_t>r.bit_room * sizeof(u64))
    if r.tally_room < k:
        if reserve(<void**>&r.tallies, &r.tally_room, k, sizeof(int)) != 0:
            return NO_MEMORY
        memset(r.tallies, 0, <size_t>r.tally_room * sizeof(int))
    return 0


cdef long long most_indices(const Sentence* s, long long n, long long n_trees) noexcept nogil:
    """Return a bound on the features with a column in all trees, n in a sentence: those of their groups."""
    cdef long long total = 0, here, tree, k
    for tree in range(n_trees):
        here = 0
        for k in range(s.use_bounds[tree], s.use_bounds[tree + 1]):
            here += s.bounds[s.uses[k] + 1] - s.bounds[s.uses[k]]
        total += min(here, n)
    return total


cdef long long put_rows(
    Rows* r, const Sentence* s, long long n, long long first, long long last, int shift, long long used,
    int[::1] indices, double[::1] values, long long[::1] lengths,
) noexcept nogil:
    """OUT the rows of trees first:last from ``used`` on; r.bits stay 0. Return the number used then."""
    cdef long long tree, k, j, start, block
    cdef int at
    cdef u64 left
    for tree in range(first, last):
        start = used
        for k in range(s.use_bounds[tree - first], s.use_bounds[tree - first + 1]):
            for j in range(s.bounds[s.uses[k]], s.bounds[s.uses[k] + 1]):
                at = s.members[j]
                r.bits[at >> 6] |= <u64>1 << (at & 63)
                if values is not None:
                    r.tallies[at] += 1
        for block in range(n // 64 + 1):
            left = r.bits[block]
            r.bits[block] = 0
            while left:
                at = <int>(64 * block) + trailing_zeros(left)
                left &= left - 1
                indices[used] = <int>(r.order[at] >> 32) + shift
                if values is not None:
                    values[used] = r.tallies[at]
                    r.tallies[at] = 0
                used += 1
        lengths[tree] = used - start
    return used
