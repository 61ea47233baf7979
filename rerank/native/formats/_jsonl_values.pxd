"""Values of JSON added to the columns of nodes; a function returns the place after its value, or NULL.

See _jsonl.pyx. NULL means that the line is dropped: because it is not plain, or, if ``Lines.end`` says so,
for want of room.
"""

from libc.string cimport memcmp, memcpy

from rerank.native.data._exact_sum cimport MOST_PARTIALS, add_exactly, sum_of
from rerank.native.data._names cimport FULL, Table, find_or_add
from rerank.native.formats._json_objects cimport Keys, first_key, is_last, next_key, skipped_value
from rerank.native.formats._json_tokens cimport (
    NESTED, NO_VALUE, NOTHING, STRING, Kind, after_blanks, copied_string, is_digit, json_number, key_end,
    word_token,
)
from rerank.native.formats._lines cimport Bytes

cdef enum Type:
    OBJECT
    ARRAY
    SCALAR
    FEATURES  # an object of names and numbers
    LOGPROBS  # an array of numbers
    SKIPPED

cdef enum End:
    DONE
    ODD
    NO_ROOM
    NO_ROOM_FOR_NAMES

cdef struct Key:
    Bytes text  # with the quote that ends it
    Py_ssize_t length
    int node
    long long seen  # the last object that has it


cdef struct Node:
    Type type
    unsigned int allowed  # bit k: kind k may occur
    bint spelt  # SCALAR: numbers, true and false are kept as texts too
    int first_key  # OBJECT
    int n_keys
    int bare  # OBJECT: the key whose value a string stands for, -1 = none
    int element  # ARRAY: the node of elements
    long long size  # ARRAY: how many elements there must be, 0 = one at least
    long long n  # occurrences
    long long n_values  # FEATURES: numbers; others: bytes of text
    long long old_n  # before the line
    long long old_n_values
    long long last  # FEATURES: where the numbers of the last occurrence start
    long long room, room_values
    unsigned char* kinds  # (room), what each occurrence is
    double* numbers  # (room), LOGPROBS (room, 3): sum, mean, minimum; FEATURES (room_values)
    long long* lengths  # (room), of each text, array, or features; LOGPROBS: numbers
    int* columns  # FEATURES (room_values)
    unsigned char* text


cdef struct Lines:
    End end
    Bytes stop  # the first byte that cannot be read
    Node* nodes
    Key* keys
    long long n_objects
    Table* names
    long long* seen  # (n_seen), the last occurrence of FEATURES that has each name; below 0: none may
    long long n_seen
    long long n_features  # occurrences of FEATURES, rolled back or not
    bint nulls  # FEATURES may have null


cdef inline bint add_kind(Lines* lines, Node* node, Kind kind) noexcept nogil:
    """Add an occurrence of this kind whose other entries have been written."""
    if node.n == node.room:
        lines.end = NO_ROOM
        return False
    if kind == NO_VALUE:
        node.lengths[node.n] = 0
    node.kinds[node.n] = <unsigned char>kind
    node.n += 1
    return True


cdef inline Bytes read_scalar(Lines* lines, Node* node, Bytes p) noexcept nogil:
    cdef unsigned char* text = node.text + node.n_values
    cdef unsigned char* end = text
    cdef Bytes start = p
    cdef Kind kind = STRING
    if node.n == node.room:
        lines.end = NO_ROOM
        return NULL
    if p[0] == c'"':
        if not node.allowed >> STRING & 1:  # it has no room for texts
            return NULL
        p = copied_string(p + 1, &end)
    else:
        if p[0] == c'-' or is_digit(p[0]):
            p = json_number(p, &node.numbers[node.n], &kind)
            if node.spelt and start[0] == c'-' and start[1] == c'0':
                return NULL
        else:
            p = word_token(p, &node.numbers[node.n], &kind)
        if p != NULL and node.spelt and kind != NOTHING:
            memcpy(text, start, p - start)
            end += p - start
    if p == NULL or not node.allowed >> kind & 1:
        return NULL
    node.lengths[node.n] = end - text
    node.n_values += end - text
    return p if add_kind(lines, node, kind) else NULL


cdef inline Bytes name_at(Lines* lines, Bytes p, int guess, int* name) noexcept nogil:
    """Find the number of the feature's name at ``p``, ``guess`` at best; return the place after its quote."""
    cdef const Table* names = lines.names
    cdef Py_ssize_t length
    cdef Bytes end
    if guess >= 0:
        length = names.bounds[guess + 1] - names.bounds[guess]
        if (
            length < lines.stop - p
            and p[length] == c'"'
            and memcmp(p, names.arena + names.bounds[guess], length) == 0
        ):
            name[0] = guess
            p += length + 1
            guess = -2
    if guess != -2:
        end = key_end(p)
        if end == NULL:
            return NULL
        name[0] = find_or_add(lines.names, p, end - p)
        if name[0] == FULL or name[0] >= lines.n_seen:
            lines.end = NO_ROOM_FOR_NAMES
            return NULL
        p = end + 1
    if lines.seen[name[0]] < 0 or lines.seen[name[0]] == lines.n_features:
        return NULL
    lines.seen[name[0]] = lines.n_features
    return p


