"""Lines of a query, a document and one or two numbers: runs, and judgements.

A line is split at blanks, or at tabs alone. Most lines fit into 64 bytes and have one separator between two
fields: one mask of the blanks then gives every field. Other lines are split byte by byte. At a faulty line
the kernel stops; Python puts the fault into words.
"""

import numpy as np

from libc.math cimport isinf
from libc.string cimport memchr, memcmp, memcpy

from rerank.native.data._blanks cimport is_blank
from rerank.native.data._names cimport FULL, Names, Table, find_or_add
from rerank.native.data._number cimport number, trailing_zeros, u64

cdef extern from *:
    """
    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    static inline rerank_u64 rerank_low16(const unsigned char *p) {
        const __m128i most = _mm_set1_epi8(0x20), bytes = _mm_loadu_si128((const __m128i *)p);
        return (rerank_u64)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, most), bytes));
    }
    #else
    static inline rerank_u64 rerank_low16(const unsigned char *p) {
        rerank_u64 mask = 0;
        for (int i = 0; i < 16; i++)
            mask |= (rerank_u64)(p[i] <= 0x20) << i;
        return mask;
    }
    #endif
    static inline rerank_u64 rerank_low64(const unsigned char *p) {
        return rerank_low16(p) | rerank_low16(p + 16) << 16 | rerank_low16(p + 32) << 32
            | rerank_low16(p + 48) << 48;
    }
    """
    u64 low_bytes "rerank_low64"(const unsigned char* p) noexcept nogil

ctypedef const unsigned char* Bytes

cdef enum:
    MOST = 6  # fields
    LONGEST_RANK = 15  # digits

cdef enum Status:
    DONE
    FAULT  # Python knows which one
    AGAIN  # the query occurred earlier, apart from this line
    QUERIES_FULL
    OTHERS_FULL

STATUS = ("done", "fault", "again")

cdef struct Layout:
    int n_fields, query, document, value
    int rank  # -1 = none
    int other  # a field of which the different values are wanted, -1 = none
    bint tabs
    bint together  # a query that occurs again after another one is a fault


cdef struct Fields:
    Bytes[MOST] starts, ends


cdef inline Bytes plain_line(Bytes p, Bytes stop, const Layout* layout, Fields* fields) noexcept nogil:
    """The fields of a line of up to 64 bytes with one separator between two; NULL if it is another one.

    Returns the start of the next line.
    """
    cdef u64 blanks = low_bytes(p)
    cdef int n = layout.n_fields, k
    cdef Bytes start = p, end
    for k in range(n):
        if blanks == 0:
            return NULL
        end = p + trailing_zeros(blanks)
        blanks &= blanks - 1
        if end == start or end >= stop:
            return NULL
        if k == n - 1:
            if end[0] != c'\n':
                return NULL
        elif end[0] != c'\t' and (end[0] != c' ' or layout.tabs):
            return NULL
        fields.starts[k] = start
        fields.ends[k] = end
        start = end + 1
    return start


cdef int split_at_blanks(Bytes p, Bytes stop, int most, Fields* fields) noexcept nogil:
    """The number of fields of a line, those of a number up to ``most`` in ``fields``; ``most`` + 1 = more."""
    cdef int n = 0
    while True:
        while p < stop and is_blank(p[0]):
            p += 1
        if p == stop or n > most:
            return n
        if n < most:
            fields.starts[n] = p
        while p < stop and not is_blank(p[0]):
            p += 1
        if n < most:
            fields.ends[n] = p
        n += 1


cdef int split_at_tabs(Bytes p, Bytes stop, int most, Fields* fields) noexcept nogil:
    """As ``split_at_blanks``, blanks around fields removed; 0 for a blank line, -1 if a field is empty."""
    cdef int n = 0
    cdef bint empty = False, any_text = False
    cdef Bytes start, end, tab
    while True:
        tab = <Bytes>memchr(p, c'\t', stop - p)
        start = p
        end = stop if tab == NULL else tab
        while start < end and is_blank(start[0]):
            start += 1
        while start < end and is_blank((end - 1)[0]):
            end -= 1
        empty = empty or start == end
        any_text = any_text or start < end
        if n < most:
            fields.starts[n] = start
            fields.ends[n] = end
        n += n <= most
        if tab == NULL:
            return 0 if not any_text else -1 if empty else n
        p = tab + 1


