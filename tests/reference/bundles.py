"""Bundles of a list by their definition: columns relative to what most items have, and who shares them."""

from collections import Counter


def bundles(columns):
    """{column relative to its majority, as (item, value) pairs: its features} of one list's dense columns."""
    found = {}
    for feature, column in enumerate(columns):
        value, times = Counter(column).most_common(1)[0]
        base = value if 2 * times > len(column) else 0.0
        relative = tuple((j, x - base) for j, x in enumerate(column) if x != base)
        if relative:
            found.setdefault(relative, []).append(feature)
    return found
