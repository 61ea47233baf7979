"""Edits of candidates against the references of their list: Levenshtein's distance and bags of tokens.

Both take texts as numbers, see ``Numbers``: 0 in a candidate equals nothing in a reference.
"""

import numpy as np

from libc.string cimport memset

from rerank.native.data._count cimport Count
from rerank.native.data._texts cimport Ids, Numbers, reference_of
from rerank.native.data._tokens cimport word
from rerank.native.metrics._myers cimport BITS, next_block, one_block

cdef inline void keep_best(Count* out, long long edits, long long length, bint first) noexcept nogil:
    """Keep the reference with the fewest edits, on ties the longest."""
    if first or <Count>edits < out[0] or (<Count>edits == out[0] and <Count>length > out[1]):
        out[0] = <Count>edits
        out[1] = <Count>length


def levenshtein(Numbers numbers, Count[:, ::1] out):
    """OUT out (n_items, 2): edits (insertions, deletions, substitutions) and tokens of the reference.

    Of several references the one with the fewest edits counts, on ties the longest. The matrix is computed 64
    rows at a time (Myers 1999; Hyyrö 2003).
    """
    cdef const Ids* p = &numbers.here
    cdef const long long* bounds = p.bounds
    cdef const long long* offsets = p.offsets
    cdef Py_ssize_t i
    cdef Py_ssize_t r
    cdef long long j
    cdef long long t
    cdef long long m = 0
    cdef long long block
    cdef long long begin
    cdef long long end
    cdef long long steps
    cdef int rows
    cdef const int* reference
    cdef const int* text = p.ids
    cdef word[::1] masks = np.zeros(numbers.largest + 1, dtype=np.uint64)
    cdef signed char[::1] carry = np.empty(numbers.longest_list + 1, dtype=np.int8)
    cdef word* places = &masks[0]
    cdef signed char* above = &carry[0]
    with nogil:
        for i in range(p.n_lists):
            begin = offsets[i] - offsets[0]
            end = offsets[i + 1] - offsets[0]
            for r in range(p.n_references):
                reference = reference_of(p, i, r, &m)
                if m == 0:
                    for j in range(begin, end):
                        keep_best(&out[j, 0], bounds[j + 1] - bounds[j], 0, r == 0)
                    continue
                if m > BITS:
                    memset(above, 1, bounds[end] - bounds[begin])
                block = 0
                while block < m:
                    rows = <int>min(m - block, BITS)
                    for t in range(rows):
                        places[reference[block + t]] |= 1ULL << t
                    if m <= BITS:
                        for j in range(begin, end):
                            steps = one_block(
                                places, text + bounds[j], bounds[j + 1] - bounds[j], rows
                            )
                            keep_best(&out[j, 0], steps, m, r == 0)
                    else:
                        for j in range(begin, end):
                            steps = next_block(
                                places,
                                text + bounds[j],
                                bounds[j + 1] - bounds[j],
                                rows,
                                above + (bounds[j] - bounds[begin]),
                                NULL,
                            )
                            if block + rows == m:
                                keep_best(&out[j, 0], m + steps, m, r == 0)
                    for t in range(rows):
                        places[reference[block + t]] = 0
                    block += rows


def bags(Numbers numbers, Count[:, ::1] out):
    """OUT out (n_items, 2): max(h, r) - matches and r, of h tokens of a candidate and r of a reference.

    matches is the size of the bags' intersection; of several references the best, as in ``levenshtein``.
    """
    cdef const Ids* p = &numbers.here
    cdef const long long* bounds = p.bounds
    cdef const long long* offsets = p.offsets
    cdef int[::1] left = np.zeros(numbers.largest + 1, dtype=np.int32)
    cdef Py_ssize_t i
    cdef Py_ssize_t r
    cdef long long j
    cdef long long t
    cdef long long m = 0
    cdef long long n
    cdef long long matches
    cdef const int* reference
    cdef const int* text
    with nogil:
        for i in range(p.n_lists):
            for r in range(p.n_references):
                reference = reference_of(p, i, r, &m)
                for t in range(m):
                    left[reference[t]] += 1
                for j in range(offsets[i] - offsets[0], offsets[i + 1] - offsets[0]):
                    text = p.ids + bounds[j]
                    n = bounds[j + 1] - bounds[j]
                    matches = 0
                    for t in range(n):
                        matches += left[text[t]] > 0
                        left[text[t]] -= 1
                    for t in range(n):
                        left[text[t]] += 1
                    keep_best(&out[j, 0], max(n, m) - matches, m, r == 0)
                for t in range(m):
                    left[reference[t]] = 0
