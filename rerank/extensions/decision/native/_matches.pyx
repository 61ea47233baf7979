"""N-grams that two texts of a list share, for all pairs of its texts at once.

Each n-gram of a list gets a number: the number of the n-gram without its last token and that token are looked
up in a table, so that whole keys are compared. Each text becomes a row of numbers and counts. The counts of
one text are laid out in an array, in which those of the others are looked up.
"""

import numpy as np

from libc.string cimport memset

from rerank.native.data._texts cimport Ids, Numbers
from rerank.native.data._tokens cimport MULTIPLIER, bits_for, word


cdef struct Entry:
    word key  # the shorter n-gram << 32 | last token; 0 = free, since tokens are numbered from 1
    int gram


cdef struct Rows:
    Entry* table
    int* grams_at  # (tokens of the list) the n-gram that begins at a token
    int* grams  # (tokens) those of each text, each once
    int* counts  # (tokens) how often the text has it
    int* owner  # (n-grams) the last text that had it, -1 = none
    int* place  # (n-grams) its place in ``grams`` there
    int* limit  # (n-grams) zeros before and after
    long long* starts  # (texts + 1) the rows of the texts


cdef void number_grams(
    Rows* rows, const int* ids, const long long* bounds, Py_ssize_t n_texts, int n
) noexcept nogil:
    """OUT rows: the n-grams of n + 1 tokens of each text; IN OUT grams_at, from those of n tokens."""
    cdef long long tokens = bounds[n_texts] - bounds[0]
    cdef int bits = bits_for(tokens)
    cdef word mask = (1ULL << bits) - 1
    cdef word key, at
    cdef long long p, start, length, m = 0
    cdef Py_ssize_t t
    cdef int gram, n_grams = 0
    memset(rows.table, 0, sizeof(Entry) << bits)
    for t in range(n_texts):
        rows.starts[t] = m
        start = bounds[t] - bounds[0]
        length = bounds[t + 1] - bounds[t]
        for p in range(start, start + length - n):
            key = <word>ids[p + n]
            if n > 0:
                key |= <word>rows.grams_at[p] << 32
            at = (key * MULTIPLIER) >> (64 - bits)
            while rows.table[at].key != 0 and rows.table[at].key != key:
                at = (at + 1) & mask
            if rows.table[at].key == 0:
                rows.table[at].key = key
                rows.table[at].gram = n_grams
                rows.owner[n_grams] = -1
                n_grams += 1
            gram = rows.table[at].gram
            rows.grams_at[p] = gram
            if rows.owner[gram] == t:
                rows.counts[rows.place[gram]] += 1
            else:
                rows.owner[gram] = <int>t
                rows.place[gram] = <int>m
                rows.grams[m] = gram
                rows.counts[m] = 1
                m += 1
    rows.starts[n_texts] = m


cdef inline int shared(const Rows* rows, Py_ssize_t text) noexcept nogil:
    """The clipped matches of a text with the one whose counts are in ``limit``."""
    cdef long long q
    cdef int found = 0
    for q in range(rows.starts[text], rows.starts[text + 1]):
        found += min(rows.counts[q], rows.limit[rows.grams[q]])
    return found


cdef inline void set_limits(Rows* rows, Py_ssize_t text, bint clear) noexcept nogil:
    cdef long long q
    for q in range(rows.starts[text], rows.starts[text + 1]):
        rows.limit[rows.grams[q]] = 0 if clear else rows.counts[q]


cdef class Space:
    """Arrays for lists of up to ``tokens`` tokens in ``texts`` texts."""

    cdef Rows rows
    cdef object keep

    def __init__(self, Py_ssize_t tokens, Py_ssize_t texts):
        cdef unsigned char[::1] table = np.empty(sizeof(Entry) << bits_for(tokens), dtype=np.uint8)
        cdef int[:, ::1] of_tokens = np.zeros((6, tokens + 1), dtype=np.int32)
        cdef long long[::1] starts = np.zeros(texts + 1, dtype=np.int64)
        self.keep = (table, of_tokens, starts)
        self.rows.table = <Entry*>&table[0]
        self.rows.grams_at = &of_tokens[0, 0]
        self.rows.grams = &of_tokens[1, 0]
        self.rows.counts = &of_tokens[2, 0]
        self.rows.owner = &of_tokens[3, 0]
        self.rows.place = &of_tokens[4, 0]
        self.rows.limit = &of_tokens[5, 0]
        self.rows.starts = &starts[0]


def lengths(Numbers numbers):
    """Return the number of tokens of each text, int64 (n_texts)."""
    return np.diff(np.asarray(numbers.bounds))


def matches(Numbers numbers, const long long[::1] n_rows, int[:, ::1] out):
    """OUT out (n_pairs, orders): clipped matches of n-grams of 1 to ``orders`` tokens.

    The first n_rows[i] texts of list i are paired with its others, or with each other if there are no others:
    row by row, list by list. Every token must have a number above 0.
    """
    cdef const Ids* p = &numbers.here
    cdef Py_ssize_t orders = out.shape[1]
    cdef Py_ssize_t i, n, r, c, first, n_texts, n_own, n_columns
    cdef long long base = p.offsets[0], pair = 0, largest = 0, most = 0
    cdef bint within
    for i in range(p.n_lists):
        most = max(most, p.offsets[i + 1] - p.offsets[i])
        largest = max(largest, p.bounds[p.offsets[i + 1] - base] - p.bounds[p.offsets[i] - base])
    cdef Space space = Space(largest, most)
    cdef Rows* rows = &space.rows
    with nogil:
        for i in range(p.n_lists):
            first = p.offsets[i] - base
            n_texts = p.offsets[i + 1] - p.offsets[i]
            n_own = n_rows[i]
            within = n_own == n_texts
            n_columns = n_own if within else n_texts - n_own
            for n in range(orders):
                number_grams(rows, p.ids + p.bounds[first], p.bounds + first, n_texts, <int>n)
                for r in range(n_own):
                    set_limits(rows, r, False)
                    for c in range(r if within else 0, n_columns):
                        out[pair + r * n_columns + c, n] = shared(rows, c if within else n_own + c)
                        if within:
                            out[pair + c * n_columns + r, n] = out[pair + r * n_columns + c, n]
                    set_limits(rows, r, True)
            pair += n_own * n_columns
