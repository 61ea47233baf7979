"""Tree kernels on distinct nodes (_interning.pyx): rows of K(x, y) = sum of count * count * delta(u, v).

For a row, u runs over the distinct nodes of one tree x and v over those of many trees y. delta(u, v) is
computed once for all y that contain v, children first, and kept for pairs of one group only: nodes of one
production or of one label. r[v] is the sum of count(u) * delta(u, v) over u.
"""

cdef inline void reset(
    const int[::1] key_of, const int[::1] nodes, long long start, long long end, int[::1] group_of_key
) noexcept nogil:
    cdef long long i
    for i in range(start, end):
        if key_of[nodes[i]] >= 0:
            group_of_key[key_of[nodes[i]]] = -1


cdef inline void group(
    const int[::1] key_of,
    const int[::1] nodes,
    const int[::1] counts,
    long long start,
    long long end,
    int[::1] group_of_key,
    long long[::1] group_bounds,
    int[::1] members,
    double[::1] member_counts,
    int[::1] rank,
) noexcept nogil:
    """Group one tree's nodes by their keys, in their order; those with key -1 are left out.

    INOUT group_of_key, -1 for all keys; OUT group_bounds, members, member_counts, rank[u] (of the nodes).
    """
    cdef int n = 0
    cdef int g
    cdef int key
    cdef long long i
    cdef long long at
    for i in range(start, end):
        key = key_of[nodes[i]]
        if key < 0:
            continue
        if group_of_key[key] < 0:
            group_of_key[key] = n
            group_bounds[n] = 0
            n += 1
        g = group_of_key[key]
        rank[nodes[i]] = <int>group_bounds[g]
        group_bounds[g] += 1
    at = 0
    for g in range(n):
        at += group_bounds[g]
        group_bounds[g] = at - group_bounds[g]
    group_bounds[n] = at
    for i in range(start, end):
        key = key_of[nodes[i]]
        if key >= 0:
            at = group_bounds[group_of_key[key]] + rank[nodes[i]]
            members[at] = nodes[i]
            member_counts[at] = counts[i]


cdef inline void totals(
    const long long[::1] starts,
    const int[::1] nodes,
    const int[::1] counts,
    const double[::1] r,
    int first,
    int last,
    double[::1] out,
) noexcept nogil:
    """OUT out[t] = sum of count(v) * r[v] over the nodes with children (0, 1), words (1, 2) or all (0, 2)."""
    cdef Py_ssize_t t
    cdef long long i
    cdef double total
    for t in range(out.shape[0]):
        total = 0.0
        for i in range(starts[2 * t + first], starts[2 * t + last]):
            total += counts[i] * r[nodes[i]]
        out[t] = total


def shared(
    const long long[::1] a_starts,
    const int[::1] a_nodes,
    const int[::1] a_counts,
    const long long[::1] which,
    const long long[::1] starts,
    const int[::1] nodes,
    const int[::1] counts,
    const double[::1] weights,
    int first,
    int last,
    double[::1] r,
    double[:, ::1] out,
):
    """Rows of the kernel in which only equal nodes count, each by its weight: subtrees, words."""
    cdef Py_ssize_t row
    cdef long long i
    cdef long long t
    with nogil:
        for row in range(which.shape[0]):
            t = which[row]
            for i in range(a_starts[2 * t + first], a_starts[2 * t + last]):
                r[a_nodes[i]] = a_counts[i] * weights[a_nodes[i]]
            totals(starts, nodes, counts, r, first, last, out[row])
            for i in range(a_starts[2 * t + first], a_starts[2 * t + last]):
                r[a_nodes[i]] = 0.0


def subset_trees(
    const long long[::1] bounds,
    const int[::1] keys,
    const int[::1] production,
    const long long[::1] a_starts,
    const int[::1] a_nodes,
    const int[::1] a_counts,
    const long long[::1] which,
    const long long[::1] starts,
    const int[::1] nodes,
    const int[::1] counts,
    const int[::1] used,
    double decay,
    bint words,
    int[::1] group_of_key,
    long long[::1] group_bounds,
    int[::1] members,
    double[::1] member_counts,
    int[::1] rank,
    long long[::1] base,
    double[::1] table,
    double[::1] r,
    double[:, ::1] out,
):
    """Rows of the subset tree kernel; ``words``: equal words count as well."""
    cdef Py_ssize_t row
    cdef Py_ssize_t k
    cdef long long t
    cdef long long m
    cdef long long top
    cdef long long fu
    cdef long long fv
    cdef int v
    cdef int u
    cdef int g
    cdef int cu
    cdef int cv
    cdef int i
    cdef int n_children
    cdef double delta
    cdef double total
    cdef int last = 2 if words else 1
    with nogil:
        for row in range(which.shape[0]):
            t = which[row]
            group(
                production, a_nodes, a_counts, a_starts[2 * t], a_starts[2 * t + 1],
                group_of_key, group_bounds, members, member_counts, rank,
            )
            top = 0
            for k in range(used.shape[0]):
                v = used[k]
                r[v] = 0.0
                if production[v] < 0:
                    continue
                g = group_of_key[production[v]]
                if g < 0:
                    continue
                base[v] = top
                fv = bounds[v] + 1
                n_children = <int>(bounds[v + 1] - fv)
                total = 0.0
                for m in range(group_bounds[g], group_bounds[g + 1]):
                    u = members[m]
                    fu = bounds[u] + 1
                    delta = decay
                    for i in range(n_children):
                        cu = keys[fu + i]
                        cv = keys[fv + i]
                        if production[cu] == production[cv] and production[cu] >= 0:
                            delta *= 1.0 + table[base[cv] + rank[cu]]
                    table[top] = delta
                    top += 1
                    total += member_counts[m] * delta
                r[v] = total
            if words:
                for m in range(a_starts[2 * t + 1], a_starts[2 * t + 2]):
                    r[a_nodes[m]] = a_counts[m] * decay
            totals(starts, nodes, counts, r, 0, last, out[row])
            reset(production, a_nodes, a_starts[2 * t], a_starts[2 * t + 1], group_of_key)
            if words:
                for m in range(a_starts[2 * t + 1], a_starts[2 * t + 2]):
                    r[a_nodes[m]] = 0.0


