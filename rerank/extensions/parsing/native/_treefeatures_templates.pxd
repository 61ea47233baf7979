"""The eleven types of features of Collins & Koo (2005, section 5.2), written once for keys and for names.

``generate`` goes through the features of one rule in steps, each of bounded size however long the rule is. A
feature is a type and a few parts; its key is hashed from them, its name is spelt from them, and its number
among the rule's says which it is.
"""

from libc.string cimport memcpy

from rerank.native.data._number cimport u64
from rerank.extensions.parsing.native._treefeatures_keys cimport Key, mixed, number_key, same
from rerank.extensions.parsing.native._treefeatures_walk cimport (
    NONE,
    Grammar,
    Unit,
    Walk,
    argument_of,
    key_of,
)

cdef enum:
    RULE
    BIGRAM
    GRANDPARENT_RULE
    GRANDPARENT_BIGRAM
    LEXICAL_BIGRAM
    TWO_LEVEL_RULE
    TWO_LEVEL_BIGRAM
    TRIGRAM
    HEAD_MODIFIER
    PP
    DISTANCE
    N_TYPES  # those of the second pass follow, the type's number + N_TYPES
    LAST_LEXICALISED = TRIGRAM
    MOST_PARTS = 8
    FARTHEST = 9  # the largest distance x of a feature <= x
    MOST_DISTANCE = 255  # the largest x of a feature >= x; without a limit a long rule has very many
    MOST_FOUND = 320  # at most this many features in a step


cdef enum Kind:
    LABEL  # value: a unit
    MARKED  # a unit, shown as the head
    WORD  # the head word of a unit
    LINE  # the rule of a unit
    ABOVE  # the same as the rule above another
    SIDE  # 0 left, 1 right
    ADJACENT  # 0 or 1
    EQUAL  # a number of words
    AT_MOST
    AT_LEAST
    STOP
    TOP


cdef struct Part:
    Kind kind
    int value


cdef struct Found:
    # One feature of a rule.
    Key key
    int type
    int number  # which it is among the rule's


cdef struct Builder:
    # The feature being made, and all that were.
    int type, n
    Part[MOST_PARTS] parts
    Key plain, closed
    int number
    unsigned int types  # a bit each
    bint lexicalised
    u64 mask  # of keys: all ones, but for tests
    Key stop  # as of labels of these names, for their features have one name
    Key top
    int n_found
    Found[MOST_FOUND] found
    bint spells
    Part[MOST_FOUND * MOST_PARTS] spelt  # if it spells: MOST_PARTS for each that was found
    int[MOST_FOUND] n_spelt


cdef inline void begin(Builder* f, int type) noexcept nogil:
    f.type = type
    f.n = 0
    f.plain = number_key(16, <u64>type)
    f.closed = f.plain


cdef inline void add(Builder* f, const Walk* w, const Grammar* g, Kind kind, int value) noexcept nogil:
    """One more part of the feature."""
    cdef Key part
    cdef const Unit* unit
    f.parts[f.n].kind = kind
    f.parts[f.n].value = value
    f.n += 1
    if kind <= ABOVE:
        unit = w.units + value
        if kind == MARKED:
            f.plain = mixed(f.plain, number_key(17, 0))
            f.closed = mixed(f.closed, number_key(17, 0))
        if kind == WORD:
            part = key_of(g, unit.word)
            f.plain = mixed(f.plain, part)
            f.closed = mixed(f.closed, part)
        elif kind == LINE or kind == ABOVE:
            f.plain = mixed(f.plain, unit.rule)
            f.closed = mixed(f.closed, unit.closed_rule)
        else:
            f.plain = mixed(f.plain, unit.label)
            f.closed = mixed(f.closed, unit.closed_label)
        return
    if kind == STOP:
        part = f.stop
    elif kind == TOP:
        part = f.top
    else:
        part = number_key(18 + <u64>kind, <u64>value)
    f.plain = mixed(f.plain, part)
    f.closed = mixed(f.closed, part)


cdef inline void keep(Builder* f, Key key, int type) noexcept nogil:
    cdef Found* found = f.found + f.n_found
    key.a &= f.mask
    found.key = key
    found.type = type
    found.number = f.number
    if f.spells:
        memcpy(f.spelt + MOST_PARTS * f.n_found, f.parts, f.n * sizeof(Part))
        f.n_spelt[f.n_found] = f.n
    f.n_found += 1


cdef inline void end(Builder* f) noexcept nogil:
    """Keep the keys of a complete feature."""
    if f.types >> f.type & 1:
        keep(f, f.plain, f.type)
        # The second pass: only if it changes a label.
        if f.lexicalised and f.type <= LAST_LEXICALISED and not same(f.plain, f.closed):
            keep(f, f.closed, f.type + N_TYPES)
    f.number += 1


cdef inline void bigram(
    Builder* f, const Walk* w, const Grammar* g, int type, int at, int side, int a, int b
) noexcept nogil:
    cdef int up = w.units[at].parent
    begin(f, type)
    if type == TWO_LEVEL_BIGRAM:
        add(f, w, g, ABOVE, up)
    add(f, w, g, SIDE, side)
    if type == GRANDPARENT_BIGRAM:
        add(f, w, g, TOP if up == NONE else LABEL, up)
    add(f, w, g, LABEL, at)
    add(f, w, g, LABEL, a)
    if type == LEXICAL_BIGRAM:
        add(f, w, g, WORD, a)
    add(f, w, g, STOP if b == NONE else LABEL, b)
    if type == LEXICAL_BIGRAM and b != NONE:
        add(f, w, g, WORD, b)
    end(f)


