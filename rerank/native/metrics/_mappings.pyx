"""Measures of retrieval straight from Python's dictionaries, for runs that are small and plain.

Nothing is copied but scores and the labels of relevant documents, so that a run of a few documents costs a
few microseconds. What is not plain is refused (None): the general way reads it, or words the error.
"""

from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError, PyDict_Next, PyDict_Size
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsDouble, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.string cimport memcmp

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    const unsigned char* PyUnicode_1BYTE_DATA(object text)

cdef enum:
    MOST = 1024  # documents, and judgements, of a query
    MOST_MEASURES = 64

cdef enum Kind:
    AP, RR, P, R, RPREC, SUCCESS, NDCG

KINDS = ("AP", "RR", "P", "R", "Rprec", "Success", "nDCG")
LONGEST = MOST

cdef double LARGEST_LABEL = 1e100  # far below where a sum of gains overflows
cdef double LARGEST_SCORE = 3e38  # as float32


cdef struct Query:
    Py_ssize_t n, n_known  # documents of the run; relevant ones, retrieved or not
    float[MOST] scores
    const unsigned char* ids[MOST]  # which the run's dictionary keeps
    Py_ssize_t[MOST] lengths
    double[MOST] labels  # by place, 0 if not relevant
    double[MOST] falling  # of all relevant documents, the largest first


cdef inline bint is_plain(object name):
    """Whether a name is ASCII text and not empty: its order is that of its bytes."""
    return PyUnicode_CheckExact(name) and PyUnicode_IS_ASCII(name) and PyUnicode_GET_LENGTH(name) > 0


cdef inline bint number_of(object value, double most, double* out):
    """Whether a value is a float or an int of at most ``most``; the value."""
    if PyFloat_CheckExact(value):
        out[0] = PyFloat_AS_DOUBLE(value)
    elif PyLong_CheckExact(value):
        try:
            out[0] = PyLong_AsDouble(value)
        except OverflowError:
            return False
    else:
        return False
    return -most <= out[0] <= most


cdef bint read_run(Query* query, dict run):
    cdef Py_ssize_t at = 0
    cdef PyObject* name = NULL
    cdef PyObject* value = NULL
    cdef double score = 0.0
    query.n = 0
    if not 0 < PyDict_Size(run) <= MOST:
        return False
    while PyDict_Next(run, &at, &name, &value):
        if not (is_plain(<object>name) and number_of(<object>value, LARGEST_SCORE, &score)):
            return False
        query.ids[query.n] = PyUnicode_1BYTE_DATA(<object>name)
        query.lengths[query.n] = PyUnicode_GET_LENGTH(<object>name)
        query.scores[query.n] = <float>score
        query.n += 1
    return True


cdef int place_above(
    const Query* query, const unsigned char* name, Py_ssize_t length, float score
) noexcept nogil:
    """The documents before one: those with a larger score, and on ties those with a larger id."""
    cdef Py_ssize_t i
    cdef int above = 0, same = 0, order
    for i in range(query.n):
        above += query.scores[i] > score
        same += query.scores[i] == score
    if same > 1:
        for i in range(query.n):
            if query.scores[i] == score:
                order = memcmp(query.ids[i], name, min(query.lengths[i], length))
                above += order > 0 or (order == 0 and query.lengths[i] > length)
    return above


cdef bint read_judgements(Query* query, dict run, dict judged, bint* any_found, bint* any_label):
    """Place the relevant documents of a run that has been read."""
    cdef Py_ssize_t at = 0, i, j
    cdef PyObject* name = NULL
    cdef PyObject* value = NULL
    cdef PyObject* returned
    cdef double label = 0.0, score = 0.0
    query.n_known = 0
    if not 0 < PyDict_Size(judged) <= MOST:
        return False
    for i in range(query.n):
        query.labels[i] = 0.0
    while PyDict_Next(judged, &at, &name, &value):
        if not (is_plain(<object>name) and number_of(<object>value, LARGEST_LABEL, &label)):
            return False
        returned = PyDict_GetItemWithError(run, <object>name)
        any_found[0] |= returned != NULL
        any_label[0] |= label != 0
        if label <= 0:
            continue
        j = query.n_known
        while j > 0 and query.falling[j - 1] < label:
            query.falling[j] = query.falling[j - 1]
            j -= 1
        query.falling[j] = label
        query.n_known += 1
        if returned != NULL:
            number_of(<object>returned, LARGEST_SCORE, &score)
            i = place_above(
                query, PyUnicode_1BYTE_DATA(<object>name), PyUnicode_GET_LENGTH(<object>name), <float>score
            )
            query.labels[i] = label
    return True


