"""Correlation of scores with labels within each list (Spearman, Kendall, Pearson), and pairwise accuracy.

Tied values share their mean rank (rho); tau-b divides by the pairs that are not tied. Unjudged items are
left out. Lists whose judged labels are all equal (or one) have no correlation and are skipped; if only the
scores are all equal the list counts 0, so that a constant scorer gains nothing. Items without a score are
tied below the others; for Pearson's r, which needs numbers, they have the lowest score of their list.

Tied pairs count one half whatever the mode of ties. Unjudged items are in no pair. ``PairAcc`` is the
mean over the lists that have a pair; ``PairAcc(over=pairs)`` pools the pairs of all lists.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import ArrayLike, Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import labels_of, value_of
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Concordance
from rerank.metrics.base import Metric, Preparation, register
from rerank.metrics.draws import tied
from rerank.metrics.judges import ReportJudge, Stage, checked_scores, first_stage, ranked_last, signed, untied


class Pairs(Stage):
    """The pairs of different labels of each list; raises DataError if the lists have no labels."""

    def __init__(self, lists: CandidateLists) -> None:
        super().__init__(lists)
        self._concordance = Concordance(labels_of(lists), lists.offsets)
        self.n_pairs: Index = self._concordance.n_pairs  # of each list, int64 (n_lists)

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
        return PairJudge(self, preparation.of_lists(Pairs))


class _AgreementJudge(ReportJudge):
    def oracle(self) -> float:
        """Return the value of scores equal to the labels, one; NaN if no list counts."""
        return value_of(self, np.nan_to_num(labels_of(self.stage.lists), nan=-np.inf))


class PairJudge(_AgreementJudge):
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
        order, first, sizes = tied(values, index)
        own = index[order[first]]
        middle = first + (sizes - 1) / 2.0 - offsets[own]
        ranks = np.empty(len(values))
        ranks[order] = np.repeat(middle, sizes)
        ranks -= ((lengths - 1) / 2.0)[index]
        lost = np.bincount(own, sizes * (sizes - 1) / 2.0, minlength=len(lengths))
        return cls(ranks, lengths * (lengths - 1) / 2.0 - lost)


@dataclass(frozen=True, eq=False)
class Placed:
    """Scores in the lists of an ``Agreement``, as each correlation needs them.

    Attributes
    ----------
    stage : Agreement
    order : float64 (n_items)
        Scores whose order counts; items that were not returned are tied below the others.
    values : float64 (n_items)
        Scores whose size counts; NaN = not returned.
    """

    stage: Agreement
    order: Floats
    values: Floats

    @cached_property
    def ranked(self) -> Ranked:
        """The judged items by rank."""
        return Ranked.of(self.order[self.stage.items], self.stage.offsets)

    @cached_property
    def balance(self) -> Floats:
        """Concordant minus discordant pairs, float64 (n_lists)."""
        return 2.0 * self.stage.pairs.place(self.order) - self.stage.pairs.n_pairs

    @cached_property
    def centred(self) -> Floats:
        """Scores of the judged items around their list's mean, in a unit of its own: float64 (n)."""
        return self.stage.centred(self.values[self.stage.items])


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

    def place(self, scores: ArrayLike) -> Placed:
        """Return the scores placed; NaN = the item was not returned."""
        values = checked_scores(scores, self.lists.n_items, partial=True)
        return Placed(self, ranked_last(values), values.astype(np.float64, copy=False))

    @cached_property
    def first_best(self) -> Placed | None:
        """The first stage's order placed; it has no ties. The sizes are places: an order has no others."""
        first = first_stage(self.lists)
        if first is None:
            return None
        order = untied(self.lists, first)
        return Placed(self, order, np.where(np.isnan(first), np.nan, order))

    @cached_property
    def centred_labels(self) -> Floats:
        """Labels of the judged items, see ``centred``."""
        return self.centred(labels_of(self.lists)[self.items])

    def centred(self, values: Floats) -> Floats:
        """Return values of the judged items minus their list's mean, over a power of two: float64 (n).

        The lowest value of the list replaces NaN. Neither large offsets nor large or tiny units
        lose digits: values are first divided by the power of two that brings the largest to about one, which
        is exact, then their lowest is subtracted, and the mean of what is left.

        Raises DataError if a value is infinite.
        """
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            where = self.lists.place_of(int(self.items[infinite[0]]))
            raise DataError(
                f"{self.lists.source}: the score of {where} is infinite ({len(infinite)} in all); "
                "Pearson needs finite scores"
            )
        held = np.flatnonzero(np.diff(self.offsets))  # reduceat knows no empty list
        if not len(held):
            return values
        index, starts = np.searchsorted(held, self.index), self.offsets[held]
        _, exponents = np.frexp(np.nan_to_num(np.fmax.reduceat(np.abs(values), starts)))
        scaled = np.ldexp(values, -exponents[index])
        above = np.nan_to_num(scaled - np.fmin.reduceat(scaled, starts)[index])
        for _ in range(2):  # the second mean is what rounding left of the first
            above = above - (np.add.reduceat(above, starts) / np.diff(self.offsets)[held])[index]
        equal = np.maximum.reduceat(scaled, starts) == np.minimum.reduceat(scaled, starts)
        return np.where(equal[index], 0.0, above)

    def sums(self, values: Floats) -> Floats:
        """Return sums over lists of values of the judged items: float64 (n_lists)."""
        return np.bincount(self.index, values, minlength=self.lists.n_lists).astype(np.float64)


