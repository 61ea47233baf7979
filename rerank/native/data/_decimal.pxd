"""float64 to the shortest decimal text that reads back as the same number.

Whole numbers and numbers of up to nine decimals are found by one exact division; Python's repr writes
the rest.
"""

from libc.math cimport fabs, rint, signbit
from libc.string cimport memcpy, strlen

cdef extern from "Python.h":
    char* PyOS_double_to_string(double value, char code, int precision, int flags, int* type)
    void PyMem_Free(void* p)

cdef extern from *:
    """
    static const double rerank_decimals[10] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    """
    const double* DECIMALS "rerank_decimals"


cdef inline unsigned char* put_whole(unsigned char* out, unsigned long long value, int least) noexcept nogil:
    """Write the digits of ``value``, at least ``least`` of them; return the place after them."""
    cdef unsigned char[20] digits
    cdef int at = 20
    while value or 20 - at < least:
        at -= 1
        digits[at] = <unsigned char>(c'0' + value % 10)
        value //= 10
    memcpy(out, &digits[at], 20 - at)
    return out + (20 - at)


cdef inline unsigned char* put_repr(unsigned char* out, double value) except NULL nogil:
    """Write ``value`` as repr() does, without ".0"; raises MemoryError."""
    cdef char* text
    cdef size_t length
    with gil:
        text = PyOS_double_to_string(value, b"r"[0], 0, 0, NULL)
        if text == NULL:
            raise MemoryError
        length = strlen(text)
        memcpy(out, text, length)
        PyMem_Free(text)
        return out + length


cdef inline unsigned char* put_number(unsigned char* out, double value) except NULL nogil:
    """Write a finite ``value`` at ``out``, at most 24 characters; return the place after it.

    Raises MemoryError: its callers must be declared ``except NULL`` too.
    """
    cdef double size = fabs(value)
    cdef double whole
    cdef unsigned long long digits, unit = 1
    cdef int places
    if size < 1e15:
        for places in range(10):
            whole = rint(size * DECIMALS[places])
            if whole >= 1e15:
                break
            if whole / DECIMALS[places] == size:
                if signbit(value):
                    out[0] = c'-'
                    out += 1
                digits = <unsigned long long>whole
                out = put_whole(out, digits // unit, 1)
                if places:
                    out[0] = c'.'
                    out = put_whole(out + 1, digits % unit, places)
                return out
            unit *= 10
    return put_repr(out, value)
