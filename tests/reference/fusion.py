"""Fusion of scores from the definitions, one list, item and system after the other."""

import math


def rrf(rows, k):
    """Cormack, Clarke & Buettcher (2009); ranks as the mean over all orders of tied items."""
    out = []
    for row in rows:
        total = 0.0
        for j, x in enumerate(row):
            if not math.isnan(x):
                others = [other[j] for other in rows if not math.isnan(other[j])]
                above = sum(y > x for y in others)
                tied = sum(y == x for y in others)
                total += 1 / (k + above + (tied + 1) / 2)
        out.append(total)
    return out


def minmax(rows):
    """Each system's scores of a list, from 0 to 1; 0 if all are equal."""
    columns = []
    for column in zip(*rows, strict=True):
        known = [x for x in column if not math.isnan(x)]
        low, high = min(known, default=0.0), max(known, default=0.0)
        columns.append([(x - low) / (high - low) if high > low else x - low for x in column])
    return [list(row) for row in zip(*columns, strict=True)]


def combsum(rows):
    """Fox & Shaw (1994): the sum over the systems that retrieved the item."""
    return [sum(x for x in row if not math.isnan(x)) for row in rows]


def combmnz(rows):
    """Fox & Shaw (1994): the sum times the number of systems that retrieved the item."""
    return [sum(x for x in row if not math.isnan(x)) * sum(not math.isnan(x) for x in row) for row in rows]
