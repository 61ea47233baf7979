"""One parse tree with its lexical heads, without the words that are left out and empty constituents."""

from rerank.extensions.parsing.native._treefeatures_keys cimport Key, mixed, number_key, reserve
from rerank.native.data._number cimport u64

cdef enum:
    # Facts about a symbol.
    CLOSED = 1  # as a tag: of a closed class
    LEFT_OUT = 2  # as a tag: its words are left out
    PREPOSITIONAL = 4  # as a label: of prepositional phrases
    NONE = -1


cdef struct Grammar:
    # Facts about the symbols of a forest (n_symbols each), and the head table; see features.heads.
    const u64* hashes  # two each: a Key
    const unsigned char* facts
    const int* numbers
    const int* parents
    const int* first
    const unsigned char* from_right
    const int* ranks
    const unsigned char* coordinates
    long long n_columns


cdef struct Unit:
    # A constituent or a tag with its word.
    int symbol  # the label
    int word  # the head word
    int place  # of the head word among the words
    int parent  # unit, NONE at the root
    int head  # which of the children, NONE at a tag
    int n_children
    int first_child  # children are walk.children[first_child:first_child + n_children]
    bint closed  # whether the head word is of a closed class
    Key label
    Key closed_label  # with the head word if it is of a closed class
    Key rule, closed_rule
    Key own  # of everything that the features of this rule depend on, except what is above


cdef struct Walk:
    Unit* units  # in preorder
    int* ends  # the unit after the last descendant of a unit
    int* children
    int* open_units
    long long* open_ends
    long long n, unit_room, end_room, child_room, open_room, open_end_room


cdef inline Key key_of(const Grammar* g, int symbol) noexcept nogil:
    cdef Key out
    out.a = g.hashes[2 * symbol]
    out.b = g.hashes[2 * symbol + 1]
    return out


cdef inline int make_room(Walk* w, long long n_nodes) noexcept nogil:
    """Make room for a tree of ``n_nodes`` nodes: 0 or NO_MEMORY."""
    return (
        reserve(<void**>&w.units, &w.unit_room, n_nodes, sizeof(Unit))
        | reserve(<void**>&w.ends, &w.end_room, n_nodes, sizeof(int))
        | reserve(<void**>&w.children, &w.child_room, n_nodes, sizeof(int))
        | reserve(<void**>&w.open_units, &w.open_room, n_nodes, sizeof(int))
        | reserve(<void**>&w.open_ends, &w.open_end_room, n_nodes, sizeof(long long))
    )


cdef inline long long closed_until(Walk* w, long long depth, long long node) noexcept nogil:
    """End the open constituents that end at ``node``, dropping empty ones. OUT w.n. Return the depth left."""
    cdef int unit
    while depth > 0 and w.open_ends[depth - 1] == node:
        depth -= 1
        unit = w.open_units[depth]
        if w.n == unit + 1:
            w.n = unit
        else:
            w.ends[unit] = <int>w.n
    return depth


cdef inline void lay_out(
    Walk* w, const Grammar* g, const int* symbols, const int* sizes, long long start, long long stop
) noexcept nogil:
    """OUT w: the units of the tree of nodes start:stop with labels, words, places, parents and ends."""
    cdef long long node = start, depth = 0
    cdef int place = 0
    cdef Unit* unit
    w.n = 0
    while node < stop:
        depth = closed_until(w, depth, node)
        unit = w.units + w.n
        unit.symbol = symbols[node]
        unit.parent = w.open_units[depth - 1] if depth else NONE
        unit.head = NONE
        unit.n_children = 0
        if sizes[node] > 2:
            w.open_units[depth] = <int>w.n
            w.open_ends[depth] = node + sizes[node]
            depth += 1
            w.n += 1
            node += 1
            continue
        # A tag and its word, or a word without a tag: it is its own tag.
        if not g.facts[unit.symbol] & LEFT_OUT:
            unit.word = symbols[node + sizes[node] - 1]
            unit.closed = g.facts[unit.symbol] & CLOSED
            unit.place = place
            place += 1
            w.ends[w.n] = <int>w.n + 1
            w.n += 1
        node += sizes[node]
    closed_until(w, depth, stop)


