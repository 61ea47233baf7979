"""The bytes of a SVMlight/LETOR file to arrays: ``label qid:ID index:value ... # comment``.

A kernel reads whole lines (each ends in a newline) of a part of the file; 32 bytes behind the part
must be readable. It writes rows of arrays that are already in place, so that parts can be read by
threads side by side. At the first bad line it stops and returns a code of FAULTS and where; words are
made of that in Python. Blanks are space, tab and carriage return; ``#`` starts a comment anywhere.

``spans`` int64 (n_rows, 4), a row of which says where in the file a qid lies that differs from the
line before (start, or -1 for the same one; length) and where the item's id (start, length).
"""

from libc.math cimport NAN
from libc.string cimport memchr, memcmp, memcpy

from rerank.native._number cimport (
    all_digits,
    join_digits,
    load_text,
    load_word,
    long_number,
    number,
    short_number,
    trailing_zeros,
    u64,
    zero_bytes,
)

ctypedef fused real:
    float
    double

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

FAULTS = ("none", "label", "qid", "no qid", "feature", "twice", "nul", "not ones", "changed")

cdef long long LARGEST_INDEX = 2147483647
cdef double FLOAT32_END = 3.4028235677973362e+38  # the largest float64 that rounds to a finite float32
cdef double FLOAT64_END = 1.7976931348623157e308

cdef struct Place:
    const unsigned char* text  # start of the part
    const unsigned char* stop  # its end
    long long origin  # offset of the part in the file
    bint has_qid
    const unsigned char* p  # where reading stands
    const unsigned char* qid  # qid of the line before
    Py_ssize_t qid_length
    Fault fault
    long long detail


cdef inline bint is_blank(unsigned char c) noexcept nogil:
    return c == c' ' or c == c'\t' or c == c'\r'


cdef inline bint ends_token(unsigned char c) noexcept nogil:
    return is_blank(c) or c == c'\n' or c == c'#'


cdef inline const unsigned char* line_end(const unsigned char* p, const unsigned char* stop) noexcept nogil:
    return <const unsigned char*>memchr(p, c'\n', stop - p)


cdef inline bint failed(Place* at, Fault fault, const unsigned char* p) noexcept nogil:
    """Note a fault at ``p``; True."""
    at.fault = fault
    at.p = p
    return True


cdef bint next_item(Place* at) noexcept nogil:
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
                failed(at, NUL, <const unsigned char*>nul)
                return False
            p = end + 1
        else:
            at.p = p
            return True
    at.p = p
    return False


cdef inline bint starts_qid(const unsigned char* p) noexcept nogil:
    return p[0] == c'q' and p[1] == c'i' and p[2] == c'd' and p[3] == c':'


cdef bint read_head(Place* at, double* label, long long* span) noexcept nogil:
    """Label and qid of the item line at ``at.p``; False at a fault, else at.p is behind them."""
    cdef const unsigned char* start = at.p
    cdef const unsigned char* p = number(start, label)
    if p == NULL or not ends_token(p[0]) or not -FLOAT64_END <= label[0] <= FLOAT64_END:
        return not failed(at, LABEL, start)
    span[0] = -1
    if not at.has_qid:
        at.p = p
        return True
    while is_blank(p[0]):
        p += 1
    if not starts_qid(p):
        return not failed(at, NO_QID, p)
    start = p + 4
    p = start
    while p[0] > 32 and p[0] != c'#':
        p += 1
    if p == start or not ends_token(p[0]):
        return not failed(at, QID, start - 4)
    if p - start != at.qid_length or memcmp(start, at.qid, p - start) != 0:
        span[0] = start - at.text + at.origin
        span[1] = p - start
        at.qid = start
        at.qid_length = p - start
    at.p = p
    return True


