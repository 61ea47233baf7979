"""Words of questions in texts: how often, where, how near to each other; and what texts of a list share.

Terms are numbered from 0. The terms of a question get places in the order of their first occurrence.
"""

import numpy as np

from libc.math cimport sqrt

cdef int NEAR = 8  # tokens within which two words of a question are near each other


cdef struct Text:
    const int* terms
    const unsigned char* kinds
    int* places  # (tokens) the place of each token among the terms of the question, -1 = none
    int* hits  # (tokens) where the tokens with a place are
    int n_tokens
    int n_hits


cdef struct Question:
    const int* sequence  # (length, 2) the places of its words one after the other, and where they are in it
    int length
    int n_terms


cdef inline int step(const Question* asked, int s) noexcept nogil:
    """How far word s + 1 of the question is from word s."""
    return asked.sequence[2 * s + 3] - asked.sequence[2 * s + 1]


cdef inline bint follows(const Text* text, const Question* asked, int at, int s) noexcept nogil:
    """Whether word s + 1 follows word s, which is at ``at``, as it does in the question."""
    cdef int next_at = at + step(asked, s)
    return next_at < text.n_tokens and text.places[next_at] == asked.sequence[2 * s + 2]


cdef int window(const Text* text, int n_found, int* inside) noexcept nogil:
    """The length of the smallest window with every term that occurs; IN OUT inside (n_terms): zeros."""
    cdef int i, left = 0, n_inside = 0, best = 0, place, length
    for i in range(text.n_hits):
        place = text.places[text.hits[i]]
        n_inside += inside[place] == 0
        inside[place] += 1
        while n_inside == n_found:
            length = text.hits[i] - text.hits[left] + 1
            if best == 0 or length < best:
                best = length
            place = text.places[text.hits[left]]
            inside[place] -= 1
            n_inside -= inside[place] == 0
            left += 1
    while left < text.n_hits:
        inside[text.places[text.hits[left]]] -= 1
        left += 1
    return best


cdef int closest(const Text* text) noexcept nogil:
    """The distance of the nearest two different terms, 0 = there are none."""
    cdef int i, best = 0, distance
    for i in range(1, text.n_hits):
        if text.places[text.hits[i]] != text.places[text.hits[i - 1]]:
            distance = text.hits[i] - text.hits[i - 1]
            if best == 0 or distance < best:
                best = distance
    return best


cdef int longest(const Text* text, const Question* asked) noexcept nogil:
    """The most words of the question one after the other that stand in the text as in the question."""
    cdef int i, s, t, at, best = 0
    for i in range(text.n_hits):
        for s in range(asked.length):
            at = text.hits[i]
            if asked.sequence[2 * s] != text.places[at]:
                continue
            if s > 0 and at >= step(asked, s - 1):
                if text.places[at - step(asked, s - 1)] == asked.sequence[2 * s - 2]:
                    continue  # a longer run begins before
            t = s
            while t + 1 < asked.length and follows(text, asked, at, t):
                at += step(asked, t)
                t += 1
            best = max(best, t - s + 1)
    return best


cdef void pairs(const Text* text, const Question* asked, double* ordered, double* near) noexcept nogil:
    """OUT: how many neighbours of the question follow each other in the text as there, or are near."""
    cdef int i, j, s, one, other, here, there
    cdef bint is_ordered, is_near
    ordered[0] = near[0] = 0.0
    for s in range(asked.length - 1):
        one = asked.sequence[2 * s]
        other = asked.sequence[2 * s + 2]
        is_ordered = is_near = False
        for i in range(text.n_hits):
            here = text.places[text.hits[i]]
            if here != one and here != other:
                continue
            if here == one and follows(text, asked, text.hits[i], s):
                is_ordered = True
            if not is_near:
                j = i + 1
                while j < text.n_hits and text.hits[j] - text.hits[i] < NEAR:
                    there = text.places[text.hits[j]]
                    if (here == one and there == other) or (here == other and there == one):
                        is_near = True
                        break
                    j += 1
            if is_ordered and is_near:
                break
        ordered[0] += is_ordered
        near[0] += is_near


