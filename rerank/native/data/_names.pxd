"""A set of byte strings with numbers in order of first appearance: feature names, ids of lists.

Lookups never allocate. ``find_or_add`` returns FULL if there is no room; the caller then leaves its loop,
calls ``Names.grow`` and continues where it stopped.
"""

from libc.string cimport memcmp, memcpy

from rerank.native.data._number cimport load_word, u64

cdef enum:
    FULL = -2
    ABSENT = -1


cdef struct Table:
    int* slots  # number of the string in each slot, or ABSENT
    u64 mask  # slots - 1
    u64* hashes
    long long* bounds  # string i is arena[bounds[i]:bounds[i + 1]]
    unsigned char* arena
    long long n
    long long room  # how many strings fit
    long long arena_room


cdef class Names:
    cdef Table table


cdef inline u64 hash_of(const unsigned char* p, Py_ssize_t length) noexcept nogil:
    """The hash of a string, read 8 bytes at a time, never beyond its end."""
    cdef u64 value = <u64>length * <u64>0x9E3779B97F4A7C15
    cdef u64 word
    while length >= 8:
        value = (value ^ load_word(p)) * <u64>0xD6E8FEB86659FD93
        value ^= value >> 32
        p += 8
        length -= 8
    if length:
        word = 0
        memcpy(&word, p, length)
        value = (value ^ word) * <u64>0xD6E8FEB86659FD93
        value ^= value >> 32
    return value


cdef inline bint is_name(
    const Table* table, long long i, const unsigned char* p, Py_ssize_t length
) noexcept nogil:
    return (
        table.bounds[i + 1] - table.bounds[i] == length
        and memcmp(table.arena + table.bounds[i], p, length) == 0
    )


cdef inline int find(const Table* table, const unsigned char* p, Py_ssize_t length, u64 value) noexcept nogil:
    """The number of the string, or ABSENT; ``value`` is its hash."""
    cdef u64 slot = value & table.mask
    cdef int i = table.slots[slot]
    while i != ABSENT:
        if table.hashes[i] == value and is_name(table, i, p, length):
            return i
        slot = (slot + 1) & table.mask
        i = table.slots[slot]
    return ABSENT


cdef inline int find_or_add(Table* table, const unsigned char* p, Py_ssize_t length) noexcept nogil:
    """The number of the string, a new one if it is new; FULL if there is no room for it."""
    cdef u64 value = hash_of(p, length)
    cdef int i = find(table, p, length, value)
    cdef u64 slot = value & table.mask
    if i != ABSENT:
        return i
    i = <int>table.n
    if table.n == table.room or table.bounds[i] + length > table.arena_room:
        return FULL
    memcpy(table.arena + table.bounds[i], p, length)
    table.bounds[i + 1] = table.bounds[i] + length
    table.hashes[i] = value
    while table.slots[slot] != ABSENT:
        slot = (slot + 1) & table.mask
    table.slots[slot] = i
    table.n += 1
    return i
