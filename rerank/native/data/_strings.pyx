"""Columns of strings, bytes and offsets: taking some of them, repeated ones, and those of other columns."""

from libc.string cimport memcmp, memcpy, memset

from rerank.native.data._number cimport u64

# Eight bytes from KEEP[8 - n] keep the first n bytes of a word, whichever end it starts at.
cdef unsigned char[16] KEEP = [255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]
cdef unsigned char[1] NOTHING = [0]  # the bytes of a column of empty strings


ctypedef fused element:
    unsigned char
    int


def take(
    const element[::1] data, const long long[::1] offsets, const long long[::1] index,
    const long long[::1] out_offsets, element[::1] out,
):
    """OUT out[out_offsets[k]:out_offsets[k + 1]] = string, or tree, index[k].

    IN data (bytes of strings, numbers of nodes), offsets (n + 1), index (m), out_offsets (m + 1); OUT out
    (out_offsets[m]).
    """
    cdef Py_ssize_t k
    cdef long long length
    with nogil:
        for k in range(index.shape[0]):
            length = out_offsets[k + 1] - out_offsets[k]
            if length:
                memcpy(&out[out_offsets[k]], &data[offsets[index[k]]], length * sizeof(element))


cdef struct Column:
    const unsigned char* text
    const unsigned char* end  # of the buffer
    const long long* bounds


cdef struct Table:
    # A slot is 0, or 32 bits of the hash over the number of a string after ``first``, from 1.
    u64* slots
    u64 mask
    long long first


cdef inline u64 hash_of(const Column* column, long long i) noexcept nogil:
    """A hash of string i, read 8 bytes at a time."""
    cdef const unsigned char* p = column.text + column.bounds[i]
    cdef long long n = column.bounds[i + 1] - column.bounds[i]
    cdef u64 h = <u64>n * <u64>0x9E3779B97F4A7C15
    cdef u64 word, mask
    while n >= 8:
        memcpy(&word, p, 8)
        h = (h ^ word) * <u64>0xD6E8FEB86659FD93
        h ^= h >> 32
        p += 8
        n -= 8
    if column.end - p >= 8:  # a copy of fixed length is one load
        memcpy(&word, p, 8)
        memcpy(&mask, &KEEP[8 - n], 8)
        word &= mask
    else:
        word = 0
        memcpy(&word, p, n)
    h = (h ^ word) * <u64>0xD6E8FEB86659FD93
    return h ^ (h >> 32)


cdef inline bint same(const Column* a, long long i, const Column* b, long long j) noexcept nogil:
    cdef long long length = a.bounds[i + 1] - a.bounds[i]
    return b.bounds[j + 1] - b.bounds[j] == length and (
        memcmp(a.text + a.bounds[i], b.text + b.bounds[j], length) == 0
    )


cdef inline void clear(Table* table, long long first, long long stop) noexcept nogil:
    """Make the table one of strings first:stop; its slots are a power of two, more than twice as many."""
    table.mask = 3
    while table.mask < <u64>(2 * (stop - first)):
        table.mask = 2 * table.mask + 1
    memset(table.slots, 0, (table.mask + 1) * sizeof(u64))
    table.first = first


cdef inline long long find(
    const Table* table, const Column* kept, const Column* column, long long i, u64 h, u64* slot
) noexcept nogil:
    """Return the string of ``kept`` in the table that equals string i with hash h, or -1; OUT its slot."""
    cdef long long j
    cdef u64 at = h & table.mask
    while table.slots[at] != 0:
        if table.slots[at] >> 32 == h >> 32:
            j = table.first + <long long>(table.slots[at] & <u64>0xFFFFFFFF) - 1
            if same(kept, j, column, i):
                slot[0] = at
                return j
        at = (at + 1) & table.mask
    slot[0] = at
    return -1


cdef inline void put(Table* table, u64 slot, u64 h, long long i) noexcept nogil:
    table.slots[slot] = (h >> 32 << 32) | <u64>(i - table.first + 1)


