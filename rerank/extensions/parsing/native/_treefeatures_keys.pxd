"""128-bit keys of features and their parts, and numbered sets of keys.

Words and labels are hashed by their bytes, so that keys are the same in every file and every worker. Both
halves are compared in every look-up: two features in 10 million share one with a chance of 10^-25.
"""

from libc.stdlib cimport realloc
from libc.string cimport memset

from rerank.native.data._number cimport u64

cdef enum:
    ABSENT = -1
    NO_MEMORY = -2
    FIRST_ROOM = 256  # a power of two
    MOST_KEYS = 1 << 30  # numbers are 32 bits
    AHEAD = 8  # keys; a large set lies in slow memory, so entries are prefetched


cdef struct Key:
    u64 a, b


cdef struct Keys:
    Key* keys  # in order of first appearance
    int* slots  # 2 * room of them: the number of the key in each, or ABSENT
    long long n
    long long room  # keys that fit, a power of two or 0
    long long most  # refuse more; 0: MOST_KEYS


cdef inline Key mixed(Key h, Key x) noexcept nogil:
    """Return the key of the sequence ``h`` followed by ``x``; h is rotated, so that the order matters."""
    cdef Key out
    out.a = ((h.a << 23 | h.a >> 41) ^ x.a) * <u64>0xD6E8FEB86659FD93
    out.a ^= out.a >> 32
    out.b = ((h.b << 31 | h.b >> 33) + x.b) * <u64>0x9E3779B97F4A7C15
    out.b ^= out.b >> 29
    return out


cdef inline Key number_key(u64 kind, u64 value) noexcept nogil:
    """Return the key of a small number of some kind (not 0)."""
    cdef Key h, x
    h.a = kind * <u64>0x9E3779B97F4A7C15
    h.b = kind * <u64>0xD6E8FEB86659FD93
    x.a = value * <u64>0xFF51AFD7ED558CCD + 1
    x.b = value * <u64>0xC4CEB9FE1A85EC53 + 1
    return mixed(mixed(h, x), x)


cdef inline Key bytes_key(const unsigned char* p, long long length) noexcept nogil:
    """Return the key of a string."""
    cdef Key h = number_key(1, <u64>length)
    cdef long long i
    for i in range(length):
        h = mixed(h, number_key(2, p[i]))
    return h


cdef inline bint same(Key x, Key y) noexcept nogil:
    return x.a == y.a and x.b == y.b


cdef inline int reserve(void** memory, long long* room, long long needed, size_t size) noexcept nogil:
    """Make room for ``needed`` elements of ``size`` bytes, doubling it at least: 0 or NO_MEMORY."""
    cdef void* out
    cdef long long more = 2 * room[0]
    if needed <= room[0]:
        return 0
    if more < needed:
        more = needed
    out = realloc(memory[0], <size_t>more * size)
    if out == NULL:
        return NO_MEMORY
    memory[0] = out
    room[0] = more
    return 0


cdef inline int find(const Keys* t, Key key) noexcept nogil:
    """Return the number of the key, or ABSENT."""
    cdef u64 mask = <u64>(2 * t.room) - 1
    cdef u64 slot = key.a & mask
    cdef int i
    if t.n == 0:
        return ABSENT
    i = t.slots[slot]
    while i != ABSENT and not same(t.keys[i], key):
        slot = (slot + 1) & mask
        i = t.slots[slot]
    return i


cdef inline const void* slot_ahead(const Keys* t, const Key* keys, long long k, long long n) noexcept nogil:
    """Return what looking up keys[k + 2 AHEAD] of n will need first.

    The loop itself prefetches it: compilers drop a call of a function that only prefetches.
    """
    k = k + 2 * AHEAD if k + 2 * AHEAD < n else n - 1
    return t.slots + (keys[k].a & (<u64>(2 * t.room) - 1)) if t.room else NULL


cdef inline const void* key_ahead(const Keys* t, const Key* keys, long long k, long long n) noexcept nogil:
    """Return what looking up keys[k + AHEAD] will need next."""
    cdef int i
    k = k + AHEAD if k + AHEAD < n else n - 1
    i = t.slots[keys[k].a & (<u64>(2 * t.room) - 1)] if t.room else ABSENT
    return t.keys + i if i != ABSENT else NULL


cdef inline void enter(Keys* t, int i) noexcept nogil:
    """Put the number of ``keys[i]``, which is in no slot yet, into a slot."""
    cdef u64 mask = <u64>(2 * t.room) - 1
    cdef u64 slot = t.keys[i].a & mask
    while t.slots[slot] != ABSENT:
        slot = (slot + 1) & mask
    t.slots[slot] = i


cdef inline int widen(Keys* t, long long needed) noexcept nogil:
    """Make room for ``needed`` keys; 0 or NO_MEMORY."""
    cdef long long room = FIRST_ROOM if t.room == 0 else t.room
    cdef void* keys
    cdef void* slots
    cdef int i
    if needed > (t.most if t.most else <long long>MOST_KEYS):
        return NO_MEMORY
    while room < needed:
        room *= 2
    keys = realloc(t.keys, <size_t>room * sizeof(Key))
    if keys == NULL:
        return NO_MEMORY
    t.keys = <Key*>keys
    slots = realloc(t.slots, 2 * <size_t>room * sizeof(int))
    if slots == NULL:
        return NO_MEMORY
    t.slots = <int*>slots
    t.room = room
    memset(t.slots, 0xFF, 2 * <size_t>room * sizeof(int))
    for i in range(<int>t.n):
        enter(t, i)
    return 0


cdef inline int find_or_add(Keys* t, Key key) noexcept nogil:
    """Return the number of the key, the last one if it is new, or NO_MEMORY."""
    cdef int i = find(t, key)
    if i != ABSENT:
        return i
    if t.n == t.room and widen(t, t.n + 1) != 0:
        return NO_MEMORY
    i = <int>t.n
    t.keys[i] = key
    t.n += 1
    enter(t, i)
    return i


cdef inline void clear(Keys* t) noexcept nogil:
    """Forget every key, keep the room."""
    if t.n:
        memset(t.slots, 0xFF, 2 * <size_t>t.room * sizeof(int))
    t.n = 0
