"""Lines of JSON taken apart into columns, by a tree of what their values may be.

The tree is learnt from lines that Python has read. A line that has anything else in it, or anything unusual
(see _json_tokens.pxd), leaves no trace in the columns: the kernel stops before it, and Python reads it.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

from rerank.native.data._names cimport Names
from rerank.native.formats._json_tokens cimport NESTED, NO_VALUE, after_blanks
from rerank.native.formats._jsonl_values cimport (
    ARRAY, DONE, FEATURES, LOGPROBS, OBJECT, ODD, SCALAR, Key, Lines, Node, add_kind, read_features,
    read_logprobs, read_scalar, skip_value,
)
from rerank.native.formats._lines cimport Bytes

KINDS = ("no value", "null", "false", "true", "whole", "real", "string", "nested")
NODES = ("object", "array", "scalar", "features", "logprobs", "skipped")
ENDS = ("done", "odd", "no room", "no room for names")

cdef Bytes read_value(Lines* lines, int number, Bytes p) noexcept nogil:
    """Read one value into the columns of node ``number``."""
    cdef Node* node = &lines.nodes[number]
    if node.type == SCALAR:
        return read_scalar(lines, node, p)
    if node.type == OBJECT:
        return read_object(lines, node, p)
    if node.type == ARRAY:
        return read_array(lines, node, p)
    if node.type == FEATURES:
        return read_features(lines, node, p)
    if node.type == LOGPROBS:
        return read_logprobs(lines, node, p)
    return skip_value(lines, node, p)


cdef bint add_nothing(Lines* lines, int number) noexcept nogil:
    """Add what an object without the key adds; False if it must have one."""
    cdef Node* node = &lines.nodes[number]
    if not node.allowed >> NO_VALUE & 1:
        return False
    return add_kind(lines, node, NO_VALUE)


cdef Bytes read_object(Lines* lines, Node* node, Bytes p) noexcept nogil:
    cdef Key* keys = lines.keys + node.first_key
    cdef long long mark
    cdef int found = 0, k = 0
    lines.n_objects += 1
    mark = lines.n_objects
    if p[0] == c'{':
        p = after_blanks(p + 1)
        while True:
            if p[0] != c'"':
                return NULL  # an object without keys too
            k = key_at(lines, keys, node.n_keys, k, p + 1)
            if k < 0 or keys[k].seen == mark:
                return NULL
            keys[k].seen = mark
            found += 1
            p = after_blanks(p + 1 + keys[k].length)
            if p[0] != c':':
                return NULL
            p = read_value(lines, keys[k].node, after_blanks(p + 1))
            if p == NULL:
                return NULL
            p = after_blanks(p)
            if p[0] == c'}':
                p += 1
                break
            if p[0] != c',':
                return NULL
            p = after_blanks(p + 1)
            k += 1
    elif p[0] == c'"' and node.bare >= 0:
        keys[node.bare].seen = mark
        found = 1
        p = read_value(lines, keys[node.bare].node, p)
        if p == NULL:
            return NULL
    else:
        return NULL
    if found < node.n_keys:
        for k in range(node.n_keys):
            if keys[k].seen != mark and not add_nothing(lines, keys[k].node):
                return NULL
    return p


cdef inline int key_at(Lines* lines, Key* keys, int n, int guess, Bytes p) noexcept nogil:
    """Which of ``n`` keys is at ``p``, ``guess`` at best; -1 if none is."""
    cdef int k
    if guess < n and is_key(lines, &keys[guess], p):
        return guess
    for k in range(n):
        if is_key(lines, &keys[k], p):
            return k
    return -1


cdef inline bint is_key(Lines* lines, Key* key, Bytes p) noexcept nogil:
    return key.text[0] == p[0] and key.length <= lines.stop - p and memcmp(p, key.text, key.length) == 0


cdef Bytes read_array(Lines* lines, Node* node, Bytes p) noexcept nogil:
    cdef long long n = 0
    if p[0] != c'[':
        return NULL
    p = after_blanks(p + 1)
    while True:
        p = read_value(lines, node.element, p)
        if p == NULL:
            return NULL
        n += 1
        p = after_blanks(p)
        if p[0] == c']':
            break
        if p[0] != c',':
            return NULL
        p = after_blanks(p + 1)
    if (node.size and n != node.size) or not add_kind(lines, node, NESTED):
        return NULL
    node.lengths[node.n - 1] = n
    return p + 1


cdef class Shredder:
    """Columns of the values of lines.

    Parameters
    ----------
    nodes : of (type, kinds that are allowed, spelt or the exact size or the bare key, element, keys), the
        first for a line; types and kinds as in NODES and KINDS; keys of (bytes, node).
    names : the names of features.
    seen : for each name, -1 = no object may have it, else 0; the kernel overwrites it.
    nulls : whether a feature may be null.
    """

    cdef Lines lines
    cdef int n_nodes
    cdef list held  # arrays and bytes that pointers lead to

    def __cinit__(self, list nodes, Names names, long long[::1] seen, bint nulls):
        cdef int n_keys = sum([len(given[4]) for given in nodes])
        cdef int k = 0, i
        cdef Node* node
        cdef bytes text
        self.n_nodes = len(nodes)
        self.lines.nodes = <Node*>calloc(self.n_nodes, sizeof(Node))
        self.lines.keys = <Key*>calloc(n_keys + 1, sizeof(Key))
        if self.lines.nodes == NULL or self.lines.keys == NULL:
            raise MemoryError
        self.lines.names = &names.table
        self.lines.nulls = nulls
        self.lines.seen = &seen[0]
        self.lines.n_seen = seen.shape[0]
        self.held = [names, seen]
        for i in range(self.n_nodes):
            node = &self.lines.nodes[i]
            node.type, node.allowed, node.size, node.element = nodes[i][:4]
            node.spelt = node.size != 0
            node.bare = <int>node.size
            node.first_key = k
            node.n_keys = len(nodes[i][4])
            for key, child in nodes[i][4]:
                text = key + b'"'
                self.held.append(text)
                self.lines.keys[k].text = text
                self.lines.keys[k].length = len(text)
                self.lines.keys[k].node = child
                k += 1

    def __dealloc__(self):
        free(self.lines.nodes)
        free(self.lines.keys)

    def set_room(
        self, int number, unsigned char[::1] kinds, double[::1] numbers, long long[::1] lengths,
        int[::1] columns, unsigned char[::1] text,
    ):
        """Give node ``number`` its arrays, see ``Node``, which the caller keeps; what they held is gone.

        A text needs 8 bytes more than those of all lines; columns and numbers of features have one length.
        """
        cdef Node* node = &self.lines.nodes[number]
        node.room = kinds.shape[0]
        node.kinds = &kinds[0]
        node.numbers = &numbers[0]
        node.lengths = &lengths[0]
        node.columns = &columns[0]
        node.room_values = columns.shape[0]
        node.text = &text[0]

    def read(self, const unsigned char[::1] text, Py_ssize_t start, Py_ssize_t stop):
        """Read whole lines into the columns, which are emptied first; stop before one that is not plain.

        IN text, with 64 readable bytes after ``stop``. Returns where it stopped, lines, the number of ENDS
        and how many names there were before a line that was dropped.
        """
        cdef Lines* lines = &self.lines
        cdef Bytes base = &text[0]
        cdef Bytes p = base + start, end
        cdef long long n_lines = 0, n_names = lines.names.n
        cdef int i
        for i in range(self.n_nodes):
            lines.nodes[i].n = 0
            lines.nodes[i].n_values = 0
            lines.nodes[i].last = 0
        lines.stop = base + stop
        lines.end = DONE
        with nogil:
            while p < base + stop:
                for i in range(self.n_nodes):
                    lines.nodes[i].old_n = lines.nodes[i].n
                    lines.nodes[i].old_n_values = lines.nodes[i].n_values
                n_names = lines.names.n
                lines.end = ODD
                end = read_value(lines, 0, after_blanks(p))
                end = after_blanks(end) if end != NULL else NULL
                if end == NULL or end[0] != c'\n':
                    break
                lines.end = DONE
                p = end + 1
                n_lines += 1
            if lines.end != DONE:
                for i in range(self.n_nodes):
                    lines.nodes[i].n = lines.nodes[i].old_n
                    lines.nodes[i].n_values = lines.nodes[i].old_n_values
        return p - base, n_lines, lines.end, n_names

    def sizes(self):
        """Return (occurrences, numbers of features or bytes of text) of each node."""
        return [(self.lines.nodes[i].n, self.lines.nodes[i].n_values) for i in range(self.n_nodes)]


def changes(
    const unsigned char[::1] text, const long long[::1] offsets, long long width, unsigned char[::1] out
):
    """Mark the records (of ``width`` strings each) that differ from the record before.

    IN text, offsets of strings; OUT out, 1 for the first record and each that differs.
    """
    cdef Py_ssize_t i, k
    cdef long long a, b, length
    cdef Bytes base = &text[0] if text.shape[0] else NULL
    for i in range(out.shape[0]):
        out[i] = i == 0
        if i == 0:
            continue
        for k in range(i * width, (i + 1) * width):
            a = offsets[k - width]
            b = offsets[k]
            length = offsets[k + 1] - b
            if offsets[k - width + 1] - a != length or (length and memcmp(base + a, base + b, length) != 0):
                out[i] = 1
                break
