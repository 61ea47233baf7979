"""The feature matrix as kernels see it: one type for every layout.

A function here branches on the layout once for a row or for a list, never for a value, so that a kernel that
is written once is as fast as one written for its layout.
"""

from rerank.native.data._rows cimport (
    csr_add, csr_difference, csr_dot, csr_dot4, csr_gather, dense_dot, dense_dot4, real,
)

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define rerank_prefetch(p) __builtin_prefetch(p)
    #else
    #define rerank_prefetch(p) ((void) (p))
    #endif
    """
    void prefetch "rerank_prefetch"(const void* p) noexcept nogil


cdef enum Layout:
    DENSE  # float64 rows
    SINGLE  # float32 rows
    SPARSE  # CSR, with values or all ones
    MIXED  # CSR beside float64 columns


# Rows of lists whose features are numbered anew in each list, or, with ``values``, each feature with each of
# its values: an entry. See rerank/data/blocks.py.
cdef struct Local:
    const unsigned short* entry  # of each value, in place of indices; NULL: there are no numbers
    const double* data  # beside them; NULL if the entries hold the values or all are 1
    const long long* starts  # list i has the entries starts[i]:starts[i + 1]
    const unsigned short* place  # of an entry among the features of its list; NULL: it is the entry's number
    const double* values  # of the entries; NULL unless they hold the values
    const long long* bounds  # list i has features[bounds[i]:bounds[i + 1]]
    const int* features


cdef struct Rows:
    Layout layout
    Py_ssize_t n_items, n_features
    Py_ssize_t width  # dense values of a row
    const double* dense
    const float* single
    const int* columns  # MIXED: the feature of each dense column, rising
    const long long* indptr
    const int* indices
    const double* data  # NULL: all ones
    Local local


# A sum of rows that is applied at once: all zero before and after.
cdef struct Change:
    double* sum
    int* touched  # features of SPARSE and MIXED rows whose sum may differ from 0
    long long n


# The difference of two rows: ``size`` values, of the features in ``place`` or, if ALL, of every feature.
cdef struct Step:
    double* value
    int* place
    Py_ssize_t size
    bint all


cdef class Matrix:
    cdef Rows rows
    cdef tuple held


cdef class Sum:
    cdef Change change
    cdef tuple held


cdef class Difference:
    cdef Step step
    cdef tuple held


cdef inline double rest_of_row(
    const Rows* X, long long i, long long at, const double* w, double total
) noexcept nogil:
    """Return ``total`` plus the products of the sparse values of row i from ``at`` on."""
    if X.local.entry != NULL:
        return csr_dot(X.local.entry, X.local.data, at, X.indptr[i + 1], w, total)
    return csr_dot(X.indices, X.data, at, X.indptr[i + 1], w, total)


cdef inline double mixed_head(const Rows* X, long long i, const double* w, long long* rest) noexcept nogil:
    """Return the products of row i up to the last dense column. OUT rest: the first sparse value after it."""
    cdef const double* x = X.dense + i * X.width
    cdef long long at = X.indptr[i]
    cdef long long last = X.indptr[i + 1]
    cdef const unsigned short* entry = X.local.entry
    cdef const double* data = X.data if entry == NULL else X.local.data
    cdef Py_ssize_t m
    cdef double weight, total = 0.0
    for m in range(X.width):
        while at < last and X.indices[at] < X.columns[m]:
            weight = w[X.indices[at]] if entry == NULL else w[entry[at]]
            total += weight if data == NULL else data[at] * weight
            at += 1
        total += x[m] * (w[X.columns[m]] if entry == NULL else w[m])  # a list's numbers start with these
    rest[0] = at
    return total


cdef inline double dot(const Rows* X, long long i, const double* w) noexcept nogil:
    """Return the product of row i with w (n_features)."""
    cdef long long rest
    cdef double total
    if X.layout == DENSE:
        return dense_dot(X.dense + i * X.width, w, X.width)
    if X.layout == SINGLE:
        return dense_dot(X.single + i * X.width, w, X.width)
    if X.layout == SPARSE:
        return rest_of_row(X, i, X.indptr[i], w, 0.0)
    total = mixed_head(X, i, w, &rest)
    return rest_of_row(X, i, rest, w, total)


cdef inline long long row_at(const long long* items, long long first, Py_ssize_t j) noexcept nogil:
    """Return the row of the j-th item of a list: ``items`` lists rows, NULL means consecutive ones."""
    return first + j if items == NULL else items[first + j]


cdef inline void dense_dots(
    const real* X, Py_ssize_t d, const long long* items, long long first, Py_ssize_t k, const double* w,
    double* out,
) noexcept nogil:
    cdef Py_ssize_t j = 0
    while j + 4 <= k:
        dense_dot4(
            X + row_at(items, first, j) * d,
            X + row_at(items, first, j + 1) * d,
            X + row_at(items, first, j + 2) * d,
            X + row_at(items, first, j + 3) * d,
            w, d, out + j,
        )
        j += 4
    while j < k:
        out[j] = dense_dot(X + row_at(items, first, j) * d, w, d)
        j += 1


cdef inline void sparse_dots(
    const Rows* X, const long long* items, long long first, Py_ssize_t k, const double* w, double* out
) noexcept nogil:
    cdef long long[4] begin, end
    cdef long long row
    cdef Py_ssize_t j = 0
    cdef int r
    while j + 4 <= k:
        for r in range(4):
            row = row_at(items, first, j + r)
            begin[r] = X.indptr[row]
            end[r] = X.indptr[row + 1]
            out[j + r] = mixed_head(X, row, w, &begin[r]) if X.layout == MIXED else 0.0
        if X.local.entry != NULL:
            csr_dot4(X.local.entry, X.local.data, begin, end, w, out + j)
        else:
            csr_dot4(X.indices, X.data, begin, end, w, out + j)
        j += 4
    while j < k:
        out[j] = dot(X, row_at(items, first, j), w)
        j += 1


cdef inline void fetch(const Rows* X, const long long* items, long long first, Py_ssize_t k) noexcept nogil:
    """Ask for the dense rows of a list that is read soon, so that they come from memory meanwhile."""
    cdef Py_ssize_t size = X.width * (sizeof(double) if X.layout == DENSE else sizeof(float)), j, at
    cdef const char* rows = <const char*> X.dense if X.layout == DENSE else <const char*> X.single
    if X.layout == DENSE or X.layout == SINGLE:
        for j in range(k):
            for at in range(0, size, 64):
                prefetch(rows + row_at(items, first, j) * size + at)


cdef inline void dots(
    const Rows* X, const long long* items, long long first, Py_ssize_t k, const double* w, double* out
) noexcept nogil:
    """OUT out (k): the products of the k rows from position ``first`` on with w; see row_at."""
    if X.layout == DENSE:
        dense_dots(X.dense, X.width, items, first, k, w, out)
    elif X.layout == SINGLE:
        dense_dots(X.single, X.width, items, first, k, w, out)
    else:
        sparse_dots(X, items, first, k, w, out)


cdef inline void dense_add(
    const real* x, Py_ssize_t d, double u, double t, double* w, double* drift
) noexcept nogil:
    cdef Py_ssize_t m
    for m in range(d):
        w[m] += u * x[m]
        drift[m] += t * (u * x[m])


cdef inline void add(const Rows* X, long long i, double u, double t, double* w, double* drift) noexcept nogil:
    """INOUT w += u * x, drift += t * u * x, with x row i; features are not numbered by list."""
    cdef Py_ssize_t m
    cdef double step
    if X.layout == DENSE:
        dense_add(X.dense + i * X.width, X.width, u, t, w, drift)
    elif X.layout == SINGLE:
        dense_add(X.single + i * X.width, X.width, u, t, w, drift)
    else:
        csr_add(X.indices, X.data, X.indptr[i], X.indptr[i + 1], u, t, w, drift)
        for m in range(X.width):
            step = u * X.dense[i * X.width + m]
            w[X.columns[m]] += step
            drift[X.columns[m]] += t * step


cdef inline void dense_add_difference(
    const real* x, const real* y, Py_ssize_t d, double u, double t, double* w, double* drift
) noexcept nogil:
    cdef Py_ssize_t m
    cdef double step
    for m in range(d):
        step = u * (x[m] - y[m])
        w[m] += step
        drift[m] += t * step


cdef inline void add_difference(
    const Rows* X, long long i, long long j, double u, double t, double* w, double* drift
) noexcept nogil:
    """INOUT w += u * (x - y), drift += t * u * (x - y), with x row i and y row j."""
    cdef Py_ssize_t d = X.width
    if X.layout == DENSE:
        dense_add_difference(X.dense + i * d, X.dense + j * d, d, u, t, w, drift)
    elif X.layout == SINGLE:
        dense_add_difference(X.single + i * d, X.single + j * d, d, u, t, w, drift)
    else:
        add(X, i, u, t, w, drift)
        add(X, j, -u, t, w, drift)


cdef inline void dense_gather(const real* x, Py_ssize_t d, double u, double* total) noexcept nogil:
    cdef Py_ssize_t m
    for m in range(d):
        total[m] += u * x[m]


cdef inline void accumulate(const Rows* X, long long i, double u, double* total) noexcept nogil:
    """INOUT total (n_features) += u * x, with x row i; features are not numbered by list."""
    cdef long long at
    cdef Py_ssize_t m
    if X.layout == DENSE:
        dense_gather(X.dense + i * X.width, X.width, u, total)
    elif X.layout == SINGLE:
        dense_gather(X.single + i * X.width, X.width, u, total)
    else:
        for at in range(X.indptr[i], X.indptr[i + 1]):
            total[X.indices[at]] += u if X.data == NULL else u * X.data[at]
        for m in range(X.width):
            total[X.columns[m]] += u * X.dense[i * X.width + m]


cdef inline void dense_gather_rows(
    const real* X, Py_ssize_t d, const long long* rows, Py_ssize_t k, const double* u, double* total
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(k):
        if u[j] != 0.0:
            dense_gather(X + rows[j] * d, d, u[j], total)


cdef inline void gather_local(
    const Rows* X, long long i, long long list_number, double u, double* total
) noexcept nogil:
    """INOUT total, by the features of a list that numbers its own, += u * x, with x row i."""
    cdef const unsigned short* entry = X.local.entry
    cdef const unsigned short* place
    cdef const double* values
    cdef long long at
    if X.local.values != NULL:
        place = X.local.place + X.local.starts[list_number]
        values = X.local.values + X.local.starts[list_number]
        for at in range(X.indptr[i], X.indptr[i + 1]):
            total[place[entry[at]]] += u * values[entry[at]]
    else:
        for at in range(X.indptr[i], X.indptr[i + 1]):
            total[entry[at]] += u if X.data == NULL else u * X.data[at]
    dense_gather(X.dense + i * X.width, X.width, u, total)


cdef inline void gather_sparse(const Rows* X, long long i, double u, Change* change) noexcept nogil:
    """INOUT change += u * x, with x row i."""
    cdef Py_ssize_t m
    cdef int f
    change.n = csr_gather(
        X.indices, X.data, X.indptr[i], X.indptr[i + 1], u, change.sum, change.touched, change.n
    )
    for m in range(X.width):
        f = X.columns[m]
        change.touched[change.n] = f
        change.n += change.sum[f] == 0.0
        change.sum[f] += u * X.dense[i * X.width + m]


cdef inline void gather(
    const Rows* X, long long i, const long long* rows, Py_ssize_t k, const double* u, Change* change
) noexcept nogil:
    """INOUT change += the sum over k rows of list i of u[j] times row rows[j]."""
    cdef Py_ssize_t j
    if X.layout == DENSE:
        dense_gather_rows(X.dense, X.width, rows, k, u, change.sum)
    elif X.layout == SINGLE:
        dense_gather_rows(X.single, X.width, rows, k, u, change.sum)
    elif X.local.entry != NULL:
        for j in range(k):
            if u[j] != 0.0:
                gather_local(X, rows[j], i, u[j], change.sum)
    else:
        for j in range(k):
            if u[j] != 0.0:
                gather_sparse(X, rows[j], u[j], change)


cdef inline void apply(
    const Rows* X, long long i, Change* change, double t, double* w, double* drift
) noexcept nogil:
    """INOUT w += change, drift += t * change, for a change by rows of list i; the change is cleared."""
    cdef double* total = change.sum
    cdef const int* touched = change.touched
    cdef long long n = change.n, at
    cdef int f
    if X.local.entry != NULL:
        touched = X.local.features + X.local.bounds[i]
        n = X.local.bounds[i + 1] - X.local.bounds[i]
        for at in range(n):
            w[touched[at]] += total[at]
            drift[touched[at]] += t * total[at]
            total[at] = 0.0
    elif X.indptr == NULL:
        for at in range(X.n_features):
            w[at] += total[at]
            drift[at] += t * total[at]
            total[at] = 0.0
    else:
        for at in range(n):
            f = touched[at]
            w[f] += total[f]
            drift[f] += t * total[f]
            total[f] = 0.0
        change.n = 0


cdef inline void dense_subtract(const real* x, const real* y, Py_ssize_t d, double* out) noexcept nogil:
    cdef Py_ssize_t m
    for m in range(d):
        out[m] = <double>x[m] - <double>y[m]


cdef inline void subtract(const Rows* X, long long i, long long j, Step* step) noexcept nogil:
    """OUT step: row i less row j."""
    cdef Py_ssize_t d = X.width, m
    if X.layout == DENSE:
        dense_subtract(X.dense + i * d, X.dense + j * d, d, step.value)
    elif X.layout == SINGLE:
        dense_subtract(X.single + i * d, X.single + j * d, d, step.value)
    else:
        step.size = csr_difference(
            X.indices, X.data, X.indptr[i], X.indptr[i + 1], X.indptr[j], X.indptr[j + 1],
            step.place, step.value,
        )
        if X.layout == MIXED:
            for m in range(d):
                step.place[step.size + m] = X.columns[m]
            dense_subtract(X.dense + i * d, X.dense + j * d, d, step.value + step.size)
            step.size += d
