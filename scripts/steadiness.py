"""How steady Algorithms 1 and 2 are: the dev metric of the last weights and of their mean, epoch by epoch.

    python scripts/steadiness.py TRAIN DEV METRIC OUT.tsv [--epochs 20] [--seeds 3]

Pairs are ordinal, margins uneven, tau is 1. Printed are the deviation of the metric over the second half of
the epochs, averaged over seeds, and that of the last epoch over seeds; both in percent of it.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import rerank
from rerank.core.files.write import write_lines

ALGORITHMS: dict[str, dict[str, Any]] = {
    "1": {"algorithm": 1},
    "1 fixed": {"algorithm": 1, "pair_order": "fixed"},
    "2": {"algorithm": 2},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("train", "dev", "metric", "out"):
        parser.add_argument(name)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    train, dev = rerank.load(asked.train), rerank.load(asked.dev)
    lines = ["algorithm\taverage\tseed\tepoch\tvalue"]
    for average in ("last", "average"):
        for name, algorithm in ALGORITHMS.items():
            given = {**algorithm, "average": average, "epochs": asked.epochs, "margin": "uneven", "tau": 1}
            found = []
            for seed in range(1, asked.seeds + 1):
                model = rerank.train(train, dev=dev, metric=asked.metric, seed=seed, keep="last", **given)
                found.append([row["dev"] for row in model.curve])
            lines += [
                f"{name}\t{average}\t{seed}\t{at}\t{value:.6g}"
                for seed, row in enumerate(found, 1)
                for at, value in enumerate(row, 1)
            ]
            late = [row[len(row) // 2 :] for row in found]
            between = np.std([row[-1] for row in found], ddof=1) if len(found) > 1 else np.nan
            mean, within = np.mean(late), np.mean([np.std(row) for row in late])
            print(
                f"Algorithm {name}, {average}: {asked.metric} {mean:.4g}, deviation over epochs "
                f"{within / mean:.2%}, over seeds {between / mean:.2%}",
                flush=True,
            )
    write_lines(asked.out, lines)


if __name__ == "__main__":
    main()
