"""Decimal text to float64, equal to strtod in every bit, independently of the locale.

Three ways, each exact. Up to 16 characters are gathered eight at a time in a machine word and divided
by a power of ten (one rounding, as both are exact below 2^53). Other numbers of up to 19 digits take Eisel
and Lemire's product with a 128-bit power of five (Lemire, Number Parsing at a Gigabyte per Second, 2021),
which decides all of them (Mushtak and Lemire, Fast Number Parsing Without Fallback, 2023). Longer ones
that this leaves between two floats are compared with the middle of the two in whole numbers. Nothing
allocates, so nothing can fail.

``number`` may read 16 bytes from its start, so 16 bytes beyond the last number must be readable.
"""

from libc.math cimport INFINITY

cdef extern from *:
    """
    #include <string.h>
    #include <stdint.h>
    typedef uint64_t rerank_u64;
    static inline rerank_u64 rerank_load(const unsigned char *p) {
        rerank_u64 word;
        memcpy(&word, p, 8);
        return word;
    }
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define rerank_load_text(p) __builtin_bswap64(rerank_load(p))
    #else
    #define rerank_load_text(p) rerank_load(p)
    #endif
    #if defined(_MSC_VER) && !defined(__clang__)
    #include <intrin.h>
    static int rerank_ctz(rerank_u64 x) { unsigned long i; _BitScanForward64(&i, x); return (int)i; }
    static int rerank_clz(rerank_u64 x) { unsigned long i; _BitScanReverse64(&i, x); return 63 - (int)i; }
    #else
    #define rerank_ctz(x) __builtin_ctzll(x)
    #define rerank_clz(x) __builtin_clzll(x)
    #endif
    #if defined(__SIZEOF_INT128__)
    static inline rerank_u64 rerank_mul(rerank_u64 a, rerank_u64 b, rerank_u64 *low) {
        unsigned __int128 product = (unsigned __int128)a * b;
        *low = (rerank_u64)product;
        return (rerank_u64)(product >> 64);
    }
    #else
    static inline rerank_u64 rerank_mul(rerank_u64 a, rerank_u64 b, rerank_u64 *low) {
        rerank_u64 a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
        rerank_u64 cross = a1 * b0 + ((a0 * b0) >> 32), other = a0 * b1 + (uint32_t)cross;
        *low = a * b;
        return a1 * b1 + (cross >> 32) + (other >> 32);
    }
    #endif
    static inline double rerank_double(rerank_u64 bits) {
        double value;
        memcpy(&value, &bits, 8);
        return value;
    }
    static inline rerank_u64 rerank_bits(double value) {
        rerank_u64 bits;
        memcpy(&bits, &value, 8);
        return bits;
    }
    static const double rerank_tens[23] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    static const rerank_u64 rerank_whole_tens[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
        100000000};
    """
    ctypedef unsigned long long u64 "rerank_u64"
    u64 load_word "rerank_load"(const unsigned char* p) noexcept nogil
    u64 load_text "rerank_load_text"(const unsigned char* p) noexcept nogil
    int trailing_zeros "rerank_ctz"(u64 x) noexcept nogil
    int leading_zeros "rerank_clz"(u64 x) noexcept nogil
    u64 multiply "rerank_mul"(u64 a, u64 b, u64* low) noexcept nogil
    double from_bits "rerank_double"(u64 bits) noexcept nogil
    u64 bits_of "rerank_bits"(double value) noexcept nogil
    const double* TENS "rerank_tens"
    const u64* WHOLE_TENS "rerank_whole_tens"

cdef enum:
    DIGITS = 800  # the middle of two floats has at most 768; a digit after these counts as more than nothing
    WORDS = 128  # of 32 bits; the largest number has 54 bits and is multiplied by 10^1142 (3,848 bits)

cdef struct Whole:
    # A whole number, the lowest word first.
    unsigned int[WORDS] words
    int n

# 128-bit powers of five 5^-342..5^308, high word before low word; _number.pyx fills it when imported.
cdef unsigned long long[1302] POWERS


cdef inline u64 zero_bytes(u64 word) noexcept nogil:
    """0x80 in the lowest zero byte of ``word``; bytes above it may be marked wrongly."""
    return (word - <u64>0x0101010101010101) & ~word & <u64>0x8080808080808080


