#!/usr/bin/env python
"""How much measures of the first k samples depend on the order in which the samples were drawn.

python scripts/sample_orders.py data/best-of-n/test.jsonl --score orm --k 4 --answer-pattern 'Answer: (.*)'

Prints, in points, mean and standard deviation over random orders of the samples within each list: of the
measure of the first k samples (draw=first), and of the mean over all subsets of k, which uses all samples.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import rerank
from rerank.data.judge import value_of
from rerank.metrics.base import parse


def deviations(
    lists: rerank.CandidateLists, scores: np.ndarray, metrics: Sequence[str], orders: int, seed: int
) -> list[tuple[str, float, float]]:
    """Return each metric with its mean and standard deviation over random orders within the lists."""
    rng = np.random.default_rng(seed)
    values = np.empty((orders, len(metrics)))
    for row in values:
        order = np.lexsort((rng.random(lists.n_items), lists.list_index))
        mixed = lists.reordered(order)
        row[:] = [value_of(parse(name).prepare(mixed), scores[order]) for name in metrics]
    return list(zip(metrics, values.mean(axis=0).tolist(), values.std(axis=0, ddof=1).tolist(), strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table for a file of samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--score", required=True, help="the feature that chooses, and weights votes")
    parser.add_argument("--k", type=int, required=True)
    parser.add_argument("--answer-pattern", help="as of rerank; without answers there are no votes")
    parser.add_argument("--orders", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    lists = rerank.load(options.data, answer_pattern=options.answer_pattern)
    scores = lists.features.column(lists.column_of(options.score))
    families = ["best"] if lists.answers is None else ["best", "maj", "wmaj(weight=exp)"]
    names = []
    for family in families:
        name, _, rest = family.removesuffix(")").partition("(")
        inside = f"{rest}, " if rest else ""
        names += [f"{name}({inside}draw=first)@{options.k}", f"{family}@{options.k}"]
    width = max(map(len, names))
    print(f"{'':{width}}   mean   deviation over {options.orders} orders of the samples")
    for name, mean, deviation in deviations(lists, scores, names, options.orders, options.seed):
        print(f"{name:{width}}  {100 * mean:5.2f}   {100 * deviation:.2f}")


if __name__ == "__main__":
    main()
