"""The best assignment of a small matrix, by enumeration."""

import itertools
import math


def best_total(costs, maximize=False):
    """Return the least total of costs (n lists of m numbers), or the largest; None if all are infinite."""
    n, m = len(costs), len(costs[0])
    sign = -1.0 if maximize else 1.0
    if n <= m:
        ways = (zip(range(n), chosen, strict=True) for chosen in itertools.permutations(range(m), n))
    else:
        ways = (zip(chosen, range(m), strict=True) for chosen in itertools.permutations(range(n), m))
    totals = [sign * math.fsum(costs[i][j] for i, j in way) for way in map(list, ways) if _finite(costs, way)]
    return sign * min(totals) if totals else None


def _finite(costs, way):
    return all(math.isfinite(costs[i][j]) for i, j in way)