cdef inline bint all_digits(u64 digits) noexcept nogil:
    """Whether every byte is 0..9."""
    return (((digits + <u64>0x7676767676767676) | digits) & <u64>0x8080808080808080) == 0


cdef inline u64 join_digits(u64 digits) noexcept nogil:
    """The number that eight bytes 0..9 spell, the lowest byte first."""
    digits = digits * 10 + (digits >> 8)
    return (
        (digits & <u64>0x000000FF000000FF) * <u64>0x000F424000000064
        + ((digits >> 16) & <u64>0x000000FF000000FF) * <u64>0x0000271000000001
    ) >> 32 & <u64>0xFFFFFFFF


cdef inline u64 without(u64 word, int place) noexcept nogil:
    """``word`` with byte ``place`` (0..7) taken out and the bytes above it moved down; the top is 0."""
    cdef u64 below = (<u64>1 << (8 * place)) - 1
    return (word & below) | ((word >> 8) & ~below)


cdef inline bint word_number(u64 head, u64 dots, int length, bint negative, double* value) noexcept nogil:
    """A plain decimal of ``length`` 0..8 characters in a word, whose points ``dots`` marks; False if none."""
    cdef int place = trailing_zeros(dots | <u64>0x8000000000000000) >> 3
    cdef bint dotted = (dots != 0) & (place < length)
    cdef int count = length - dotted
    cdef int half = 4 * (8 - count)
    cdef double number
    head ^= <u64>0x3030303030303030
    head = without(head, place) if dotted else head
    head = (head << half) << half
    if count == 0 or not all_digits(head):
        return False
    number = <double><long long>join_digits(head) / TENS[length - place - 1 if dotted else 0]
    value[0] = -number if negative else number
    return True


cdef inline const unsigned char* short_number_below(
    const unsigned char* p, unsigned char limit, double* value
) noexcept nogil:
    """``short_number`` that ends at any byte below ``limit``, a constant of at most "-"."""
    cdef bint negative = p[0] == c'-'
    cdef u64 head, tail, ends, dots
    cdef u64 limits = <u64>0x0101010101010101 * limit
    cdef int length, place, count, half
    cdef bint dotted
    cdef double number
    head = load_text(p)
    # The lowest byte below the limit ends the token.
    ends = (head - limits) & ~head & <u64>0x8080808080808080
    dots = zero_bytes(head ^ <u64>0x2E2E2E2E2E2E2E2E)
    length = trailing_zeros(ends) >> 3 if ends else 8
    # The rest depends on this length only, so the sign is removed independently of it.
    if p[length] < limit:
        if word_number(head >> (8 * negative), dots >> (8 * negative), length - negative, negative, value):
            return p + length
        return NULL
    if negative:
        p += 1
        head = load_text(p)
        dots = zero_bytes(head ^ <u64>0x2E2E2E2E2E2E2E2E)
        if p[8] < limit:
            return p + 8 if word_number(head, dots, 8, True, value) else NULL
    tail = load_text(p + 8)
    ends = (tail - limits) & ~tail & <u64>0x8080808080808080
    length = 8 + (trailing_zeros(ends) >> 3 if ends else 8)
    if ends == 0 and p[16] >= limit:
        return NULL
    place = length
    dotted = True
    if dots:
        place = trailing_zeros(dots) >> 3
        head = without(head, place) | tail << 56
        tail >>= 8
    else:
        dots = zero_bytes(tail ^ <u64>0x2E2E2E2E2E2E2E2E)
        place = 8 + (trailing_zeros(dots | <u64>0x8000000000000000) >> 3)
        dotted = (dots != 0) & (place < length)
        tail = without(tail, place - 8) if dotted else tail
    count = length - dotted - 8
    half = 4 * (8 - count)
    tail ^= <u64>0x3030303030303030
    tail = (tail << half) << half
    head ^= <u64>0x3030303030303030
    if not (all_digits(head) and all_digits(tail)):
        return NULL
    head = join_digits(head) * WHOLE_TENS[count] + join_digits(tail)
    if head > <u64>0x20000000000000:
        return NULL
    number = <double><long long>head / TENS[length - place - 1 if dotted else 0]
    value[0] = -number if negative else number
    return p + length


