"""Sums of gains over places: nDCG in three families, and measures of a user who stops, ERR and RBP.

nDCG equals trec_eval's if ties are broken as it does. Each is a mean over lists, as those of ``ranking``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.settings import setting
from rerank.core.types import Floats, Mask
from rerank.metrics.base import Preparation, register, value_text
from rerank.metrics.judging import Judging
from rerank.metrics.ranking import (
    JudgedJudge,
    RankingJudge,
    RankingMetric,
    cutoff_setting,
    shared_relevance,
)
from rerank.metrics.relevance import Relevance
from rerank.native.metrics import _placement, _ranking


class GainJudge(RankingJudge):
    """nDCG and other sums of gains over places."""

    metric: GainMetric

    def __init__(self, metric: GainMetric, relevance: Relevance, judging: Judging) -> None:
        super().__init__(metric, relevance, judging)
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

    def of(self, placed: _placement.Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        _ranking.dcg(placed, self._gains, self._divisors, self._discounts, self.cutoff, out)
        return self._statistics(np.divide(out, self._ideal, out=out, where=self._ideal > 0))


class ResidualJudge(GainJudge):
    """The residual of RBP; every list with a judged item counts."""

    possible = JudgedJudge.possible

    def of(self, placed: _placement.Placement) -> Floats:
        found = super().of(placed)
        found[:, 0] = found[:, 1] - found[:, 0]
        return found


class ReciprocalRankJudge(RankingJudge):
    """ERR."""

    metric: ExpectedReciprocalRank

    @cached_property
    def possible(self) -> Mask:
        return self.stage.known.lengths > 0

    @cached_property
    def _stops(self) -> Floats:
        labels, most = self.stage.item_labels, _largest(self.metric.max, self.stage)
        return np.exp2(labels - most) - np.exp2(-most)

    def of(self, placed: _placement.Placement) -> Floats:
        lists = self.stage.lists
        out = np.empty(lists.n_lists)
        longest = int(lists.lengths.max())
        work, index = np.empty((3, longest + 1)), np.empty((2, longest + 1), dtype=np.int64)
        _ranking.expected_reciprocal_rank(placed, self._stops, self.cutoff, work, index, out)
        return self._statistics(out)


def _largest(most: float | None, relevance: Relevance) -> float:
    """Return ``most``, or the largest label of the data, 1 if none is above 0.

    Raises DataError if a label is above ``most``.
    """
    found = relevance.largest
    if most is not None and found > most:
        raise DataError(f"{relevance.lists.source}: label {found:g} is above max={value_text(most)}")
    if most is not None:
        return most
    return found if found > 0 else 1.0


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
    judge = GainJudge
    cutoff: int | None = cutoff_setting()

    def gains(self, labels: Floats) -> Floats:
        """Return the gain of each label (n), all above 0."""
        return np.exp2(labels) - 1.0

    def divisors(self, places: Floats) -> Floats:
        """Return what the gain at each place 1, 2, ... (n) is divided by, above 0."""
        return np.log2(places + 1.0)

    def formula(self, relevance: Relevance) -> list[str]:
        return [f"gain:{self.gain}", f"discount:{self.discount}"]


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


def _max() -> Any:
    help_text = "the label that satisfies a user most; none = the largest label of the data"
    return setting(None, help_text, gt=0)


@register("ERR", "expected-reciprocal-rank")
class ExpectedReciprocalRank(RankingMetric):
    """Expected reciprocal rank."""

    summary = "expected 1 / place at which a user who is satisfied by graded chance stops"
    meaning = (
        "A user reads down and stops at an item with probability (2^label - 1) / 2^max; the sum of the "
        "probabilities to stop at each place down to place k, divided by the place. 0 to 1; values are "
        "comparable only with the same max."
    )
    source = "Chapelle et al. 2009"
    elsewhere = "err@k of gdeval.pl and ERR@k of ir_measures: equal to the digits they print with max=4"
    examples = ("ERR", "ERR(max=4)@3")
    list_by_list = False  # max is that of all lists
    judge = ReciprocalRankJudge
    cutoff: int | None = cutoff_setting()
    max: float | None = _max()

    def formula(self, relevance: Relevance) -> list[str]:
        return [f"gain:(2^rel-1)/2^{value_text(_largest(self.max, relevance))}"]


class _Persistent(GainMetric):
    """Sums of gains that a user sees who reads the next item with probability p."""

    normalised = False
    p: float = setting(0.8, "probability of reading the next item", gt=0, lt=1)

    def divisors(self, places: Floats) -> Floats:
        return self.p ** (1.0 - places) / (1.0 - self.p)

    def formula(self, relevance: Relevance) -> list[str]:
        return [f"gain:{self.gain}", f"discount:(1-p)*p^(i-1),p={value_text(self.p)}"]


@register("RBP", "rank-biased-precision")
class RankBiasedPrecision(_Persistent):
    """Rank-biased precision."""

    summary = "share of relevant items seen by a user who reads on with probability p"
    meaning = (
        "The sum of (1 - p) p^(place - 1) over the relevant items down to place k; with graded=1 each "
        "item counts label / max. 0 to 1. Unjudged items count 0: RBP.residual is what they could add."
    )
    source = "Moffat & Zobel 2008"
    elsewhere = (
        "RBP of ir_measures: equal for rel=1 without ties; rbp.p of ranx: equal without ties if labels "
        "are 0 and 1, larger ones count as they are there"
    )
    examples = ("RBP(p=0.5)@3", "RBP(graded=1)")
    list_by_list = False  # max is that of all lists
    rel: float = setting(1.0, "the smallest label that is relevant", gt=0)
    graded: bool = setting(False, "gains label / max instead of 0 and 1")
    max: float | None = _max()

    def check_values(self) -> None:
        if self.max is not None and not self.graded:
            raise ConfigError("max changes something only with graded=1")
        if self.rel != 1.0 and self.graded:
            raise ConfigError("rel changes nothing with graded=1")

    def formula(self, relevance: Relevance) -> list[str]:
        gain = f"rel/{value_text(self.max)}" if self.graded else f"rel>={value_text(self.rel)}"
        return [f"gain:{gain}", *super().formula(relevance)[1:]]

    def gains(self, labels: Floats) -> Floats:
        """Return label / max, or 1 for relevant items and 0 for others."""
        return labels / (self.max or 1.0) if self.graded else (labels >= self.rel).astype(np.float64)

    def prepare_in(self, preparation: Preparation) -> RankingJudge:
        if not self.graded:
            return super().prepare_in(preparation)
        relevance = preparation.shared(shared_relevance)
        metric = self.with_settings(max=_largest(self.max, relevance))
        judge = GainJudge(metric, relevance, preparation.judging)
        judge.name = self.name
        return judge


@register("RBP.residual")
class Residual(_Persistent):
    """The residual of rank-biased precision."""

    summary = "what RBP could gain at most if unjudged items and those beyond place k were relevant"
    meaning = (
        "1 minus the sum of (1 - p) p^(place - 1) over the judged items down to place k, whatever their "
        "labels. RBP is between its value and that value plus the residual. 0 to 1."
    )
    source = "Moffat & Zobel 2008"
    examples = ("RBP.residual@3",)
    better = -1
    gain = "judged"
    judge = ResidualJudge
    of_judged = True
    unjudged = "counted"

    def gains(self, labels: Floats) -> Floats:
        """Return 1 for each judged item."""
        return np.ones(len(labels))