class _Correlation(Metric):
    kind: ClassVar[str]
    formula: ClassVar[tuple[str, ...]] = ()
    of_pool = True

    @abstractmethod
    def parts(self, placed: Placed) -> tuple[Floats, Floats]:
        """Return the numerators and the squares of the denominators (n_lists)."""

    def prepare_in(self, preparation: Preparation) -> CorrelationJudge:
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

    def parts(self, placed: Placed) -> tuple[Floats, Floats]:
        return _products(placed.stage, placed.ranked.ranks, placed.stage.labels.ranks)


@register("Kendall", "tau-b")
class Kendall(_Correlation):
    """Kendall's tau-b."""

    summary = "mean of Kendall's tau-b of scores with labels, -1 to 1"
    meaning = (
        "Within each list, the pairs that scores and labels order the same way minus those that they order "
        "differently, divided by the geometric mean of the pairs untied in scores and in labels. -1 to 1."
    )
    source = "Kendall 1945"
    elsewhere = "kendalltau of scipy (tau-b) on each list: equal"
    examples = ("Kendall",)
    kind = "tau-b"

    def parts(self, placed: Placed) -> tuple[Floats, Floats]:
        return placed.balance, placed.ranked.untied * placed.stage.labels.untied


@register("Pearson", "pearson-r", "PCC")
class Pearson(_Correlation):
    """Pearson's r."""

    summary = "mean of Pearson's correlation of scores with labels, -1 to 1"
    meaning = (
        "Within each list, the covariance of scores and labels divided by both standard deviations; an item "
        "that a system did not return has the lowest score that it gave to a judged item of the list."
        " Of first-best, which is an order, the places count. -1 to 1."
    )
    source = "Pearson 1895"
    elsewhere = "pearsonr of scipy on each list: equal"
    examples = ("Pearson",)
    kind = "r"
    formula = ("not_returned:lowest",)
    of_order = False

    def parts(self, placed: Placed) -> tuple[Floats, Floats]:
        return _products(placed.stage, placed.centred, placed.stage.centred_labels)


def _products(stage: Agreement, scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Sums of products (n_lists), and the product of both sums of squares."""
    return stage.sums(scores * labels), stage.sums(scores**2) * stage.sums(labels**2)


class CorrelationJudge(_AgreementJudge):
    """Mean correlation, -1 to 1; statistics [value, 1] of each list that counts, else [0, 0]."""

    stage: Agreement

    def __init__(self, metric: _Correlation, stage: Agreement) -> None:
        parts = (metric.kind, "mean:lists", "unjudged:skip", "constant_labels:skip", "constant_scores:0")
        super().__init__(metric.name, signed(metric.name, *parts, *metric.formula), stage)
        self.metric = metric
        self.judged = stage.labels.untied > 0

    def of(self, placed: Placed) -> Floats:
        """Return the statistics of what this judge's stage has placed."""
        top, squares = self.metric.parts(placed)
        bottom = np.sqrt(squares)
        out = np.zeros((len(top), 2))
        np.divide(top, bottom, out=out[:, 0], where=self.judged & (bottom > 0))
        np.clip(out[:, 0], -1.0, 1.0, out=out[:, 0])  # rounding
        out[:, 1] = self.judged
        return out

    def random(self) -> float:
        """Return zero, the exact expectation; NaN if no list counts."""
        return 0.0 if self.judged.any() else float("nan")
