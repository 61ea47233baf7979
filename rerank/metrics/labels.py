"""Labels of the chosen items: their mean, the loss to the best of the list, z-scores within it.

All are means over the lists that have a judged item; the others are left out. For label@1 that item may be
one that a run did not return. An item without a label counts 0, as for the measures of retrieval, or as the
lowest judged one of its list if that is below 0: choosing it gains nothing, also if all judgements are
positive. z@1 and casp-z@1, which have no 0, take the lowest judged one. Units are the labels' own (z-scores:
standard deviations). The best of the first five is ``oracle5.label@1``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.core.types import Floats, Mask
from rerank.data.judge import filled_labels, labels_of
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Preparation, register
from rerank.metrics.judges import signed
from rerank.metrics.selecting import MeanJudge, SelectingMetric, Selection

# A label that is exactly two deviations below is kept whichever way its z-score is rounded.
_OUTLIER = -2.0 - 1e-9


class Moments:
    """Each list's moments over its known labels.

    Attributes
    ----------
    counts, lowest, highest, mean, squares : float64 (n_lists)
        ``squares`` is the sum of squared differences from the mean. ``lowest`` and ``highest`` are NaN for a
        list without a known label.
    """

    def __init__(self, labels: Floats, lists: CandidateLists) -> None:
        starts = lists.offsets[:-1]
        known = ~np.isnan(labels)
        self.lengths = lists.lengths
        self.counts: Floats = np.maximum(np.add.reduceat(known.astype(np.float64), starts), 1.0)
        self.lowest: Floats = np.fmin.reduceat(labels, starts)
        self.highest: Floats = np.fmax.reduceat(labels, starts)
        self.mean: Floats = np.add.reduceat(np.where(known, labels, 0.0), starts) / self.counts
        away = np.where(known, labels - np.repeat(self.mean, lists.lengths), 0.0)
        self.squares: Floats = np.add.reduceat(away * away, starts)

    def standardised(self, values: Floats, deviation: str) -> Floats:
        """Return values (n_items) minus the mean, over the deviation of "population" or "sample".

        If all known labels of a list are equal its values become 0, those below them negative infinity.
        """
        divisor = self.counts if deviation == "population" else np.maximum(self.counts - 1.0, 1.0)
        spread = np.sqrt(self.squares / divisor)
        spread[self.highest == self.lowest] = 0.0  # the mean may be rounded
        scale = np.repeat(spread, self.lengths)
        constant = np.where(values < np.repeat(self.lowest, self.lengths), -np.inf, 0.0)
        return np.divide(values - np.repeat(self.mean, self.lengths), scale, out=constant, where=scale > 0)


class Labels(Moments):
    """The labels of a set with the unjudged ones filled in, and each list's moments over its judged items.

    Raises DataError if the lists have no labels, or one whose square could overflow a sum.

    Attributes
    ----------
    values : float64 (n_items)
        See ``filled_labels`` of data.judge.
    judged : bool (n_lists)
    """

    def __init__(self, lists: CandidateLists) -> None:
        self.values = filled_labels(lists)
        super().__init__(labels_of(lists), lists)
        self.judged: Mask = lists.judged_lists()

    def or_lowest(self, lists: CandidateLists) -> Floats:
        """Return the labels, the lowest judged one of its list for an item without one: float64 (n_items)."""
        given = labels_of(lists)
        return np.where(np.isnan(given), np.repeat(self.lowest, self.lengths), given)


class _LabelMetric(SelectingMetric):
    """The mean of a function of the labels at the chosen item."""

    unjudged: ClassVar[str] = "min(0,lowest)"
    kind: ClassVar[type[MeanJudge]] = MeanJudge
    digits: ClassVar[int] = 4
    cutoff: int = setting(1, "always 1: one item is chosen", ge=1)

    def check_values(self) -> None:
        if self.cutoff != 1:
            raise ConfigError(
                f"{self.family} is of one chosen item: {self.family}@1; "
                f"the best of the first {self.cutoff} is oracle{self.cutoff}.{self.family}@1"
            )

    @abstractmethod
    def values(self, labels: Labels, lists: CandidateLists) -> Floats:
        """Return the metric of each item (n_items)."""

    def formula(self) -> list[str]:
        """Return what the signature states of how it is computed."""
        return []

    def judged(self, labels: Labels, lists: CandidateLists) -> Mask:
        """Return the lists that count, bool (n_lists)."""
        return labels.judged

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        labels = preparation.of_lists(Labels)
        policy = "mean:lists", f"unjudged:{self.unjudged}", "unjudged_lists:skip"
        return self.kind(
            self.name,
            signed(self.name, *self.formula(), *policy),
            preparation.of_lists(Selection),
            self.values(labels, preparation.lists),
            better=self.better,
            judged=self.judged(labels, preparation.lists),
            digits=self.digits,
        )


class LabelMeanJudge(MeanJudge):
    """Mean label; a list of which nothing was returned counts as an unjudged item, not as its worst one."""

    @property
    def nothing(self) -> Floats:
        lists = self.stage.lists
        lowest = np.fmin(np.fmin.reduceat(labels_of(lists), lists.offsets[:-1]), 0.0)
        return np.column_stack([lowest, np.ones(lists.n_lists)]) * self.judged[:, None]


@register("label", "mean-label")
class Label(_LabelMetric):
    """Mean label."""

    summary = "mean label of the chosen items"
    meaning = (
        "The label of the chosen item; one without a label counts 0, or the lowest label of its list if "
        "that is below 0. In the labels' own units."
    )
    source = "rerank"
    examples = ("label@1",)
    unreturned = "0"
    kind = LabelMeanJudge

    def values(self, labels: Labels, lists: CandidateLists) -> Floats:
        return labels.values

    def judged(self, labels: Labels, lists: CandidateLists) -> Mask:
        return lists.judged_lists(unretrieved=True)


@register("loss", "label-loss", "regret")
class Loss(_LabelMetric):
    """Mean loss to the best label."""

    summary = "mean of the list's best label minus the chosen item's"
    meaning = (
        "The best label of the list minus the label of the chosen item, which counts as for label@1. In "
        "the labels' own units."
    )
    source = "rerank"
    elsewhere = "regret in the literature on selection"
    examples = ("loss@1",)
    of_pool = True
    better = -1

    def values(self, labels: Labels, lists: CandidateLists) -> Floats:
        return np.repeat(labels.highest, lists.lengths) - labels.values


@register("z", "z-score")
class ZScore(_LabelMetric):
    """Mean z-score of the label."""

    summary = "mean z-score of the chosen item's label within its list"
    meaning = (
        "The label of the chosen item minus the mean label of its list, divided by the standard deviation"
        " of the list's labels. 0 if all labels of the list are equal."
    )
    source = "rerank"
    examples = ("z@1", "z(deviation=sample)@1")
    of_pool = True
    unjudged = "lowest"
    digits = 3
    deviation: Literal["population", "sample"] = setting("population", "divide by n, or by n - 1")

    def formula(self) -> list[str]:
        return [f"deviation:{self.deviation}", "constant:0"]

    def values(self, labels: Labels, lists: CandidateLists) -> Floats:
        return labels.standardised(labels.or_lowest(lists), self.deviation)


class FlooredJudge(MeanJudge):
    """Mean of floored values; a list of which nothing was returned counts as the floor."""

    floor: float = 0.0

    @property
    def nothing(self) -> Floats:
        return self.judged[:, None] * np.array([self.floor, 1.0])


@register("casp-z", "casp-z-score")
class CaspZ(_LabelMetric):
    """Mean z-score of the label without outliers, as assessors of CASP sum it."""

    summary = "mean z-score of the chosen item's label after outliers are dropped, with a floor, as in CASP"
    meaning = (
        "The z-score of the chosen item's label, by the mean and deviation of the list's labels without those"
        " whose own z-score is below -2. What is lower than the floor counts as the floor, and so does a list"
        " of which nothing was returned. 0 if all labels are equal."
    )
    source = "Code of the assessors of CASP16, 2024"
    elsewhere = (
        "CASP ranks groups by the sum over targets, with the floor -2 or 0; its own z-scores are those among "
        "the first models of all groups, these are those among all items of the list"
    )
    unreturned = "as the floor"
    kind = FlooredJudge
    examples = ("casp-z@1", "casp-z(floor=0)@1", "casp-z(deviation=population)@1")
    of_pool = True
    unjudged = "lowest"
    digits = 3
    floor: Literal[-2, 0] = setting(-2, "the lowest value that counts")
    deviation: Literal["sample", "population"] = setting("sample", "divide by n - 1, or by n")

    def formula(self) -> list[str]:
        return ["drop:below-2", f"floor:{self.floor}", f"deviation:{self.deviation}", "constant:0"]

    def values(self, labels: Labels, lists: CandidateLists) -> Floats:
        given = labels_of(lists)
        outliers = labels.standardised(given, self.deviation) < _OUTLIER
        kept = Moments(np.where(outliers, np.nan, given), lists)
        return np.maximum(kept.standardised(labels.or_lowest(lists), self.deviation), self.floor)

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        judge = super().prepare_in(preparation)
        assert isinstance(judge, FlooredJudge)
        judge.floor = float(self.floor)
        return judge
