"""Statistics of BLEU: clipped n-gram matches of candidates with the references of their list.

Nothing is interned over the whole set: each list gets a small table of the n-grams of its references, in
which its candidates are looked up. An n-gram is the child of the n-gram without its last token, so that
whole keys are compared and no collision of hashes can count as a match.

Tokens are separated by Unicode white space, as in Python's ``str.split()``.
"""

import numpy as np

from rerank.native.data._count cimport Count
from rerank.native.data._texts cimport Sides, Texts
from rerank.native.data._tokens cimport (
    KEY, MARK, MULTIPLIER, NUMBER, SLOT, TokenTable, bits_for, bytes_at, is_free, next_list, next_token,
    slot_of, take, tokens_of, word,
)

cdef enum:
    ORDERS = 4
    TEXT = 0  # the last text that contained this n-gram
    SEEN = 1  # how often that text has contained it so far
    LIMIT = 2  # the largest count in a reference


cdef struct Table:
    TokenTable tokens
    word* grams  # (size, 2): parent << 32 | token; list number << 32 | id
    long long* state  # (n-grams, 3)
    int gram_shift
    word gram_mask
    long long n_grams


cdef inline word* gram_slot(Table* table, long long parent, long long token) noexcept nogil:
    """Return the slot of an n-gram of this list, or the free one where it belongs."""
    cdef word key = (<word>parent << 32) | <word>token
    cdef word at = (key * MULTIPLIER) >> table.gram_shift
    cdef word* slot = table.grams + 2 * at
    while not is_free(&table.tokens, slot):
        if slot[KEY] == key:
            return slot
        at = (at + 1) & table.gram_mask
        slot = table.grams + 2 * at
    return slot


cdef inline long long new_gram(Table* table) noexcept nogil:
    """Return the id of an n-gram that is new in this list."""
    cdef long long gram = table.n_grams
    table.n_grams += 1
    table.state[3 * gram + TEXT] = 0
    table.state[3 * gram + LIMIT] = 0
    return gram


cdef inline long long enter_token(Table* table, bytes_at p, word length, bytes_at limit) noexcept nogil:
    cdef word* slot = slot_of(&table.tokens, p, length, limit)
    if is_free(&table.tokens, slot):
        take(&table.tokens, slot, p, length, limit, <word>new_gram(table))
    return <long long>slot[NUMBER]


cdef inline long long enter_gram(Table* table, long long parent, long long token) noexcept nogil:
    cdef word* slot = gram_slot(table, parent, token)
    if is_free(&table.tokens, slot):
        slot[KEY] = (<word>parent << 32) | <word>token
        slot[MARK] = table.tokens.mark | <word>new_gram(table)
    return <long long>(slot[MARK] & 0xFFFFFFFFULL)


cdef inline long long find_token(Table* table, bytes_at p, word length, bytes_at limit) noexcept nogil:
    cdef word* slot = slot_of(&table.tokens, p, length, limit)
    return -1 if is_free(&table.tokens, slot) else <long long>slot[NUMBER]


cdef inline long long find_gram(Table* table, long long parent, long long token) noexcept nogil:
    cdef word* slot = gram_slot(table, parent, token)
    return -1 if is_free(&table.tokens, slot) else <long long>(slot[MARK] & 0xFFFFFFFFULL)


cdef inline long long met(long long* state, long long text) noexcept nogil:
    """Return how often ``text`` has contained the n-gram of this state, this time included."""
    if state[TEXT] != text:
        state[TEXT] = text
        state[SEEN] = 0
    state[SEEN] += 1
    return state[SEEN]


cdef long long enter_reference(
    Table* table, bytes_at p, bytes_at end, bytes_at limit, long long text
) noexcept nogil:
    """Enter the n-grams of one reference; return its number of tokens."""
    cdef long long last[ORDERS]  # the n-grams that end at the previous token, by n - 1
    cdef long long n_tokens = 0, token, times
    cdef int n
    cdef bytes_at start
    while True:
        start = next_token(&p, end, limit)
        if start == NULL:
            return n_tokens
        token = enter_token(table, start, <word>(p - start), limit)
        for n in range(<int>min(n_tokens, ORDERS - 1), 0, -1):
            last[n] = enter_gram(table, last[n - 1], token)
        last[0] = token
        n_tokens += 1
        for n in range(<int>min(n_tokens, ORDERS)):
            times = met(table.state + 3 * last[n], text)
            if times > table.state[3 * last[n] + LIMIT]:
                table.state[3 * last[n] + LIMIT] = times


