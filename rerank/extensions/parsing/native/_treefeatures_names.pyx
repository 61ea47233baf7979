"""Names of tree features, spelt from the parts of one occurrence of each."""

from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from rerank.extensions.parsing.native._treefeatures cimport Trees
from rerank.extensions.parsing.native._treefeatures_keys cimport NO_MEMORY, reserve
from rerank.extensions.parsing.native._treefeatures_templates cimport (
    ABOVE, ADJACENT, AT_MOST, EQUAL, LABEL, LINE, MARKED, MOST_PARTS, N_TYPES, SIDE, STOP, TOP, WORD, Builder,
    Part, generate,
)
from rerank.extensions.parsing.native._treefeatures_walk cimport NONE, Unit, Walk


cdef struct Text:
    unsigned char* bytes
    long long n, room
    long long most  # refuse more


cdef struct Strings:
    const unsigned char* data
    const long long* bounds


cdef int put(Text* out, const void* bytes, long long n) noexcept nogil:
    if out.n + n > out.most or reserve(<void**>&out.bytes, &out.room, out.n + n, 1) != 0:
        return NO_MEMORY
    memcpy(out.bytes + out.n, bytes, n)
    out.n += n
    return 0


cdef int put_symbol(Text* out, const Strings* strings, int symbol) noexcept nogil:
    cdef long long start = strings.bounds[symbol]
    return put(out, strings.data + start, strings.bounds[symbol + 1] - start)


cdef int put_whole(Text* out, int value) noexcept nogil:
    """A number that is not negative."""
    cdef unsigned char[12] digits
    cdef int at = 12
    while True:
        at -= 1
        digits[at] = c'0' + value % 10
        value //= 10
        if value == 0:
            break
    return put(out, digits + at, 12 - at)


cdef int put_label(Text* out, const Strings* strings, const Unit* unit, bint lexicalised) noexcept nogil:
    cdef int fault = put_symbol(out, strings, unit.symbol)
    if lexicalised and unit.closed:
        fault |= put(out, b"(", 1)
        fault |= put_symbol(out, strings, unit.word)
        fault |= put(out, b")", 1)
    return fault


cdef int put_rule(Text* out, const Strings* strings, const Walk* w, int at, bint lexicalised) noexcept nogil:
    """Parent and children."""
    cdef const Unit* unit = w.units + at
    cdef int fault = put_label(out, strings, unit, lexicalised)
    cdef int i
    for i in range(unit.n_children):
        fault |= put(out, b" ", 1)
        fault |= put_label(out, strings, w.units + w.children[unit.first_child + i], lexicalised)
    return fault


cdef int put_part(
    Text* out, const Strings* strings, const Walk* w, const Part* part, bint lexicalised
) noexcept nogil:
    cdef int fault = 0
    if part.kind == LABEL or part.kind == MARKED:
        fault |= put_label(out, strings, w.units + part.value, lexicalised)
        if part.kind == MARKED:
            fault |= put(out, b"!", 1)
    elif part.kind == WORD:
        fault |= put_symbol(out, strings, w.units[part.value].word)
    elif part.kind == LINE:
        fault |= put_rule(out, strings, w, part.value, lexicalised)
    elif part.kind == ABOVE:
        fault |= put(out, b"(", 1)
        fault |= put_rule(out, strings, w, part.value, lexicalised)
        fault |= put(out, b")", 1)
    elif part.kind == SIDE:
        fault |= put(out, b"right", 5) if part.value else put(out, b"left", 4)
    elif part.kind == STOP:
        fault |= put(out, b"STOP", 4)
    elif part.kind == TOP:
        fault |= put(out, b"TOP", 3)
    else:
        if part.kind == ADJACENT:
            fault |= put(out, b"adj=", 4)
        elif part.kind == EQUAL:
            fault |= put(out, b"=", 1)
        elif part.kind == AT_MOST:
            fault |= put(out, b"<=", 2)
        else:
            fault |= put(out, b">=", 2)
        fault |= put_whole(out, part.value)
    return fault


def spell(
    Trees trees, const int[:, ::1] seen, const unsigned char[::1] data, const long long[::1] bounds,
    const unsigned char[::1] type_data, const long long[::1] type_bounds, long long most,
):
    """Return the names of features seen at given places: bytes uint8 and bounds int64 (n + 1).

    seen (n, 4) is tree, unit, number, type, quickest if sorted; data and bounds hold the forest's symbols,
    type_data and type_bounds the names of the types. A name is the type and its parts, separated by blanks.
    More than ``most`` bytes raise a MemoryError.
    """
    cdef Text out
    cdef Strings symbols, types
    cdef long long tree = NONE
    cdef int unit = NONE
    cdef long long step = 0
    cdef Py_ssize_t i
    cdef int k, at, fault = 0
    cdef Builder* f = &trees.builder
    bounds_out = np.zeros(seen.shape[0] + 1, dtype=np.int64)
    cdef long long[::1] ends = bounds_out
    symbols.data = &data[0] if data.shape[0] else NULL
    symbols.bounds = &bounds[0]
    types.data = &type_data[0]
    types.bounds = &type_bounds[0]
    out.bytes = NULL
    out.n = 0
    out.room = 0
    out.most = most
    f.spells = True
    try:
        with nogil:
            for i in range(seen.shape[0]):
                if seen[i, 0] != tree:
                    tree = seen[i, 0]
                    unit = NONE
                    fault |= trees.look(tree)
                    if fault != 0:
                        break
                if seen[i, 1] != unit or seen[i, 2] < seen[i - 1, 2]:
                    unit = seen[i, 1]
                    step = 0
                    generate(f, &trees.walk, &trees.grammar, unit, step)
                while f.number <= seen[i, 2]:  # the numbers of this step are lower
                    step += 1
                    generate(f, &trees.walk, &trees.grammar, unit, step)
                at = 0
                while f.found[at].number != seen[i, 2]:
                    at += 1
                fault |= put_symbol(&out, &types, seen[i, 3] % N_TYPES)
                for k in range(f.n_spelt[at]):
                    fault |= put(&out, b" ", 1)
                    fault |= put_part(
                        &out, &symbols, &trees.walk, f.spelt + MOST_PARTS * at + k, seen[i, 3] >= N_TYPES
                    )
                if fault != 0:
                    break
                ends[i + 1] = out.n
        if fault != 0:
            raise MemoryError
        names = np.empty(out.n, dtype=np.uint8)
        if out.n:
            copy(out.bytes, names)
        return names, bounds_out
    finally:
        f.spells = False
        free(out.bytes)


cdef void copy(const unsigned char* source, unsigned char[::1] target) noexcept:
    memcpy(&target[0], source, target.shape[0])
