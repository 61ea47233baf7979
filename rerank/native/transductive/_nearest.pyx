"""Means of the values of the nearest points, weighted by inverse distances."""

from libc.math cimport sqrt

import numpy as np

cdef double TIED = 1.0 + 1e-9  # squared distances up to this times the k-th least are as near as it


cdef inline double kth_least(const double* h, Py_ssize_t m, int k, double* heap) noexcept nogil:
    """Return the k-th least of h (m), k from 1 to m. ROOM heap (k): the k least, the largest first."""
    cdef Py_ssize_t j
    cdef int at, child, n = 0
    cdef double value
    for j in range(m):
        value = h[j]
        if n < k:  # grow: move larger ancestors' places up
            at = n
            n += 1
            while at > 0 and heap[(at - 1) // 2] < value:
                heap[at] = heap[(at - 1) // 2]
                at = (at - 1) // 2
            heap[at] = value
        elif value < heap[0]:
            at = 0
            child = 1
            while child < k:
                if child + 1 < k and heap[child + 1] > heap[child]:
                    child += 1
                if heap[child] <= value:
                    break
                heap[at] = heap[child]
                at = child
                child = 2 * at + 1
            heap[at] = value
    return heap[0]


def weighted_means(
    const double[:, ::1] distances, int k, const double[:, ::1] values, double[:, ::1] out
):
    """Compute for each row the mean of the values of its k nearest points, weighted by 1 / distance.

    Points as near as the k-th one count as well. If some points are at distance 0, their plain mean counts.

    IN distances (n, m), squared, 0 or more; k from 1 to m; values (m, c). OUT out (n, c).
    """
    cdef Py_ssize_t m = distances.shape[1]
    cdef Py_ssize_t c = values.shape[1]
    cdef double[::1] room = np.empty(k)
    cdef Py_ssize_t i, j, f
    cdef double farthest, least, weight, total
    if c == 0:
        return
    with nogil:
        for i in range(distances.shape[0]):
            farthest = kth_least(&distances[i, 0], m, k, &room[0]) * TIED
            least = room[0]
            for j in range(1, k):
                least = room[j] if room[j] < least else least
            if least == 0.0:
                farthest = 0.0
            total = 0.0
            for f in range(c):
                out[i, f] = 0.0
            for j in range(m):
                if distances[i, j] <= farthest:
                    weight = 1.0 if farthest == 0.0 else sqrt(least / distances[i, j])  # at most 1
                    total += weight
                    for f in range(c):
                        out[i, f] += weight * values[j, f]
            for f in range(c):
                out[i, f] /= total
