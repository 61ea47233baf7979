"""Words of texts in ASCII, and the numbers of all words in the order of their first occurrence."""

import numpy as np

from libc.string cimport memcmp, memcpy

from rerank.native.data._tokens cimport MULTIPLIER, bits_for, word

cdef unsigned char[256] LETTER  # 1 = a letter, 2 = a digit, 3 = not ASCII
cdef int i
for i in range(256):
    LETTER[i] = 3 if i >= 128 else 2 if chr(i).isdigit() else 1 if chr(i).isalpha() else 0


cdef class Words:
    """A table of words by their bytes."""

    cdef int[::1] slots  # (2^bits) the word of each slot, -1 = free
    cdef word[::1] keys  # (room) a hash of each word
    cdef long long[::1] starts  # (room + 1) where its bytes begin in ``text``
    cdef unsigned char[::1] text
    cdef int n_words
    cdef int bits

    def __init__(self):
        self.n_words = 0
        self.bits = 10
        self.slots = np.full(1 << self.bits, -1, dtype=np.int32)
        self.keys = np.empty(512, dtype=np.uint64)
        self.starts = np.zeros(513, dtype=np.int64)
        self.text = np.empty(4096, dtype=np.uint8)

    def __len__(self):
        return self.n_words

    def word(self, int number):
        """Return the bytes of a word."""
        return bytes(self.text[self.starts[number]:self.starts[number + 1]])

    cdef int make_room(self, long long more_words, long long more_bytes) except -1:
        """Make room for further words."""
        cdef long long needed = self.n_words + more_words
        cdef long long used = self.starts[self.n_words]
        cdef Py_ssize_t w
        cdef word at, mask
        if used + more_bytes > self.text.shape[0]:
            self.text = _grown(np.asarray(self.text), 2 * (used + more_bytes))
        if needed <= self.keys.shape[0]:
            return 0
        self.keys = _grown(np.asarray(self.keys), 2 * needed)
        self.starts = _grown(np.asarray(self.starts), 2 * needed + 1)
        self.bits = bits_for(2 * needed)
        self.slots = np.full(1 << self.bits, -1, dtype=np.int32)
        mask = (1ULL << self.bits) - 1
        for w in range(self.n_words):
            at = self.keys[w] >> (64 - self.bits)
            while self.slots[at] >= 0:
                at = (at + 1) & mask
            self.slots[at] = <int>w
        return 0

    cdef int number(self, const unsigned char* start, long long length) noexcept nogil:
        """The number of a word; a new one gets the next, for which there is room."""
        cdef word key = <word>length, part = 0, at, mask = (1ULL << self.bits) - 1
        cdef long long p = 0
        cdef int w
        while p < length:
            part = 0
            memcpy(&part, start + p, min(8, length - p))
            key = (key ^ part) * MULTIPLIER
            key ^= key >> 29
            p += 8
        key *= MULTIPLIER
        at = key >> (64 - self.bits)
        while True:
            w = self.slots[at]
            if w < 0:
                break
            if self.keys[w] == key and self.starts[w + 1] - self.starts[w] == length:
                if memcmp(&self.text[self.starts[w]], start, length) == 0:
                    return w
            at = (at + 1) & mask
        w = self.n_words
        self.slots[at] = w
        self.keys[w] = key
        memcpy(&self.text[self.starts[w]], start, length)
        self.starts[w + 1] = self.starts[w] + length
        self.n_words += 1
        return w

    def number_of(self, const unsigned char[::1] one not None):
        """Return the number of a word of at least a byte, a new one if it is not known."""
        self.make_room(1, one.shape[0])
        return self.number(&one[0], one.shape[0])

    def split(
        self, const unsigned char[::1] data, const long long[::1] bounds, Py_ssize_t first, int[::1] out
    ):
        """Number the words of text ``first`` if it is ASCII; return how many there are, -1 = it is not.

        A word is letters and digits, and after these single full stops or commas with digits after them.
        IN data, bounds (n_texts + 1): the texts. OUT out: as many numbers as the text has bytes, at most.
        """
        cdef long long p = bounds[first], end = bounds[first + 1], start
        cdef int n = 0
        cdef unsigned char kind
        self.make_room(end - p, end - p)
        with nogil:
            while p < end:
                kind = LETTER[data[p]]
                if kind == 0:
                    p += 1
                    continue
                start = p
                while p < end and LETTER[data[p]] != 0:
                    if LETTER[data[p]] == 3:
                        with gil:
                            return -1
                    p += 1
                while p + 1 < end and (data[p] == c"." or data[p] == c",") and LETTER[data[p + 1]] == 2:
                    p += 1
                    while p < end and LETTER[data[p]] == 2:
                        p += 1
                out[n] = self.number(&data[start], p - start)
                n += 1
        return n


def _grown(array, long long size):
    """The array with room for more."""
    larger = np.zeros(size, dtype=array.dtype)
    larger[:len(array)] = array
    return larger