cdef inline const unsigned char* short_number(const unsigned char* p, double* value) noexcept nogil:
    """A plain decimal of up to 16 characters that ends at a blank or a control character.

    Returns the place after it, or NULL if it is not of this form (another way may read it).
    """
    return short_number_below(p, c'!', value)


cdef inline double eisel_lemire(u64 w, long long q) noexcept nogil:
    """w * 10^q rounded to the nearest float, w not 0, -342 <= q <= 308."""
    cdef int shift = leading_zeros(w)
    cdef u64 low, high, more_low, more_high, mantissa
    cdef int upper
    cdef long long power
    cdef Py_ssize_t at = 2 * (q + 342)
    w <<= shift
    high = multiply(w, POWERS[at], &low)
    if (high & 0x1FF) == 0x1FF:
        more_high = multiply(w, POWERS[at + 1], &more_low)
        low += more_high
        if more_high > low:
            high += 1
    upper = <int>(high >> 63)
    mantissa = high >> (upper + 9)
    power = (((152170 + 65536) * q) >> 16) + 63 + upper - shift + 1023
    if power <= 0:  # subnormal: no such number is exactly between two floats
        if power <= -63:
            return 0.0
        mantissa >>= 1 - power
        return from_bits((mantissa + (mantissa & 1)) >> 1)
    if low <= 1 and -4 <= q <= 23 and (mantissa & 3) == 1 and (mantissa << (upper + 9)) == high:
        mantissa &= ~<u64>1  # exactly between two floats: round to even
    mantissa += mantissa & 1
    mantissa >>= 1
    if mantissa >= <u64>0x20000000000000:
        mantissa = <u64>0x10000000000000
        power += 1
    if power >= 2047:
        return INFINITY
    return from_bits((mantissa & <u64>0xFFFFFFFFFFFFF) | <u64>power << 52)


cdef inline void times(Whole* x, unsigned int factor, unsigned int more) noexcept nogil:
    """x = x * factor + more."""
    cdef u64 carry = more
    cdef int i
    for i in range(x.n):
        carry += <u64>x.words[i] * factor
        x.words[i] = <unsigned int>(carry & <u64>0xFFFFFFFF)
        carry >>= 32
    if carry:
        x.words[x.n] = <unsigned int>carry
        x.n += 1


cdef inline void times_power(Whole* x, unsigned int base, long long power) noexcept nogil:
    """x = x * base^power, base 2 or 10; x stays as it is if the power is not positive."""
    while power >= 9:
        times(x, 1000000000 if base == 10 else 512, 0)
        power -= 9
    while power > 0:
        times(x, base, 0)
        power -= 1


cdef inline int compared(const Whole* x, const Whole* y) noexcept nogil:
    """1 if x is larger, -1 if y is, 0 if they are equal."""
    cdef int i
    if x.n != y.n:
        return 1 if x.n > y.n else -1
    for i in range(x.n - 1, -1, -1):
        if x.words[i] != y.words[i]:
            return 1 if x.words[i] > y.words[i] else -1
    return 0


cdef inline double exact(u64 w, long long q, const unsigned char* p) noexcept nogil:
    """The number that p spells, w * 10^q with the digits after those of w, -342 <= q <= 308, w not 0.

    It is the float of its first 19 digits or the one above: the side of their middle on which it is decides.
    """
    cdef Whole text, middle
    cdef u64 bits
    cdef int n = 0
    cdef int known = 0  # digits of w
    cdef u64 left = w
    cdef bint more = False
    cdef double below
    cdef int power, i
    while left:
        left //= 10
        known += 1
    text.n = 0
    q += known
    while c'0' <= p[0] <= c'9' or p[0] == c'.':
        if p[0] != c'.' and (n or p[0] != c'0'):
            if n == DIGITS:
                more = more or p[0] != c'0'
            else:
                times(&text, 10, p[0] - c'0')
                if known <= n < 19:
                    w = w * 10 + (p[0] - c'0')
                    known += 1
                n += 1
        p += 1
    below = eisel_lemire(w, q - known) if q - known >= -342 else 0.0
    if below == INFINITY:
        return below
    bits = bits_of(below)
    power = max(<int>(bits >> 52), 1) - 1076  # of two, of the middle
    bits = (bits & <u64>0xFFFFFFFFFFFFF) | (<u64>(bits >> 52 != 0) << 52)
    bits = 2 * bits + 1
    middle.words[0] = <unsigned int>(bits & <u64>0xFFFFFFFF)
    middle.words[1] = <unsigned int>(bits >> 32)
    middle.n = 2 if bits >> 32 else 1
    times_power(&text, 10, q - n)
    times_power(&middle, 10, n - q)
    times_power(&text, 2, -power)
    times_power(&middle, 2, power)
    i = compared(&text, &middle)
    if i > 0 or (i == 0 and (more or bits & 2)):
        return from_bits(bits_of(below) + 1)
    return below


