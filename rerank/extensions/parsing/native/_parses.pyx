"""Lines of N-best parses: empty, a gold tree, or a log probability and a tree."""

from libc.math cimport isinf
from libc.string cimport memchr, memcpy, memset

from rerank.native.data._blanks cimport is_blank
from rerank.native.data._number cimport number

cdef enum Kind:
    EMPTY
    GOLD
    PARSE

KINDS = {"empty": EMPTY, "gold": GOLD, "parse": PARSE}

cdef enum:
    AHEAD = 32  # bytes after a number that ``number`` may look at
    LONGEST = 256  # bytes of a number


cdef inline const unsigned char* number_end(
    const unsigned char* p, const unsigned char* end, const unsigned char* limit, double* value
) noexcept nogil:
    """Return where the number at p ends, at ``end`` or a blank; NULL if there is no finite number.

    A number near ``limit``, where readable memory ends, is read from a padded copy.
    """
    cdef unsigned char[LONGEST + AHEAD] padded
    cdef const unsigned char* start = p
    cdef const unsigned char* text = p
    while p < end and not is_blank(p[0]):
        p += 1
    if p - start > LONGEST:
        return NULL
    if limit - p < AHEAD:
        memset(padded, 0, sizeof(padded))
        memcpy(padded, start, p - start)
        text = padded
    if number(text, value) != text + (p - start) or isinf(value[0]):
        return NULL
    return p


def scan(const unsigned char[::1] text, signed char[::1] kinds, double[::1] values, long long[:, ::1] spans):
    """Find the kind of each line, its log probability, if any, and the place of its tree.

    IN text (n_bytes); OUT kinds (n_lines), of KINDS; values (n_lines); spans (n_lines, 2), start and end,
    empty if a line has no tree. Returns the first unrecognised line, -1 if there is none.
    """
    cdef Py_ssize_t line, fault = -1
    cdef const unsigned char* base = &text[0]
    cdef const unsigned char* limit = base + text.shape[0]
    cdef const unsigned char* p = base
    cdef const unsigned char* end
    with nogil:
        for line in range(kinds.shape[0]):
            end = <const unsigned char*>memchr(p, c"\n", limit - p)
            end = limit if end == NULL else end
            while p < end and is_blank(p[0]):
                p += 1
            values[line] = 0.0
            if p == end:
                kinds[line] = EMPTY
            elif p[0] == c"(":
                kinds[line] = GOLD
            else:
                kinds[line] = PARSE
                p = number_end(p, end, limit, &values[line])
                if p == NULL:
                    fault = line
                    break
            spans[line, 0] = p - base
            spans[line, 1] = end - base
            p = end + 1
    return fault
