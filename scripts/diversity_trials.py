"""Does diversity help without judgements by subtopic? Speech and mathematics, the share chosen on dev.

RERANK_DATA=../shared/data python scripts/diversity_trials.py
"""

from __future__ import annotations

import os
import warnings

import numpy as np

import rerank
from rerank.core.errors import DataNote

DATA = os.environ.get("RERANK_DATA", "../shared/data")


def speech() -> None:
    """The best of five hypotheses, by WER."""
    folder, metric = f"{DATA}/asr-pocketsphinx", "oracle5.WER"
    dev, test = (
        rerank.load(
            f"{folder}/{name}.nbest.gz", format="moses", refs=f"{folder}/{name}.ref.gz", distinct=True
        )
        for name in ("dev", "test")
    )
    half, held_out = (dev.subset(np.arange(first, dev.n_lists, 2)) for first in (0, 1))
    model = rerank.train(half, learner="mert", metric="WER", seed=1)
    systems = {"model": model.score(test)}
    for method in ("mmr", "dpp"):
        made = rerank.diversify(model, method, "words", tune_on=held_out, metric=metric)
        systems[f"{method}:{made.diversification.share}"] = made.score(test)
    print(rerank.compare(test, systems, [metric]))


def mathematics() -> None:
    """A right answer among the first two, each half of the problems tuned on the other."""
    lists = rerank.load(f"{DATA}/qwen-math/math_cot_100.jsonl.gz", format="qwen-math")
    halves = [lists.subset(np.arange(first, lists.n_lists, 2)) for first in (0, 1)]
    for dev, test in (halves, halves[::-1]):
        model = rerank.train(dev, learner="best-feature", metric="label@1")
        for method in ("mmr", "dpp"):
            made = rerank.diversify(model, method, "votes", tune_on=dev, metric="Success@2")
            values = [rerank.evaluate(test, one.score(test), "Success@2") for one in (model, made)]
            print(method, made.diversification.share, *values)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        speech()
        mathematics()
