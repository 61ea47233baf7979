"""What learners that work in rounds share: the learning curve, and which round is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rerank.data.judge import Judge, corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.learners.base import FitInputs
from rerank.models.training import RoundsRecord


class Rounds:
    """Watches the rounds of a learner.

    After each round the learner calls ``record``; the model of the best round by the metric on the dev lists
    (``keep`` "best") or on the training lists ("train") is remembered, the earliest of equals.
    """

    def __init__(self, lists: CandidateLists, inputs: FitInputs, keep: str) -> None:
        self.lists = lists
        self.judge = inputs.judge
        self.dev = inputs.dev
        self.keep = keep
        self.curve: list[dict[str, float]] = []
        self.best_round = 0
        self._best_value = -np.inf
        self._best: Any = None

    def record(self, state: Any, score: Callable[[Any, CandidateLists], Floats], **progress: float) -> None:
        """One row of the curve: ``progress`` and what the judges say of the model ``state``.

        ``score(state, lists)`` gives scores; ``state`` must not be changed by the learner afterwards.
        """
        row: dict[str, float] = {"round": len(self.curve) + 1, **progress}
        if self.judge is not None:
            row["train"] = corpus_value(self.judge, self.judge.per_list(score(state, self.lists)))
        if self.dev is not None:
            lists, judge = self.dev
            scores = score(state, lists)
            row["dev"] = corpus_value(judge, judge.per_list(scores))
            row["dev_logloss"] = log_loss(lists, scores)
        by = self._chooser()
        if by is not None:
            value = by[0].better * row[by[1]]
            if self._best is None or value > self._best_value:
                self._best, self._best_value, self.best_round = state, value, len(self.curve) + 1
        self.curve.append(row)

    def _chooser(self) -> tuple[Judge, str] | None:
        """The judge that a round is chosen by, and its place in the curve."""
        if self.keep == "train":
            return None if self.judge is None else (self.judge, "train")
        return None if self.dev is None else (self.dev[1], "dev")

    def kept(self, last: Any, **facts: Any) -> tuple[Any, RoundsRecord]:
        """The state to keep, and the record of the rounds with further ``facts`` of the learner."""
        rounds = len(self.curve)
        chosen = self.keep != "last"
        kept = self.best_round if chosen else rounds
        dev = None if self.dev is None or not rounds else self.curve[kept - 1]["dev"]
        return self._best if chosen else last, RoundsRecord(run=rounds, kept=kept, dev=dev, **facts)


def linear_scores(weights: Floats, lists: CandidateLists) -> Floats:
    """Scores (n_items) of a linear model whose state is its weights (n_features), for ``Rounds.record``."""
    return lists.features.scores(weights)


def log_loss(lists: CandidateLists, scores: Floats) -> float:
    """Mean over lists of -log P(best), in nats; NaN where no list has two different labels.

    P is the softmax of the list's scores after they are divided by the root mean square of their
    deviations from their list's mean over the whole set, and P(best) the probability of all items
    tied for the best label. So the measure does not depend on the scale of a perceptron's weights.
    (Shen & Joshi plot a log-loss in Figures 3 and 4 without defining one.)
    """
    if lists.labels is None:
        return float("nan")
    begin, sizes = lists.offsets[:-1], lists.lengths
    labels = np.where(np.isnan(lists.labels), -np.inf, lists.labels)
    top = np.maximum.reduceat(labels, begin)
    is_best = labels == np.repeat(top, sizes)
    used = np.isfinite(top) & ~np.logical_and.reduceat(is_best, begin)
    if not used.any():
        return float("nan")
    deviation = scores - np.repeat(np.add.reduceat(scores, begin) / sizes, sizes)
    scale = float(np.sqrt(np.mean(deviation**2)))
    z = deviation / scale if scale > 0 else np.zeros_like(deviation)
    z -= np.repeat(np.maximum.reduceat(z, begin), sizes)
    weight = np.exp(z)
    best = np.add.reduceat(np.where(is_best, weight, 0.0), begin)
    # A best item far below the others has weight 0 in floating point: its log is its z.
    best_z = np.maximum.reduceat(np.where(is_best, z, -np.inf), begin)
    log_best = np.where(best > 0, np.log(np.where(best > 0, best, 1.0)), best_z)
    return float(np.mean((np.log(np.add.reduceat(weight, begin)) - log_best)[used]))
