"""How steady Algorithms 1 and 2 are: dev F of the last weights and of their mean, round by round.

    python scripts/parse_steadiness.py STORES OUT.tsv [--epochs 20] [--seeds 3]

STORES holds train.store and dev.store. Pairs are ordinal, margins uneven, tau is 1. Printed are the deviation
of dev F over the second half of the epochs, averaged over seeds, and that of the last epoch over seeds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from rerank.core.files.write import write_lines


def curves(stores: Path, algorithm: int, average: str, epochs: int, seeds: int) -> list[list[float]]:
    """Dev F after each round, for each seed."""
    train, dev = (rerank.load(stores / f"{part}.store") for part in ("train", "dev"))
    settings: dict[str, Any] = {
        "algorithm": algorithm,
        "average": average,
        "epochs": epochs,
        "margin": "uneven",
        "tau": 1,
    }
    found = []
    for seed in range(1, seeds + 1):
        model = rerank.train(train, dev=dev, metric="PARSEVAL", seed=seed, **settings)
        found.append([row["dev"] for row in model.curve])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stores", type=Path)
    parser.add_argument("out")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    lines = ["algorithm\taverage\tseed\tround\tF"]
    for average in ("last", "average"):
        for algorithm in (1, 2):
            found = curves(asked.stores, algorithm, average, asked.epochs, asked.seeds)
            lines += [
                f"{algorithm}\t{average}\t{seed}\t{at}\t{value:.3f}"
                for seed, row in enumerate(found, 1)
                for at, value in enumerate(row, 1)
            ]
            late = [row[len(row) // 2 :] for row in found]
            between = np.std([row[-1] for row in found], ddof=1) if len(found) > 1 else np.nan
            print(
                f"Algorithm {algorithm}, {average}: F {np.mean(late):.2f}, deviation over epochs "
                f"{np.mean([np.std(row) for row in late]):.3f}, over seeds {between:.3f}",
                flush=True,
            )
    write_lines(asked.out, lines)


if __name__ == "__main__":
    main()
