"""Scaling by plain loops over one column at a time, from the definitions."""

import itertools
import math

import numpy as np

ROUNDINGS = 8.0
TINY = 1e-300


def scaled(name, train, test, *, test_offsets=None, shifts=True, eps=2.0**-52):
    """Array ``test`` (n, d) scaled by ``name`` with the statistics of ``train``."""
    out = np.empty(test.shape)
    for j in range(test.shape[1]):
        if not name.startswith("list-"):
            out[:, j] = _column(name, train[:, j].tolist(), test[:, j].tolist(), shifts, eps)
            continue
        for start, stop in itertools.pairwise(test_offsets):
            values = test[start:stop, j].tolist()
            out[start:stop, j] = _column(name, values, values, shifts, eps)
    return out


def _column(name, train, test, shifts, eps):
    known = [x for x in train if not math.isnan(x)]
    largest = max((abs(x) for x in known), default=0)
    if not known or max(known) - min(known) <= max(ROUNDINGS * eps * largest, TINY):
        return [math.nan if math.isnan(x) else 0.0 for x in test]
    return [math.nan if math.isnan(x) else _value(name, known, x, shifts) for x in test]


def _value(name, known, x, shifts):
    if name.endswith("minmax"):
        low = min(known)
        return (x - low if shifts else x) / (max(known) - low)
    if name.endswith("zscore"):
        mean = math.fsum(known) / len(known)
        deviation = math.sqrt(math.fsum((k - mean) ** 2 for k in known) / len(known))
        return (x - mean if shifts else x) / deviation
    below = sum(k < x for k in known)
    equal = sum(k == x for k in known)
    if name == "list-rank":
        return (below + (equal - 1) / 2) / (len(known) - 1)
    return (below + equal / 2) / len(known)
