"""Statistics of BLEU: clipped n-gram matches of candidates with the references of their list, and the climb.

Nothing is interned over the whole set: each list gets a small table of its references' own n-grams, in
which its candidates are looked up. An n-gram is the child of the n-gram without its last token, so that
keys are compared whole and no collision of hashes can count as a match.

Tokens are what Python's ``str.split()`` makes of the UTF-8 text: runs between white space of Unicode.
"""

from libc.math cimport exp
from libc.math cimport log
from libc.string cimport memcmp
from libc.string cimport memcpy

ctypedef unsigned long long word
ctypedef const unsigned char* bytes_at

cdef enum:
    ORDERS = 4
    KEY = 0
    MARK = 1  # of a token's slot: list number << 32 | length; of an n-gram's: list number << 32 | id
    ID = 2
    PLACE = 3
    TEXT = 0  # the last text that met this n-gram
    SEEN = 1  # how often that text has matched it
    LIMIT = 2  # how often a reference has it at most

cdef extern from *:
    """
    #define MULTIPLIER 0x9E3779B97F4A7C15ULL
    """
    const word MULTIPLIER  # 2^64 / golden ratio: spreads keys over the top bits

cdef enum:  # smoothing
    FLOOR = 1
    ADD = 2
    HALVE = 3


cdef struct Table:
    word* tokens  # (size, 4): key, mark, id, address
    word* grams  # (size, 2): parent << 32 | token, mark
    long long* state  # (n-grams, 3)
    int token_shift  # 64 - log2 of the slots in use
    int gram_shift
    word token_mask
    word gram_mask
    word mark
    long long n_grams


cdef inline int blank_at(bytes_at p, bytes_at end) noexcept nogil:
    """Bytes of the white space character at p, 0 where there is none."""
    cdef unsigned char c = p[0]
    if c > 0x20:
        if c < 0xC2 or c > 0xE3:
            return 0
        if c == 0xC2:  # U+0085, U+00A0
            return 2 if end - p > 1 and (p[1] == 0x85 or p[1] == 0xA0) else 0
        if c < 0xE1 or end - p < 3:
            return 0
        if c == 0xE2:
            if p[1] == 0x80:  # U+2000 to U+200A, U+2028, U+2029, U+202F
                return 3 if 0x80 <= p[2] <= 0x8A or p[2] == 0xA8 or p[2] == 0xA9 or p[2] == 0xAF else 0
            return 3 if p[1] == 0x81 and p[2] == 0x9F else 0  # U+205F
        if c == 0xE1:  # U+1680
            return 3 if p[1] == 0x9A and p[2] == 0x80 else 0
        return 3 if p[1] == 0x80 and p[2] == 0x80 else 0  # U+3000
    return c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F


cdef inline word key_of(bytes_at p, word length) noexcept nogil:
    """A token's key: of up to 8 bytes it tells tokens of one length apart, of more it is a hash."""
    cdef word key = 0
    cdef word part = 0
    cdef unsigned int low = 0
    cdef unsigned int high = 0
    cdef unsigned short first = 0
    cdef unsigned short last = 0
    cdef word i = 0
    if length <= 3:
        if length == 1:
            return p[0]
        memcpy(&first, p, 2)
        memcpy(&last, p + length - 2, 2)
        return first | (<word>last << 16)
    if length <= 8:
        memcpy(&low, p, 4)
        memcpy(&high, p + length - 4, 4)
        return low | (<word>high << 32)
    while i + 8 < length:
        memcpy(&part, p + i, 8)
        key = (key ^ part) * MULTIPLIER
        key ^= key >> 29
        i += 8
    memcpy(&part, p + length - 8, 8)
    return (key ^ part) * MULTIPLIER


cdef inline word* token_slot(Table* table, bytes_at p, word length) noexcept nogil:
    """The slot of a token of this list, or the free one where it belongs."""
    cdef word key = key_of(p, length)
    cdef word mark = table.mark | length
    cdef word at = (key * 0x9E3779B97F4A7C15ULL) >> table.token_shift
    cdef word* slot = table.tokens + 4 * at
    while (slot[MARK] ^ table.mark) >> 32 == 0:
        if slot[KEY] == key and slot[MARK] == mark:
            if length <= 8 or memcmp(<const void*>slot[PLACE], p, length) == 0:
                return slot
        at = (at + 1) & table.token_mask
        slot = table.tokens + 4 * at
    return slot


cdef inline word* gram_slot(Table* table, long long parent, long long token) noexcept nogil:
    """The slot of an n-gram of this list, or the free one where it belongs."""
    cdef word key = (<word>parent << 32) | <word>token
    cdef word at = (key * 0x9E3779B97F4A7C15ULL) >> table.gram_shift
    cdef word* slot = table.grams + 2 * at
    while (slot[MARK] ^ table.mark) >> 32 == 0:
        if slot[KEY] == key:
            return slot
        at = (at + 1) & table.gram_mask
        slot = table.grams + 2 * at
    return slot


