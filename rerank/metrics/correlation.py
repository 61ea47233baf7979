"""Rank correlation of scores with labels within each list, mean over lists: Spearman's rho, Kendall's tau-b.

Tied values share their mean rank (rho); tau-b divides by the pairs that are not tied. Unjudged items are
left out. Lists whose judged labels are all equal (or one) have no correlation and are skipped; where only
the scores are all equal the list counts 0, so that a constant scorer gains nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from rerank._version import __version__
from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index, Mask
from rerank.errors import ConfigError
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, mean_from_sums, refuse_unknown
from rerank.metrics.pairs import Pairs
from rerank.metrics.relevance import checked_scores


@dataclass(frozen=True, eq=False)
class Ranked:
    """Values by rank within lists: ``ranks`` float64 (n), mean ranks less the list's mean rank;
    ``untied`` float64 (n_lists), pairs of different values."""

    ranks: Floats
    untied: Floats

    @classmethod
    def of(cls, values: Floats, offsets: Index) -> Ranked:
        """Ranks of values (n) in the lists that offsets (n_lists + 1) bound; a list may be empty."""
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


class Agreement:
    """The stage of both correlations: the judged items, their labels' ranks and pairs.

    Raises DataError where the lists hold no label.
    """

    def __init__(self, lists: CandidateLists) -> None:
        self.lists = lists
        self.pairs = Pairs(lists)  # refuses lists without labels
        assert lists.labels is not None
        self.items = np.flatnonzero(~np.isnan(lists.labels))
        self.index = lists.list_index[self.items]
        self.offsets = offsets_of(np.bincount(self.index, minlength=lists.n_lists))
        self.labels = Ranked.of(lists.labels[self.items], self.offsets)

    def place(self, scores: npt.ArrayLike) -> tuple[Ranked, Floats]:
        """The judged items' scores ranked, and concordant less discordant pairs of each list (n_lists)."""
        values = checked_scores(scores, self.lists.n_items).astype(np.float64, copy=False)
        balance = 2.0 * self.pairs.place(values) - self.pairs.n_pairs
        return Ranked.of(values[self.items], self.offsets), balance

    def sums(self, values: Floats) -> Floats:
        """Sums over lists of values of the judged items: float64 (n_lists)."""
        return np.bincount(self.index, values, minlength=self.lists.n_lists).astype(np.float64)


def _agreement(preparation: Preparation) -> Agreement:
    return Agreement(preparation.lists)


@dataclass(frozen=True)
class Correlation:
    """``measure`` is Spearman or Kendall."""

    measure: str

    @property
    def name(self) -> str:
        return self.measure

    def prepare(self, lists: CandidateLists) -> CorrelationJudge:
        """A judge of these lists."""
        return self.prepare_in(Preparation(lists))

    def prepare_in(self, preparation: Preparation) -> CorrelationJudge:
        """A judge that shares ranks with the others of ``preparation``."""
        return CorrelationJudge(self, preparation.shared(_agreement))


class CorrelationJudge:
    """Mean correlation, -1 to 1; statistics [value, 1] of each list that counts, else [0, 0]."""

    better = 1
    digits = 4

    def __init__(self, metric: Correlation, stage: Agreement) -> None:
        self.metric = metric
        self.name = metric.name
        self.stage = stage
        self.judged: Mask = stage.labels.untied > 0
        kind = {"Spearman": "rho", "Kendall": "tau-b"}[metric.measure]
        self.signature = (
            f"{self.name}|{kind}|mean:lists|unjudged:skip|constant_labels:skip|constant_scores:0"
            f"|version:{__version__}"
        )

    def per_list(self, scores: npt.ArrayLike) -> Floats:
        """[value, counted] of each list under ``scores`` (n_items): float64 (n_lists, 2)."""
        return self.of(self.stage.place(scores))

    def of(self, placed: tuple[Ranked, Floats]) -> Floats:
        """The statistics of what this judge's stage has placed."""
        ranked, balance = placed
        labels = self.stage.labels
        if self.metric.measure == "Kendall":
            top, squares = balance, ranked.untied * labels.untied
        else:
            top = self.stage.sums(ranked.ranks * labels.ranks)
            squares = self.stage.sums(ranked.ranks**2) * self.stage.sums(labels.ranks**2)
        bottom = np.sqrt(squares)
        out = np.zeros((len(top), 2))
        np.divide(top, bottom, out=out[:, 0], where=self.judged & (bottom > 0))
        np.clip(out[:, 0], -1.0, 1.0, out=out[:, 0])  # rounding
        out[:, 1] = self.judged
        return out

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Means (...) of sums (..., 2); NaN where no list counts."""
        return mean_from_sums(sums)

    def first_best(self) -> Floats | None:
        """Statistics of the first stage's order, None where the lists have none; no items are tied in it."""
        lists = self.stage.lists
        if lists.first_best is None:
            return None
        down = np.lexsort((-lists.first_best, lists.list_index))
        scores = np.empty(lists.n_items)
        scores[down] = -np.arange(lists.n_items, dtype=np.float64)
        return self.per_list(scores)

    def random(self) -> float:
        """Zero, the exact expectation; NaN where no list counts."""
        return 0.0 if self.judged.any() else float("nan")

    def oracle(self) -> float:
        """One, of scores equal to the labels; NaN where no list counts."""
        labels = self.stage.lists.labels
        assert labels is not None
        return corpus_value(self, self.per_list(np.nan_to_num(labels, nan=-np.inf)))


def _make(
    measure: str, *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
) -> Correlation:
    assert inner is None  # only names that end in a dot wrap another metric
    refuse_unknown(parameters, [])
    if cutoff is not None:
        raise ConfigError(f"{measure} takes no cutoff")
    return Correlation(measure)


FAMILIES.register("Spearman", "rho")(partial(_make, "Spearman"))
FAMILIES.register("Kendall", "tau-b")(partial(_make, "Kendall"))