cdef bint read_comment(Place* at, long long* span) noexcept nogil:
    """The item id in the comment at ``at.p`` (or the line's end); then at.p is behind the line."""
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
        return not failed(at, NUL, <const unsigned char*>nul)
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
    """A whole number up to int32 and its colon: the place behind them, or NULL."""
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
    """A number within -largest..largest: the place behind it, or NULL."""
    cdef const unsigned char* end = short_number(p, value)
    if end != NULL:
        return end
    end = long_number(p, value)
    return end if end != NULL and -largest <= value[0] <= largest else NULL


def scan(const unsigned char[::1] text, int first, bint count_values):
    """How many item lines, values (0 unless asked for), and columns, going by each line's last index.

    IN text (n_bytes), whole lines; first = index of column 0. Lines and values are exact where the
    lines are well formed, columns where indices rise too.
    """
    cdef const unsigned char* p = &text[0]
    cdef const unsigned char* stop = p + text.shape[0]
    cdef const unsigned char* end
    cdef const unsigned char* q
    cdef long long n_rows = 0
    cdef long long n_values = 0
    cdef long long widest = 0
    cdef long long index
    with nogil:
        while p < stop:
            while is_blank(p[0]):
                p += 1
            end = line_end(p, stop)
            if p != end and p[0] != c'#':
                n_rows += 1
                q = <const unsigned char*>memchr(p, c'#', end - p)
                q = end if q == NULL else q
                if count_values:
                    n_values += count_colons(p, q)
                while q > p and q[0] != c':':
                    q -= 1
                while q > p and c'0' <= (q - 1)[0] <= c'9':
                    q -= 1
                if read_index(q, &index) != NULL:
                    widest = max(widest, index - first + 1)
            p = end + 1
    return n_rows, n_values, widest


cdef long long count_colons(const unsigned char* p, const unsigned char* end) noexcept nogil:
    """Colons of a line behind its label and qid."""
    cdef long long total = 0
    cdef unsigned char some
    cdef Py_ssize_t i
    cdef Py_ssize_t n
    while p < end and not is_blank(p[0]):
        p += 1
    while p < end and is_blank(p[0]):
        p += 1
    if end - p >= 4 and starts_qid(p):
        while p < end and not is_blank(p[0]):
            p += 1
    while p < end:
        n = min(end - p, 255)
        some = 0
        for i in range(n):
            some += p[i] == c':'
        total += some
        p += n
    return total


def parse_dense(
    const unsigned char[::1] text,
    long long origin,
    bint has_qid,
    int first,
    double fill,
    const unsigned long long[:, ::1] steps,
    real[:, ::1] X,
    double[::1] labels,
    long long[:, ::1] spans,
):
    """Read item lines into rows of a dense array.

    IN text (n_bytes), at ``origin`` in the file; first = index of column 0; fill = value of absent
    features; steps (n_steps, 3), the bytes " INDEX:" of the leading columns as a word, its mask and
    length; OUT X (n_rows, n_features), labels (n_rows), spans (n_rows, 4).
    Returns (fault, place in text, detail, values read, columns needed). More columns than X has say
    that X holds nothing of use.
    """
    cdef Place at
    cdef Py_ssize_t n_rows = X.shape[0]
    cdef Py_ssize_t width = X.shape[1]
    cdef Py_ssize_t row = 0
    cdef long long n_values = 0
    cdef long long widest = 0
    cdef real nothing = 0
    cdef real* values
    cdef const unsigned char* line
    begin(&at, text, origin, has_qid)
    with nogil:
        while next_item(&at):
            if row == n_rows:
                failed(&at, CHANGED, at.p)
                break
            if not read_head(&at, &labels[row], &spans[row, 0]):
                break
            line = at.p
            values = &X[row, 0] if width else &nothing
            if not dense_row(&at, values, width, first, fill, steps, &n_values, &widest):
                if at.fault != TWICE:
                    break
                at.p = line
                if not unsorted_row(&at, values, width, first, fill, &n_values, &widest):
                    break
            if not read_comment(&at, &spans[row, 0]):
                break
            row += 1
        if at.fault == NONE and row != n_rows:
            failed(&at, CHANGED, at.p)
    return at.fault, at.p - at.text, at.detail, n_values, widest


