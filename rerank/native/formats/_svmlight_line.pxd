"""One line of a SVMlight/LETOR file, ``label qid:ID index:value ... # comment``, piece by piece.

Shared by the kernels of both layouts. Blanks are space, tab and carriage return; ``#`` starts a
comment anywhere. Lines end in a newline; 32 bytes after the last one must be readable.
"""

from libc.string cimport memchr, memcmp

from rerank.native.data._number cimport (
    all_digits, join_digits, load_text, long_number, number, short_number, trailing_zeros, u64, zero_bytes,
)
from rerank.native.formats._lines cimport FLOAT64_END, is_blank

cdef extern from *:
    """
    #define RERANK_LARGEST_INDEX 2147483647LL
    """
    const long long LARGEST_INDEX "RERANK_LARGEST_INDEX"

cdef enum Fault:
    NONE
    LABEL
    QID
    NO_QID
    FEATURE
    TWICE
    NUL
    NOT_ONES
    CHANGED


cdef struct Place:
    const unsigned char* text  # start of the part
    const unsigned char* stop  # its end
    long long origin  # offset of the part in the file
    bint has_qid
    const unsigned char* p  # the place of reading
    const unsigned char* qid  # qid of the previous line
    Py_ssize_t qid_length
    Fault fault
    long long detail


cdef inline bint ends_token(unsigned char c) noexcept nogil:
    return is_blank(c) or c == c'\n' or c == c'#'


cdef inline const unsigned char* line_end(const unsigned char* p, const unsigned char* stop) noexcept nogil:
    return <const unsigned char*>memchr(p, c'\n', stop - p)


cdef inline bint failed(Place* at, Fault fault, const unsigned char* p) noexcept nogil:
    """Note a fault at ``p``; False."""
    at.fault = fault
    at.p = p
    return False


cdef inline bint next_item(Place* at) noexcept nogil:
    """Move to the next line that is neither blank nor a comment; False at the end or at a fault."""
    cdef const unsigned char* p = at.p
    cdef const unsigned char* end
    cdef const void* nul
    while p < at.stop:
        if is_blank(p[0]) or p[0] == c'\n':
            p += 1
        elif p[0] == c'#':
            end = line_end(p, at.stop)
            nul = memchr(p, 0, end - p)
            if nul != NULL:
                return failed(at, NUL, <const unsigned char*>nul)
            p = end + 1
        else:
            at.p = p
            return True
    at.p = p
    return False


cdef inline bint starts_qid(const unsigned char* p) noexcept nogil:
    return p[0] == c'q' and p[1] == c'i' and p[2] == c'd' and p[3] == c':'


cdef inline bint read_head(Place* at, double* label, long long* span) noexcept nogil:
    """Label and qid of the item line at ``at.p``; False at a fault, else at.p is after them."""
    cdef const unsigned char* start = at.p
    cdef const unsigned char* p = number(start, label)
    if p == NULL or not ends_token(p[0]) or not -FLOAT64_END <= label[0] <= FLOAT64_END:
        return failed(at, LABEL, start)
    span[0] = -1
    if not at.has_qid:
        at.p = p
        return True
    while is_blank(p[0]):
        p += 1
    if not starts_qid(p):
        return failed(at, NO_QID, p)
    start = p + 4
    p = start
    while p[0] > 32 and p[0] != c'#':
        p += 1
    if p == start or not ends_token(p[0]):
        return failed(at, QID, start - 4)
    if p - start != at.qid_length or memcmp(start, at.qid, p - start) != 0:
        span[0] = start - at.text + at.origin
        span[1] = p - start
        at.qid = start
        at.qid_length = p - start
    at.p = p
    return True


cdef inline bint next_row(Place* at, double* label, long long* span) noexcept nogil:
    """Move to the next item line and read its label and qid; False at the end or at a fault.

    label: NULL if there is no row left.
    """
    if not next_item(at):
        return False
    if label == NULL:
        return failed(at, CHANGED, at.p)
    return read_head(at, label, span)


