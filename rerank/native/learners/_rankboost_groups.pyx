"""The items of a feature in groups by thresholds; see ``WeakRankers``."""


def groups_of(
    const double[::1] values, const long long[::1] order, const double[::1] at, int[::1] group,
    long long[::1] sizes,
):
    """OUT group (n): 0 = the value passes the last threshold, ..., m = none, m + 1 = NaN.

    IN values; their ``order``, rising with NaN last; at (m), rising. Values after the first n are left out.
    INOUT sizes (m + 2): 0, then of the groups.
    """
    cdef Py_ssize_t n = group.shape[0], m = at.shape[0]
    cdef Py_ssize_t passed = 0, k
    cdef long long i
    cdef double value
    with nogil:
        for k in range(order.shape[0]):
            i = order[k]
            if i >= n:
                continue
            value = values[i]
            while passed < m and value >= at[passed]:
                passed += 1
            group[i] = <int>(m - passed if value == value else m + 1)
            sizes[group[i]] += 1


def gather(const int[::1] items, const int[::1] group, int rest, long long[::1] place, int[::1] out):
    """OUT out: the items of each group in turn but ``rest``, within a group in the order given.

    IN items, group (n). INOUT place: where each group begins.
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(items.shape[0]):
            if group[i] != rest:
                out[place[group[i]]] = items[i]
                place[group[i]] += 1