cdef double value_of(
    const Query* query, Kind kind, long long cutoff, double rel, const double* divisors
) noexcept nogil:
    """The measure of a query; additions run from the top place down, gains of nDCG are the labels."""
    cdef Py_ssize_t place, seen = 0, first = 0
    cdef long long n_good = 0, most = min(cutoff, query.n)
    cdef double total = 0.0, ideal = 0.0
    if kind == NDCG:
        for place in range(most):
            total += query.labels[place] / divisors[place]
        for place in range(min(cutoff, query.n_known)):
            ideal += query.falling[place] / divisors[place]
        return total / ideal if ideal > 0 else 0.0
    while n_good < query.n_known and query.falling[n_good] >= rel:
        n_good += 1
    if kind == RPREC:
        most = min(n_good, query.n)
    for place in range(most):
        if query.labels[place] > 0 and query.labels[place] >= rel:
            seen += 1
            first = place if seen == 1 else first
            total += <double>seen / <double>(place + 1)
    if seen == 0:
        return 0.0
    if kind == AP:
        return total / <double>n_good
    if kind == RR:
        return 1.0 / <double>(first + 1)
    if kind == SUCCESS:
        return 1.0
    return <double>seen / <double>(cutoff if kind == P else n_good)


cdef class Measures:
    """Measures that are taken together.

    IN kinds, cutoffs, rels (n_measures): numbers of KINDS, the last place that counts (at most a billion),
    the least label that is relevant; divisors (LONGEST), of gains by place.
    """

    cdef const int[::1] kinds
    cdef const long long[::1] cutoffs
    cdef const double[::1] rels, divisors

    def __init__(
        self, const int[::1] kinds, const long long[::1] cutoffs, const double[::1] rels,
        const double[::1] divisors,
    ):
        self.kinds, self.cutoffs, self.rels, self.divisors = kinds, cutoffs, rels, divisors

    def means(self, dict qrels, dict run):
        """Return the mean of each measure over the queries, or None if something is not plain.

        IN qrels {query: {document: label}}, run {query: {document: score}}. Plain are at most MOST_MEASURES,
        the same queries in both, names that are ASCII, finite numbers, at least one judged document that was
        returned and one label that is not 0.
        """
        cdef Query query
        cdef double[MOST_MEASURES] sums
        cdef Py_ssize_t n_measures = self.kinds.shape[0]
        cdef Py_ssize_t n = PyDict_Size(run)
        cdef Py_ssize_t at = 0, k
        cdef PyObject* name = NULL
        cdef PyObject* found = NULL
        cdef PyObject* judged
        cdef dict documents
        cdef bint any_found = False, any_label = False
        if n == 0 or PyDict_Size(qrels) != n or n_measures > MOST_MEASURES:
            return None
        for k in range(n_measures):
            sums[k] = 0.0
        while PyDict_Next(run, &at, &name, &found):
            if not (is_plain(<object>name) and PyDict_CheckExact(<object>found)):
                return None
            documents = <dict>found
            judged = PyDict_GetItemWithError(qrels, <object>name)
            if judged == NULL or not PyDict_CheckExact(<object>judged):
                return None
            if not read_run(&query, documents):
                return None
            if not read_judgements(&query, documents, <dict>judged, &any_found, &any_label):
                return None
            for k in range(n_measures):
                sums[k] += value_of(
                    &query, <Kind>self.kinds[k], self.cutoffs[k], self.rels[k], &self.divisors[0]
                )
        return [sums[k] / <double>n for k in range(n_measures)] if any_found and any_label else None