cdef inline bint read_comment(Place* at, long long* span) noexcept nogil:
    """The item id in the comment at ``at.p`` (or the line's end); then at.p is after the line."""
    cdef const unsigned char* p = at.p
    cdef const unsigned char* end
    cdef const unsigned char* last
    cdef const unsigned char* name
    cdef const void* nul
    span[2] = 0
    span[3] = 0
    if p[0] == c'\n':
        at.p = p + 1
        return True
    p += 1
    end = line_end(p, at.stop)
    nul = memchr(p, 0, end - p)
    if nul != NULL:
        return failed(at, NUL, <const unsigned char*>nul)
    at.p = end + 1
    while is_blank(p[0]):
        p += 1
    last = end
    while last > p and is_blank((last - 1)[0]):
        last -= 1
    if last - p > 6 and memcmp(p, <const char*>b"docid", 5) == 0:
        name = p + 5
        while is_blank(name[0]):
            name += 1
        if name[0] == c'=':
            name += 1
            while is_blank(name[0]):
                name += 1
            if name < last:
                p = name
                while name < last and not is_blank(name[0]):
                    name += 1
                last = name
    span[2] = p - at.text + at.origin
    span[3] = max(last - p, 0)
    return True


cdef inline const unsigned char* read_index(const unsigned char* p, long long* index) noexcept nogil:
    """A whole number up to int32 and its colon: returns the place after them, or NULL."""
    cdef u64 word = load_text(p)
    cdef u64 colon = zero_bytes(word ^ <u64>0x3A3A3A3A3A3A3A3A)
    cdef int length = trailing_zeros(colon) >> 3 if colon else 8
    cdef int half = 4 * (8 - length)
    cdef long long value = 0
    word = ((word ^ <u64>0x3030303030303030) << half) << half
    if 0 < length < 8 and all_digits(word):
        index[0] = <long long>join_digits(word)
        return p + length + 1
    if not c'0' <= p[0] <= c'9':
        return NULL
    while c'0' <= p[0] <= c'9':
        value = value * 10 + (p[0] - c'0')
        if value > LARGEST_INDEX:
            return NULL
        p += 1
    index[0] = value
    return p + 1 if p[0] == c':' else NULL


cdef inline const unsigned char* read_value(
    const unsigned char* p, double* value, double largest
) noexcept nogil:
    """A number within -largest..largest: returns the place after it, or NULL."""
    cdef const unsigned char* end = short_number(p, value)
    if end != NULL:
        return end
    end = long_number(p, value)
    return end if end != NULL and -largest <= value[0] <= largest else NULL


cdef inline const unsigned char* read_missing(const unsigned char* p) noexcept nogil:
    """NULL or NaN, in any case, as a value: returns the place after it, or NULL."""
    cdef bint nan = (p[1] | 32) == c'a' and (p[2] | 32) == c'n'
    cdef bint null = (p[1] | 32) == c'u' and (p[2] | 32) == c'l' and (p[3] | 32) == c'l'
    cdef const unsigned char* end = p + 3 + null
    return end if (p[0] | 32) == c'n' and (nan or null) and ends_token(end[0]) else NULL


cdef inline bint next_feature(
    const unsigned char** place, const unsigned char** token, int first, long long* index
) noexcept nogil:
    """Move over blanks and "index:"; False at the end of the features, with place NULL at a fault."""
    cdef const unsigned char* p = place[0]
    if not ends_token(p[0]):
        place[0] = NULL
        return False
    while is_blank(p[0]):
        p += 1
    place[0] = p
    if p[0] == c'\n' or p[0] == c'#':
        return False
    token[0] = p
    place[0] = read_index(p, index)
    if place[0] == NULL or index[0] < first:
        place[0] = NULL
        return False
    return True


cdef inline void begin(Place* at, const unsigned char[::1] text, long long origin, bint has_qid) noexcept:
    at.text = &text[0]
    at.stop = at.text + text.shape[0]
    at.p = at.text
    at.origin = origin
    at.has_qid = has_qid
    at.qid = at.text
    at.qid_length = 0
    at.fault = NONE
    at.detail = 0
