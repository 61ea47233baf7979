"""The upper envelope of the lines of a list."""

from libc.math cimport INFINITY

ctypedef fused order_t:
    unsigned char
    unsigned short
    int

ctypedef fused slope_t:
    float
    double


# An item's line, and the gamma from which it is the highest.
cdef struct Line:
    double since, slope, score
    int item


cdef inline int envelope(
    const order_t* order, const slope_t* slopes, int k, const double* scores, Line* lines
) noexcept nogil:
    """OUT lines: those that are highest somewhere, by rising slope. Return their number.

    IN order (k): the items of a list by rising slope; slopes (k); scores: of the items in their own order.
    """
    cdef int top = -1, t = 0, item
    cdef double apart = 1.0, below = 0.0, slope, score
    while t < k:
        slope = slopes[t]
        item = order[t]
        score = scores[item]
        t += 1
        while t < k and slopes[t] == slope:
            if scores[order[t]] > score:
                item = order[t]
                score = scores[item]
            t += 1
        # The new line meets the top one at below / apart, which is compared with its `since` without
        # a division.
        while top >= 0:
            apart = slope - lines[top].slope
            below = lines[top].score - score
            if below > lines[top].since * apart:
                break
            top -= 1
        below = below / apart if top >= 0 else -INFINITY
        if below == INFINITY:  # a slope that differs by rounding from the highest one
            continue
        top += 1
        lines[top].since = below
        lines[top].slope = slope
        lines[top].score = score
        lines[top].item = item
    return top + 1