cdef inline bint dense_row(
    Place* at,
    real* row,
    Py_ssize_t width,
    int first,
    double fill,
    const unsigned long long[:, ::1] steps,
    long long* n_values,
    long long* widest,
) noexcept nogil:
    """Features in rising order; False at a fault, TWICE where the order is another one."""
    cdef const unsigned char* p = at.p
    cdef const unsigned char* token = p
    cdef Py_ssize_t n_steps = steps.shape[0]
    cdef Py_ssize_t column = 0
    cdef Py_ssize_t absent = 0
    cdef long long index = 0
    cdef double value = 0.0
    cdef double largest = FLOAT32_END if real is float else FLOAT64_END
    while True:
        # Most files name every feature in order: compare with the bytes that would come next.
        if column < n_steps and (load_word(p) & steps[column, 1]) == steps[column, 0]:
            token = p + 1
            p += steps[column, 2]
            index = column
        else:
            if not ends_token(p[0]):
                return not failed(at, FEATURE, token)
            while is_blank(p[0]):
                p += 1
            if p[0] == c'\n' or p[0] == c'#':
                break
            token = p
            p = read_index(p, &index)
            if p == NULL or index < first:
                return not failed(at, FEATURE, token)
            index -= first
        p = read_value(p, &value, largest)
        if p == NULL:
            return not failed(at, FEATURE, token)
        if index < column:
            return not failed(at, TWICE, token)
        if index >= width:
            widest[0] = max(widest[0], index + 1)
            continue
        while column < index:
            row[column] = <real>fill
            column += 1
            absent += 1
        row[column] = <real>value
        column += 1
    widest[0] = max(widest[0], column)
    absent += width - column
    while column < width:
        row[column] = <real>fill
        column += 1
    n_values[0] += width - absent
    at.p = p
    return True


cdef bint unsorted_row(
    Place* at,
    real* row,
    Py_ssize_t width,
    int first,
    double fill,
    long long* n_values,
    long long* widest,
) noexcept nogil:
    """Features in any order, each once; False at a fault. NaN, which no number is, marks what is free."""
    cdef const unsigned char* p = at.p
    cdef const unsigned char* token = p
    cdef Py_ssize_t column
    cdef long long index = 0
    cdef double value = 0.0
    cdef double largest = FLOAT32_END if real is float else FLOAT64_END
    at.fault = NONE
    for column in range(width):
        row[column] = <real>NAN
    while next_feature(&p, &token, first, &index):
        p = read_value(p, &value, largest)
        if p == NULL:
            break
        index -= first
        widest[0] = max(widest[0], index + 1)
        if index < width:
            if row[index] == row[index]:
                at.detail = index + first
                return not failed(at, TWICE, token)
            row[index] = <real>value
            n_values[0] += 1
    if p == NULL:
        return not failed(at, FEATURE, token)
    for column in range(width):
        if row[column] != row[column]:
            row[column] = <real>fill
    at.p = p
    return True


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


def parse_sparse(
    const unsigned char[::1] text,
    long long origin,
    bint has_qid,
    int first,
    long long[::1] indptr,
    int[::1] indices,
    double[::1] data,
    double[::1] labels,
    long long[:, ::1] spans,
):
    """Read item lines into compressed rows; data None = stop at the first value that is not 1.

    IN text (n_bytes), at ``origin`` in the file; first = index of column 0; OUT indptr (n_rows), where
    each row ends in indices; indices, data (n_values), columns rising in a row; labels (n_rows), spans
    (n_rows, 4). Returns (fault, place in text, detail, values read, columns needed).
    """
    cdef Place at
    cdef Py_ssize_t n_rows = labels.shape[0]
    cdef Py_ssize_t room = indices.shape[0]
    cdef Py_ssize_t row = 0
    cdef long long filled = 0
    cdef long long widest = 0
    cdef int no_index = 0
    cdef int* columns = &indices[0] if room else &no_index
    cdef double* values = &data[0] if data is not None and room else NULL
    cdef bint ones = data is None
    begin(&at, text, origin, has_qid)
    with nogil:
        while next_item(&at):
            if row == n_rows:
                failed(&at, CHANGED, at.p)
                break
            if not read_head(&at, &labels[row], &spans[row, 0]):
                break
            if not sparse_row(&at, columns, values, ones, room, first, &filled, &widest):
                break
            if not read_comment(&at, &spans[row, 0]):
                break
            indptr[row] = filled
            row += 1
        if at.fault == NONE and (row != n_rows or filled != room):
            failed(&at, CHANGED, at.p)
    return at.fault, at.p - at.text, at.detail, filled, widest