cdef inline long long new_gram(Table* table) noexcept nogil:
    """The id of an n-gram not met before in this list."""
    cdef long long gram = table.n_grams
    table.n_grams += 1
    table.state[3 * gram + TEXT] = 0
    table.state[3 * gram + LIMIT] = 0
    return gram


cdef inline long long enter_token(Table* table, bytes_at p, word length) noexcept nogil:
    cdef word* slot = token_slot(table, p, length)
    if (slot[MARK] ^ table.mark) >> 32:
        slot[KEY] = key_of(p, length)
        slot[MARK] = table.mark | length
        slot[ID] = <word>new_gram(table)
        slot[PLACE] = <word>p
    return <long long>slot[ID]


cdef inline long long enter_gram(Table* table, long long parent, long long token) noexcept nogil:
    cdef word* slot = gram_slot(table, parent, token)
    if (slot[MARK] ^ table.mark) >> 32:
        slot[KEY] = (<word>parent << 32) | <word>token
        slot[MARK] = table.mark | <word>new_gram(table)
    return <long long>(slot[MARK] & 0xFFFFFFFFULL)


cdef inline long long find_token(Table* table, bytes_at p, word length) noexcept nogil:
    cdef word* slot = token_slot(table, p, length)
    return -1 if (slot[MARK] ^ table.mark) >> 32 else <long long>slot[ID]


cdef inline long long find_gram(Table* table, long long parent, long long token) noexcept nogil:
    cdef word* slot = gram_slot(table, parent, token)
    return -1 if (slot[MARK] ^ table.mark) >> 32 else <long long>(slot[MARK] & 0xFFFFFFFFULL)


cdef inline long long met(long long* state, long long text) noexcept nogil:
    """How often ``text`` has met the n-gram of this state, this time counted."""
    if state[TEXT] != text:
        state[TEXT] = text
        state[SEEN] = 0
    state[SEEN] += 1
    return state[SEEN]


cdef long long enter_reference(Table* table, bytes_at p, bytes_at end, long long text) noexcept nogil:
    """Enter the n-grams of one reference; gives its number of tokens."""
    cdef long long last[ORDERS]  # the n-grams that end at the token before, by n - 1
    cdef long long n_tokens = 0
    cdef long long token
    cdef long long times
    cdef int n
    cdef int blank
    cdef bytes_at start
    while p < end:
        blank = blank_at(p, end)
        if blank:
            p += blank
            continue
        start = p
        while p < end and not blank_at(p, end):
            p += 1
        token = enter_token(table, start, <word>(p - start))
        for n in range(<int>min(n_tokens, ORDERS - 1), 0, -1):
            last[n] = enter_gram(table, last[n - 1], token)
        last[0] = token
        n_tokens += 1
        for n in range(<int>min(n_tokens, ORDERS)):
            times = met(table.state + 3 * last[n], text)
            if times > table.state[3 * last[n] + LIMIT]:
                table.state[3 * last[n] + LIMIT] = times
    return n_tokens


cdef long long match_candidate(
    Table* table, bytes_at p, bytes_at end, long long text, long long* matches
) noexcept nogil:
    """Clipped matches of a candidate by n - 1; gives its number of tokens."""
    cdef long long last[ORDERS]
    cdef long long n_tokens = 0
    cdef long long token
    cdef long long* state
    cdef int n
    # Orders up to this have an n-gram of the references that ends at the token before; what is left of
    # an n-gram without its first token is in the references too, so that none is missing between.
    cdef int known = 0
    cdef int blank
    cdef bytes_at start
    for n in range(ORDERS):
        matches[n] = 0
    while p < end:
        blank = blank_at(p, end)
        if blank:
            p += blank
            continue
        start = p
        while p < end and not blank_at(p, end):
            p += 1
        n_tokens += 1
        token = find_token(table, start, <word>(p - start))
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
    return n_tokens


cdef long long tokens_of(bytes_at p, bytes_at end) noexcept nogil:
    """The number of tokens of a text."""
    cdef long long n_tokens = 0
    cdef bint inside = False
    cdef int blank
    while p < end:
        blank = blank_at(p, end)
        n_tokens += not blank and not inside
        inside = not blank
        p += max(blank, 1)
    return n_tokens


cdef inline int bits_for(long long entries) noexcept nogil:
    """log2 of a table that is at most half full with so many entries."""
    cdef int bits = 3
    while (1LL << bits) < 2 * entries:
        bits += 1
    return bits


