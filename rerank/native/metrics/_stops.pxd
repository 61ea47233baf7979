"""A user who reads a group of tied items in random order, and stops at each with a chance of its own (ERR).

stopped[t] is the chance that the user has stopped after t of n items, the mean over all t of them of 1 minus
the product of 1 - stop. It is kept in place of its complement because it can be tiny: all that is added here
is positive, so that no digits are lost. WORK arrays hold depth + 1 numbers, or as many as the group has.
"""

from libc.math cimport ceil, exp, expm1, log, log1p

from cpython.exc cimport PyErr_CheckSignals

from rerank.native.data._merge cimport sort_down

cdef enum:
    SMALL = 1 << 18  # a group of so many items x places takes less than a millisecond item by item
    FEW = 32  # so many items are added one by one
    POLL = 1 << 22  # steps between two looks at signals: some milliseconds


cdef inline int poll(long long* steps, long long done) except -1 nogil:
    """Let Ctrl-C raise every few milliseconds; IN/OUT steps."""
    steps[0] += done
    if steps[0] > POLL:
        steps[0] = 0
        with gil:
            PyErr_CheckSignals()
    return 0


cdef inline void two_kinds(
    double* stopped, long long b, long long c, double s, long long depth
) noexcept nogil:
    """OUT stopped[0..depth] of b items at which nobody stops and c items at which users stop with chance s.

    The products are a 2F1 of t, whose contiguous relation has positive terms for rising t up to ``turn``, and
    for falling t from there.
    """
    cdef long long n = b + c, t
    cdef double x = 1 - s
    cdef double whole = <double>b + <double>c * x
    cdef double added = <double>c * s
    cdef double turn = whole / (1 + x)
    cdef double all_read, v_next = 0.0, v = 0.0, v_before
    stopped[0] = 0.0
    stopped[1] = added / <double>n
    for t in range(1, min(depth, <long long>turn + 1)):
        stopped[t + 1] = (
            added + (whole - t * (1 + x)) * stopped[t] + x * t * stopped[t - 1]
        ) / <double>(n - t)
    if depth <= <long long>turn + 1:
        return
    all_read = <double>c * log1p(-s)
    added *= exp(all_read)
    for t in range(n, <long long>turn + 1, -1):
        if t <= depth:
            stopped[t] = -expm1(all_read) - v
        v_before = (<double>(n - t) * v_next + (t * (1 + x) - whole) * v + added) / (x * t)
        v_next = v
        v = v_before


cdef inline void add_one(double* stopped, long long n, double s, long long depth) noexcept nogil:
    """Add an item to n others; IN/OUT stopped. The new item is among the first t with probability t / n."""
    cdef long long t
    n += 1
    for t in range(min(n, depth), 0, -1):
        stopped[t] = (stopped[t] * <double>(n - t) + (s + (1 - s) * stopped[t - 1]) * t) / <double>n


cdef inline int add_kind(
    double* stopped, long long n, long long c, double s, long long depth, double* lost, long long* steps
) except -1 nogil:
    """Add c items of one chance to n others; IN/OUT stopped; WORK lost.

    y of the c items are among the first t by the hypergeometric distribution, whose terms are added from the
    largest one outwards until they are below all rounding.
    """
    cdef long long t, y, y0
    cdef double all_read = log1p(-s)
    cdef double w, weights, total
    lost[0] = 0.0
    for y in range(1, min(c, depth) + 1):
        lost[y] = -expm1(<double>y * all_read)
    for t in range(min(n + c, depth), 0, -1):
        y0 = <long long>(<double>(t + 1) * <double>(c + 1) / <double>(n + c + 2))
        y0 = max(t - n, min(y0, min(t, c)), 0)
        weights = w = 1.0
        total = lost[y0] + (1 - lost[y0]) * stopped[t - y0]
        y = y0
        while y < min(t, c) and w > 1e-20:
            w *= <double>(c - y) * <double>(t - y) / (<double>(y + 1) * <double>(n - t + y + 1))
            y += 1
            weights += w
            total += w * (lost[y] + (1 - lost[y]) * stopped[t - y])
        poll(steps, y - y0)
        w = 1.0
        y = y0
        while y > max(t - n, 0) and w > 1e-20:
            w *= <double>y * <double>(n - t + y) / (<double>(c - y + 1) * <double>(t - y + 1))
            y -= 1
            weights += w
            total += w * (lost[y] + (1 - lost[y]) * stopped[t - y])
        poll(steps, y0 - y)
        stopped[t] = total / weights
    return 0


cdef inline double in_large_group(
    double* chances, long long m, long long above, long long size, long long depth, double* stopped,
    double* lost, long long* index, long long* index_work, long long* steps,
) except -1 nogil:
    """Expected 1 / place at which a user stops within a group of ``size`` items, ``above`` are above it.

    IN chances (m), destroyed: those of the items at which users may stop. Items after the first ``depth`` do
    not count. WORK stopped, lost, index, index_work.
    """
    cdef long long t, j = 0, k, n = size - m, first = 0, count = 0
    cdef double mean = 0.0, needed, s, total
    sort_down(chances, index, stopped, index_work, m)
    for j in range(m):
        mean += chances[j] / <double>size
    if mean <= 0.0:
        return 0.0
    # The chance to read on is at most (1 - mean)^t (Maclaurin's inequality): what is beyond counts nothing.
    needed = ceil((log(mean) - 42.0) / log1p(-mean)) if mean < 1 else 1.0
    if needed < depth:
        depth = max(<long long>needed, 1)
    for t in range(depth + 1):
        stopped[t] = 0.0
    j = 0
    while j < m:  # the largest kind
        k = j
        while j < m and chances[j] == chances[k]:
            j += 1
        if j - k > count:
            first = k
            count = j - k
    s = chances[first]
    if depth <= (n + count * (1 - s)) / (2 - s) or -count * log1p(-s) < 600:
        two_kinds(stopped, n, count, s, min(depth, n + count))
        n += count
    else:
        count = 0
    j = 0
    while j < m:
        if j == first and count:
            j += count
            continue
        k = j
        while j < m and chances[j] == chances[k]:
            j += 1
        if j - k > FEW:
            add_kind(stopped, n, j - k, chances[k], depth, lost, steps)
            n += j - k
            continue
        for k in range(k, j):
            add_one(stopped, n, chances[k], depth)
            n += 1
            poll(steps, depth)
    total = stopped[depth] / <double>(above + depth)
    for t in range(1, depth):
        total += stopped[t] / (<double>(above + t) * <double>(above + t + 1))
    return total
