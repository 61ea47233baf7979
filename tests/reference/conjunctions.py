"""Boosting with conjunctions straight from its description: every candidate by loops over all pairs."""

import math

from reference import boosting as slow


def literal(x, t):
    """Whether a value is at or above a threshold above 0, or below one of 0 or less."""
    return x >= t if t > 0 else x < t


def holds(row, members, stumps):
    """Whether all literals of a conjunction hold of the values of an item; an item None has the values 0."""
    return row is not None and all(literal(row[stumps[k][0]], stumps[k][1]) for k in members)


def frequent(X, stumps, n):
    """The n stumps whose rarer value most items have; the first on ties."""
    counts = [sum(holds(row, (k,), stumps) for row in X) for k in range(len(stumps))]
    rarer = [min(c, len(X) - c) for c in counts]
    order = sorted(range(len(stumps)), key=lambda k: (-rarer[k], k))[:n]
    return sorted(k for k in order if rarer[k] > 0)


def gain(signs, weight):
    """|sqrt(W+) - sqrt(W-)| of the signs of the pairs."""
    up = math.fsum(w for s, w in zip(signs, weight, strict=True) if s > 0)
    down = math.fsum(w for s, w in zip(signs, weight, strict=True) if s < 0)
    return abs(math.sqrt(up) - math.sqrt(down))


def signs_of(X, pairs, members, stumps):
    """+1 if a conjunction holds of the winner alone, -1 if of the loser alone, else 0."""
    row = {None: None, **{j: X[j] for _, a, b, _ in pairs for j in (a, b) if j is not None}}
    return [int(holds(row[a], members, stumps)) - int(holds(row[b], members, stumps)) for _, a, b, _ in pairs]


def better(X, pairs, weight, stumps, chosen, often, made, n, min_lists):
    """The conjunctions to add, given the weights of the pairs and the tuples of literals so far."""
    total = math.fsum(weight)
    root = math.sqrt(total)
    found = []
    for c, one in enumerate(chosen):
        for f, other in enumerate(often):
            members = tuple(sorted({*one, other}))
            signs = signs_of(X, pairs, members, stumps)
            parts = [signs_of(X, pairs, part, stumps) for part in (one, (other,))]
            g = gain(signs, weight)
            lists = {i for (i, *_), s in zip(pairs, signs, strict=True) if s}
            above = all(g > gain(part, weight) + 1e-10 * root for part in parts)
            if len(lists) >= min_lists and above and g > math.sqrt(2.220446049250313e-16) * root:
                found.append((-round(g / root, 10), c, f, members))
    items = {tuple(holds(row, members, stumps) for row in X) for members in made}
    new = []
    for *_, members in sorted(found):
        of = tuple(holds(row, members, stumps) for row in X)
        if of not in items and len(new) < n:
            items.add(of)
            new.append(members)
    return new


def rounds(X, pairs, stumps, groups, margins, settings, loss="exp"):
    """The rounds as (indicator, step), numbered by stumps and then conjunctions; and the conjunctions.

    settings: epsilon, rounds, every, add, conjunctions, frequent, min_lists.
    """
    margins = list(margins)
    used = sorted({j for _, a, b, _ in pairs for j in (a, b) if j is not None})
    often = frequent([X[j] for j in used], stumps, settings["frequent"])
    made: list[tuple[int, ...]] = []
    out: list[tuple[int, float]] = []
    while True:
        g = slow.differences(X, stumps, pairs)
        extra = [signs_of(X, pairs, members, stumps) for members in made]
        g = [[*row, *(signs[p] for signs in extra)] for p, row in enumerate(g)]
        more = len(made) < settings["conjunctions"]
        n = min(settings["every"], settings["rounds"] - len(out)) if more else settings["rounds"] - len(out)
        if loss == "exp":
            done = slow.exp_rounds(g, [s for *_, s in pairs], margins, settings["epsilon"], n)
        else:
            done = slow.log_rounds(g, groups, margins, settings["epsilon"], n)
        for k, step, *_ in done:
            margins = [m + step * row[k] for m, row in zip(margins, g, strict=True)]
            out.append((k, step))
        if len(out) == settings["rounds"] or not more:
            return out, made
        if loss == "exp":
            weight = [s * math.exp(-m) for (*_, s), m in zip(pairs, margins, strict=True)]
        else:
            weight, _ = slow.shares_of(groups, margins)
        numbers = sorted({k for k, _ in out})
        chosen = [(k,) if k < len(stumps) else made[k - len(stumps)] for k in numbers]
        room = min(settings["add"], settings["conjunctions"] - len(made))
        new = better(X, pairs, weight, stumps, chosen, often, made, room, settings["min_lists"])
        made += new
        if len(done) < n and not new:
            return out, made
