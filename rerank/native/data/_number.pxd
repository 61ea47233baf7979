"""Decimal text to float64, equal to strtod in every bit, independently of the locale.

Three ways, each exact. Up to 16 characters are gathered eight at a time in a machine word and divided
by a power of ten (one rounding, as both are exact below 2^53). Other numbers of up to 19 digits take Eisel
and Lemire's product with a 128-bit power of five (Lemire, Number Parsing at a Gigabyte per Second, 2021);
the rest (subnormals, longer ones between two floats) goes to Python's own strtod.

``number`` may read 16 bytes from its start, so 16 bytes beyond the last number must be readable.
"""

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
    static inline double rerank_bits(rerank_u64 bits) {
        double value;
        memcpy(&value, &bits, 8);
        return value;
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
    double from_bits "rerank_bits"(u64 bits) noexcept nogil
    const double* TENS "rerank_tens"
    const u64* WHOLE_TENS "rerank_whole_tens"

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* s, char** end, void* overflow) except? -1.0

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
    cdef u64 head
    cdef u64 tail
    cdef u64 ends
    cdef u64 dots
    cdef u64 limits = <u64>0x0101010101010101 * limit
    cdef int length
    cdef int place
    cdef int count
    cdef int half
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


cdef inline bint eisel_lemire(u64 w, long long q, double* value) noexcept nogil:
    """w * 10^q rounded to the nearest float, w not 0, -342 <= q <= 308; False if this way cannot decide."""
    cdef int shift = leading_zeros(w)
    cdef u64 low
    cdef u64 high
    cdef u64 more_low
    cdef u64 more_high
    cdef u64 mantissa
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
    if low == <u64>0xFFFFFFFFFFFFFFFF and (q < -27 or q > 55):
        return False
    upper = <int>(high >> 63)
    mantissa = high >> (upper + 9)
    power = (((152170 + 65536) * q) >> 16) + 63 + upper - shift + 1023
    if power <= 0 or power >= 2046:
        return False  # subnormal or near overflow: rare, left to strtod
    if low <= 1 and -4 <= q <= 23 and (mantissa & 3) == 1 and (mantissa << (upper + 9)) == high:
        mantissa &= ~<u64>1  # exactly between two floats: round to even
    mantissa += mantissa & 1
    mantissa >>= 1
    if mantissa >= <u64>0x20000000000000:
        mantissa = <u64>0x10000000000000
        power += 1
    value[0] = from_bits((mantissa & <u64>0xFFFFFFFFFFFFF) | <u64>power << 52)
    return True


cdef inline double by_strtod(const unsigned char* start, const unsigned char* end) noexcept nogil:
    """The number that these bytes spell, by Python's float(); infinite if too large."""
    with gil:
        token = (<const char*>start)[:end - start]
        return PyOS_string_to_double(token, NULL, NULL)


cdef inline double scaled(
    u64 w, long long q, bint longer, const unsigned char* start, const unsigned char* end
) noexcept nogil:
    """w * 10^q; ``longer``: digits after w's 19 were cut off. start:end is the unsigned text."""
    cdef double value
    cdef double above
    if w == 0:
        return 0.0
    if not longer and w <= <u64>0x20000000000000:
        if 0 <= q <= 22:
            # w * 10^q with both exact: one rounding.
            return <double><long long>w * TENS[q]
        if -22 <= q < 0:
            return <double><long long>w / TENS[-q]
    if -342 <= q <= 308 and eisel_lemire(w, q, &value):
        if not longer or (eisel_lemire(w + 1, q, &above) and value == above):
            return value
    return by_strtod(start, end)


cdef inline const unsigned char* long_number(const unsigned char* p, double* value) noexcept nogil:
    """Any decimal number: sign, digits with or without a point, exponent.

    Returns the place after it (a number may be a prefix of the token), or NULL if none starts here.
    The value is infinite if it is too large.
    """
    cdef bint negative = p[0] == c'-'
    cdef const unsigned char* start
    cdef const unsigned char* mark
    cdef u64 w = 0
    cdef u64 word
    cdef int kept = 0
    cdef bint any_digit = False
    cdef bint longer = False
    cdef bint fraction = False
    cdef bint minus
    cdef long long q = 0
    cdef long long exponent = 0
    if negative or p[0] == c'+':
        p += 1
    start = p
    while True:
        if c'0' <= p[0] <= c'9':
            any_digit = True
            word = load_text(p) ^ <u64>0x3030303030303030
            if fraction and kept <= 11 and all_digits(word):
                w = w * 100000000 + join_digits(word)
                kept += 8 if w else 0
                q -= 8
                p += 8
                continue
            if kept < 19:
                w = w * 10 + (p[0] - c'0')
                kept += w != 0
                q -= fraction
            else:
                longer = longer or p[0] != c'0'
                q += not fraction
            p += 1
        elif p[0] == c'.' and not fraction:
            fraction = True
            p += 1
        else:
            break
    if not any_digit:
        return NULL
    if p[0] == c'e' or p[0] == c'E':
        mark = p + 1
        minus = mark[0] == c'-'
        if minus or mark[0] == c'+':
            mark += 1
        if c'0' <= mark[0] <= c'9':
            while c'0' <= mark[0] <= c'9':
                if exponent < 1000000000:
                    exponent = exponent * 10 + (mark[0] - c'0')
                mark += 1
            q += -exponent if minus else exponent
            p = mark
    value[0] = scaled(w, q, longer, start, p)
    if negative:
        value[0] = -value[0]
    return p


cdef inline const unsigned char* number(const unsigned char* p, double* value) noexcept nogil:
    """Read the number at ``p``; return the place after it, or NULL if there is none."""
    cdef const unsigned char* end = short_number(p, value)
    return end if end != NULL else long_number(p, value)