cdef inline Bytes read_features(Lines* lines, Node* node, Bytes p) noexcept nogil:
    cdef long long last = node.last, here = node.n_values
    cdef int name = -1
    cdef double value = 0.0
    cdef Kind kind
    if p[0] != c'{':
        return NULL
    lines.n_features += 1
    p = after_blanks(p + 1)
    while p[0] != c'}':
        if p[0] != c'"':
            return NULL
        p = name_at(lines, p + 1, node.columns[last] if last < here else -1, &name)
        if p == NULL:
            return NULL
        last += 1
        p = after_blanks(p)
        if p[0] != c':':
            return NULL
        p = after_blanks(p + 1)
        if p[0] == c'-' or is_digit(p[0]):
            p = json_number(p, &value, &kind)
        else:
            p = word_token(p, &value, &kind)
        if p == NULL or (kind == NOTHING and not lines.nulls):
            return NULL
        if kind != NOTHING:
            if node.n_values == node.room_values:
                lines.end = NO_ROOM
                return NULL
            node.numbers[node.n_values] = value
            node.columns[node.n_values] = name
            node.n_values += 1
        p = after_blanks(p)
        if p[0] == c'}':
            break
        if p[0] != c',':
            return NULL
        p = after_blanks(p + 1)
        if p[0] != c'"':
            return NULL
    node.last = here
    if not add_kind(lines, node, NESTED):
        return NULL
    node.lengths[node.n - 1] = node.n_values - here
    return p + 1


cdef struct Sum:
    double[MOST_PARTIALS] partials
    int n_partials
    long long n
    double least


cdef inline Bytes read_logprobs(Lines* lines, Node* node, Bytes p) noexcept nogil:
    """Sum, mean and minimum of log-probabilities: an array of them, or an object that holds the array."""
    cdef Sum sums
    cdef double total
    if node.n == node.room:
        lines.end = NO_ROOM
        return NULL
    sums.n_partials = 0
    sums.n = 0
    sums.least = 0.0
    p = add_held_tokens(&sums, p) if p[0] == c'{' else add_tokens(&sums, p)
    if p == NULL:
        return NULL
    total = sum_of(&sums.partials[0], sums.n_partials)
    if total == 0.0:  # its sign, or that there is no number, is left to Python
        return NULL
    node.numbers[3 * node.n] = total
    node.numbers[3 * node.n + 1] = total / <double>sums.n
    node.numbers[3 * node.n + 2] = sums.least
    node.lengths[node.n] = sums.n
    return p if add_kind(lines, node, NESTED) else NULL


cdef inline Bytes add_held_tokens(Sum* sums, Bytes p) noexcept nogil:
    """Add the array "content" or "token_logprobs" of an object, which may have other keys."""
    cdef Keys keys
    cdef Kind kind
    cdef bint found = False
    p = first_key(&keys, p)
    while p != NULL and not keys.closed:
        if p[0] == c'[' and (is_last(&keys, b"content", 7) or is_last(&keys, b"token_logprobs", 14)):
            if found:
                return NULL
            p = add_tokens(sums, p)
            found = True
        else:
            p = skipped_value(p, 0, &kind)
        p = next_key(&keys, p) if p != NULL else NULL
    return p if found else NULL


cdef inline Bytes add_tokens(Sum* sums, Bytes p) noexcept nogil:
    """Add the numbers of an array: null is none, an object has one as "logprob"."""
    if p[0] != c'[':
        return NULL
    p = after_blanks(p + 1)
    while True:
        if p[0] == c'n' and memcmp(p, b"null", 4) == 0:
            p += 4
        elif p[0] == c'{':
            p = add_token(sums, p, False)
        else:
            p = add_number(sums, p)
        if p == NULL:
            return NULL
        p = after_blanks(p)
        if p[0] == c']':
            return p + 1
        if p[0] != c',':
            return NULL
        p = after_blanks(p + 1)


cdef inline Bytes add_number(Sum* sums, Bytes p) noexcept nogil:
    cdef double value
    cdef Kind kind
    p = json_number(p, &value, &kind)
    if p == NULL or not add_exactly(&sums.partials[0], &sums.n_partials, value):
        return NULL
    sums.least = value if sums.n == 0 or value < sums.least else sums.least
    sums.n += 1
    return p


cdef inline Bytes add_token(Sum* sums, Bytes p, bint inner) noexcept nogil:
    """Add the "logprob" of an object, which may have other keys; ``inner``: it is under a token's name."""
    cdef Keys keys
    cdef Kind kind
    cdef bint found = False
    p = first_key(&keys, p)
    while p != NULL and not keys.closed:
        if is_last(&keys, b"logprob", 7):
            p = add_number(sums, p)
            found = True
        elif p[0] == c'{' and keys.n == 1 and not inner:
            p = add_token(sums, p, True)
            p = next_key(&keys, p) if p != NULL else NULL
            return p if keys.closed else NULL
        else:
            p = skipped_value(p, 0, &kind)
        p = next_key(&keys, p) if p != NULL else NULL
    return p if found else NULL


cdef inline Bytes skip_value(Lines* lines, Node* node, Bytes p) noexcept nogil:
    cdef Kind kind
    p = skipped_value(p, 0, &kind)
    if p == NULL or not node.allowed >> kind & 1:
        return NULL
    return p if add_kind(lines, node, kind) else NULL