cdef bint sparse_row(
    Place* at,
    int* columns,
    double* values,
    bint ones,
    Py_ssize_t room,
    int first,
    long long* filled,
    long long* widest,
) noexcept nogil:
    """One row's features from filled[0] on; False at a fault."""
    cdef const unsigned char* p = at.p
    cdef const unsigned char* line = p
    cdef const unsigned char* token = p
    cdef long long start = filled[0]
    cdef long long end = start
    cdef long long index = 0
    cdef long long last = -1
    cdef long long i
    cdef double value = 0.0
    cdef bint rising = True
    while next_feature(&p, &token, first, &index):
        if ones and p[0] == c'1' and (p[1] == c' ' or p[1] == c'\n'):
            p += 1
        else:
            p = read_value(p, &value, FLOAT64_END)
            if p == NULL:
                break
            if ones and value != 1.0:
                return not failed(at, NOT_ONES, token)
        if end == room:
            return not failed(at, CHANGED, token)
        index -= first
        columns[end] = <int>index
        if not ones:
            values[end] = value
        rising &= index > last
        last = index
        end += 1
    if not rising:
        sort_row(columns + start, NULL if ones else values + start, end - start)
        for i in range(start + 1, end):
            if columns[i] == columns[i - 1]:
                at.detail = columns[i] + first
                return not failed(at, TWICE, line)
    if p == NULL:
        return not failed(at, FEATURE, token)
    if end > start:
        widest[0] = max(widest[0], columns[end - 1] + <long long>1)
    filled[0] = end
    at.p = p
    return True


cdef void sort_row(int* keys, double* values, Py_ssize_t n) noexcept nogil:
    """Heap sort of keys, with their values where these are not NULL: no memory, no bad case."""
    cdef Py_ssize_t start = n // 2
    cdef Py_ssize_t end = n
    cdef Py_ssize_t root
    cdef Py_ssize_t child
    cdef int key
    cdef double value = 0.0
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            swap(keys, values, 0, end)
        root = start
        key = keys[root]
        if values != NULL:
            value = values[root]
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and keys[child] < keys[child + 1]:
                child += 1
            if key >= keys[child]:
                break
            keys[root] = keys[child]
            if values != NULL:
                values[root] = values[child]
            root = child
            child = 2 * root + 1
        keys[root] = key
        if values != NULL:
            values[root] = value


cdef inline void swap(int* keys, double* values, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    cdef int key = keys[i]
    cdef double value
    keys[i] = keys[j]
    keys[j] = key
    if values != NULL:
        value = values[i]
        values[i] = values[j]
        values[j] = value


cdef void begin(Place* at, const unsigned char[::1] text, long long origin, bint has_qid) noexcept:
    at.text = &text[0]
    at.stop = at.text + text.shape[0]
    at.p = at.text
    at.origin = origin
    at.has_qid = has_qid
    at.qid = at.text
    at.qid_length = 0
    at.fault = NONE
    at.detail = 0


def gather(
    const unsigned char[::1] text,
    const long long[:, ::1] spans,
    const long long[::1] offsets,
    unsigned char[::1] out,
):
    """OUT out[offsets[i]:offsets[i + 1]] = the item id of line i.

    IN text, the whole file; spans (n_rows, 4); offsets (n_rows + 1); OUT out (offsets[n_rows]).
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(spans.shape[0]):
            if spans[i, 3]:
                memcpy(&out[offsets[i]], &text[spans[i, 2]], spans[i, 3])
