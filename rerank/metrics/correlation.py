"""Rank correlation of scores with labels within each list, mean over lists: Spearman's rho, Kendall's tau-b.

Tied values share their mean rank (rho); tau-b divides by the pairs that are not tied. Unjudged items are
left out. Lists whose judged labels are all equal (or one) have no correlation and are skipped; if only the
scores are all equal the list counts 0, so that a constant scorer gains nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import value_of
from rerank.data.label_judge import labels_of
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index
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
from rerank.metrics.pairs import Pairs


@dataclass(frozen=True, eq=False)
class Ranked:
    """Values by rank within lists.

    Attributes
    ----------
    ranks : float64 (n)
        Mean ranks minus the list's mean rank.
    untied : float64 (n_lists)
        Pairs of different values.
    """

    ranks: Floats
    untied: Floats

    @classmethod
    def of(cls, values: Floats, offsets: Index) -> Ranked:
        """Return the ranks of values (n) in the lists of offsets (n_lists + 1); a list may be empty."""
        lengths = np.diff(offsets)
        index = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((values, index))
        ordered, ordered_index = values[order], index[order]
        begins = np.ones(len(values), dtype=bool)
        begins[1:] = (ordered[1:] != ordered[:-1]) | (ordered_index[1:] != ordered_index[:-1])
        first = np.flatnonzero(begins)
        sizes = np.diff(np.append(first, len(values)))
        middle = first + (sizes - 1) / 2.0 - offsets[ordered_index[first]]
        ranks = np.empty(len(values))
        ranks[order] = np.repeat(middle, sizes)
        ranks -= ((lengths - 1) / 2.0)[index]
        tied = np.bincount(ordered_index[first], sizes * (sizes - 1) / 2.0, minlength=len(lengths))
        return cls(ranks, lengths * (lengths - 1) / 2.0 - tied)


class Agreement(Stage):
    """The judged items, their labels' ranks and pairs; raises DataError if the lists have no labels."""

    def __init__(self, lists: CandidateLists) -> None:
        super().__init__(lists)
        labels = labels_of(lists)
        self.pairs = Pairs(lists)
        self.items = np.flatnonzero(~np.isnan(labels))
        self.index = lists.list_index[self.items]
        self.offsets = offsets_of(np.bincount(self.index, minlength=lists.n_lists))
        self.labels = Ranked.of(labels[self.items], self.offsets)

    def place(self, scores: npt.ArrayLike) -> tuple[Ranked, Floats]:
        """Return the judged items' scores ranked, and concordant minus discordant pairs (n_lists).

        Items that were not returned (NaN) are tied below the others.
        """
        given = checked_scores(scores, self.lists.n_items, partial=True)
        values = ranked_last(given)
        balance = 2.0 * self.pairs.place(values) - self.pairs.n_pairs
        return Ranked.of(values[self.items], self.offsets), balance

    @cached_property
    def first_best(self) -> tuple[Ranked, Floats] | None:
        """The first stage's order placed; it has no ties."""
        first = first_stage(self.lists)
        return None if first is None else self.place(untied(self.lists, first))

    def sums(self, values: Floats) -> Floats:
        """Return sums over lists of values of the judged items: float64 (n_lists)."""
        return np.bincount(self.index, values, minlength=self.lists.n_lists).astype(np.float64)


class _Correlation(Metric):
    kind: ClassVar[str]
    of_pool = True

    @abstractmethod
    def parts(self, stage: Agreement, ranked: Ranked, balance: Floats) -> tuple[Floats, Floats]:
        """Return the numerators and the squares of the denominators (n_lists)."""

    def prepare_in(self, preparation: Preparation) -> CorrelationJudge:
        """Return a judge that shares ranks with the others of ``preparation``."""
        return CorrelationJudge(self, preparation.of_lists(Agreement))


@register("Spearman", "rho")
class Spearman(_Correlation):
    """Spearman's rho."""

    summary = "mean of Spearman's rank correlation of scores with labels, -1 to 1"
    meaning = (
        "The correlation of the ranks of scores with the ranks of labels within each list; tied values "
        "share their mean rank. -1 to 1."
    )
    source = "Spearman 1904"
    elsewhere = "spearmanr of scipy on each list: equal"
    examples = ("Spearman",)
    kind = "rho"

    def parts(self, stage: Agreement, ranked: Ranked, balance: Floats) -> tuple[Floats, Floats]:
        labels = stage.labels.ranks
        squares = stage.sums(ranked.ranks**2) * stage.sums(labels**2)
        return stage.sums(ranked.ranks * labels), squares


@register("Kendall", "tau-b")
class Kendall(_Correlation):
    """Kendall's tau-b."""

    summary = "mean of Kendall's tau-b of scores with labels, -1 to 1"
    meaning = (
        "Within each list, the pairs that scores and labels order alike minus those that they order "
        "differently, divided by the geometric mean of the pairs untied in scores and in labels. -1 to 1."
    )
    source = "Kendall 1945"
    elsewhere = "kendalltau of scipy (tau-b) on each list: equal"
    examples = ("Kendall",)
    kind = "tau-b"

    def parts(self, stage: Agreement, ranked: Ranked, balance: Floats) -> tuple[Floats, Floats]:
        return balance, ranked.untied * stage.labels.untied


class CorrelationJudge(ReportJudge):
    """Mean correlation, -1 to 1; statistics [value, 1] of each list that counts, else [0, 0]."""

    stage: Agreement

    def __init__(self, metric: _Correlation, stage: Agreement) -> None:
        parts = (metric.kind, "mean:lists", "unjudged:skip", "constant_labels:skip", "constant_scores:0")
        super().__init__(metric.name, signed(metric.name, *parts), stage)
        self.metric = metric
        self.judged = stage.labels.untied > 0

    def of(self, placed: Any) -> Floats:
        """Return the statistics of what this judge's stage has placed."""
        top, squares = self.metric.parts(self.stage, *placed)
        bottom = np.sqrt(squares)
        out = np.zeros((len(top), 2))
        np.divide(top, bottom, out=out[:, 0], where=self.judged & (bottom > 0))
        np.clip(out[:, 0], -1.0, 1.0, out=out[:, 0])  # rounding
        out[:, 1] = self.judged
        return out

    def random(self) -> float:
        """Return zero, the exact expectation; NaN if no list counts."""
        return 0.0 if self.judged.any() else float("nan")

    def oracle(self) -> float:
        """Return the value of scores equal to the labels, one; NaN if no list counts."""
        labels = labels_of(self.stage.lists)
        return value_of(self, np.nan_to_num(labels, nan=-np.inf))
