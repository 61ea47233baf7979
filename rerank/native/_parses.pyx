"""Lines of N-best parses: empty, a gold tree, or a log probability and a tree."""

from libc.math cimport isinf
from libc.string cimport memchr, memcpy

from rerank.native._number cimport number

cdef enum Kind:
    EMPTY
    GOLD
    PARSE

KINDS = {"empty": EMPTY, "gold": GOLD, "parse": PARSE}

cdef enum:
    AHEAD = 32  # bytes that ``number`` may look at


cdef inline bint is_blank(unsigned char c) noexcept nogil:
    return c == 0x20 or 0x09 <= c <= 0x0D


cdef inline const unsigned char* number_end(
    const unsigned char* p, const unsigned char* end, const unsigned char* limit, double* value
) noexcept nogil:
    """Where the number at p ends, at ``end`` or a blank; NULL where there is no finite one."""
    cdef unsigned char[2 * AHEAD] padded
    cdef const unsigned char* behind
    if limit - p < AHEAD:
        for k in range(2 * AHEAD):
            padded[k] = 0
        memcpy(padded, p, limit - p)
        behind = number(padded, value)
        behind = p + (behind - padded) if behind != NULL else NULL
    else:
        behind = number(p, value)
    if behind == NULL or behind > end or (behind < end and not is_blank(behind[0])) or isinf(value[0]):
        return NULL
    return behind


def scan(
    const unsigned char[::1] text,
    signed char[::1] kinds,
    double[::1] values,
    long long[:, ::1] spans,
):
    """OUT the kind of each line, of KINDS; its log probability, if any; where its tree lies.

    IN text (n_bytes); OUT kinds, values (n_lines), spans (n_lines, 2), empty of lines without a tree. Gives
    the first line that is none of these, -1 where all are.
    """
    cdef Py_ssize_t line
    cdef Py_ssize_t fault = -1
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
