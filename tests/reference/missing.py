"""Missing values filled by plain loops, from the definitions."""

import itertools
import math


def filled(policy, train, test, offsets):
    """Rows ``test`` filled by what ``train`` gives, with indicators; lists are offsets[i]:offsets[i + 1]."""
    columns, added = [], []
    for j in range(len(train[0])):
        known = [row[j] for row in train if not math.isnan(row[j])]
        mean = math.fsum(known) / len(known) if known else None
        column = []
        for start, stop in itertools.pairwise(offsets):
            values = [row[j] for row in test[start:stop]]
            others = [value for value in values if not math.isnan(value)]
            fill = math.fsum(others) / len(others) if policy == "list-mean" and others else mean
            if policy == "list-min":
                fill = min(others, default=0.0)
            column += [fill if math.isnan(value) else value for value in values]
        if policy == "zero":
            column = [0.0 if math.isnan(row[j]) else row[j] for row in test]
        elif mean is None:
            column = [0.0] * len(test)
        columns.append(column)
        if policy == "indicator" and 0 < len(known) < len(train):
            added.append([float(math.isnan(row[j])) for row in test])
    return [list(row) for row in zip(*columns, *added, strict=True)]