def match(
    const int[::1] terms, const unsigned char[::1] kinds, const long long[::1] bounds,
    const long long[:, ::1] spans, const int[::1] wanted, const int[:, ::1] sequence,
    int[::1] slots, int[::1] counts, double[:, ::1] shapes,
):
    """Count the words of questions in the texts of their lists, and say how they stand.

    IN terms, kinds (n_tokens): the term of each token; 1 = it has a capital, 2 = it is a number.
    IN bounds (n_texts + 1): the tokens of each text.
    IN spans (n_lists + 1, 3): where texts, terms of the question, and its words begin, of each list.
    IN wanted: the different terms of each question. IN sequence: see Question.
    IN OUT slots (n_terms): -1 everywhere.
    OUT counts: how often each text has each term of its question, text by text.
    OUT shapes (n_texts, 8): the first word's position (-1 = none), the smallest window, the closest pair,
    ordered and near pairs, the longest run, other tokens with a capital, other numbers.
    """
    cdef Py_ssize_t n_lists = spans.shape[0] - 1
    cdef Py_ssize_t i, t
    cdef long long k, p, filled = 0, most = 0
    cdef int n_found, place, widest = 0
    cdef Text text
    cdef Question asked
    for t in range(bounds.shape[0] - 1):
        most = max(most, bounds[t + 1] - bounds[t])
    for i in range(n_lists):
        widest = max(widest, <int>(spans[i + 1, 1] - spans[i, 1]))
    cdef int[:, ::1] room = np.empty((2, most + 1), dtype=np.int32)
    cdef int[::1] inside = np.zeros(widest + 1, dtype=np.int32)
    text.places, text.hits = &room[0, 0], &room[1, 0]
    with nogil:
        for i in range(n_lists):
            asked.n_terms = <int>(spans[i + 1, 1] - spans[i, 1])
            asked.length = <int>(spans[i + 1, 2] - spans[i, 2])
            asked.sequence = &sequence[spans[i, 2], 0] if asked.length else NULL
            for k in range(spans[i, 1], spans[i + 1, 1]):
                slots[wanted[k]] = <int>(k - spans[i, 1])
            for t in range(spans[i, 0], spans[i + 1, 0]):
                text.n_tokens, text.n_hits = <int>(bounds[t + 1] - bounds[t]), 0
                shapes[t, 6] = shapes[t, 7] = 0.0
                for k in range(asked.n_terms):
                    counts[filled + k] = 0
                n_found = 0
                for p in range(text.n_tokens):
                    place = slots[terms[bounds[t] + p]]
                    text.places[p] = place
                    if place < 0:
                        shapes[t, 6] += kinds[bounds[t] + p] & 1
                        shapes[t, 7] += kinds[bounds[t] + p] >> 1
                        continue
                    n_found += counts[filled + place] == 0
                    counts[filled + place] += 1
                    text.hits[text.n_hits] = <int>p
                    text.n_hits += 1
                shapes[t, 0] = text.hits[0] if text.n_hits else -1
                shapes[t, 1] = window(&text, n_found, &inside[0]) if text.n_hits else 0
                shapes[t, 2] = closest(&text)
                pairs(&text, &asked, &shapes[t, 3], &shapes[t, 4])
                shapes[t, 5] = longest(&text, &asked)
                filled += asked.n_terms
            for k in range(spans[i, 1], spans[i + 1, 1]):
                slots[wanted[k]] = -1


def distinct(
    const int[::1] terms, const long long[::1] bounds, int[::1] scratch,
    int[::1] found, int[::1] counts, long long[::1] starts,
):
    """Find the different terms of each text and how often it has them; return their number.

    IN terms (n_tokens), bounds (n_texts + 1). IN OUT scratch (n_terms): zeros.
    OUT found, counts (n_tokens or fewer), starts (n_texts + 1): text by text, in order of first occurrence.
    """
    cdef Py_ssize_t t
    cdef long long p, n = 0
    with nogil:
        for t in range(bounds.shape[0] - 1):
            starts[t] = n
            for p in range(bounds[t], bounds[t + 1]):
                if scratch[terms[p]] == 0:
                    found[n] = terms[p]
                    n += 1
                scratch[terms[p]] += 1
            for p in range(starts[t], n):
                counts[p] = scratch[found[p]]
                scratch[found[p]] = 0
        starts[bounds.shape[0] - 1] = n
    return n


def within_lists(
    const int[::1] found, const double[::1] weights,
    const long long[::1] starts, const long long[::1] offsets,
    double[::1] sums, int[::1] owners, double[:, ::1] out,
):
    """Compare each text with the others of its list.

    IN found, weights, starts: the different terms of each text, with weights whose squares have the sum 1.
    IN offsets (n_lists + 1): texts. IN OUT sums, owners (n_terms): zeros.
    OUT out (n_texts, 2): terms that no other text has; the cosine with the sum of the others, 0 if that is 0.
    """
    cdef Py_ssize_t i, t
    cdef long long p
    cdef double square, dot, own, rest
    with nogil:
        for i in range(offsets.shape[0] - 1):
            square = 0.0
            for p in range(starts[offsets[i]], starts[offsets[i + 1]]):
                sums[found[p]] += weights[p]
                owners[found[p]] += 1
            for t in range(offsets[i], offsets[i + 1]):
                for p in range(starts[t], starts[t + 1]):
                    square += weights[p] * sums[found[p]]  # over texts: the squared length of the sum
            for t in range(offsets[i], offsets[i + 1]):
                dot = own = 0.0
                out[t, 0] = 0.0
                for p in range(starts[t], starts[t + 1]):
                    dot += weights[p] * sums[found[p]]
                    own += weights[p] * weights[p]
                    out[t, 0] += owners[found[p]] == 1
                rest = square - 2.0 * dot + own
                out[t, 1] = min(1.0, max(0.0, dot - own) / sqrt(rest)) if rest > 1e-9 and own > 0 else 0.0
            for p in range(starts[offsets[i]], starts[offsets[i + 1]]):
                sums[found[p]] = 0.0
                owners[found[p]] = 0


def shared_grams(
    const int[::1] words, const long long[::1] bounds, const long long[:, ::1] spans,
    const int[::1] grams, const long long[::1] starts, const int[::1] wanted, long long[::1] slots,
    double[::1] out,
):
    """Count the n-grams of characters of questions that words of the texts have.

    IN words (n_tokens), bounds (n_texts + 1): the word of each token. IN spans (n_lists + 1, 2): where texts,
    and n-grams of the question begin. IN grams, starts (n_words + 1): the n-grams of each word.
    IN wanted: the different n-grams of each question. IN OUT slots (n_grams): -1 everywhere.
    OUT out (n_texts): how many of them a text has.
    """
    cdef Py_ssize_t i, t
    cdef long long p, g
    with nogil:
        for i in range(spans.shape[0] - 1):
            for g in range(spans[i, 1], spans[i + 1, 1]):
                slots[wanted[g]] = 0
            for t in range(spans[i, 0], spans[i + 1, 0]):
                out[t] = 0.0
                for p in range(bounds[t], bounds[t + 1]):
                    for g in range(starts[words[p]], starts[words[p] + 1]):
                        if slots[grams[g]] >= 0 and slots[grams[g]] != t + 1:
                            slots[grams[g]] = t + 1
                            out[t] += 1.0
            for g in range(spans[i, 1], spans[i + 1, 1]):
                slots[wanted[g]] = -1