def first_fault(
    const unsigned char[::1] data, const long long[::1] offsets, const long long[::1] lists,
    unsigned long long[::1] slots,
):
    """The first string that is empty or equals an earlier one of its list, or -1.

    IN data (n_bytes), offsets (n_items + 1), lists (n_lists + 1), bounds of the lists; SCRATCH slots, a power
    of two, at least 4 and more than twice the longest list.
    """
    cdef Py_ssize_t i
    cdef long long k
    cdef u64 h, slot = 0
    cdef Column column
    cdef Table table
    if data.shape[0] == 0:
        return 0
    column = Column(&data[0], &data[0] + data.shape[0], &offsets[0])
    table = Table(<u64*>&slots[0], 0, 0)
    with nogil:
        for i in range(lists.shape[0] - 1):
            clear(&table, lists[i], lists[i + 1])
            for k in range(lists[i], lists[i + 1]):
                h = hash_of(&column, k)
                if offsets[k] == offsets[k + 1] or find(&table, &column, &column, k, h, &slot) >= 0:
                    with gil:
                        return k
                put(&table, slot, h, k)
    return -1


def mark_repeated(
    const unsigned char[::1] data, const long long[::1] offsets, const long long[::1] lists,
    unsigned long long[::1] slots, unsigned char[::1] repeated,
):
    """OUT repeated[i] = whether string i of a list occurred earlier in the same list.

    IN data (n_bytes > 0), offsets, lists, and SCRATCH slots as for ``first_fault``; OUT repeated (n_items).
    """
    cdef Py_ssize_t i
    cdef long long k
    cdef u64 h, slot = 0
    cdef Column column = Column(&data[0], &data[0] + data.shape[0], &offsets[0])
    cdef Table table = Table(<u64*>&slots[0], 0, 0)
    with nogil:
        for i in range(lists.shape[0] - 1):
            clear(&table, lists[i], lists[i + 1])
            for k in range(lists[i], lists[i + 1]):
                h = hash_of(&column, k)
                repeated[k] = find(&table, &column, &column, k, h, &slot) >= 0
                if not repeated[k]:
                    put(&table, slot, h, k)


def match(
    const unsigned char[::1] data, const long long[::1] offsets, const long long[::1] lists,
    const long long[::1] partners, const unsigned char[::1] other_data, const long long[::1] other_offsets,
    const long long[::1] other_lists, unsigned long long[::1] slots, long long[::1] places,
):
    """OUT places[k] = the first string of the partner of k's list that equals string k, -1 if there is none.

    IN data (n_bytes), offsets (n_items + 1), lists (n_lists + 1), partners (n_lists): for each list one of
    the other column, -1 = none; other_data, other_offsets and other_lists alike. SCRATCH slots as for
    ``first_fault``, for the longest list of the other column. OUT places (n_items).
    """
    cdef Py_ssize_t i
    cdef long long k
    cdef u64 h, slot = 0
    cdef Column column = Column(&NOTHING[0], &NOTHING[0], &offsets[0])
    cdef Column other = Column(&NOTHING[0], &NOTHING[0], &other_offsets[0])
    cdef Table table = Table(<u64*>&slots[0], 0, 0)
    if data.shape[0]:
        column.text = &data[0]
        column.end = column.text + data.shape[0]
    if other_data.shape[0]:
        other.text = &other_data[0]
        other.end = other.text + other_data.shape[0]
    with nogil:
        for i in range(lists.shape[0] - 1):
            if partners[i] < 0:
                for k in range(lists[i], lists[i + 1]):
                    places[k] = -1
                continue
            clear(&table, other_lists[partners[i]], other_lists[partners[i] + 1])
            for k in range(other_lists[partners[i]], other_lists[partners[i] + 1]):
                h = hash_of(&other, k)
                if find(&table, &other, &other, k, h, &slot) < 0:
                    put(&table, slot, h, k)
            for k in range(lists[i], lists[i + 1]):
                places[k] = find(&table, &other, &column, k, hash_of(&column, k), &slot)
