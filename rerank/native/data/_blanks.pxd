"""ASCII blanks: space, tab, newline, vertical tab, form feed, carriage return."""


cdef inline bint is_blank(unsigned char c) noexcept nogil:
    return c == 0x20 or 0x09 <= c <= 0x0D
