#!/usr/bin/env python3
"""How often the guarantees of 'rerank selective --alpha' hold on random halves of real lists.

Each split chooses the width of the sets and the threshold of the margin on one half of the judged lists, and
looks at the other. Over all splits, the share of sets with a right item should be 1 - alpha or more (and not
more by over 1 / (n + 1), without ties), and the share of lists that get worse alpha or less.

python scripts/conformal_splits.py DATA SCORES METRIC [--baseline SYSTEM] [--splits 500]
"""

from __future__ import annotations

import argparse

import numpy as np

from rerank.core.errors import DataError
from rerank.evaluation.evaluate import evaluate_files
from rerank.extensions.selection.conformal import controlled_threshold, set_width
from rerank.extensions.selection.sample import Sample


def main() -> None:
    """Print a row for each alpha."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "scores", "metric"):
        parser.add_argument(name)
    parser.add_argument("--baseline")
    parser.add_argument("--splits", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    judged = evaluate_files(given.data, [given.scores], given.metric, baseline=given.baseline)
    sample = Sample.of(judged, given.scores)
    known = np.flatnonzero(sample.judged)
    half = len(known) // 2
    print(f"{len(known)} judged lists, {half} to choose by, {given.splits} splits")
    print("alpha  a right one is kept (deviation)  lists that get worse (deviation)")
    for alpha in (0.05, 0.1, 0.2):
        rng, kept, worse = np.random.default_rng(given.seed), [], []
        unkept = sample.right is None
        for _ in range(given.splits):
            order = rng.permutation(known)
            fit, new = order[:half], order[half:]
            try:
                if not unkept:
                    width = set_width(sample.distances(fit), alpha)
                    kept.append(float((sample.distances(new) <= width).mean()))
            except DataError:  # too many lists without a right item
                unkept = True
            sure = sample.confidence[:, 0]
            threshold = controlled_threshold(sample.curve(fit, sure[fit]), sample.losses(fit, "worse"), alpha)
            worse.append(float((sample.losses(new, "worse") * (sure[new] >= threshold)).mean()))
        sets = "impossible" if unkept else f"{np.mean(kept):.4f} ({np.std(kept):.4f})"
        print(f"{alpha:5.2f}  {sets:>31}  {f'{np.mean(worse):.4f} ({np.std(worse):.4f})':>32}")


if __name__ == "__main__":
    main()