cdef inline bint whole(Bytes p, Bytes end, double* value) noexcept nogil:
    """Whether [-+]?[0-9]{1,15} is all of p:end; its value."""
    cdef bint negative = p[0] == c'-'
    cdef long long rank = 0
    if negative or p[0] == c'+':
        p += 1
    if p == end or end - p > LONGEST_RANK:
        return False
    while p < end:
        if not c'0' <= p[0] <= c'9':
            return False
        rank = 10 * rank + (p[0] - c'0')
        p += 1
    value[0] = -<double>rank if negative else <double>rank
    return True


cdef struct Last:
    int code  # the number of the string of the last line among the different ones
    Bytes text
    Py_ssize_t length


cdef inline int code_of(Table* names, Last* last, Bytes p, Bytes end) noexcept nogil:
    """The number of a string, or FULL; ``last`` is that of the line before."""
    cdef Py_ssize_t length = end - p
    if last.code < 0 or length != last.length or memcmp(p, last.text, length) != 0:
        last.code = find_or_add(names, p, length)
    last.text = p
    last.length = length
    return last.code


cdef class Scanner:
    """Lines of one form, read block by block.

    Parameters are the number of fields, and where in a line the query, the document, the number, the rank
    and the other field are, -1 = nowhere; whether tabs alone separate fields; whether the lines of a query
    must be together; and the number of the first line.

    ``scan`` overwrites the columns. Their first ``n`` entries are those of the lines of a block that are not
    blank: numbers, ranks (float64), and where documents end (int64) in all bytes of documents; the first
    ``n_bytes`` of ``documents`` are the block's. The others are int64 (entries, 2): ``found_queries`` and
    ``found_others`` [item, number of the string], one where the string differs from that of the item before;
    ``found_lines`` [item, line], one where the line is not the next one. Items, lines and bytes are counted
    through the file, items from 0 and lines from 1.
    """

    cdef Layout layout
    cdef readonly Names queries, others
    cdef readonly long long n_items
    cdef readonly long long line  # the next one
    cdef readonly bint ranked  # every number was [0-9]{1,15}
    cdef long long follows  # the line after that of the last item
    cdef int query, other
    cdef int seen  # queries
    cdef long long all_bytes
    cdef readonly double[::1] numbers, ranks
    cdef readonly long long[::1] ends
    cdef readonly unsigned char[::1] documents
    cdef readonly long long[:, ::1] found_queries, found_others, found_lines
    # What the last call of ``scan`` found, in entries and bytes of its columns.
    cdef readonly Py_ssize_t n, n_bytes, n_queries, n_others, n_lines

    @property
    def has_ranks(self):
        """Whether lines have a rank beside the number."""
        return self.layout.rank >= 0

    @property
    def n_ranks(self):
        """The ranks that the last call of ``scan`` found."""
        return self.n if self.layout.rank >= 0 else 0

    def __init__(
        self, int n_fields, int query, int document, int value, int rank=-1, int other=-1, *, bint tabs=False,
        bint together=False, long long line=1,
    ):
        self.layout = Layout(n_fields, query, document, value, rank, other, tabs, together)
        self.queries = Names()
        self.others = Names()
        self.line = line
        self.follows = 1
        self.ranked = True
        self.query = self.other = -1
        self.seen = 0
        self._make_room(1, 1)

    def _make_room(self, Py_ssize_t n, Py_ssize_t n_bytes):
        self.numbers, self.ranks, self.ends = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
        self.documents = np.empty(n_bytes, dtype=np.uint8)
        self.found_queries = np.empty((n, 2), dtype=np.int64)
        self.found_others = np.empty((n, 2), dtype=np.int64)
        self.found_lines = np.empty((n, 2), dtype=np.int64)

    def scan(self, const unsigned char[::1] text):
        """Read whole lines; 64 bytes after them are readable.

        Returns
        -------
        status : of STATUS
        place : int
            Where the line starts at which the kernel stopped, the length of ``text`` if there is none.
        """
        cdef Status status = DONE
        cdef Py_ssize_t at = 0
        self.n = self.n_bytes = self.n_queries = self.n_others = self.n_lines = 0
        if text.shape[0] > self.documents.shape[0]:
            # A field and what follows it are two bytes at least.
            self._make_room(text.shape[0] // (2 * self.layout.n_fields) + 1, text.shape[0])
        while text.shape[0]:
            with nogil:
                at = self.lines(&text[0], at, text.shape[0], &status)
            if status == QUERIES_FULL:
                self.queries.grow(text.shape[0])
            elif status == OTHERS_FULL:
                self.others.grow(text.shape[0])
            else:
                break
        return STATUS[<int>status], at

    cdef Py_ssize_t lines(self, Bytes text, Py_ssize_t at, Py_ssize_t length, Status* status) noexcept nogil:
        """Read lines from byte ``at`` on; return where it stopped."""
        cdef Layout layout = self.layout
        cdef Table* queries = &self.queries.table
        cdef Table* others = &self.others.table
        cdef Bytes p = text + at, stop = text + length, next_line, start
        cdef Fields fields
        cdef Last query = Last(-1, p, 0)
        cdef Last other = Last(-1, p, 0)
        cdef Py_ssize_t size, i
        cdef int n_fields
        cdef double* numbers = &self.numbers[0]
        cdef double* ranks = &self.ranks[0]
        cdef long long* ends = &self.ends[0]
        cdef unsigned char* documents = &self.documents[0]
        cdef long long* found_queries = &self.found_queries[0, 0]
        cdef long long* found_others = &self.found_others[0, 0]
        cdef long long* found_lines = &self.found_lines[0, 0]
        cdef double value = 0.0, rank = 0.0
        status[0] = DONE
        while p < stop:
            next_line = plain_line(p, stop, &layout, &fields)
            if next_line == NULL:
                next_line = <Bytes>memchr(p, c'\n', stop - p) + 1
                if layout.tabs:
                    n_fields = split_at_tabs(p, next_line - 1, layout.n_fields, &fields)
                else:
                    n_fields = split_at_blanks(p, next_line - 1, layout.n_fields, &fields)
                if n_fields == 0:
                    self.line += 1
                    p = next_line
                    continue
                if n_fields != layout.n_fields:
                    status[0] = FAULT
                    break
            start = fields.starts[layout.value]
            if number(start, &value) != fields.ends[layout.value] or isinf(value):
                status[0] = FAULT
                break
            i = layout.rank
            if i >= 0 and not whole(fields.starts[i], fields.ends[i], &rank):
                status[0] = FAULT
                break
            i = layout.query
            if code_of(queries, &query, fields.starts[i], fields.ends[i]) == FULL:
                status[0] = QUERIES_FULL
                break
            if layout.other >= 0:
                i = layout.other
                if code_of(others, &other, fields.starts[i], fields.ends[i]) == FULL:
                    status[0] = OTHERS_FULL
                    break
            i = self.n
            if query.code != self.query:
                if layout.together and query.code < self.seen:
                    status[0] = AGAIN
                    break
                found_queries[2 * self.n_queries] = self.n_items
                found_queries[2 * self.n_queries + 1] = query.code
                self.n_queries += 1
                self.seen = max(self.seen, query.code + 1)
                self.query = query.code
            if other.code != self.other:
                found_others[2 * self.n_others] = self.n_items
                found_others[2 * self.n_others + 1] = other.code
                self.n_others += 1
                self.other = other.code
            if self.line != self.follows:
                found_lines[2 * self.n_lines] = self.n_items
                found_lines[2 * self.n_lines + 1] = self.line
                self.n_lines += 1
            numbers[i] = value
            ranks[i] = rank
            if self.ranked and layout.rank < 0:
                self.ranked = c'0' <= start[0] <= c'9' and whole(start, fields.ends[layout.value], &rank)
            start = fields.starts[layout.document]
            size = fields.ends[layout.document] - start
            memcpy(documents + self.n_bytes, start, size)
            self.n_bytes += size
            self.all_bytes += size
            ends[i] = self.all_bytes
            self.n += 1
            self.n_items += 1
            self.line += 1
            self.follows = self.line
            p = next_line
        return p - text
