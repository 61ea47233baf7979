"""Pairwise accuracy: the share of pairs with different labels that the scores put in the labels' order.

Tied pairs count one half whatever the mode of ties. Unjudged items are in no pair. ``PairAcc`` is the
mean over the lists that have a pair; ``PairAcc(over=pairs)`` pools the pairs of all lists.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core.settings import setting
from rerank.core.types import ArrayLike, Floats, Index
from rerank.data.judge import labels_of, value_of
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Concordance
from rerank.metrics.base import Metric, Preparation, register
from rerank.metrics.judges import (
    ReportJudge,
    Stage,
    checked_scores,
    first_stage,
    ranked_last,
    signed,
    untied,
)


class Pairs(Stage):
    """The pairs of different labels of each list; raises DataError if the lists have no labels."""

    def __init__(self, lists: CandidateLists) -> None:
        super().__init__(lists)
        self._concordance = Concordance(labels_of(lists), lists.offsets)

    @property
    def n_pairs(self) -> Index:
        """The pairs of each list, int64 (n_lists)."""
        return self._concordance.n_pairs

    def place(self, scores: ArrayLike) -> Floats:
        """Return the pairs in the right order, a tie counting one half: float64 (n_lists).

        Items that were not returned (NaN) are tied below the others.
        """
        values = ranked_last(checked_scores(scores, self.lists.n_items, partial=True))
        return self._concordance.right(values)

    @property
    def first_best(self) -> Floats | None:
        """The pairs in the first stage's order; it has no ties."""
        first = first_stage(self.lists)
        return None if first is None else self.place(untied(self.lists, first))


@register("PairAcc", "pairs", "pair-accuracy", "pairwise-accuracy")
class PairAccuracy(Metric):
    """Pairwise accuracy."""

    summary = "share of pairs of different labels in the labels' order, a tie one half"
    meaning = (
        "Of each list, the share of pairs of items with different labels whose scores have the order of "
        "the labels; a pair of equal scores counts one half. 0 to 1, a constant scorer has 0.5."
    )
    source = "Joachims 2002"
    elsewhere = "roc_auc_score of scikit-learn on each list of labels 0 and 1: equal"
    examples = ("PairAcc", "PairAcc(over=pairs)")
    of_pool = True
    unreturned = "0.5"
    over: Literal["lists", "pairs"] = setting("lists", "mean over lists, or over the pairs of all lists")

    def prepare_in(self, preparation: Preparation) -> PairJudge:
        """Return a judge that shares its pairs with the others of ``preparation``."""
        return PairJudge(self, preparation.of_lists(Pairs))


class PairJudge(ReportJudge):
    """Statistics [right + tied / 2, pairs] of each list, both divided by the pairs for a mean over lists."""

    stage: Pairs

    def __init__(self, metric: PairAccuracy, pairs: Pairs) -> None:
        parts = (f"over:{metric.over}", "ties:half", "no_pair:skip", "unjudged:skip")
        super().__init__(metric.name, signed(metric.name, *parts), pairs)
        self.over = metric.over
        self.judged = pairs.lists.judged_lists()

    def of(self, placed: Floats) -> Floats:
        """Return the statistics of pairs counted by this judge's stage."""
        n_pairs = self.stage.n_pairs
        out = np.stack([placed, n_pairs.astype(np.float64)], axis=1)
        if self.over == "lists":
            out /= np.maximum(n_pairs, 1)[:, None]
        return out

    def random(self) -> float:
        """Return one half, which a constant scorer has; NaN if there is no pair."""
        return value_of(self, np.zeros(self.stage.lists.n_items))

    def oracle(self) -> float:
        """Return one; NaN if there is no pair."""
        labels = labels_of(self.stage.lists)
        return value_of(self, np.nan_to_num(labels, nan=-np.inf))