cdef inline int head_of(const Walk* w, const Grammar* g, const Unit* unit) noexcept nogil:
    """Return which child is the head; see HeadTable.head."""
    cdef const int* children = w.children + unit.first_child
    cdef int n = unit.n_children
    cdef int parent = g.parents[unit.symbol]
    cdef int sweep, step, i, rank, found = NONE, least
    cdef const int* ranks
    if n == 1:
        return 0
    for sweep in range(g.first[parent], g.first[parent + 1]):
        ranks = g.ranks + sweep * g.n_columns
        least = 0x7FFFFFFF
        for step in range(n):
            i = n - 1 - step if g.from_right[sweep] else step
            rank = ranks[g.numbers[w.units[children[i]].symbol]]
            if rank < least:
                least = rank
                found = i
        if found != NONE:
            break
    if found == NONE:
        found = n - 1 if g.from_right[g.first[parent + 1] - 1] else 0
    if found >= 2 and g.coordinates[g.numbers[w.units[children[found - 1]].symbol]]:
        found -= 2
    return found


cdef inline int argument_of(const Walk* w, const Grammar* g, int phrase) noexcept nogil:
    """Return the unit after the preposition of a PP, or NONE."""
    cdef const Unit* unit = w.units + phrase
    cdef const int* children = w.children + unit.first_child
    if unit.head == NONE or not g.facts[unit.symbol] & PREPOSITIONAL:
        return NONE
    if w.units[children[unit.head]].head != NONE or unit.head + 1 == unit.n_children:
        return NONE
    return children[unit.head + 1]


cdef inline void set_keys(Walk* w, const Grammar* g, Unit* unit) noexcept nogil:
    """OUT the keys of a constituent, from those of its children."""
    cdef const Unit* child
    cdef int argument, i, at
    unit.rule = unit.label
    unit.closed_rule = unit.closed_label
    unit.own = mixed(unit.closed_label, number_key(3, unit.head))
    for i in range(unit.n_children):
        at = w.children[unit.first_child + i]
        child = w.units + at
        unit.rule = mixed(unit.rule, child.label)
        unit.closed_rule = mixed(unit.closed_rule, child.closed_label)
        unit.own = mixed(mixed(unit.own, child.closed_label), key_of(g, child.word))
        unit.own = mixed(unit.own, number_key(4, <u64>(child.place - unit.place)))
        argument = argument_of(w, g, at)
        if argument != NONE:
            unit.own = mixed(unit.own, w.units[argument].label)
            unit.own = mixed(unit.own, key_of(g, w.units[argument].word))
    unit.own = mixed(unit.own, unit.closed_rule)


cdef inline void annotate(Walk* w, const Grammar* g) noexcept nogil:
    """OUT w: children, heads and keys of the units that ``lay_out`` made."""
    cdef int at, child, used = 0
    cdef Unit* unit
    cdef const Unit* head
    for at in range(<int>w.n - 1, -1, -1):  # children come after their parent
        unit = w.units + at
        if w.ends[at] > at + 1:
            unit.first_child = used
            child = at + 1
            while child < w.ends[at]:
                w.children[used] = child
                used += 1
                child = w.ends[child]
            unit.n_children = used - unit.first_child
            unit.head = head_of(w, g, unit)
            head = w.units + w.children[unit.first_child + unit.head]
            unit.word = head.word
            unit.place = head.place
            unit.closed = head.closed
        unit.label = key_of(g, unit.symbol)
        unit.closed_label = unit.label
        if unit.closed:
            unit.closed_label = mixed(mixed(unit.label, number_key(5, 0)), key_of(g, unit.word))
        if unit.head != NONE:
            set_keys(w, g, unit)
