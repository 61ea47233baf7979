"""CSR rows of lists: without the features that do not differ in a list, and numbered anew in each list."""

import numpy as np

from libc.string cimport memset

from rerank.native.data._matrix cimport Matrix, Rows

cdef enum:
    MOST = 65536  # entries of a list that can be numbered
    STEPS = 16  # so many more values of a feature are searched for the same one


def differing_values(
    Matrix matrix, const long long[::1] lists, const long long[::1] offsets, const long long[::1] items,
    int[::1] seen, double[::1] first, long long[::1] new_indptr, int[::1] new_indices, double[::1] new_data,
):
    """Count, or copy, the values of features that differ between the items of a list.

    A feature does not differ if every item of the list has it with the same value. IN a sparse matrix; lists,
    the ones to examine; offsets (n_lists + 1) and items (n_items), the rows of each list. IN/OUT seen
    (n_features), zeros before and after; first (n_features), scratch. OUT new_indptr (n_items + 1),
    new_indices and new_data (as many as counted; new_data None without data), rows in the order of items, of
    all lists; or None: they are counted.
    Return the number of differing values, and of values examined.
    """
    cdef Py_ssize_t at_list
    cdef long long i, item, at, row, kept = 0, looked = 0
    cdef int n, f
    cdef double value
    cdef const Rows* X = &matrix.rows
    cdef bint ones = X.data == NULL, fill = new_indptr is not None
    with nogil:
        if fill:
            new_indptr[0] = 0
        for at_list in range(lists.shape[0]):
            i = lists[at_list]
            n = <int> (offsets[i + 1] - offsets[i])
            for item in range(offsets[i], offsets[i + 1]):
                row = items[item]
                for at in range(X.indptr[row], X.indptr[row + 1]):
                    f = X.indices[at]
                    value = 1.0 if ones else X.data[at]
                    if seen[f] == 0:
                        first[f] = value
                        seen[f] = 1
                    elif value == first[f]:
                        seen[f] += 1
            for item in range(offsets[i], offsets[i + 1]):
                row = items[item]
                for at in range(X.indptr[row], X.indptr[row + 1]):
                    if seen[X.indices[at]] != n:
                        if fill:
                            new_indices[kept] = X.indices[at]
                            if not ones:
                                new_data[kept] = X.data[at]
                        kept += 1
                looked += X.indptr[row + 1] - X.indptr[row]
                if fill:
                    new_indptr[item + 1] = kept
            for item in range(offsets[i], offsets[i + 1]):
                row = items[item]
                for at in range(X.indptr[row], X.indptr[row + 1]):
                    seen[X.indices[at]] = 0
    return kept, looked


# The entries of one list as they are numbered; see ``Local`` in _matrix.pxd.
cdef struct Numbering:
    unsigned short* place
    double* values  # NULL: an entry is a feature
    int* features
    int* number  # by feature: its first entry, or -1
    int* more  # by entry: another one of the same feature, or -1
    long long n_entries, n_features, room


cdef int same_value(Numbering* to, int e, double x) noexcept nogil:
    """Return the entry with the value x of the feature of entry e; a new one after STEPS others."""
    cdef int head = e
    for _ in range(STEPS):
        e = to.more[e]
        if e < 0:
            break
        if to.values[e] == x:
            return e
    e = <int> to.n_entries
    to.n_entries += 1
    to.place[e] = to.place[head]
    to.values[e] = x
    to.more[e] = to.more[head]
    to.more[head] = e
    return e


cdef inline bint number_row(
    Numbering* to, const int* indices, const double* data, long long n, bint by_value, unsigned short* entry
) noexcept nogil:
    """OUT entry: the numbers of the n values of a row. Return whether there was room for them."""
    cdef double x = 1.0
    cdef long long at
    cdef int e, f
    cdef bint new
    if to.n_entries + n > min(to.room, MOST):
        return False
    for at in range(n):
        # What a new entry would be is written in any case: a branch would often be mispredicted.
        f = indices[at]
        e = to.number[f]
        new = e < 0
        e = <int> to.n_entries if new else e
        to.number[f] = e
        to.features[to.n_features] = f
        if by_value:
            x = data[at]
            to.place[to.n_entries] = <unsigned short> to.n_features
            to.values[to.n_entries] = x
        to.n_entries += new
        to.n_features += new
        if by_value and to.values[e] != x:
            e = same_value(to, e, x)
        entry[at] = <unsigned short> e
    return True


cdef void next_list(Numbering* to) noexcept nogil:
    """Make ready for a list that starts after the features and the entries of this one."""
    cdef long long at
    for at in range(to.n_features):
        to.number[to.features[at]] = -1
    memset(to.more, 0xFF, to.n_entries * sizeof(int))
    to.features += to.n_features
    to.room -= to.n_entries
    if to.values != NULL:
        to.place += to.n_entries
        to.values += to.n_entries
    to.n_features = to.n_entries = 0


def number_by_list(Matrix matrix, const long long[::1] offsets, const long long[::1] items, numbers):
    """Number the features of every list from 0, or its entries: each feature with each of its values.

    The columns that all rows have get the first numbers, the others follow in the order of their first
    appearance. A feature of many values may have several entries with the same one.
    IN offsets (n_lists + 1) and items (n_items), the rows of each list. OUT numbers: a ``ListNumbers``.
    Return the largest number of entries of a list, or -1 if there is no room or a list has too many.
    """
    cdef const Rows* X = &matrix.rows
    cdef unsigned short[::1] entry = numbers.entry, place = numbers.place
    cdef double[::1] values = numbers.values
    cdef long long[:, ::1] bounds = numbers.bounds
    cdef int[::1] features = numbers.features
    cdef int[::1] number = np.full(X.n_features, -1, dtype=np.int32)
    cdef int[::1] more = np.full(MOST, -1, dtype=np.int32)
    cdef double[::1] ones = np.ones(X.width + 1)
    cdef unsigned short[::1] columns = np.empty(X.width + 1, dtype=np.uint16)
    cdef bint by_value = values is not None
    cdef Numbering to
    cdef Py_ssize_t i
    cdef long long j, at, n, most = 0
    cdef bint fits
    to.place = &place[0] if by_value else NULL
    to.values = &values[0] if by_value else NULL
    to.features = &features[0]
    to.number = &number[0]
    to.more = &more[0]
    to.n_entries = to.n_features = 0
    to.room = features.shape[0] - 1
    with nogil:
        bounds[0, 0] = bounds[1, 0] = 0
        for i in range(offsets.shape[0] - 1):
            fits = number_row(&to, X.columns, &ones[0], X.width, by_value, &columns[0])
            for j in range(offsets[i], offsets[i + 1]):
                at = X.indptr[items[j]]
                n = X.indptr[items[j] + 1] - at
                if by_value:
                    fits = fits and number_row(&to, X.indices + at, X.data + at, n, True, &entry[at])
                else:
                    fits = fits and number_row(&to, X.indices + at, NULL, n, False, &entry[at])
            if not fits:
                with gil:
                    return -1
            bounds[0, i + 1] = bounds[0, i] + to.n_features
            bounds[1, i + 1] = bounds[1, i] + to.n_entries
            most = max(most, to.n_entries)
            next_list(&to)
    return most
