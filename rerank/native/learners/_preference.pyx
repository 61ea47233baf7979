"""Steps of the preference SVM's dual problem: coordinate ascent on a working set of items.

The scores of items are f = K beta, in which beta is the sum over pairs of alpha (e_better - e_worse). A
pair's slope is 1 - f[better] + f[worse], and changing its alpha moves f along two rows of the kernel. Within
a working set the kernel is a small matrix, which stays in the processor's cache.
"""

from libc.math cimport fabs

cdef double NEGATIVE = -1e-8  # a curvature, relative to its terms, that rounding does not explain
cdef double FLAT = 1e-12  # the same: a curvature that may be 0


def measure(
    const int[::1] better, const int[::1] worse, const double[::1] most, const double[::1] alpha,
    const double[::1] f, double[::1] violation,
):
    """Compare every pair with the conditions of the maximum.

    IN better, worse (n_pairs), items; most, alpha (n_pairs); f (n_items). OUT violation (n_pairs): the slope
    along which alpha can still move, 0 if it cannot.
    Return the sums of most * max(0, 1 - margin) and of alpha.
    """
    cdef Py_ssize_t p
    cdef double slope, loss = 0.0, mass = 0.0
    with nogil:
        for p in range(better.shape[0]):
            slope = 1.0 - (f[better[p]] - f[worse[p]])
            mass += alpha[p]
            violation[p] = 0.0
            if slope > 0.0:
                loss += most[p] * slope
                if alpha[p] < most[p]:
                    violation[p] = slope
            elif alpha[p] > 0.0:
                violation[p] = -slope
    return loss, mass


def choose(
    const long long[::1] order, const int[::1] better, const int[::1] worse, Py_ssize_t n_chosen,
    int[::1] place, long long[::1] chosen,
):
    """Choose the items of the first pairs of an order, until the room is full.

    IN order, pairs; better, worse (n_pairs); n_chosen, how many items are chosen already. INOUT place
    (n_items), the number of each chosen item, -1 of others; chosen (room), the items by number.
    Return how many are chosen.
    """
    cdef Py_ssize_t i
    cdef int a, b
    with nogil:
        for i in range(order.shape[0]):
            a = better[order[i]]
            b = worse[order[i]]
            if n_chosen + (place[a] < 0) + (place[b] < 0) > chosen.shape[0]:
                break
            if place[a] < 0:
                place[a] = <int>n_chosen
                chosen[n_chosen] = a
                n_chosen += 1
            if place[b] < 0:
                place[b] = <int>n_chosen
                chosen[n_chosen] = b
                n_chosen += 1
    return n_chosen


def within(const int[::1] better, const int[::1] worse, const int[::1] place, long long[::1] pairs):
    """Find the pairs of which both items are chosen.

    IN better, worse (n_pairs); place (n_items), see choose. OUT pairs (n_pairs), the first ones.
    Return their number.
    """
    cdef Py_ssize_t p, n = 0
    with nogil:
        for p in range(better.shape[0]):
            if place[better[p]] >= 0 and place[worse[p]] >= 0:
                pairs[n] = p
                n += 1
    return n


def ascend(
    const int[::1] better, const int[::1] worse, const double[::1] most, double[::1] alpha,
    const double[:, ::1] gram, double[::1] f, double[::1] change, double enough, Py_ssize_t sweeps,
):
    """Maximise the dual over the pairs of a working set, one after the other.

    IN better, worse (n), places in the working set; most (n); gram (m, m); enough, of the largest violation
    met in a sweep; sweeps, at most. INOUT alpha (n); f (m), the scores; change (m), of beta.
    Return the number of steps, and the first pair with a negative curvature, -1 if no pair has one.
    """
    cdef Py_ssize_t sweep, p, k, i
    cdef Py_ssize_t n = better.shape[0], m = gram.shape[0], bad = -1
    cdef long long steps = 0
    cdef int a, b
    cdef double slope, bend, scale, to, by, largest
    cdef double* scores = &f[0]
    cdef const double* up
    cdef const double* down
    with nogil:
        for sweep in range(sweeps):
            largest = 0.0
            for k in range(n):
                p = k if sweep % 2 == 0 else n - 1 - k
                a = better[p]
                b = worse[p]
                slope = 1.0 - (scores[a] - scores[b])
                if slope == 0.0 or (alpha[p] <= 0.0 if slope < 0.0 else alpha[p] >= most[p]):
                    continue
                up = &gram[a, 0]
                down = &gram[b, 0]
                scale = up[a] + down[b]
                bend = scale - 2.0 * up[b]
                if bend < NEGATIVE * fabs(scale):
                    bad = p
                    break
                if bend < FLAT * scale:
                    bend = FLAT * scale
                to = most[p] if slope > 0.0 else 0.0
                if bend > 0.0:
                    to = min(max(alpha[p] + slope / bend, 0.0), most[p])
                by = to - alpha[p]
                if by == 0.0:
                    continue
                largest = max(largest, fabs(slope))
                alpha[p] = to
                change[a] += by
                change[b] -= by
                steps += 1
                for i in range(m):
                    scores[i] += by * (up[i] - down[i])
            if bad >= 0 or largest <= enough:
                break
    return steps, bad


def advance(const double[:, ::1] rows, const long long[::1] slots, const double[::1] change, double[::1] f):
    """Move the scores of all items.

    IN rows (any, n_items) of the kernel; slots (m), the row of each item that changed; change (m), of its
    beta. INOUT f (n_items).
    """
    cdef Py_ssize_t k, i
    cdef Py_ssize_t n = f.shape[0]
    cdef double by
    cdef double* scores = &f[0]
    cdef const double* row
    with nogil:
        for k in range(slots.shape[0]):
            by = change[k]
            if by != 0.0:
                row = &rows[slots[k], 0]
                for i in range(n):
                    scores[i] += by * row[i]
