"""Distances of a native that a model keeps (lDDT)."""

from libc.math cimport fabs, sqrt


cdef inline double apart(const double[:, ::1] xyz, int a, int b) noexcept nogil:
    cdef double x = xyz[a, 0] - xyz[b, 0], y = xyz[a, 1] - xyz[b, 1], z = xyz[a, 2] - xyz[b, 2]
    return sqrt(x * x + y * y + z * z)


cdef inline int within(double difference) noexcept nogil:
    """How many of the thresholds 0.5, 1, 2 and 4 Å a difference does not exceed."""
    difference = fabs(difference)
    if difference > 4.0:
        return 0
    return 1 + (difference <= 2.0) + (difference <= 1.0) + (difference <= 0.5)


def kept(
    const int[:, ::1] pairs, const double[::1] distances, double[:, ::1] xyz,
    const unsigned char[::1] present, const unsigned char[::1] symmetric, const int[::1] other,
    const int[::1] group, long long[::1] gains,
):
    """Return how many distances are kept, each counted once for every threshold.

    IN pairs (m, 2): atoms; distances (m): of the native; present (n): whether the model has an atom;
    symmetric (n): whether an equal atom of its residue may have its name; other (n): that atom, -1 = none;
    group (n): of symmetric atoms, the residue, from 0. IN/OUT xyz (n, 3): the model's positions, in which
    symmetric atoms change places if that keeps more distances to atoms that are not symmetric. gains
    (groups): zeros.
    """
    cdef Py_ssize_t m = pairs.shape[0], n = xyz.shape[0], k
    cdef int a, b, one, rest, axis
    cdef long long total = 0
    cdef double held
    with nogil:
        for k in range(m):
            a = pairs[k, 0]
            b = pairs[k, 1]
            if symmetric[a] == symmetric[b]:
                continue
            one, rest = (a, b) if symmetric[a] else (b, a)
            if other[one] < 0 or not (present[one] and present[other[one]] and present[rest]):
                continue
            gains[group[one]] += within(distances[k] - apart(xyz, other[one], rest))
            gains[group[one]] -= within(distances[k] - apart(xyz, one, rest))
        for k in range(n):
            a = <int>k
            b = other[a]
            if b > a and present[a] and present[b] and gains[group[a]] > 0:
                for axis in range(3):
                    held = xyz[a, axis]
                    xyz[a, axis] = xyz[b, axis]
                    xyz[b, axis] = held
        for k in range(m):
            a = pairs[k, 0]
            b = pairs[k, 1]
            if present[a] and present[b]:
                total += within(distances[k] - apart(xyz, a, b))
    return total
