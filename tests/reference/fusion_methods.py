"""Methods of fusion from their definitions, one list, item and run after the other; NaN = not returned."""

import itertools
import math
import statistics


def ranking(rows, j):
    """The items of a list that run j returned, as groups of equal scores, best first."""
    scores = sorted({row[j] for row in rows if not math.isnan(row[j])}, reverse=True)
    return [[i for i, row in enumerate(rows) if row[j] == score] for score in scores]


def by_position(rows, j, points, absent=0.0):
    """points(position from 0, number returned) for each item, the mean over tied ones."""
    groups = ranking(rows, j)
    n = sum(map(len, groups))
    out = [absent] * len(rows)
    at = 0
    for group in groups:
        mean = sum(points(p, n) for p in range(at, at + len(group))) / len(group)
        for i in group:
            out[i] = mean
        at += len(group)
    return out


def total(rows, points, weights=None, absent=None):
    """The weighted sum over runs of points(run, position, number returned)."""
    n_runs = len(rows[0])
    weights = weights or [1.0] * n_runs
    out = [0.0] * len(rows)
    for j in range(n_runs):
        n = sum(not math.isnan(row[j]) for row in rows)
        rest = 0.0 if absent is None else absent(n)
        own = by_position(rows, j, lambda p, n, j=j: points(j, p, n), rest)
        out = [a + weights[j] * b for a, b in zip(out, own, strict=True)]
    return out


def known(row, weights=None):
    weights = weights or [1.0] * len(row)
    return [w * x for x, w in zip(row, weights, strict=True) if not math.isnan(x)]


def summary(rows, function):
    """A function of the scores of each item; the least of the list where there are none."""
    values = [function(known(row)) if known(row) else None for row in rows]
    least = min((v for v in values if v is not None), default=0.0)
    return [least if v is None else v for v in values]


def combanz(rows):
    return summary(rows, lambda scores: sum(scores) / len(scores))


def combmed(rows):
    return summary(rows, statistics.median)


def combmin(rows):
    return summary(rows, min)


def combmax(rows):
    return summary(rows, max)


def combgmnz(rows, gamma):
    return [sum(known(row)) * len(known(row)) ** gamma for row in rows]


def wsum(rows, weights):
    return [sum(known(row, weights)) for row in rows]


def wmnz(rows, weights):
    own = [sum(w for x, w in zip(row, weights, strict=True) if not math.isnan(x)) for row in rows]
    return [sum(known(row)) * weight for row, weight in zip(rows, own, strict=True)]


def mixed(rows, weights):
    return [sum(known(row, weights)) * math.sqrt(len(known(row))) for row in rows]


def isr(rows):
    return _isr(rows, float)


def log_isr(rows):
    return _isr(rows, lambda n: math.log(n) if n else 0.0)


def logn_isr(rows, sigma):
    return _isr(rows, lambda n: math.log(n + sigma) if n else 0.0)


def _isr(rows, factor):
    sums = total(rows, lambda j, p, n: 1 / (p + 1) ** 2)
    return [x * factor(len(known(row))) for x, row in zip(sums, rows, strict=True)]


def rbc(rows, phi):
    return total(rows, lambda j, p, n: (1 - phi) * phi**p)


def wrrf(rows, weights, k):
    out = [0.0] * len(rows)
    for j, weight in enumerate(weights):
        ranks = by_position(rows, j, lambda p, n: p + 1, math.inf)
        out = [x + weight / (k + rank) for x, rank in zip(out, ranks, strict=True)]
    return out


def bordafuse(rows, weights=None):
    c = len(rows)
    return total(rows, lambda j, p, n: c - p, weights, lambda n: (c - n + 1) / 2)