cdef long long match_candidate(
    Table* table, bytes_at p, bytes_at end, bytes_at limit, long long text, long long* matches
) noexcept nogil:
    """OUT matches: clipped matches of a candidate by n - 1. Return its number of tokens."""
    cdef long long last[ORDERS]
    cdef long long n_tokens = 0, token
    cdef long long* state
    cdef int n
    # For orders up to this an n-gram of the references ends at the previous token. An n-gram without its
    # first token is in the references too, so that no lower order is missing.
    cdef int known = 0
    cdef bytes_at start
    for n in range(ORDERS):
        matches[n] = 0
    while True:
        start = next_token(&p, end, limit)
        if start == NULL:
            return n_tokens
        n_tokens += 1
        token = find_token(table, start, <word>(p - start), limit)
        if token < 0:
            known = 0
            continue
        n = min(known, ORDERS - 1)
        known = 1
        while n > 0:
            last[n] = find_gram(table, last[n - 1], token)
            if last[n] >= 0:
                known = max(known, n + 1)
                state = table.state + 3 * last[n]
                if met(state, text) <= state[LIMIT]:
                    matches[n] += 1
            n -= 1
        last[0] = token
        state = table.state + 3 * token
        if met(state, text) <= state[LIMIT]:
            matches[0] += 1


def statistics(Texts texts, Count[:, ::1] out):
    """OUT out (n_items, 10): matches and totals of n = 1..4, tokens, tokens of the closest reference.

    The type of out holds the bytes of any text.
    """
    cdef const Sides* s = &texts.sides
    # Tokens of the longest list's references, at most: half of the bytes, and one more per reference.
    cdef long long most = (int(texts.reference_bytes.max(initial=0)) + s.n_references) // 2
    cdef word[:, ::1] tokens = np.zeros((1 << bits_for(most), SLOT), dtype=np.uint64)
    cdef word[:, ::1] grams = np.zeros((1 << bits_for(3 * most), 2), dtype=np.uint64)
    cdef long long[:, ::1] state = np.zeros((4 * most + 1, 3), dtype=np.int64)
    cdef long long[::1] lengths = np.zeros(s.n_references, dtype=np.int64)
    cdef Py_ssize_t i, r, k
    cdef long long j, n_tokens, room, closest, gap
    cdef long long matches[ORDERS]
    cdef long long met_text = 0
    cdef int n, bits
    cdef Table table
    table.tokens.slots = &tokens[0, 0]
    table.grams = &grams[0, 0]
    table.state = &state[0, 0]
    with nogil:
        for i in range(s.n_lists):
            room = 0
            for k in range(i * s.n_references, (i + 1) * s.n_references):
                room += tokens_of(s.reference + s.starts[k], s.reference + s.stops[k])
            next_list(&table.tokens, i + 1, bits_for(room))
            bits = bits_for(3 * room)
            table.gram_shift = 64 - bits
            table.gram_mask = (1ULL << bits) - 1
            table.n_grams = 0
            for r in range(s.n_references):
                k = i * s.n_references + r
                met_text += 1
                lengths[r] = enter_reference(
                    &table, s.reference + s.starts[k], s.reference + s.stops[k], s.reference_limit, met_text
                )
            for j in range(s.offsets[i], s.offsets[i + 1]):
                met_text += 1
                n_tokens = match_candidate(
                    &table, s.text + s.text_offsets[j], s.text + s.text_offsets[j + 1], s.text_limit,
                    met_text, matches,
                )
                closest = lengths[0]
                for r in range(1, s.n_references):
                    gap = abs(lengths[r] - n_tokens) - abs(closest - n_tokens)
                    if gap < 0 or (gap == 0 and lengths[r] < closest):
                        closest = lengths[r]
                for n in range(ORDERS):
                    out[j, n] = <Count>matches[n]
                    out[j, ORDERS + n] = <Count>max(n_tokens - n, 0)
                out[j, 8] = <Count>n_tokens
                out[j, 9] = <Count>closest
