"""Sums of gains over places: nDCG in three families.

nDCG equals trec_eval's if ties are broken as it does. Each is a mean over lists, as those of ``ranking``.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import Floats, Mask
from rerank.metrics.base import register
from rerank.metrics.ranking import RankingJudge, RankingMetric, any_cutoff
from rerank.metrics.relevance import Relevance
from rerank.native.metrics import _placement, _ranking


class GainMetric(RankingMetric):
    """A sum of gains over places, each divided by a divisor of its place; here nDCG.

    A new one overrides ``gains`` or ``divisors``. Only items with a label above 0 gain anything, and the
    larger label must not gain less, so that the order of the labels is the best one.

    Attributes
    ----------
    gain, discount : str
        The formulas for the signature; i is a place from 1.
    normalised : bool
        Whether a list's sum is divided by that of its best order.
    """

    gain: ClassVar[str] = "2^rel-1"
    discount: ClassVar[str] = "log2(1+i)"
    normalised: ClassVar[bool] = True
    cutoff: int | None = any_cutoff()

    def gains(self, labels: Floats) -> Floats:
        """Return the gain of each label (n), all above 0."""
        return np.exp2(labels) - 1.0

    def divisors(self, places: Floats) -> Floats:
        """Return what the gain at each place 1, 2, ... (n) is divided by, above 0."""
        return np.log2(places + 1.0)

    def formula(self) -> list[str]:
        """Return what the signature states of gains and discounts."""
        return [f"gain:{self.gain}", f"discount:{self.discount}"]

    def judge(self, relevance: Relevance, no_relevant: str) -> GainJudge:
        """Return a judge of these judgements."""
        return GainJudge(self, relevance, no_relevant)


@register("nDCG-exp")
class ExponentialNdcg(GainMetric):
    """nDCG with exponential gains."""

    summary = "normalised discounted cumulative gain, gains 2^label - 1"
    meaning = (
        "The sum of (2^label - 1) / log2(1 + place) down to place k, divided by that of the best order. 0"
        " to 1."
    )
    source = "Burges et al. 2005"
    elsewhere = (
        "ndcg of XGBoost and LightGBM, ndcg_burges of ranx: equal without ties in lists that have a "
        "relevant item"
    )
    examples = ("nDCG-exp@3",)


@register("nDCG-letor")
class LetorNdcg(GainMetric):
    """nDCG as LETOR's evaluation script computes it."""

    summary = "nDCG of the LETOR script: gains 2^label - 1, no discount at places 1 and 2"
    meaning = (
        "The sum of (2^label - 1) / max(1, log2(place)) down to place k, divided by that of the best "
        "order. 0 to 1."
    )
    source = "Eval-Score-3.0.pl of LETOR (Qin et al. 2010)"
    examples = ("nDCG-letor", "nDCG-letor@3")
    discount = "1,log2(i)"

    def divisors(self, places: Floats) -> Floats:
        return np.log2(np.maximum(places, 2.0))


@register("nDCG", "ndcg_cut")
class Ndcg(GainMetric):
    """nDCG with the labels as gains."""

    summary = "normalised discounted cumulative gain, gains are the labels"
    meaning = (
        "The sum of label / log2(1 + place) down to place k, divided by that of the best order. 0 to 1. "
        "If no label is above 1, nDCG-exp has the same value."
    )
    source = "Järvelin & Kekäläinen 2002; trec_eval"
    elsewhere = (
        "ndcg and ndcg_cut.K of trec_eval, nDCG@k of ir_measures, ndcg_score of scikit-learn (with --ties"
        " expected): equal; ndcg@k of ranx: equal without ties"
    )
    examples = ("nDCG", "nDCG@3")
    gain = "rel"
    dcg: Literal["log2", "exp-log2", "letor"] = setting("log2", "ir_measures' names of the families")

    def gains(self, labels: Floats) -> Floats:
        return labels

    def canonical(self) -> GainMetric:
        """Return the metric of the family that ``dcg`` names."""
        others: dict[str, type[GainMetric]] = {"exp-log2": ExponentialNdcg, "letor": LetorNdcg}
        return others[self.dcg](cutoff=self.cutoff) if self.dcg in others else self


class GainJudge(RankingJudge):
    """nDCG and other sums of gains over places."""

    metric: GainMetric

    def __init__(self, metric: GainMetric, relevance: Relevance, no_relevant: str) -> None:
        super().__init__(metric, relevance, no_relevant, metric.formula())
        known = relevance.known
        most = int(max(relevance.lists.lengths.max(), known.lengths.max()))
        places = np.arange(1, most + 1, dtype=np.float64)
        with np.errstate(over="ignore", divide="ignore"):  # far places may count nothing
            self._divisors = np.asarray(metric.divisors(places), dtype=np.float64)
            self._gains, falling = (
                np.asarray(metric.gains(labels), dtype=np.float64)
                for labels in (relevance.item_labels, known.values)
            )
        self._discounts = np.concatenate(([0.0], np.cumsum(1.0 / self._divisors)))
        if not np.isfinite(falling).all():
            largest = known.values.max()
            raise DataError(
                f"{relevance.lists.source}: label {largest:g} is too large for a gain of {metric.gain}"
            )
        self._ideal = np.empty(relevance.lists.n_lists)
        cutoff = most if metric.depth is None else min(metric.depth, most)
        _ranking.ideal_dcg(known.offsets, falling, self._divisors, cutoff, self._ideal)
        if not np.isfinite(self._ideal).all():
            raise DataError(f"{relevance.lists.source}: labels are too large for sums of {metric.gain}")
        if not metric.normalised:
            self._ideal = (self._ideal > 0).astype(np.float64)

    @cached_property
    def possible(self) -> Mask:
        return self._ideal > 0

    def _values(self, placed: _placement.Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        _ranking.dcg(placed, self._gains, self._divisors, self._discounts, self.cutoff, out)
        return np.divide(out, self._ideal, out=out, where=self._ideal > 0)
