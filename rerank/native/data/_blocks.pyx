"""CSR rows of lists without the features that do not differ within the list."""


def differing_values(
    const long long[::1] indptr,
    const int[::1] indices,
    const double[::1] data,
    const long long[::1] lists,
    const long long[::1] offsets,
    const long long[::1] items,
    int[::1] seen,
    double[::1] first,
    bint fill,
    long long[::1] new_indptr,
    int[::1] new_indices,
    double[::1] new_data,
):
    """Count, or copy, the values of features that differ between the items of a list.

    A feature does not differ if every item of the list has it with the same value. IN indptr (n_rows + 1),
    indices, data (n_values; None = all ones); lists, the ones to examine; offsets (n_lists + 1) and items
    (n_items), the rows of each list. IN/OUT seen (n_features), zeros before and after; first
    (n_features), scratch. If fill: OUT new_indptr (n_items + 1), new_indices and new_data (as many
    as counted; new_data None with data), rows in the order of items; lists must then be all of them.
    Return the number of differing values, and of values examined.
    """
    cdef Py_ssize_t at_list
    cdef long long i
    cdef long long item
    cdef long long at
    cdef long long row
    cdef long long kept = 0
    cdef long long looked = 0
    cdef int n
    cdef int f
    cdef double value
    cdef bint ones = data is None
    with nogil:
        if fill:
            new_indptr[0] = 0
        for at_list in range(lists.shape[0]):
            i = lists[at_list]
            n = <int> (offsets[i + 1] - offsets[i])
            for item in range(offsets[i], offsets[i + 1]):
                row = items[item]
                for at in range(indptr[row], indptr[row + 1]):
                    f = indices[at]
                    value = 1.0 if ones else data[at]
                    if seen[f] == 0:
                        first[f] = value
                        seen[f] = 1
                    elif value == first[f]:
                        seen[f] += 1
            for item in range(offsets[i], offsets[i + 1]):
                row = items[item]
                for at in range(indptr[row], indptr[row + 1]):
                    if seen[indices[at]] != n:
                        if fill:
                            new_indices[kept] = indices[at]
                            if not ones:
                                new_data[kept] = data[at]
                        kept += 1
                looked += indptr[row + 1] - indptr[row]
                if fill:
                    new_indptr[item + 1] = kept
            for item in range(offsets[i], offsets[i + 1]):
                row = items[item]
                for at in range(indptr[row], indptr[row + 1]):
                    seen[indices[at]] = 0
    return kept, looked


def number_by_list(
    const long long[::1] indptr,
    const int[::1] indices,
    const int[::1] columns,
    const long long[::1] offsets,
    const long long[::1] items,
    int[::1] number,
    unsigned short[::1] local,
    long long[::1] bounds,
    int[::1] features,
):
    """Number the features of every list from 0, in the order of their first appearance.

    IN indptr (n_rows + 1) and indices (n_values) of the rows; columns, the features that all rows have, which
    get the first numbers; offsets (n_lists + 1) and items (n_items), the rows of each list. IN/OUT number
    (n_features), -1 before and after. OUT local (n_values), the number of each value of these rows; bounds
    (n_lists + 1) of the lists in features, which needs room for all values and columns.
    Return the largest number of features of a list, or -1 if one has more than can be numbered.
    """
    cdef Py_ssize_t i
    cdef Py_ssize_t m
    cdef long long item
    cdef long long at
    cdef long long start
    cdef long long used = 0
    cdef long long most = 0
    cdef int f
    with nogil:
        bounds[0] = 0
        for i in range(offsets.shape[0] - 1):
            start = used
            for m in range(columns.shape[0]):
                features[used] = columns[m]
                used += 1
            for item in range(offsets[i], offsets[i + 1]):
                for at in range(indptr[items[item]], indptr[items[item] + 1]):
                    f = indices[at]
                    if number[f] < 0:
                        number[f] = <int> (used - start)
                        features[used] = f
                        used += 1
                    local[at] = <unsigned short> number[f]
            for at in range(start + columns.shape[0], used):
                number[features[at]] = -1
            bounds[i + 1] = used
            most = max(most, used - start)
    return most if most <= 65536 else -1
