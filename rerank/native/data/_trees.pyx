"""Trees as flat arrays (rerank/data/columns/forests.py): checked, compared, written in brackets."""

from libc.string cimport memcpy

ctypedef const unsigned char* bytes_at


cdef inline bint is_tree(
    const int* symbols, const int* sizes, long long n, long long n_symbols, int* ends
) noexcept nogil:
    """Whether n nodes, one at least, are a root over all of them with every child within its parent."""
    cdef long long i, depth = 0
    if sizes[0] != n or n == 1:
        return False
    for i in range(n):
        while depth and ends[depth - 1] == i:
            depth -= 1
        if sizes[i] < 1 or not 0 <= symbols[i] < n_symbols:
            return False
        if i + <long long>sizes[i] > (ends[depth - 1] if depth else n):
            return False
        if sizes[i] > 1:
            ends[depth] = <int>(i + sizes[i])
            depth += 1
    return True


def misfit(
    const long long[::1] offsets, const int[::1] symbols, const int[::1] sizes, long long n_symbols,
    int[::1] ends,
):
    """Return the number of the first tree whose nodes are not a tree, -1 if all are.

    IN the arrays of a forest (offsets non-decreasing and within the others), n_symbols strings of the
    vocabulary; SCRATCH ends (nodes of the largest tree).
    """
    cdef Py_ssize_t t, found = -1
    cdef long long n
    with nogil:
        for t in range(offsets.shape[0] - 1):
            n = offsets[t + 1] - offsets[t]
            if n and not is_tree(&symbols[offsets[t]], &sizes[offsets[t]], n, n_symbols, &ends[0]):
                found = t
                break
    return found


cdef inline int next_word(const int* symbols, const int* sizes, int i, int n, int trace) noexcept nogil:
    """The first node from i on that is a word and not a trace, n if there is none."""
    while i < n and (sizes[i] != 1 or (sizes[i - 1] == 2 and symbols[i - 1] == trace)):
        i += 1
    return i


def other_words(
    const long long[::1] lists, const long long[::1] offsets, const int[::1] symbols, const int[::1] sizes,
    const long long[::1] gold_offsets, const int[::1] gold_symbols, const int[::1] gold_sizes, int trace,
):
    """Return the first tree whose words differ from its gold tree's, traces ignored; -1 if none.

    IN lists (n_lists + 1), the bounds of lists of trees; two forests with one vocabulary, (n_trees) and
    (n_lists); trace, the symbol of -NONE-. A tree without nodes never differs.
    """
    cdef Py_ssize_t l, t, found = -1
    cdef int i, j, n, m
    cdef const int* symbol
    cdef const int* size
    cdef const int* gold_symbol
    cdef const int* gold_size
    cdef const int* symbols_from = &symbols[0] if symbols.shape[0] else NULL
    cdef const int* sizes_from = &sizes[0] if sizes.shape[0] else NULL
    cdef const int* gold_symbols_from = &gold_symbols[0] if gold_symbols.shape[0] else NULL
    cdef const int* gold_sizes_from = &gold_sizes[0] if gold_sizes.shape[0] else NULL
    with nogil:
        for l in range(lists.shape[0] - 1):
            gold_symbol = gold_symbols_from + gold_offsets[l]
            gold_size = gold_sizes_from + gold_offsets[l]
            m = <int>(gold_offsets[l + 1] - gold_offsets[l])
            for t in range(lists[l], lists[l + 1]):
                symbol = symbols_from + offsets[t]
                size = sizes_from + offsets[t]
                n = <int>(offsets[t + 1] - offsets[t])
                if n == 0:
                    continue
                i = next_word(symbol, size, 0, n, trace)
                j = next_word(gold_symbol, gold_size, 0, m, trace)
                while i < n and j < m and symbol[i] == gold_symbol[j]:
                    i = next_word(symbol, size, i + 1, n, trace)
                    j = next_word(gold_symbol, gold_size, j + 1, m, trace)
                if i < n or j < m:
                    found = t
                    break
            if found >= 0:
                break
    return found


cdef inline void copy(unsigned char* p, bytes_at string, long long length, bint wide) noexcept nogil:
    """OUT p[:length]; ``wide``: 8 bytes may be read and written."""
    if wide and length <= 8:
        memcpy(p, string, 8)
    else:
        memcpy(p, string, length)


def lengths(
    const long long[::1] offsets, const int[::1] symbols, const int[::1] sizes, const long long[::1] bounds,
    long long[::1] out,
):
    """OUT out[t] = bytes of tree t as ``write`` writes it; IN as there."""
    cdef Py_ssize_t t
    cdef long long i, n
    with nogil:
        for t in range(offsets.shape[0] - 1):
            n = -1 if offsets[t + 1] > offsets[t] else 0  # no blank before the root
            for i in range(offsets[t], offsets[t + 1]):
                n += bounds[symbols[i] + 1] - bounds[symbols[i]] + (1 if sizes[i] == 1 else 3)
            out[t] = n


def write(
    const long long[::1] offsets, const int[::1] symbols, const int[::1] sizes,
    const unsigned char[::1] strings, const long long[::1] bounds, const long long[::1] out_offsets,
    int[::1] ends, unsigned char[::1] out,
):
    """OUT out[out_offsets[t]:out_offsets[t + 1]] = tree t in brackets, one blank between nodes.

    IN the arrays of a forest, its vocabulary (symbol s is strings[bounds[s]:bounds[s + 1]]), out_offsets
    (T + 1); SCRATCH ends (nodes of the largest tree); OUT out (out_offsets[T]).
    """
    cdef Py_ssize_t t
    cdef long long i, length, depth, begin, at
    cdef unsigned char* p
    cdef unsigned char* limit = &out[0] + out.shape[0] - 8 if out.shape[0] else NULL
    cdef long long last = strings.shape[0] - 8
    with nogil:
        for t in range(offsets.shape[0] - 1):
            begin = offsets[t]
            if offsets[t + 1] == begin:
                continue
            p = &out[0] + out_offsets[t]
            depth = 0
            for i in range(begin, offsets[t + 1]):
                if i > begin:
                    p[0] = c" "
                    p += 1
                if sizes[i] > 1:
                    p[0] = c"("
                    p += 1
                    ends[depth] = <int>(i - begin + sizes[i])
                    depth += 1
                at = bounds[symbols[i]]
                length = bounds[symbols[i] + 1] - at
                if length:
                    copy(p, &strings[at], length, at <= last and p <= limit)
                    p += length
                if sizes[i] == 1:
                    while depth and ends[depth - 1] == i - begin + 1:
                        p[0] = c")"
                        p += 1
                        depth -= 1