cdef inline double scaled(u64 w, long long q, bint longer, const unsigned char* start) noexcept nogil:
    """w * 10^q; ``longer``: digits after w's were cut off. start is the unsigned text."""
    cdef double value
    if w == 0 or q < -342:
        return 0.0
    if not longer and w <= <u64>0x20000000000000:
        if 0 <= q <= 22:
            # w * 10^q with both exact: one rounding.
            return <double><long long>w * TENS[q]
        if -22 <= q < 0:
            return <double><long long>w / TENS[-q]
    if q > 308:
        return INFINITY
    value = eisel_lemire(w, q)
    return exact(w, q, start) if longer and value != eisel_lemire(w + 1, q) else value


cdef struct Digits:
    u64 w  # the first 19 digits from the first that is not 0 on
    long long q  # of the power of ten that multiplies it
    int kept  # digits of w
    bint longer  # whether digits after them were cut off


cdef inline const unsigned char* digits(
    const unsigned char* p, bint fraction, Digits* d
) noexcept nogil:
    """Read the digits at ``p``, of the whole part or of the fraction; return the place after them."""
    cdef u64 word
    while c'0' <= p[0] <= c'9':
        word = load_text(p) ^ <u64>0x3030303030303030
        if fraction and d.kept <= 11 and all_digits(word):
            d.w = d.w * 100000000 + join_digits(word)
            d.kept += 8 if d.w else 0
            d.q -= 8
            p += 8
            continue
        if d.kept < 19:
            d.w = d.w * 10 + (p[0] - c'0')
            d.kept += d.w != 0
            d.q -= fraction
        else:
            d.longer = d.longer or p[0] != c'0'
            d.q += not fraction
        p += 1
    return p


cdef inline const unsigned char* exponent(const unsigned char* p, Digits* d) noexcept nogil:
    """Read the exponent at ``p``; return the place after it, or ``p`` if none is there."""
    cdef const unsigned char* mark = p + 1
    cdef bint minus = mark[0] == c'-'
    cdef long long power = 0
    if p[0] != c'e' and p[0] != c'E':
        return p
    if minus or mark[0] == c'+':
        mark += 1
    if not c'0' <= mark[0] <= c'9':
        return p
    while c'0' <= mark[0] <= c'9':
        if power < 1000000000:
            power = power * 10 + (mark[0] - c'0')
        mark += 1
    d.q += -power if minus else power
    return mark


cdef inline const unsigned char* long_number(const unsigned char* p, double* value) noexcept nogil:
    """Any decimal number: sign, digits with or without a point, exponent.

    Returns the place after it (a number may be a prefix of the token), or NULL if none starts here.
    The value is infinite if it is too large.
    """
    cdef bint negative = p[0] == c'-'
    cdef const unsigned char* start
    cdef Digits d = Digits(0, 0, 0, False)
    if negative or p[0] == c'+':
        p += 1
    start = p
    p = digits(p, False, &d)
    if p[0] == c'.':
        p = digits(p + 1, True, &d)
        if p == start + 1:
            return NULL
    if p == start:
        return NULL
    p = exponent(p, &d)
    value[0] = scaled(d.w, d.q, d.longer, start)
    if negative:
        value[0] = -value[0]
    return p


cdef inline const unsigned char* number(const unsigned char* p, double* value) noexcept nogil:
    """Read the number at ``p``; return the place after it, or NULL if there is none."""
    cdef const unsigned char* end = short_number(p, value)
    return end if end != NULL else long_number(p, value)
