"""Trees in Penn brackets read as flat arrays, those of a Forest (rerank/data/columns/forests.py).

At the first fault the kernel stops and returns its kind and place; Python words the message.
"""

from libc.string cimport memcpy, memmove

from rerank.native.data._blanks cimport is_blank
from rerank.native.data._names cimport FULL, Names, Table, find_or_add, is_name
from rerank.native.data._tokens cimport BY_EIGHT, FIRST_BYTES, FIRST_SET, MULTIPLIER, ONES, bytes_at, word

FAULTS = ("none", "no room", "no bracket", "open", "empty", "more")

cdef enum Fault:
    NONE
    NO_ROOM  # in the vocabulary
    NO_BRACKET  # text that does not begin with a bracket
    OPEN  # a bracket that is not closed
    EMPTY  # a bracket without a word
    MORE  # text after the tree

cdef enum:
    TRACES = 1
    FUNCTIONS = 2

cdef enum:
    NO_NODE = -1  # the parent of a root
    NOWHERE = -2

cdef enum:
    RECENT_BITS = 11
RECENT = 1 << RECENT_BITS


cdef struct Symbols:
    Table* names
    word* keys  # the last short string of each hash, 0 if there was none
    int* numbers  # its symbol
    int strip
    bytes_at limit  # where readable memory ends


cdef inline bint is_text(unsigned char c) noexcept nogil:
    return c > 0x29 or not (c == 0x28 or c == 0x29 or is_blank(c))


cdef inline bytes_at text_end(bytes_at p, bytes_at end) noexcept nogil:
    while p < end and is_text(p[0]):
        p += 1
    return p


cdef inline bytes_at past_blanks(bytes_at p, bytes_at end) noexcept nogil:
    while p < end and is_blank(p[0]):
        p += 1
    return p


cdef inline Py_ssize_t bare_length(bytes_at p, Py_ssize_t length) noexcept nogil:
    """The length of a label without function tags and indices: NP of NP-SBJ=2, all of -LRB-."""
    cdef Py_ssize_t k
    if length and p[0] != c"-":
        for k in range(1, length):
            if p[k] == c"-" or p[k] == c"=":
                return k
    return length


cdef inline bytes_at read_symbol(
    Symbols* symbols, bytes_at p, bytes_at end, bint is_label, int* symbol
) noexcept nogil:
    """Where the text at p ends; OUT its symbol, or FULL.

    A string of fewer than 8 bytes is found from one load: most were seen recently and need no hashing.
    """
    cdef bytes_at start = p
    cdef word part = 0, stops, key
    cdef Py_ssize_t length
    cdef int slot
    if BY_EIGHT and symbols.limit - p >= 8:
        memcpy(&part, p, 8)
        # The first byte up to 0x20, and the first bracket, are marked correctly: borrows go to later bytes.
        key = (part | ONES) ^ 0x29 * ONES
        stops = ((part - 0x21 * ONES) & ~part | (key - ONES) & ~key) & 0x80 * ONES
        length = FIRST_SET(stops) if stops else 8
        if 0 < length < 8 and p + length <= end and not is_text(p[length]):
            if is_label and symbols.strip & FUNCTIONS:
                p += length
                length = bare_length(start, length)
            else:
                p += length
            key = FIRST_BYTES(part, <word>length)
            slot = <int>(key * MULTIPLIER >> (64 - RECENT_BITS))
            if symbols.keys[slot] != key:
                symbol[0] = find_or_add(symbols.names, start, length)
                if symbol[0] == FULL:
                    return p
                symbols.keys[slot] = key
                symbols.numbers[slot] = symbol[0]
            symbol[0] = symbols.numbers[slot]
            return p
    p = text_end(p, end)
    length = bare_length(start, p - start) if is_label and symbols.strip & FUNCTIONS else p - start
    symbol[0] = find_or_add(symbols.names, start, length)
    return p


cdef inline bint is_nameless(const Table* names, int symbol) noexcept nogil:
    return names.bounds[symbol + 1] == names.bounds[symbol]


