"""Parsed JSON looked through: keys that a line repeats, and features of many candidates as one array."""

from cpython.dict cimport PyDict_Next
from cpython.ref cimport PyObject
from libc.math cimport isfinite

from rerank.native.data._number cimport load_text, trailing_zeros, u64, zero_bytes


def repeats_key(bytes text, value):
    """Return whether an object of ``text`` has a key twice.

    IN text, one valid JSON value; value, what it was parsed to. Outside of strings, a colon follows each key
    and there is no other one, so the text has more colons than the value has keys if one was overwritten.
    """
    cdef const unsigned char* start = text
    return _colons(start, start + len(text)) != _keys(value)


cdef long long _colons(const unsigned char* p, const unsigned char* end) noexcept nogil:
    """Return how many colons are outside of strings."""
    cdef long long n = 0
    while p < end:
        if p[0] == c'"':
            p = _closing(p + 1, end)
        else:
            n += p[0] == c':'
        p += 1
    return n


cdef inline const unsigned char* _closing(const unsigned char* p, const unsigned char* end) noexcept nogil:
    """Return the place of the quote that ends the string of which ``p`` is the first character."""
    cdef u64 word, marks
    while p < end:
        while p + 8 <= end:
            word = load_text(p)
            marks = zero_bytes(word ^ <u64>0x2222222222222222) | zero_bytes(word ^ <u64>0x5C5C5C5C5C5C5C5C)
            if marks:
                p += trailing_zeros(marks) >> 3
                break
            p += 8
        if p[0] == c'"':
            break
        p += 2 if p[0] == c'\\' else 1
    return p


cdef long long _keys(value) except -1:
    """Return how many keys the objects in ``value`` have in total."""
    cdef long long n = 0
    if type(value) is dict:
        n = len(<dict>value)
        for entry in (<dict>value).values():
            if type(entry) is dict or type(entry) is list:
                n += _keys(entry)
    elif type(value) is list:
        for entry in <list>value:
            if type(entry) is dict or type(entry) is list:
                n += _keys(entry)
    return n


def fill_rows(list rows, tuple names, double[:, ::1] out):
    """Return whether all rows have the same names in the same order and finite numbers for values.

    IN rows, dictionaries; OUT out (rows, names), their values if True.
    """
    cdef Py_ssize_t i, j, place
    cdef Py_ssize_t width = len(names)
    cdef PyObject* key
    cdef PyObject* value
    for i in range(len(rows)):
        row = rows[i]
        if len(<dict>row) != width:
            return False
        place = 0
        j = 0
        while PyDict_Next(row, &place, &key, &value):
            if key != <PyObject*>names[j] and <object>key != names[j]:
                return False
            if type(<object>value) is float:
                out[i, j] = <double><object>value
            elif type(<object>value) is int or type(<object>value) is bool:
                try:
                    out[i, j] = <double><object>value
                except OverflowError:
                    return False
            else:
                return False
            if not isfinite(out[i, j]):
                return False
            j += 1
    return True
