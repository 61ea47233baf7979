"""Likelihoods of comparisons from their definitions, one comparison after the other."""

import itertools
import math


def probabilities(d, tie=None):
    """Win, tie and loss of the first item of two, whose strengths differ by d."""
    parts = [math.exp(d / 2), 0.0 if tie is None else math.exp(tie), math.exp(-d / 2)]
    return [part / sum(parts) for part in parts]


def log_likelihood(strengths, comparisons, tie=None, order=0.0, slope=0.0, judges=None):
    """Of (first, second, (win, tie, loss), length, judge); without ``tie`` a tie is half a win of each."""
    total = 0.0
    for first, second, (win, draw, loss), length, judge in comparisons:
        d = strengths[first] - strengths[second] + order + slope * length
        if judges is not None:
            d *= judges[judge]
        p = probabilities(d, tie)
        if tie is None:
            total += (win + draw / 2) * math.log(p[0]) + (loss + draw / 2) * math.log(p[2])
        else:
            total += win * math.log(p[0]) + draw * math.log(p[1]) + loss * math.log(p[2])
    return total


def log_prior(strengths, sd):
    """The logarithm of the density of strengths, but for a constant."""
    return -sum(s * s for s in strengths) / (2 * sd * sd)


def log_likelihood_of_rankings(strengths, rankings):
    """Plackett and Luce: each item is chosen among those that are left."""
    total = 0.0
    for ranking in rankings:
        for k, item in enumerate(ranking[:-1]):
            total += strengths[item] - math.log(sum(math.exp(strengths[i]) for i in ranking[k:]))
    return total


def climbed(function, start, free):
    """The maximum of a concave function by steps of one parameter after the other, ever smaller."""
    x = list(start)
    best, step = function(x), 1.0
    while step > 1e-9:
        moved = False
        for k in free:
            for sign in (1, -1):
                other = x.copy()
                other[k] += sign * step
                value = function(other)
                if value > best:
                    x, best, moved = other, value, True
        if not moved:
            step /= 2
    return x, best


def components(n, comparisons):
    """The parts of the graph of comparisons, by walking."""
    found, seen = [], set()
    near = {i: set() for i in range(n)}
    for first, second, *_ in comparisons:
        near[first].add(second)
        near[second].add(first)
    for i in range(n):
        if i not in seen:
            part, queue = {i}, [i]
            while queue:
                new = near[queue.pop()] - part
                part |= new
                queue += new
            seen |= part
            found.append(sorted(part))
    return found


def cyclic_triads(n, lead):
    """Triads with a > b > c > a, and those whose pairs all have a majority; lead[i, j] = -lead[j, i]."""
    cycles = triads = 0
    for a, b, c in itertools.combinations(range(n), 3):
        signs = [lead[a, b], lead[b, c], lead[c, a]]
        if all(sign != 0 for sign in signs):
            triads += 1
            cycles += len({sign > 0 for sign in signs}) == 1
    return cycles, triads


def mean_variance(covariance):
    """The mean variance of the difference of two strengths."""
    n = len(covariance)
    pairs = list(itertools.combinations(range(n), 2))
    return sum(covariance[i][i] + covariance[j][j] - 2 * covariance[i][j] for i, j in pairs) / len(pairs)