cdef inline double children_sum(
    const int* cu,
    int p,
    const int* cv,
    int q,
    const int* symbol,
    const long long* base,
    const int* rank,
    const double* table,
    double decay,
    int levels,
    double* sums,
) noexcept nogil:
    """The sum over pairs of equally long subsequences of children of their deltas and gaps.

    SCRATCH sums (levels * q). levels 0: no limit.
    """
    cdef int i
    cdef int j
    cdef int level
    cdef int n_levels = levels
    cdef double total = 0.0
    cdef double s
    cdef double run
    cdef double before
    cdef double here
    cdef bint capped = 0 < levels < p and levels < q
    cdef double* mine
    cdef double* shorter
    if not capped:
        n_levels = 1
    for j in range(n_levels * q):
        sums[j] = 0.0
    for i in range(p):
        for level in range(n_levels, 0, -1):
            mine = sums + (level - 1) * q
            shorter = mine if not capped else mine - q
            run = 0.0
            before = 0.0
            for j in range(q):
                here = 0.0
                if not capped or level > 1:
                    here = shorter[j]
                run *= decay
                if symbol[cu[i]] == symbol[cv[j]]:
                    s = table[base[cv[j]] + rank[cu[i]]]
                    if not capped:
                        s *= 1.0 + before
                    elif level > 1:
                        s *= before
                    total += s
                    run += s
                mine[j] = decay * mine[j] + run
                before = here
    return total


def partial_trees(
    const long long[::1] bounds,
    const int[::1] keys,
    const int[::1] symbol,
    const long long[::1] a_starts,
    const int[::1] a_nodes,
    const int[::1] a_counts,
    const long long[::1] which,
    const long long[::1] starts,
    const int[::1] nodes,
    const int[::1] counts,
    const int[::1] used,
    double decay,
    double mu,
    int levels,
    int[::1] group_of_key,
    long long[::1] group_bounds,
    int[::1] members,
    double[::1] member_counts,
    int[::1] rank,
    long long[::1] base,
    double[::1] table,
    double[::1] sums,
    double[::1] r,
    double[:, ::1] out,
):
    """Rows of the partial tree kernel."""
    cdef Py_ssize_t row
    cdef Py_ssize_t k
    cdef long long t
    cdef long long m
    cdef long long top
    cdef long long fu
    cdef long long fv
    cdef int v
    cdef int u
    cdef int g
    cdef int p
    cdef int q
    cdef double delta
    cdef double total
    cdef double alone = mu * decay * decay
    with nogil:
        for row in range(which.shape[0]):
            t = which[row]
            group(
                symbol, a_nodes, a_counts, a_starts[2 * t], a_starts[2 * t + 2],
                group_of_key, group_bounds, members, member_counts, rank,
            )
            top = 0
            for k in range(used.shape[0]):
                v = used[k]
                r[v] = 0.0
                g = group_of_key[symbol[v]]
                if g < 0:
                    continue
                base[v] = top
                fv = bounds[v] + 1
                q = <int>(bounds[v + 1] - fv)
                total = 0.0
                for m in range(group_bounds[g], group_bounds[g + 1]):
                    u = members[m]
                    fu = bounds[u] + 1
                    p = <int>(bounds[u + 1] - fu)
                    delta = alone
                    if p and q:
                        delta += mu * children_sum(
                            &keys[fu], p, &keys[fv], q, &symbol[0], &base[0], &rank[0], &table[0],
                            decay, levels, &sums[0],
                        )
                    table[top] = delta
                    top += 1
                    total += member_counts[m] * delta
                r[v] = total
            totals(starts, nodes, counts, r, 0, 2, out[row])
            reset(symbol, a_nodes, a_starts[2 * t], a_starts[2 * t + 2], group_of_key)
