#!/usr/bin/env python3
"""Rankers of single lists: CPU milliseconds per list by learner, and the growth with the number of lists.

    python scripts/bench/rankers.py [--quick]

Made lists of 100 items with 20 features and five labels, whose best weights differ from list to list. Some
rankers are compared with fits of sets that have no other list. --quick uses a tenth of the lists.
"""

from __future__ import annotations

import numpy as np
from common import arguments, cpu_seconds

from rerank.core.types import Floats
from rerank.data.judge import label_judge
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.propagation.settings import (
    Rankers,
    linear_weights,
    list_rankers,
    normalised,
)
from rerank.learners.base import LEARNERS, Learner

LEARNED = ("ranksvm", "loglinear", "mert", "mira", "pro", "perceptron", "ridge")
ITEMS, FEATURES = 100, 20
COMPARED = 5


def made_lists(n: int) -> CandidateLists:
    """Return lists whose labels follow the scores of weights of their own, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, ITEMS, FEATURES)) @ rng.normal(size=(FEATURES, FEATURES))
    weights = rng.normal(size=FEATURES) + rng.normal(size=(n, FEATURES, 1))
    scores = (X @ weights)[..., 0]
    scores += rng.normal(size=scores.shape) * scores.std()
    grades = scores.argsort(axis=1).argsort(axis=1) * 5 // ITEMS
    return CandidateLists.from_arrays(X.reshape(-1, FEATURES), grades.reshape(-1), group=[ITEMS] * n)


def alone(base: Learner, lists: CandidateLists, i: int) -> Floats:
    """Return the weights that a learner finds for a set of list ``i``."""
    one = lists.subset([i])
    return normalised(linear_weights(base, base.fit(one, judge=label_judge(one))), "l2")


def measured(name: str, lists: CandidateLists) -> None:
    """Print a row for a learner."""
    base, found = LEARNERS.get(name)(), list[Rankers]()
    seconds = cpu_seconds(lambda: found.append(list_rankers(base, lists, "l2")))
    apart = [np.abs(found[0].weights[i] - alone(base, lists, i)).max() for i in range(COMPARED)]
    rate, trained = 1e3 * seconds / lists.n_lists, int(found[0].trained.sum())
    size = f"{name:12} {lists.n_lists:6} lists {trained:6} rankers"
    print(
        f"{size} {seconds:8.2f} s {rate:7.2f} ms per list, from fits of one list {max(apart):.0e}", flush=True
    )


def main() -> None:
    """Print a row for each learner, then rows for more and more lists."""
    quick = arguments(__doc__, quick="a tenth of the lists").parse_args().quick
    share = 10 if quick else 1
    lists = made_lists(5000 // share)
    for name in LEARNED:
        measured(name, lists.subset(np.arange(500 // share)))
    for n in (1250, 2500, 5000):
        for name in ("ranksvm", "mert"):
            measured(name, lists.subset(np.arange(n // share)))


if __name__ == "__main__":
    main()
