"""Top-k oracles: every choice among the first items is tried."""

import importlib
import itertools

from reference.everything import plain


def value(metric, lists, scores, ties):
    """The best corpus value by the inner metric's twin."""
    name = type(metric.inner).__module__.rpartition(".")[2]
    inner = importlib.import_module(f"reference.metrics.{name}").value
    first = []
    for part, start in zip(plain(lists, scores), lists.offsets.tolist(), strict=False):
        order = sorted(range(len(part.scores)), key=lambda j, s=part.scores: (-s[j], j))
        first.append([start + j for j in order[: metric.cutoff]])
    values = []
    for choice in itertools.product(*first):
        values.append(inner(metric.inner, lists, [float(j in choice) for j in range(lists.n_items)], ties))
    values = [found for found in values if found == found]
    if not values:
        return float("nan")
    return (max if metric.inner.prepare(lists).better > 0 else min)(values)