cdef inline void bigrams(
    Builder* f, const Walk* w, const Grammar* g, int at, int side, int a, int b
) noexcept nogil:
    """Make the bigrams of units ``a`` and ``b``, neighbours outwards from the head; b NONE is STOP."""
    bigram(f, w, g, BIGRAM, at, side, a, b)
    bigram(f, w, g, GRANDPARENT_BIGRAM, at, side, a, b)
    bigram(f, w, g, LEXICAL_BIGRAM, at, side, a, b)
    if w.units[at].parent != NONE:
        bigram(f, w, g, TWO_LEVEL_BIGRAM, at, side, a, b)


cdef inline void pp(
    Builder* f, const Walk* w, const Grammar* g, int at, int head, int child, int argument, bint modified
) noexcept nogil:
    """Make the feature of the words of a PP ``child``, with or without that of the modified head."""
    begin(f, PP)
    add(f, w, g, LABEL, at)
    add(f, w, g, LABEL, head)
    add(f, w, g, LABEL, child)
    add(f, w, g, LABEL, argument)
    if modified:
        add(f, w, g, WORD, head)
    add(f, w, g, WORD, child)
    add(f, w, g, WORD, argument)
    end(f)


cdef inline void modifiers(
    Builder* f, const Walk* w, const Grammar* g, int at, int side, int child, bint adjacent
) noexcept nogil:
    """Make the features of a head and one modifier: their labels, the words of a PP, their distance."""
    cdef int up = w.units[at].parent
    cdef int head = w.children[w.units[at].first_child + w.units[at].head]
    cdef int argument = argument_of(w, g, child)
    begin(f, HEAD_MODIFIER)
    add(f, w, g, SIDE, side)
    add(f, w, g, TOP if up == NONE else LABEL, up)
    add(f, w, g, LABEL, at)
    add(f, w, g, LABEL, head)
    add(f, w, g, LABEL, child)
    add(f, w, g, ADJACENT, adjacent)
    end(f)
    if argument != NONE:
        pp(f, w, g, at, head, child, argument, True)
        pp(f, w, g, at, head, child, argument, False)
    if f.types >> DISTANCE & 1:
        distances(f, w, g, at, head, child)


cdef inline void distances(
    Builder* f, const Walk* w, const Grammar* g, int at, int head, int child
) noexcept nogil:
    cdef int between = w.units[head].place - w.units[child].place
    cdef Key start
    cdef int x
    between = (between if between > 0 else -between) - 1
    begin(f, DISTANCE)
    add(f, w, g, LABEL, at)
    add(f, w, g, LABEL, head)
    add(f, w, g, LABEL, child)
    start = f.plain
    distance(f, w, g, start, EQUAL, between)
    for x in range(between, FARTHEST + 1):
        distance(f, w, g, start, AT_MOST, x)
    for x in range(1, min(between, MOST_DISTANCE) + 1):
        distance(f, w, g, start, AT_LEAST, x)


cdef inline void distance(
    Builder* f, const Walk* w, const Grammar* g, Key start, Kind kind, int value
) noexcept nogil:
    """Add a distance to the three labels, whose key is ``start``."""
    f.n = 3
    f.plain = start
    f.closed = start
    add(f, w, g, kind, value)
    end(f)


cdef inline void trigram(Builder* f, const Walk* w, const Grammar* g, int at, int i) noexcept nogil:
    """Make the trigram around child i."""
    cdef const Unit* unit = w.units + at
    cdef int j
    begin(f, TRIGRAM)
    add(f, w, g, LABEL, at)
    for j in range(i - 1, i + 2):
        if j < 0 or j == unit.n_children:
            add(f, w, g, STOP, NONE)
        else:
            add(f, w, g, MARKED if j == unit.head else LABEL, w.children[unit.first_child + j])
    end(f)


cdef inline void rules(Builder* f, const Walk* w, const Grammar* g, int at) noexcept nogil:
    cdef int up = w.units[at].parent
    begin(f, RULE)
    add(f, w, g, LINE, at)
    end(f)
    begin(f, GRANDPARENT_RULE)
    add(f, w, g, TOP if up == NONE else LABEL, up)
    add(f, w, g, LINE, at)
    end(f)
    if up != NONE:
        begin(f, TWO_LEVEL_RULE)
        add(f, w, g, ABOVE, up)
        add(f, w, g, LINE, at)
        end(f)


cdef inline long long n_steps(const Unit* unit) noexcept nogil:
    """Return the steps of ``generate`` for a rule: itself, its modifiers, a trigram for each child."""
    return 2 * <long long>unit.n_children


cdef inline void generate(Builder* f, const Walk* w, const Grammar* g, int at, long long step) noexcept nogil:
    """OUT the features of one step of the rule of unit ``at`` in f.found; steps go from 0 to n_steps - 1."""
    cdef const Unit* unit = w.units + at
    cdef const int* children = w.children + unit.first_child
    cdef int side, i, after
    f.n_found = 0
    if step == 0:
        f.number = 0
        rules(f, w, g, at)
    elif step < unit.n_children:
        # Modifiers outwards from the head, those on the left first.
        side = step > unit.head
        i = <int>step if side else unit.head - <int>step
        after = i + 2 * side - 1
        after = children[after] if 0 <= after < unit.n_children else NONE
        bigrams(f, w, g, at, side, children[i], after)
        modifiers(f, w, g, at, side, children[i], i == unit.head + 2 * side - 1)
    else:
        trigram(f, w, g, at, <int>(step - unit.n_children))