cdef Fault read_tree(
    bytes_at* place, bytes_at end, Symbols* known, int* symbols, int* sizes, long long* n_nodes
) noexcept nogil:
    """One tree from ``place[0]`` to ``end``: OUT symbols, sizes, n_nodes; ``place`` at a fault.

    ``sizes`` of an open node holds its parent, so that no stack is needed.
    """
    cdef bytes_at p = past_blanks(place[0], end)
    cdef bytes_at hollow = NULL  # the first bracket that never held anything
    cdef long long n = 0
    cdef long long node = NO_NODE  # the innermost open one
    cdef long long parent
    cdef long long emptied = NOWHERE  # the node that last lost a child
    cdef long long outer  # nodes without a label around the rest of the tree
    cdef int symbol = FULL
    n_nodes[0] = 0
    if p == end:
        return NONE
    place[0] = p
    if p[0] != c"(":
        return NO_BRACKET
    while True:
        if p == end:
            return OPEN
        if p[0] == c"(":
            p = read_symbol(known, past_blanks(p + 1, end), end, True, &symbol)
            if symbol == FULL:
                return NO_ROOM
            symbols[n] = symbol
            sizes[n] = <int>node
            node = n
            n += 1
        elif p[0] == c")":
            parent = sizes[node]
            if n == node + 1:
                if emptied != node:
                    if not is_nameless(known.names, symbols[node]):
                        place[0] = p
                        return EMPTY
                    hollow = p if hollow == NULL else hollow
                n = node
                emptied = parent
            elif known.strip & TRACES and is_name(known.names, symbols[node], b"-NONE-", 6):
                n = node
                emptied = parent
            else:
                sizes[node] = <int>(n - node)
            node = parent
            p += 1
            if node == NO_NODE:
                break
        elif is_blank(p[0]):
            p += 1
        else:
            p = read_symbol(known, p, end, False, &symbol)
            if symbol == FULL:
                return NO_ROOM
            symbols[n] = symbol
            sizes[n] = 1
            n += 1
    p = past_blanks(p, end)
    if p < end:
        place[0] = p
        return MORE
    if n and hollow != NULL:
        place[0] = hollow
        return EMPTY
    outer = 0
    while n - outer > 2 and is_nameless(known.names, symbols[outer]) and sizes[outer + 1] == n - outer - 1:
        outer += 1
    if outer:
        n -= outer
        memmove(symbols, symbols + outer, n * sizeof(int))
        memmove(sizes, sizes + outer, n * sizeof(int))
    n_nodes[0] = n
    return NONE


def read(
    const unsigned char[::1] text, const long long[:, ::1] spans, Names names, unsigned long long[::1] keys,
    int[::1] numbers, int strip, long long[::1] state, int[::1] symbols, int[::1] sizes, long long[::1] ends,
):
    """The trees at text[spans[t, 0]:spans[t, 1]], from tree state[0] on: (fault, its place in the text).

    IN strip (1: drop elements of traces, 2: drop function tags). IN/OUT names, to which new strings are
    added; keys and numbers (RECENT each, keys zero at first), recently seen strings of these names only;
    state, the next tree and the nodes so far. OUT symbols, sizes (as many as the spans have bytes), ends[t] =
    nodes up to the end of tree t. At "no room" grow the names and call again.
    """
    cdef Py_ssize_t t = state[0]
    cdef long long n = state[1], n_nodes = 0
    cdef bytes_at base = &text[0] if text.shape[0] else NULL
    cdef bytes_at place = base
    cdef Fault fault = NONE
    cdef Symbols known
    known.names = &names.table
    known.keys = &keys[0]
    known.numbers = &numbers[0]
    known.strip = strip
    known.limit = base + text.shape[0]
    with nogil:
        while t < spans.shape[0]:
            place = base + spans[t, 0]
            n_nodes = 0
            if spans[t, 1] > spans[t, 0]:
                fault = read_tree(
                    &place, base + spans[t, 1], &known, &symbols[n], &sizes[n], &n_nodes
                )
            if fault != NONE:
                break
            n += n_nodes
            ends[t] = n
            t += 1
    state[0] = t
    state[1] = n
    return <int>fault, place - base
