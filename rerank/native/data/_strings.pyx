"""Columns of strings, bytes and offsets: taking some of them, and finding repeated ones."""

from libc.string cimport memcmp, memcpy, memset

from rerank.native.data._names cimport hash_of
from rerank.native.data._number cimport u64


ctypedef fused element:
    unsigned char
    int


def take(
    const element[::1] data,
    const long long[::1] offsets,
    const long long[::1] index,
    const long long[::1] out_offsets,
    element[::1] out,
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


def mark_repeated(
    const unsigned char[::1] data,
    const long long[::1] offsets,
    const long long[::1] lists,
    int[::1] slots,
    unsigned long long[::1] hashes,
    unsigned char[::1] repeated,
):
    """OUT repeated[i] = whether string i of a list occurred earlier in the same list.

    IN data (n_bytes > 0), offsets (n_items + 1), lists (n_lists + 1), bounds of the lists. SCRATCH slots
    (4 times the longest list); hashes (the longest list). OUT repeated (n_items).
    """
    cdef Py_ssize_t i
    cdef Py_ssize_t k
    cdef long long start
    cdef long long length
    cdef u64 mask
    cdef u64 slot
    cdef u64 value
    cdef bint found
    with nogil:
        for i in range(lists.shape[0] - 1):
            start = lists[i]
            mask = 1
            while mask < 2 * <u64>(lists[i + 1] - start):
                mask *= 2
            memset(&slots[0], 255, mask * sizeof(int))  # every slot is -1
            mask -= 1
            for k in range(lists[i + 1] - start):
                length = offsets[start + k + 1] - offsets[start + k]
                value = hash_of(&data[0] + offsets[start + k], length)
                hashes[k] = value
                slot = value & mask
                found = False
                while slots[slot] >= 0 and not found:
                    found = hashes[slots[slot]] == value and same(
                        &data[0], offsets, start + slots[slot], start + k
                    )
                    slot = slot if found else (slot + 1) & mask
                repeated[start + k] = found
                if not found:
                    slots[slot] = <int>k


cdef inline bint same(
    const unsigned char* data, const long long[::1] offsets, long long i, long long j
) noexcept nogil:
    """Whether strings i and j are equal."""
    cdef long long length = offsets[i + 1] - offsets[i]
    return (
        offsets[j + 1] - offsets[j] == length
        and memcmp(data + offsets[i], data + offsets[j], length) == 0
    )
