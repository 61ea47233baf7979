"""Brackets of parses against those of the gold tree of their list, as evalb counts them."""

from libc.limits cimport INT_MAX
from libc.string cimport memset

from rerank.native.data._number cimport u64

import numpy as np

cdef enum Kind:  # of a word, by its tag
    WORD
    LEFT_OUT  # punctuation
    TRACE

KINDS = {"word": WORD, "left out": LEFT_OUT, "trace": TRACE}

cdef u64 FREE = ~<u64>0


cdef struct Tree:
    const int* symbols
    const int* sizes
    int n
    const int* classes  # of symbols as labels of brackets, -1 if not a label
    const signed char* kinds  # of symbols as tags
    u64 n_classes


cdef struct Bracket:
    int label
    int start  # the first of its words, of those that are kept
    int end  # after the last


cdef struct Room:
    int* before  # kept words before each node, and in all
    unsigned char* keep  # whether each word of gold, traces not counted, is kept
    int* smallest_end  # at each place between kept words, of the gold brackets around it
    int* largest_start
    int* around  # nodes of the gold brackets around a place, from the outside in
    u64* keys  # gold brackets, hashed
    int* counts  # how often gold has the bracket of a slot
    int* found  # how often in this parse
    int* parses  # the parse that ``found`` is of
    u64 mask  # slots - 1
    int n_words  # of gold, without traces
    u64 n_places  # between kept words


cdef class Scratch:
    """Arrays for trees of up to ``largest`` nodes, made once."""

    cdef Room room
    cdef object keep

    def __init__(self, Py_ssize_t largest):
        cdef Py_ssize_t slots = slots_for(largest)
        cdef int[:, ::1] of_words = np.zeros((4, largest + 1), dtype=np.int32)
        cdef unsigned char[::1] kept = np.zeros(largest + 1, dtype=np.uint8)
        cdef unsigned long long[::1] keys = np.zeros(slots, dtype=np.uint64)
        cdef int[:, ::1] of_slots = np.zeros((3, slots), dtype=np.int32)
        self.keep = (of_words, kept, keys, of_slots)
        self.room.before = &of_words[0, 0]
        self.room.smallest_end = &of_words[1, 0]
        self.room.largest_start = &of_words[2, 0]
        self.room.around = &of_words[3, 0]
        self.room.keep = &kept[0]
        self.room.keys = <u64*>&keys[0]
        self.room.counts = &of_slots[0, 0]
        self.room.found = &of_slots[1, 0]
        self.room.parses = &of_slots[2, 0]


cdef inline Py_ssize_t slots_for(Py_ssize_t n_nodes) noexcept nogil:
    """Slots of a table of brackets, twice as many as there can be at least."""
    cdef Py_ssize_t slots = 4
    while slots < 2 * n_nodes:
        slots *= 2
    return slots


cdef inline Kind kind_of(const Tree* tree, int i) noexcept nogil:
    """The kind of the word at node i."""
    if tree.sizes[i - 1] != 2:
        return WORD
    return <Kind>tree.kinds[tree.symbols[i - 1]]


cdef inline void place_gold(const Tree* tree, Room* room) noexcept nogil:
    """OUT room.before, room.keep and room.n_words by the tags of the gold tree."""
    cdef int i, kept = 0
    cdef Kind kind
    room.n_words = 0
    for i in range(tree.n):
        room.before[i] = kept
        if tree.sizes[i] == 1:
            kind = kind_of(tree, i)
            if kind != TRACE:
                room.keep[room.n_words] = kind == WORD
                kept += kind == WORD
                room.n_words += 1
    room.before[tree.n] = kept
    room.n_places = kept + 1


cdef inline bint place_parse(const Tree* tree, Room* room) noexcept nogil:
    """OUT room.before, by which words gold keeps; whether there are as many of them."""
    cdef int i, kept = 0, w = 0
    for i in range(tree.n):
        room.before[i] = kept
        if tree.sizes[i] == 1 and kind_of(tree, i) != TRACE:
            if w == room.n_words:
                return False
            kept += room.keep[w]
            w += 1
    room.before[tree.n] = kept
    return w == room.n_words


cdef inline int next_bracket(const Tree* tree, const Room* room, int i, Bracket* bracket) noexcept nogil:
    """The first node from i on that is a bracket which counts, tree.n if there is none."""
    bracket.label = bracket.start = bracket.end = 0
    while i < tree.n:
        if tree.sizes[i] > 2:
            bracket.label = tree.classes[tree.symbols[i]]
            bracket.start = room.before[i]
            bracket.end = room.before[i + tree.sizes[i]]
            if bracket.label >= 0 and bracket.start < bracket.end:
                break
        i += 1
    return i


cdef inline u64 slot_of(const Room* room, u64 key) noexcept nogil:
    """The slot of a bracket, or the free one for it."""
    cdef u64 slot = key * <u64>0x9E3779B97F4A7C15
    slot = (slot ^ (slot >> 32)) & room.mask
    while room.keys[slot] != FREE and room.keys[slot] != key:
        slot = (slot + 1) & room.mask
    return slot


cdef inline u64 key_of(const Tree* tree, const Room* room, const Bracket* b) noexcept nogil:
    return (<u64>b.start * room.n_places + <u64>b.end) * tree.n_classes + <u64>b.label


