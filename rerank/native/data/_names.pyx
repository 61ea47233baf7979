"""Numbered sets of byte strings; see _names.pxd."""

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

_FIRST_ROOM = 64

cdef enum:
    MOST = 1 << 30  # numbers and slots are 32 bits


cdef void* resized(void* memory, Py_ssize_t size) except NULL:
    cdef void* out = realloc(memory, size)
    if out == NULL:
        raise MemoryError
    return out


cdef class Names:
    """Byte strings numbered from 0 in order of first appearance."""

    def __cinit__(self, first=()):
        self._resize(_FIRST_ROOM, 1024)
        self.table.bounds[0] = 0
        for name in first:
            self.add(name)

    def __dealloc__(self):
        free(self.table.slots)
        free(self.table.hashes)
        free(self.table.bounds)
        free(self.table.arena)

    def _resize(self, long long room, long long arena_room):
        cdef Table* table = &self.table
        cdef u64 slot
        cdef long long i
        if room > MOST:
            raise MemoryError
        table.hashes = <u64*>resized(table.hashes, room * sizeof(u64))
        table.bounds = <long long*>resized(table.bounds, (room + 1) * sizeof(long long))
        table.arena = <unsigned char*>resized(table.arena, arena_room)
        table.slots = <int*>resized(table.slots, 2 * room * sizeof(int))
        table.room = room
        table.arena_room = arena_room
        table.mask = 2 * room - 1
        for i in range(2 * room):
            table.slots[i] = ABSENT
        for i in range(table.n):
            slot = table.hashes[i] & table.mask
            while table.slots[slot] != ABSENT:
                slot = (slot + 1) & table.mask
            table.slots[slot] = <int>i

    def grow(self, long long length=0):
        """Make room for twice the strings and bytes, and for one more string of ``length`` bytes."""
        self._resize(2 * self.table.room, 2 * self.table.arena_room + length)

    def add(self, bytes name):
        """Return the number of ``name``, a new one if it is new."""
        cdef const unsigned char* start = name
        cdef int i = find_or_add(&self.table, start, len(name))
        if i == FULL:
            self.grow(len(name))
            i = find_or_add(&self.table, start, len(name))
        return i

    def __len__(self):
        return self.table.n

    @property
    def room(self):
        """How many strings fit before it must grow."""
        return self.table.room

    def strings(self):
        """Return all strings in order, a list of bytes."""
        cdef long long i
        cdef const long long* bounds = self.table.bounds
        cdef const char* arena = <const char*>self.table.arena
        return [arena[bounds[i]:bounds[i + 1]] for i in range(self.table.n)]

    @property
    def n_bytes(self):
        """The total length of the strings."""
        return self.table.bounds[self.table.n]

    def copy_to(self, unsigned char[::1] data, long long[::1] offsets):
        """OUT data (n_bytes), offsets (n + 1): string i is data[offsets[i]:offsets[i + 1]]."""
        memcpy(&offsets[0], self.table.bounds, (self.table.n + 1) * sizeof(long long))
        if data.shape[0]:
            memcpy(&data[0], self.table.arena, data.shape[0])