def condorcet(rows, weights=None):
    """Bottom-up merge sort, from the order of Borda's points, by the weighted majority."""
    weights = weights or [1.0] * len(rows[0])
    start = bordafuse(rows, weights)

    def margin(a, b):
        votes = 0.0
        for j, weight in enumerate(weights):
            x, y = rows[a][j], rows[b][j]
            x, y = (-math.inf if math.isnan(z) else z for z in (x, y))
            votes += weight * ((x > y) - (x < y))
        return votes

    pieces = [[i] for i in sorted(range(len(rows)), key=lambda i: -start[i])]
    while len(pieces) > 1:
        merged = []
        for k in range(0, len(pieces), 2):
            a, b = list(pieces[k]), list(pieces[k + 1]) if k + 1 < len(pieces) else []
            out = []
            while a and b:
                out.append(a.pop(0) if margin(a[0], b[0]) >= 0 else b.pop(0))
            merged.append(out + a + b)
        pieces = merged
    groups = []
    for i in pieces[0]:
        last = groups[-1][-1] if groups else None
        if last is not None and margin(last, i) == 0 and start[last] == start[i]:
            groups[-1].append(i)
        else:
            groups.append([i])
    out, left = [0.0] * len(rows), len(rows)
    for group in groups:
        for i in group:
            out[i] = left - (len(group) - 1) / 2
        left -= len(group)
    return out


def hits(lists, labels, j):
    """For each list the relevance at each position of run j; tied ones share the mean."""
    found = []
    for rows, own in zip(lists, labels, strict=True):
        line = []
        for group in ranking(rows, j):
            line += [sum(own[i] >= 1 for i in group) / len(group)] * len(group)
        found.append(line)
    return found


def position_probabilities(lists, labels, j):
    lines = hits(lists, labels, j)
    longest = max(map(len, lines))
    at = [[line[p] for line in lines if len(line) > p] for p in range(longest)]
    return [sum(x) / len(x) for x in at]


def posfuse(rows, lists, labels):
    tables = [position_probabilities(lists, labels, j) for j in range(len(rows[0]))]
    return total(rows, lambda j, p, n: tables[j][p] if p < len(tables[j]) else 0.0)


def slidefuse(rows, lists, labels, window):
    tables = [position_probabilities(lists, labels, j) for j in range(len(rows[0]))]

    def points(j, p, n):
        places = range(max(p - window, 0), min(p + window, n - 1) + 1)
        return sum(tables[j][q] if q < len(tables[j]) else 0.0 for q in places) / len(places)

    return total(rows, points)


def probfuse(rows, lists, labels, segments):
    def size(n):
        return math.ceil(n / segments)

    tables = []
    for j in range(len(rows[0])):
        table = [0.0] * segments
        for line in hits(lists, labels, j):
            for k in range(segments):
                own = line[k * size(len(line)) : (k + 1) * size(len(line))]
                table[k] += sum(own) / len(own) / len(lists) if own else 0.0
        tables.append(table)
    return total(rows, lambda j, p, n: tables[j][p // size(n)] / (p // size(n) + 1))


def segment_means(lists, labels, j, cuts):
    """The mean over lists of the relevance in each segment, whose empty positions are not relevant."""
    lines = hits(lists, labels, j)
    spans = list(itertools.pairwise(cuts))
    return [sum(sum(line[a:b]) / (b - a) for line in lines) / len(lines) for a, b in spans]


def segment_of(p, cuts):
    return next((k for k, end in enumerate(cuts[1:]) if p < end), None)


def segfuse(rows, lists, labels, ends):
    numbers = [10 * 2 ** (k - 1) - 5 for k in range(1, 11)]
    cuts = [0, *numbers] if ends else [sum(numbers[:k]) for k in range(11)]
    out = [0.0] * len(rows)
    for j in range(len(rows[0])):
        table = segment_means(lists, labels, j, cuts)
        shares = by_position(rows, j, lambda p, n, t=table: t[segment_of(p, cuts)])
        for i, row in enumerate(rows):
            out[i] += 0.0 if math.isnan(row[j]) else shares[i] * (row[j] + 1)
    return out


def bayesfuse(rows, lists, labels):
    cuts = [0, 5, 10, 15, 20, 30, 100, 200, 500, 1000]

    def odds(p):
        p = p or 0.001
        return math.log(p / ((1 - p) or 0.001))

    tables = [[odds(p) for p in segment_means(lists, labels, j, cuts)] for j in range(len(rows[0]))]
    least = odds(0)
    tables = [[max(x, least) for x in table] for table in tables]
    return total(rows, lambda j, p, n: tables[j][segment_of(p, cuts)], absent=lambda n: least)


def mapfuse(rows, means):
    return total(rows, lambda j, p, n: means[j] / (p + 1))
