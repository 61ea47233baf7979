"""Orders of items that disagree least with the margins between them."""

import numpy as np

from libc.math cimport INFINITY

cdef double ROUNDING = 2.3e-16  # relative, of one sum of two doubles


def sequence(const double[:, ::1] margins, const int[::1] parts, int[::1] out):
    """Order items such that no part is above one with an item that beats one of its own.

    Of the parts that may come next the one with the first item is taken.

    IN margins (n, n); parts (n): numbers from 0 of the strongly connected parts of the graph in which a has
    an arrow to b if its margin is above 0. OUT out (n): items, those of a part side by side and rising.
    """
    cdef Py_ssize_t n = parts.shape[0]
    cdef long long[::1] held = np.zeros(n, dtype=np.int64)  # by part: items of other parts above one of its
    cdef unsigned char[::1] placed = np.zeros(n, dtype=np.uint8)  # by item
    cdef Py_ssize_t done = 0, a, b, first
    cdef int part
    with nogil:
        for a in range(n):
            for b in range(n):
                held[parts[b]] += margins[a, b] > 0 and parts[a] != parts[b]
        while done < n:
            first = 0
            while placed[first] or held[parts[first]]:
                first += 1
            part = parts[first]
            for a in range(first, n):
                if parts[a] != part:
                    continue
                out[done] = <int> a
                placed[a] = 1
                done += 1
                for b in range(n):
                    held[parts[b]] -= margins[a, b] > 0 and parts[b] != part


def exchanged(const double[:, ::1] margins, int[::1] order):
    """Move each item up while it beats the one above it, from the second item on.

    IN margins (n, n). IN/OUT order (n): in the end no item beats the one above it.
    """
    cdef Py_ssize_t i, at
    cdef int item
    with nogil:
        for i in range(1, order.shape[0]):
            item = order[i]
            at = i
            while at > 0 and margins[item, order[at - 1]] > 0:
                order[at] = order[at - 1]
                at -= 1
            order[at] = item


cdef inline void fill(double* table, int at, double cost) noexcept nogil:
    """OUT table: sums of costs by set of items, for the sets whose largest item is ``at``."""
    cdef unsigned int s
    for s in range(1u << at):
        table[(1u << at) + s] = table[s] + cost


def best_order(const double[:, ::1] margins, int[::1] out):
    """Find the order of the least weight of pairs whose lower item beats the upper one.

    Dynamic programming over the sets of items that are left; the cost of an item above a set is the sum of
    two entries of tables. Of equally good orders the one with the smallest items on top.

    IN margins (n, n), n up to 20: memory is 8 * 2^n bytes, time n * 2^n. OUT out (n): items.
    """
    cdef int n = <int> out.shape[0]
    cdef int half = n // 2
    cdef unsigned int full = (1u << n) - 1
    cdef unsigned int mask = (1u << half) - 1
    cdef double[::1] best = np.zeros(1 << n)
    cdef double[:, ::1] low = np.zeros((n, 1 << half))
    cdef double[:, ::1] high = np.zeros((n, 1 << (n - half)))
    cdef double total = 0.0, least, cost
    cdef unsigned int s, rest = 0
    cdef int x, y
    with nogil:
        for x in range(n):
            for y in range(n):
                cost = max(margins[y, x], 0.0)
                total += cost
                if y < half:
                    fill(&low[x, 0], y, cost)
                else:
                    fill(&high[x, 0], y - half, cost)
        for s in range(1, full + 1):
            least = INFINITY
            for x in range(n):
                if s >> x & 1:
                    rest = s ^ (1u << x)
                    cost = best[rest] + low[x, rest & mask] + high[x, rest >> half]
                    least = min(least, cost)
            best[s] = least
        s = full
        for y in range(n):
            for x in range(n):
                if s >> x & 1:
                    rest = s ^ (1u << x)
                    cost = best[rest] + low[x, rest & mask] + high[x, rest >> half]
                    if cost <= best[s] + 64 * ROUNDING * total:
                        break
            out[y] = x
            s = rest
