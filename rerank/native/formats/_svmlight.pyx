"""The bytes of a SVMlight/LETOR file to arrays: ``label qid:ID index:value ... # comment``.

A kernel reads whole lines (each ends in a newline) of a part of the file; 32 bytes after the part
must be readable. It writes rows of arrays that are already in place, so that parts can be read by
several threads. At the first bad line it stops and returns a code of FAULTS and its place, which
Python puts into words. Blanks are space, tab and carriage return; ``#`` starts a comment anywhere.

``spans`` int64 (n_rows, 4), gives the place in the file of each line's qid (start, or -1 if it is that
of the previous line; length) and of the item's id (start, length).
"""

from libc.math cimport INFINITY, NAN
from libc.string cimport memchr

from rerank.native.data._number cimport load_word
from rerank.native.formats._lines cimport FLOAT32_END, FLOAT64_END, is_blank
from rerank.native.formats._svmlight_line cimport (
    CHANGED, FEATURE, NONE, TWICE, Place, begin, ends_token, failed, line_end, next_feature, next_row,
    read_comment, read_index, read_missing, read_value, starts_qid,
)

ctypedef fused real:
    float
    double

FAULTS = ("none", "label", "qid", "no qid", "feature", "twice", "nul", "not ones", "changed")


def scan(const unsigned char[::1] text, int first, bint count_values):
    """Count item lines, values (0 unless asked for), and columns, according to each line's last index.

    IN text (n_bytes), whole lines; first = index of column 0. Lines and values are exact where the
    lines are well formed, columns where indices rise too.
    """
    cdef const unsigned char* p = &text[0]
    cdef const unsigned char* stop = p + text.shape[0]
    cdef const unsigned char* end
    cdef const unsigned char* q
    cdef long long n_rows = 0, n_values = 0, widest = 0, index
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
                # A qid may contain a colon too; an index has a blank before it.
                if q > p and is_blank((q - 1)[0]) and read_index(q, &index) != NULL:
                    widest = max(widest, index - first + 1)
            p = end + 1
    return n_rows, n_values, widest


cdef long long count_colons(const unsigned char* p, const unsigned char* end) noexcept nogil:
    """Colons of a line after its label and qid."""
    cdef long long total = 0
    cdef unsigned char some
    cdef Py_ssize_t i, n
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
    const unsigned char[::1] text, long long origin, bint has_qid, int first, double fill,
    const unsigned long long[:, ::1] steps, real[:, ::1] X, double[::1] labels, long long[:, ::1] spans,
):
    """Read item lines into rows of a dense array.

    IN text (n_bytes), at ``origin`` in the file; first = index of column 0; fill = value of absent
    features: if it is NaN, values may be missing too; steps (n_steps, 3), the bytes " INDEX:" of the
    leading columns as a word, its mask and length; OUT X (n_rows, n_features), labels (n_rows), spans
    (n_rows, 4).
    Returns (fault, place in text, detail, values read, columns needed). If more columns are needed
    than X has, the content of X is meaningless.
    """
    cdef Place at
    cdef Py_ssize_t n_rows = X.shape[0], width = X.shape[1], row = 0
    cdef long long n_values = 0, widest = 0
    cdef real nothing = 0
    cdef real* values
    cdef const unsigned char* line
    begin(&at, text, origin, has_qid)
    with nogil:
        while next_row(
            &at, &labels[row] if row < n_rows else NULL, &spans[row, 0] if row < n_rows else NULL
        ):
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
    Place* at, real* row, Py_ssize_t width, int first, double fill, const unsigned long long[:, ::1] steps,
    long long* n_values, long long* widest,
) noexcept nogil:
    """Read features in rising order; False at a fault, which is TWICE for any other order."""
    cdef const unsigned char* p = at.p
    cdef const unsigned char* token = p
    cdef const unsigned char* end
    cdef Py_ssize_t n_steps = steps.shape[0]
    cdef Py_ssize_t column = 0, absent = 0
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
                return failed(at, FEATURE, token)
            while is_blank(p[0]):
                p += 1
            if p[0] == c'\n' or p[0] == c'#':
                break
            token = p
            p = read_index(p, &index)
            if p == NULL or index < first:
                return failed(at, FEATURE, token)
            index -= first
        end = read_value(p, &value, largest)
        if end == NULL:
            end = read_missing(p) if fill != fill else NULL
            value = NAN
            if end == NULL:
                return failed(at, FEATURE, token)
        p = end
        if index < column:
            return failed(at, TWICE, token)
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
    Place* at, real* row, Py_ssize_t width, int first, double fill, long long* n_values, long long* widest
) noexcept nogil:
    """Read features in any order, each once; False at a fault. Infinity marks columns that are free."""
    cdef const unsigned char* p = at.p
    cdef const unsigned char* token = p
    cdef const unsigned char* end
    cdef Py_ssize_t column
    cdef long long index = 0
    cdef double value = 0.0
    cdef double largest = FLOAT32_END if real is float else FLOAT64_END
    at.fault = NONE
    for column in range(width):
        row[column] = <real>INFINITY
    while next_feature(&p, &token, first, &index):
        end = read_value(p, &value, largest)
        if end == NULL:
            end = read_missing(p) if fill != fill else NULL
            value = NAN
        p = end
        if p == NULL:
            break
        index -= first
        widest[0] = max(widest[0], index + 1)
        if index < width:
            if row[index] != <real>INFINITY:
                at.detail = index + first
                return failed(at, TWICE, token)
            row[index] = <real>value
            n_values[0] += 1
    if p == NULL:
        return failed(at, FEATURE, token)
    for column in range(width):
        if row[column] == <real>INFINITY:
            row[column] = <real>fill
    at.p = p
    return True
