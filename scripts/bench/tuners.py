"""PRO and k-best MIRA: CPU seconds of a fit, and its values on dev and test.

    python scripts/bench/tuners.py [--quick] [FOLDER ...]

Generated lists of two sizes show how the time grows. Each FOLDER has dev and test lists and references
(dev.nbest.gz, dev.ref.gz, ...) in Moses' format; weights are tuned on dev with three seeds by --metric
(BLEU), and the values are means with the range in parentheses. The lists are loaded before the clock
starts; the metric's statistics and MIRA's 60 epochs are part of the time, PRO's labels are not.
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from pathlib import Path

import numpy as np
from common import arguments

from rerank.core.errors import DataNote
from rerank.data.lists import CandidateLists
from rerank.evaluation.evaluate import evaluate
from rerank.formats import load
from rerank.metrics.labelling import label as labelled
from rerank.training.train import fit, make_learner

SEEDS = (1000, 2000, 3000)


def draw(n_lists: int, length: int, n_features: int = 15) -> CandidateLists:
    """Lists with the counts of BLEU, labels and features that know something of them."""
    rng = np.random.default_rng(1)
    n = n_lists * length
    tokens = rng.integers(15, 35, n)
    totals = np.maximum(tokens[:, None] - np.arange(4), 0)
    quality = rng.random(n)
    matches = np.floor(totals * (0.2 + 0.5 * quality[:, None]) ** np.arange(1, 5))
    reference = np.repeat(rng.integers(15, 35, n_lists), length)
    X = rng.standard_normal((n, n_features)) + quality[:, None] * rng.standard_normal(n_features)
    lists = CandidateLists.from_arrays(X, 100 * quality, group=np.full(n_lists, length))
    counts = np.column_stack([matches, totals, tokens, reference]).astype(np.float64)
    return dataclasses.replace(lists, counts={"BLEU": counts})


def read(folder: Path, part: str) -> CandidateLists:
    return load(str(folder / f"{part}.nbest.gz"), "moses", refs=[str(folder / f"{part}.ref.gz")])


def cell(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def measure(learner: str, dev: CandidateLists, test: CandidateLists | None, metric: str) -> str:
    """Dev, test and CPU seconds over the seeds."""
    found: dict[str, list[float]] = {"dev": [], "test": [], "CPU s": []}
    for seed in SEEDS:
        start = time.process_time()
        model = fit(make_learner(learner, {"seed": seed}), dev, metric=metric)
        found["CPU s"].append(time.process_time() - start)
        for part, lists in (("dev", dev), ("test", test)):
            if lists is not None:
                found[part].append(evaluate(lists, model.score(lists), [metric])[metric])
    return "; ".join(f"{name} {cell(values)}" for name, values in found.items() if values)


def main() -> None:
    parser = arguments(__doc__, "smaller lists", folders=True)
    parser.add_argument("--metric", default="BLEU")
    args = parser.parse_args()
    warnings.simplefilter("ignore", DataNote)
    fit(make_learner("pro", {}), draw(2, 10))  # imports are not part of the time
    for n_lists in (100, 400) if args.quick else (500, 2000):
        lists = draw(n_lists, 100)
        for learner in ("mira", "pro"):
            print(
                f"{learner}, drawn, {lists.n_items:,} items: {measure(learner, lists, None, 'BLEU')}",
                flush=True,
            )
    label = "sBLEU" if args.metric == "BLEU" else args.metric
    for folder in args.folders:
        dev, test = read(folder, "dev"), read(folder, "test")
        for learner in ("mira", "pro"):
            tuned_on = labelled(dev, label) if learner == "pro" else dev
            print(f"{learner}, {folder.name}: {measure(learner, tuned_on, test, args.metric)}", flush=True)


if __name__ == "__main__":
    main()