def statistics(
    const unsigned char[::1] text,
    const long long[::1] text_offsets,
    const long long[::1] offsets,
    const unsigned char[::1] reference,
    const long long[:, ::1] starts,
    const long long[:, ::1] stops,
    unsigned long long[:, ::1] tokens,
    unsigned long long[:, ::1] grams,
    long long[:, ::1] state,
    long long[::1] lengths,
    double[:, ::1] out,
):
    """OUT out (n_items, 10): matches and totals of n = 1..4, tokens, tokens of the closest reference.

    IN text with text_offsets (n_items + 1); offsets (n_lists + 1); reference r of list i is
    ``reference[starts[i, r]:stops[i, r]]``. WORK tokens (s, 4) and grams (t, 2) of zeros, s and t powers of
    two, at least 8, that are 2 and 6 times the tokens in the longest list's references; state (4 times
    those tokens, 3); lengths (n_references).
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t n_references = starts.shape[1]
    cdef Py_ssize_t i
    cdef Py_ssize_t r
    cdef long long j
    cdef long long n_tokens
    cdef long long room
    cdef long long closest
    cdef long long gap
    cdef long long matches[ORDERS]
    cdef long long met_text = 0
    cdef int n
    cdef int bits
    cdef Table table
    cdef bytes_at here = &text[0] if text.shape[0] else NULL
    cdef bytes_at there = &reference[0] if reference.shape[0] else NULL
    table.tokens = &tokens[0, 0]
    table.grams = &grams[0, 0]
    table.state = &state[0, 0]
    with nogil:
        for i in range(n_lists):
            room = 0
            for r in range(n_references):
                room += tokens_of(there + starts[i, r], there + stops[i, r])
            bits = bits_for(room)
            table.token_shift = 64 - bits
            table.token_mask = (1ULL << bits) - 1
            bits = bits_for(3 * room)
            table.gram_shift = 64 - bits
            table.gram_mask = (1ULL << bits) - 1
            table.mark = <word>(i + 1) << 32
            table.n_grams = 0
            for r in range(n_references):
                met_text += 1
                lengths[r] = enter_reference(&table, there + starts[i, r], there + stops[i, r], met_text)
            for j in range(offsets[i], offsets[i + 1]):
                met_text += 1
                n_tokens = match_candidate(
                    &table, here + text_offsets[j], here + text_offsets[j + 1], met_text, matches
                )
                closest = lengths[0]
                for r in range(1, n_references):
                    gap = abs(lengths[r] - n_tokens) - abs(closest - n_tokens)
                    if gap < 0 or (gap == 0 and lengths[r] < closest):
                        closest = lengths[r]
                for n in range(ORDERS):
                    out[j, n] = <double>matches[n]
                    out[j, ORDERS + n] = <double>max(n_tokens - n, 0)
                out[j, 8] = <double>n_tokens
                out[j, 9] = <double>closest


cdef double bleu_of(const double* sums, int method, double value) noexcept nogil:
    """BLEU / 100 of summed statistics, as ``rerank.metrics.bleu.bleu`` says it."""
    cdef double logs = 0.0
    cdef double correct
    cdef double total
    cdef double halved = 1.0
    cdef int n
    if sums[0] + sums[1] + sums[2] + sums[3] <= 0.0:
        return 0.0
    for n in range(ORDERS):
        correct = sums[n]
        total = sums[ORDERS + n]
        if method == ADD and n > 0:
            correct += value
            total += value
        if total <= 0.0:
            return 0.0
        if correct <= 0.0:
            if method == HALVE:
                halved *= 0.5
                correct = halved
            elif method == FLOOR and value > 0.0:
                correct = value
            else:
                return 0.0
        logs += log(correct / total)
    if sums[8] < sums[9]:
        return exp(logs / ORDERS + 1.0 - sums[9] / sums[8])
    return exp(logs / ORDERS)


def climb(
    const double[:, ::1] rows,
    const long long[::1] offsets,
    long long[::1] chosen,
    double[:, ::1] sums,
    int method,
    double value,
):
    """One pass over the lists: each takes the row that gives the best corpus BLEU with all others kept.

    IN rows (n, 10), list i's at ``offsets[i]:offsets[i + 1]``; INOUT chosen (n_lists), rows by number, kept
    where nothing is strictly better; INOUT sums (2, 10), in row 0 the sums over the chosen rows. WORK row 1.
    method 0 none, 1 floor, 2 add-k, 3 exp.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t i
    cdef Py_ssize_t k
    cdef long long j
    cdef long long best
    cdef double highest
    cdef double found
    with nogil:
        for i in range(n_lists):
            best = chosen[i]
            highest = bleu_of(&sums[0, 0], method, value)
            for j in range(offsets[i], offsets[i + 1]):
                if j == chosen[i]:
                    continue
                for k in range(10):
                    sums[1, k] = sums[0, k] - rows[chosen[i], k] + rows[j, k]
                found = bleu_of(&sums[1, 0], method, value)
                if found > highest:
                    highest = found
                    best = j
            for k in range(10):
                sums[0, k] += rows[best, k] - rows[chosen[i], k]
            chosen[i] = best
