"""Strings of a file copied into one buffer."""

from libc.string cimport memcpy


def gather(
    const unsigned char[::1] text, const long long[:, :] spans, const long long[::1] places,
    const long long[::1] offsets, unsigned char[::1] out,
):
    """OUT out[offsets[k]:offsets[k + 1]] = the string at spans[i], k = places[i].

    IN text (n_bytes); spans (n, 2), start and length; places (n); offsets (n_strings + 1); OUT out
    (offsets[n_strings] > 0).
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(spans.shape[0]):
            if spans[i, 1]:
                memcpy(&out[offsets[places[i]]], &text[spans[i, 0]], spans[i, 1])