cdef inline int enclose(const Tree* tree, Room* room, int p, int last, int depth) noexcept nogil:
    """OUT the smallest gold bracket around each place from p to ``last``; return how many are around that."""
    cdef int end, node
    while p <= last:
        end = -1
        while depth > 0 and end <= p:
            node = room.around[depth - 1]
            end = room.before[node + tree.sizes[node]]
            depth -= end <= p
        room.smallest_end[p] = end if depth > 0 else INT_MAX
        room.largest_start[p] = room.before[room.around[depth - 1]] if depth > 0 else -1
        p += 1
    return depth


cdef int add_gold(const Tree* tree, Room* room) noexcept nogil:
    """OUT the table of gold brackets, and those around each place; return how many there are.

    Gold brackets never cross each other and parents come first, so the last one around a place is the
    smallest: a bracket from s to e crosses one of them if and only if the smallest around s ends before e,
    or the smallest around e starts behind s. A place is passed once: later brackets start at it or behind it.
    """
    cdef Bracket b
    cdef int i, p = 0, depth = 0, n_brackets = 0
    cdef u64 key, slot
    memset(room.keys, 255, (room.mask + 1) * sizeof(u64))  # every slot is FREE
    i = next_bracket(tree, room, 0, &b)
    while i < tree.n:
        n_brackets += 1
        key = key_of(tree, room, &b)
        slot = slot_of(room, key)
        if room.keys[slot] == FREE:
            room.keys[slot] = key
            room.counts[slot] = 0
            room.parses[slot] = -1
        room.counts[slot] += 1
        depth = enclose(tree, room, p, b.start, depth)
        p = b.start + 1 if p <= b.start else p
        room.around[depth] = i
        depth += 1
        i = next_bracket(tree, room, i + 1, &b)
    enclose(tree, room, p, room.before[tree.n], depth)
    return n_brackets


cdef void count_parse(const Tree* tree, Room* room, int parse, int* out) noexcept nogil:
    """OUT out[0], [2], [3]: matched brackets, those of the parse, those of them that cross a gold one."""
    cdef Bracket b
    cdef int i = next_bracket(tree, room, 0, &b)
    cdef int n_matched = 0, n_brackets = 0, n_crossing = 0
    cdef u64 slot
    while i < tree.n:
        n_brackets += 1
        n_crossing += room.smallest_end[b.start] < b.end or room.largest_start[b.end] > b.start
        slot = slot_of(room, key_of(tree, room, &b))
        if room.keys[slot] != FREE:
            if room.parses[slot] != parse:
                room.parses[slot] = parse
                room.found[slot] = 0
            if room.found[slot] < room.counts[slot]:
                room.found[slot] += 1
                n_matched += 1
        i = next_bracket(tree, room, i + 1, &b)
    out[0] = n_matched
    out[2] = n_brackets
    out[3] = n_crossing


cdef class Trees:
    """The arrays of a forest, with the class of each symbol as a label and its kind as a tag.

    IN offsets, symbols, sizes; classes (n_symbols), below ``n_classes``, -1 = no bracket; kinds, of KINDS.
    """

    cdef const long long[::1] offsets
    cdef Tree first  # at the first node
    cdef object keep

    def __init__(
        self, const long long[::1] offsets, const int[::1] symbols, const int[::1] sizes,
        const int[::1] classes, const signed char[::1] kinds,
    ):
        self.offsets = offsets
        self.keep = (symbols, sizes, classes, kinds)
        self.first.symbols = &symbols[0] if symbols.shape[0] else NULL
        self.first.sizes = &sizes[0] if sizes.shape[0] else NULL
        self.first.classes = &classes[0] if classes.shape[0] else NULL
        self.first.kinds = &kinds[0] if kinds.shape[0] else NULL

    cdef Tree at(self, Py_ssize_t i, Py_ssize_t n_classes) noexcept nogil:
        cdef Tree tree = self.first
        tree.symbols += self.offsets[i]
        tree.sizes += self.offsets[i]
        tree.n = <int>(self.offsets[i + 1] - self.offsets[i])
        tree.n_classes = n_classes
        return tree


def count(
    const long long[::1] lists, Trees parses, Trees golds, Py_ssize_t n_classes, Scratch scratch,
    int[:, ::1] out,
):
    """OUT out (n_items, 5): matched, gold, test, crossing brackets, words of gold without traces.

    IN lists (n_lists + 1), the bounds of lists of parses; parses, and the gold tree of each list. SCRATCH for
    the largest tree. A missing parse has no bracket.

    Return the first parse with another number of words than gold, -1 if there is none.
    """
    cdef Py_ssize_t i, j
    cdef int n_gold
    cdef Tree tree, gold
    cdef Room room = scratch.room
    with nogil:
        for i in range(lists.shape[0] - 1):
            gold = golds.at(i, n_classes)
            room.mask = slots_for(gold.n) - 1
            place_gold(&gold, &room)
            n_gold = add_gold(&gold, &room)
            for j in range(lists[i], lists[i + 1]):
                out[j, 0] = out[j, 2] = out[j, 3] = 0
                out[j, 1] = n_gold
                out[j, 4] = room.n_words
                tree = parses.at(j, n_classes)
                if tree.n == 0:
                    continue
                if not place_parse(&tree, &room):
                    with gil:
                        return j
                count_parse(&tree, &room, <int>(j - lists[i]), &out[j, 0])
    return -1
