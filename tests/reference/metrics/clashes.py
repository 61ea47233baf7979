"""Clashes from every pair of residues."""

import itertools
import math

from reference.everything import chosen, mean, plain


def _place(key):
    """Chain and number of a key."""
    return key >> 32, (key & 0xFFFFFFFF) >> 8


def count(structure):
    """Clashes of a structure, a dictionary of position by residue key."""
    keys, found = sorted(structure), 0
    for (i, a), (j, b) in itertools.combinations(enumerate(keys), 2):
        (chain, number), (other_chain, other) = _place(a), _place(b)
        neighbours = j == i + 1 and chain == other_chain and other - number <= 1
        distance = math.dist(structure[a], structure[b])
        found += distance < (2.7 if neighbours else 3.6) - 1e-7
    return found


def value(metric, lists, scores, ties):
    """The mean of the chosen models' clashes."""
    values = []
    for part in plain(lists, scores):
        counts = [count(one) if one else None for one in part.traces]
        known = [one for one in counts if one is not None]
        if known:
            own = counts[chosen(part)]
            values.append(max(known) if own is None else own)
    return mean(values)
