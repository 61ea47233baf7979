"""The table of powers of five of ``_number.pxd``, and one entry for a single number.

The table is made from exact integers when the module is imported: 5^q to 128 bits, truncated for
q >= 0, and for q < 0 the reciprocal rounded up (Lemire 2021, sections 5 and 6).
"""

from rerank.native.data._number cimport POWERS, number


def _power(q):
    """5^q scaled by a power of two into [2^127, 2^128), an int."""
    cdef object five, reciprocal
    if q >= 0:
        five = 5**q
        shift = five.bit_length() - 128
        return five >> shift if shift >= 0 else five << -shift
    five = 5**-q
    bits = (five - 1).bit_length()
    reciprocal = (1 << (bits + 127 if q >= -27 else 2 * bits + 128)) // five + 1
    return reciprocal >> max(reciprocal.bit_length() - 128, 0)


def _fill():
    cdef object power
    for q in range(-342, 309):
        power = _power(q)
        POWERS[2 * (q + 342)] = power >> 64
        POWERS[2 * (q + 342) + 1] = power & 0xFFFFFFFFFFFFFFFF


_fill()


def parse(token):
    """Return the number that the whole of ``token`` (bytes) spells, or None; infinite if too large."""
    cdef bytes padded = token + b"\n" + bytes(16)
    cdef const unsigned char* start = padded
    cdef const unsigned char* end
    cdef double value = 0.0
    end = number(start, &value)
    if end != start + len(token):
        return None
    return value
