"""Curves of parameter-mixing beside the perceptron, and paired tests on the test lists.

    python scripts/mixing_curve.py --train A --dev B --test C --metric AP [--label PARSEVAL] [--epochs 40]
        [--set pairs=best-rest --set tau=1]

A, B and C are files or stores; with {fold} in their names they are read for each of --folds, whose dev values
are averaged and whose test lists are judged together. The epoch is chosen on dev. Each line has the metric on
dev after some epochs, the epochs that were kept, the value on test, and of mixtures the difference from the
perceptron with its 95 % interval and p of the bootstrap, before and after Holm's correction.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import rerank
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.metrics.labelling import label

SHOWN = (1, 2, 5, 10, 20, 40)
SYSTEMS: dict[str, dict[str, Any]] = {
    "perceptron": {"learner": "perceptron"},
    "4 parts": {"learner": "parameter-mixing", "parts": 4},
    "16 parts": {"learner": "parameter-mixing", "parts": 16},
    "16 parts, by updates": {"learner": "parameter-mixing", "parts": 16, "mixing": "updates"},
}


def lists_of(path: str, given: argparse.Namespace, fold: int) -> CandidateLists:
    """Return the lists of one part of a fold."""
    lists = rerank.load(path.format(fold=fold))
    return lists if given.label is None else label(lists, given.label)


def main() -> None:
    """Print the curves and the tests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("train", "dev", "test", "metric"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--label")
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    settings: dict[str, Any] = dict(one.split("=", 1) for one in given.set)
    settings = {key: float(value) if key == "tau" else value for key, value in settings.items()}
    tests = []
    curves: dict[str, list[list[float]]] = {name: [] for name in SYSTEMS}
    scores: dict[str, list[Any]] = {name: [] for name in SYSTEMS}
    kept: dict[str, list[int]] = {name: [] for name in SYSTEMS}
    for fold in range(1, given.folds + 1):
        train, dev, test = (lists_of(path, given, fold) for path in (given.train, given.dev, given.test))
        tests.append(test)
        for name, system in SYSTEMS.items():
            how = {**system, **settings, "epochs": given.epochs, "metric": given.metric, "keep": "best"}
            model: Any = rerank.train(train, dev=dev, **how)
            values = [row["dev"] for row in model.curve]
            curves[name].append(values + values[-1:] * (given.epochs - len(values)))
            kept[name].append(model.training.rounds.kept)
            scores[name].append(model.score(test))
    whole = {name: np.concatenate(parts) for name, parts in scores.items()}
    judged = rerank.compare(joined(tests), whole, [given.metric])
    pairs = {pair.b: pair for pair in judged.pairs[given.metric] if pair.a == "perceptron"}
    shown = [n for n in SHOWN if n <= given.epochs]
    print("epochs on dev:", *shown)
    for name, values in curves.items():
        mean = np.mean(values, axis=0)
        line = " ".join(f"{mean[n - 1]:.4g}" for n in shown)
        print(f"{name}: {line}; kept {np.mean(kept[name]):.1f};", _test(pairs.get(name)), flush=True)


def _test(pair: Any) -> str:
    """The value on test, and the difference from the perceptron."""
    if pair is None:
        return "the baseline"
    low, high = pair.ci
    change = f"{pair.value_b - pair.value_a:+.4g} [{-high:+.4g}, {-low:+.4g}]"
    value = f"test {pair.value_b:.5g}, perceptron {pair.value_a:.5g}, {change}"
    return f"{value}, p {pair.p_bootstrap:.3g}, Holm {pair.holm:.3g}"


if __name__ == "__main__":
    main()
