"""The parses of one sentence: their rules in groups of the same surroundings, features made once a group."""

from libc.stdlib cimport free
from libc.string cimport memset

from rerank.extensions.parsing.native._treefeatures cimport Trees
from rerank.extensions.parsing.native._treefeatures_keys cimport (
    NO_MEMORY, Key, Keys, clear, find_or_add, mixed, number_key, reserve,
)
from rerank.extensions.parsing.native._treefeatures_templates cimport Builder, Found, generate, n_steps
from rerank.extensions.parsing.native._treefeatures_walk cimport NONE, Unit, Walk


cdef struct Seen:
    # Where a feature was first seen: tree, unit of it, which of the rule's features; its type.
    int tree, unit, number, type


cdef struct Sentence:
    Keys features  # the distinct ones, in order of appearance
    Seen* seen
    Keys groups  # rules in their surroundings
    long long* bounds  # the features of a group are members[bounds[g]:bounds[g + 1]]
    int* members
    int* uses  # the groups of the parses, one parse after the other
    long long* use_bounds
    long long n_members, n_uses
    long long most_members  # refuse more
    long long seen_room, bound_room, member_room, use_room, use_bound_room


cdef inline void begin(Sentence* s, long long most) noexcept nogil:
    """OUT s: empty, for at most so many features and four times as many occurrences."""
    memset(s, 0, sizeof(Sentence))
    s.features.most = most
    s.most_members = 4 * most


cdef inline Key surroundings(const Walk* w, const Unit* unit) noexcept nogil:
    """The key of all that the features of a rule depend on."""
    if unit.parent == NONE:
        return mixed(unit.own, number_key(6, 0))
    return mixed(mixed(unit.own, w.units[unit.parent].rule), w.units[unit.parent].closed_rule)


cdef inline int add_found(Sentence* s, const Found* found, long long n, int tree, int unit) noexcept nogil:
    """Add features to the last group; 0, or NO_MEMORY."""
    cdef long long before, k
    cdef int i
    if s.n_members + n > s.most_members:
        return NO_MEMORY
    if reserve(<void**>&s.members, &s.member_room, s.n_members + n, sizeof(int)) != 0:
        return NO_MEMORY
    if reserve(<void**>&s.seen, &s.seen_room, s.features.n + n, sizeof(Seen)) != 0:
        return NO_MEMORY
    for k in range(n):
        before = s.features.n
        i = find_or_add(&s.features, found[k].key)
        if i == NO_MEMORY:
            return NO_MEMORY
        if s.features.n > before:
            s.seen[i].tree = tree
            s.seen[i].unit = unit
            s.seen[i].number = found[k].number
            s.seen[i].type = found[k].type
        s.members[s.n_members] = i
        s.n_members += 1
    return 0


cdef inline int add_group(Sentence* s, Trees trees, int tree, int unit) noexcept nogil:
    """Make the features of a new group, that of a rule; 0, or NO_MEMORY."""
    cdef Builder* f = &trees.builder
    cdef long long step
    if reserve(<void**>&s.bounds, &s.bound_room, s.groups.n + 1, sizeof(long long)) != 0:
        return NO_MEMORY
    for step in range(n_steps(trees.walk.units + unit)):
        generate(f, &trees.walk, &trees.grammar, unit, step)
        if add_found(s, f.found, f.n_found, tree, unit) != 0:
            return NO_MEMORY
    s.bounds[0] = 0
    s.bounds[s.groups.n] = s.n_members
    return 0


cdef inline int scan(Sentence* s, Trees trees, long long first, long long last) noexcept nogil:
    """OUT s: the features of trees first:last, a sentence's; 0, or NO_MEMORY."""
    cdef Walk* w = &trees.walk
    cdef const Unit* unit
    cdef long long tree, before
    cdef int at, group
    clear(&s.features)
    clear(&s.groups)
    s.n_members = 0
    s.n_uses = 0
    if reserve(<void**>&s.use_bounds, &s.use_bound_room, last - first + 1, sizeof(long long)) != 0:
        return NO_MEMORY
    s.use_bounds[0] = 0
    for tree in range(first, last):
        if trees.look(tree) != 0:
            return NO_MEMORY
        if reserve(<void**>&s.uses, &s.use_room, s.n_uses + w.n, sizeof(int)) != 0:
            return NO_MEMORY
        for at in range(<int>w.n):
            unit = w.units + at
            if unit.head == NONE:
                continue
            before = s.groups.n
            group = find_or_add(&s.groups, surroundings(w, unit))
            if group == NO_MEMORY:
                return NO_MEMORY
            if s.groups.n > before:
                if add_group(s, trees, <int>tree, at) != 0:
                    return NO_MEMORY
            s.uses[s.n_uses] = group
            s.n_uses += 1
        s.use_bounds[tree - first + 1] = s.n_uses
    return 0


cdef inline void release(Sentence* s) noexcept:
    free(s.features.keys)
    free(s.features.slots)
    free(s.groups.keys)
    free(s.groups.slots)
    free(s.seen)
    free(s.bounds)
    free(s.members)
    free(s.uses)
    free(s.use_bounds)
