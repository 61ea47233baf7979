"""The best factor of the base score, by trying a factor between every two crossings of any two items."""

import numpy as np


def value(lists, judge, rest, moving, factor):
    """The metric at one factor, larger is better."""
    return judge.better * float(judge.score_from_sums(judge.per_list(rest + factor * moving).sum(axis=0)))


def crossings(lists, rest, moving):
    """Every factor at which two items of a list change places, rising."""
    found = set()
    for i in range(lists.n_lists):
        items = range(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        for a in items:
            for b in items:
                if moving[a] != moving[b]:
                    found.add(float((rest[a] - rest[b]) / (moving[b] - moving[a])))
    return sorted(found)


def tried(lists, judge, rest, moving):
    """(factor, value) for one factor in every interval."""
    ends = crossings(lists, rest, moving)
    if not ends:
        return [(1.0, value(lists, judge, rest, moving, 1.0))]
    points = [ends[0] - 1.0, *((np.array(ends[1:]) + np.array(ends[:-1])) / 2).tolist(), ends[-1] + 1.0]
    return [(f, value(lists, judge, rest, moving, f)) for f in points]
