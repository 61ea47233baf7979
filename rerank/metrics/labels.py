"""Labels of the chosen items: their mean, the loss to the best of the list, the z-score within it.

All are means over the lists that have a judged item; the others are left out. An item without a label
counts as the lowest judged one of its list, so that nothing is gained by choosing what nobody judged.
Units are the labels' own (z@1: standard deviations). The best of the first five is ``oracle5.label@1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from rerank._version import __version__
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Mask
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, refuse_unknown
from rerank.metrics.selecting import MeanJudge, SelectingMetric, selection

DEVIATIONS = ("population", "sample")


class Labels:
    """The labels of a set with the unjudged ones filled, and each list's moments over its judged items.

    values : float64 (n_items), NaN only in lists without a judged item.
    judged : bool (n_lists). lowest, highest, mean, squares (sum of squared differences to the mean),
        counts : float64 (n_lists).

    Raises DataError where the lists hold no label.
    """

    def __init__(self, lists: CandidateLists) -> None:
        if lists.labels is None:
            raise DataError(f"{lists.source}: no labels to measure against")
        starts = lists.offsets[:-1]
        known = ~np.isnan(lists.labels)
        self.judged: Mask = lists.judged_lists()
        self.counts: Floats = np.maximum(np.add.reduceat(known.astype(np.float64), starts), 1.0)
        self.lowest: Floats = np.fmin.reduceat(lists.labels, starts)
        self.highest: Floats = np.fmax.reduceat(lists.labels, starts)
        self.mean: Floats = np.add.reduceat(np.where(known, lists.labels, 0.0), starts) / self.counts
        away = np.where(known, lists.labels - np.repeat(self.mean, lists.lengths), 0.0)
        self.squares: Floats = np.add.reduceat(away * away, starts)
        self.values: Floats = np.where(known, lists.labels, np.repeat(self.lowest, lists.lengths))


def labels_of(preparation: Preparation) -> Labels:
    """What the label metrics of ``preparation`` share: ``preparation.shared(labels_of)``."""
    return Labels(preparation.lists)


@dataclass(frozen=True)
class LabelMetric(SelectingMetric):
    """``measure`` is label, loss or z; ``deviation`` is of use to z only."""

    measure: str
    deviation: str = "population"

    @property
    def name(self) -> str:
        return f"{self.measure}{self._bracket()}@1"

    def _bracket(self) -> str:
        return "" if self.deviation == "population" else f"(deviation={self.deviation})"

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        """A judge that shares labels and choices with the others of ``preparation``."""
        labels = preparation.shared(labels_of)
        better = -1 if self.measure == "loss" else 1
        parts = [self.name, "mean:lists", "unjudged:lowest", "unjudged_lists:skip"]
        if self.measure == "z":
            parts[1:1] = [f"deviation:{self.deviation}", "constant:0"]
        signature = "|".join([*parts, f"version:{__version__}"])
        values = self._values(labels, preparation.lists)
        stage = preparation.shared(selection)
        digits = 3 if self.measure == "z" else 4
        return MeanJudge(
            self.name, signature, stage, values, better=better, judged=labels.judged, digits=digits
        )

    def _values(self, labels: Labels, lists: CandidateLists) -> Floats:
        """The metric of each item (n_items)."""
        if self.measure == "label":
            return labels.values
        if self.measure == "loss":
            loss: Floats = np.repeat(labels.highest, lists.lengths) - labels.values
            return loss
        divisor = labels.counts if self.deviation == "population" else np.maximum(labels.counts - 1.0, 1.0)
        deviation = np.sqrt(labels.squares / divisor)
        deviation[labels.highest == labels.lowest] = 0.0  # whatever rounding made of the mean
        away = labels.values - np.repeat(labels.mean, lists.lengths)
        scale = np.repeat(deviation, lists.lengths)
        z: Floats = np.divide(away, scale, out=np.zeros_like(away), where=scale > 0)
        return z


def _make(
    measure: str, *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
) -> LabelMetric:
    assert inner is None  # only names that end in a dot wrap another metric
    refuse_unknown(parameters, ["deviation"] if measure == "z" else [])
    if cutoff not in (None, 1):
        raise ConfigError(
            f"{measure} is of one chosen item: {measure}@1; "
            f"the best of the first {cutoff} is oracle{cutoff}.{measure}@1"
        )
    deviation = parameters.get("deviation", "population")
    if deviation not in DEVIATIONS:
        raise ConfigError(f"deviation is one of {', '.join(DEVIATIONS)}, got {deviation!r}")
    return LabelMetric(measure, str(deviation))


FAMILIES.register("label", "mean-label")(partial(_make, "label"))
FAMILIES.register("loss", "label-loss", "regret")(partial(_make, "loss"))
FAMILIES.register("z", "z-score")(partial(_make, "z"))
