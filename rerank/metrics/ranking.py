"""Measures of retrieval by relevant items: AP, RR, P@k, R@k, Success@k, bpref, inferred AP, Judged@k.

They equal trec_eval's if it has them and ties are broken as it does. Each is a mean over lists. Lists without
any judged item are left out; unjudged items of other lists count as not relevant. Relevant are items with
label >= ``rel`` (1 by default).

For measures that tell unjudged items from those not relevant, an item without a label is
unjudged; a label below 0 stands for an item of the pool that was not judged, as
in trec_eval: bpref skips both, inferred AP skips the second and counts the first as not relevant. Judged@k
counts every label. Judged items that were not retrieved are known if judgements were read from qrels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rerank.core.settings import setting
from rerank.core.types import Bytes, Floats, Index, Mask
from rerank.data.judge import corpus_value
from rerank.metrics.base import Metric, Preparation, register, value_text
from rerank.metrics.judges import ReportJudge, signed
from rerank.metrics.judging import Judging
from rerank.metrics.relevance import Relevance
from rerank.native.metrics import _judged, _placement, _ranking


def shared_relevance(preparation: Preparation) -> Relevance:
    """Return the judgements that all judges of a preparation share."""
    return Relevance(preparation.lists, preparation.judging.ties)


def cutoff_setting(*, needed: bool = False) -> Any:
    """Return a setting for a cutoff, which is optional unless it is ``needed``."""
    more = "" if needed else "; none = all"
    return setting(... if needed else None, f"only the first so many items{more}", ge=1)


class RankingJudge(ReportJudge):
    """Mean of a measure over lists."""

    stage: Relevance

    def __init__(self, metric: RankingMetric, relevance: Relevance, judging: Judging) -> None:
        self.no_relevant = judging.no_relevant
        policy = f"ties:{relevance.ties}", f"no_relevant:{self.no_relevant}", f"unjudged:{metric.unjudged}"
        super().__init__(metric.name, signed(metric.name, *metric.formula(relevance), *policy), relevance)
        self.metric = metric
        self.better = metric.better
        longest = int(relevance.lists.lengths.max())
        self.cutoff = longest if metric.depth is None else min(metric.depth, longest)
        self.judged = relevance.judged

    def _statistics(self, value: Floats) -> Floats:
        """[value, 1] of each list that counts, else [0, 0], from the measure of each, which is changed."""
        out = np.empty((len(self.possible), 2))
        if not self.possible.all():
            value[~self.possible] = 1.0 if self.no_relevant == "one" else 0.0
        np.multiply(value, self.counted, out=out[:, 0])
        out[:, 1] = self.counted
        return out

    def random(self) -> float:
        """Return the exact expectation over all orders of each list."""
        return corpus_value(self, self.of(self.stage.random))

    def oracle(self) -> float:
        """Return the value of the order of the labels."""
        return corpus_value(self, self.of(self.stage.oracle))

    @cached_property
    def counted(self) -> Floats:
        """1.0 for the lists that the mean is over, else 0.0 (n_lists)."""
        counted = self.judged & self.possible if self.no_relevant == "skip" else self.judged
        return counted.astype(np.float64)

    @property
    @abstractmethod
    def possible(self) -> Mask:
        """Lists with a relevant item, bool (n_lists)."""


class _RelevantJudge(RankingJudge):
    """A mean of a measure of items that are relevant or not."""

    metric: _OfRelevant

    @cached_property
    def _n_good(self) -> Floats:
        known = self.stage.known
        return known.count(known.values >= self.metric.rel)

    @cached_property
    def possible(self) -> Mask:
        return self._n_good > 0


class BinaryJudge(_RelevantJudge):
    """AP, RR, P@k, R@k, Rprec, Success@k."""

    metric: _Binary

    @cached_property
    def _good(self) -> Bytes:
        return (self.stage.item_labels >= self.metric.rel).astype(np.uint8)

    def of(self, placed: _placement.Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        self.metric.kernel(placed, self._good, self.cutoff, out)
        return self._statistics(self.metric.divided(out, self._n_good))


class RPrecisionJudge(BinaryJudge):
    """R-precision: each list has its own cutoff."""

    def of(self, placed: _placement.Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        _ranking.hits_within(placed, self._good, self._n_good.astype(np.int64), out)
        return self._statistics(out / np.maximum(self._n_good, 1.0))


class _PoolJudge(_RelevantJudge):
    """A measure that tells items judged not relevant from those that are not judged."""

    @cached_property
    def _kinds(self) -> Bytes:
        labels, kinds = self.stage.item_labels, _judged.KINDS
        out = np.where(labels >= 0, kinds["not relevant"], kinds["sampled out"])
        return np.where(labels >= self.metric.rel, kinds["relevant"], out).astype(np.uint8)

    @cached_property
    def _n_relevant(self) -> Index:
        return self._n_good.astype(np.int64)


class BinaryPreferenceJudge(_PoolJudge):
    """bpref."""

    def of(self, placed: _placement.Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        _judged.bpref(placed, self._kinds, self._n_relevant, self._n_not_relevant, self.cutoff, out)
        return self._statistics(out)

    @cached_property
    def _n_not_relevant(self) -> Index:
        known = self.stage.known
        return known.count((known.values >= 0) & (known.values < self.metric.rel)).astype(np.int64)


class InferredApJudge(_PoolJudge):
    """Inferred AP."""

    def of(self, placed: _placement.Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        _judged.inferred_ap(placed, self._kinds, self._n_relevant, self.cutoff, out)
        return self._statistics(out)


class JudgedJudge(RankingJudge):
    """Judged@k; every list with a judged item counts."""

    @cached_property
    def possible(self) -> Mask:
        return np.ones(self.stage.lists.n_lists, dtype=bool)

    def of(self, placed: _placement.Placement) -> Floats:
        lists = self.stage.lists
        out = np.empty(lists.n_lists)
        _ranking.hits(placed, np.ones(len(self.stage.items), dtype=np.uint8), self.cutoff, out)
        lengths = lists.lengths if placed.n_returned is None else np.maximum(placed.n_returned, 1)
        return self._statistics(out / np.minimum(lengths, self.cutoff))


class RankingMetric(Metric):
    """A mean over lists of a measure of the whole order; the mode of ties counts.

    Attributes
    ----------
    judge : type
        Of its judges.
    of_judged : bool
        Whether judges need the places of all judged items, not of the relevant ones alone.
    unjudged : str
        How unjudged items count, for the signature.
    """

    uses_ties = True
    judge: ClassVar[type[RankingJudge]]
    of_judged: ClassVar[bool] = False
    unjudged: ClassVar[str] = "not-relevant"

    @property
    def depth(self) -> int | None:
        """The cutoff, None for whole lists."""
        cutoff: int | None = getattr(self, "cutoff", None)
        return cutoff

    def formula(self, relevance: Relevance) -> list[str]:
        """Return what the signature states of the measure on these judgements."""
        return []

    def prepare_in(self, preparation: Preparation) -> RankingJudge:
        relevance = preparation.shared(shared_relevance)
        return self.judge(self, relevance.of_judged if self.of_judged else relevance, preparation.judging)


class _OfRelevant(RankingMetric):
    """A measure of items that are relevant or not."""

    rel: float = setting(1.0, "the smallest label that is relevant", gt=0)

    def formula(self, relevance: Relevance) -> list[str]:
        return [f"rel:{value_text(self.rel)}"]


class _Binary(_OfRelevant):
    """One that a kernel computes from places alone."""

    judge = BinaryJudge
    kernel: ClassVar[Callable[..., None]]

    def divided(self, values: Floats, n_relevant: Floats) -> Floats:
        """Return the measure (n_lists) from what the kernel sums."""
        return values


@register("AP", "MAP", "map_cut", "average-precision")
class AveragePrecision(_Binary):
    """Average precision."""

    summary = "mean over relevant items of the precision at their places"
    meaning = (
        "Of each list, the share of relevant items down to the place of each relevant item, summed and "
        "divided by the number of relevant items. An item beyond place k, or one that was not retrieved, "
        "adds 0. 0 to 1."
    )
    source = "Harman 1992; trec_eval"
    elsewhere = (
        "map and map_cut.K of trec_eval, AP@k of ir_measures: equal; map@k of ranx: equal without ties"
    )
    examples = ("AP", "AP@3", "AP(rel=2)")
    kernel = staticmethod(_ranking.average_precision)
    cutoff: int | None = cutoff_setting()

    def divided(self, values: Floats, n_relevant: Floats) -> Floats:
        return values / np.maximum(n_relevant, 1.0)


@register("RR", "MRR", "recip_rank", "reciprocal-rank")
class ReciprocalRank(_Binary):
    """Reciprocal rank."""

    summary = "one over the place of the first relevant item"
    meaning = (
        "One over the place of the first relevant item of each list, 0 if there is none among the first "
        "k. 0 to 1."
    )
    source = "Kantor & Voorhees 2000; trec_eval"
    elsewhere = "recip_rank of trec_eval, RR of ir_measures: equal; mrr@k of ranx: equal without ties"
    examples = ("RR", "RR@2")
    kernel = staticmethod(_ranking.reciprocal_rank)
    cutoff: int | None = cutoff_setting()


@register("P", "prec", "precision")
class Precision(_Binary):
    """Precision at k, over k also if the list is shorter, as in trec_eval."""

    summary = "share of relevant items among the first k"
    meaning = (
        "The number of relevant items among the first k, divided by k also if a list is shorter. 0 to 1."
    )
    source = "van Rijsbergen 1979; trec_eval"
    elsewhere = "P.K of trec_eval, P@k of ir_measures: equal; precision@k of ranx: equal without ties"
    examples = ("P@3", "P(rel=2)@1")
    kernel = staticmethod(_ranking.hits)
    cutoff: int = cutoff_setting(needed=True)

    def divided(self, values: Floats, n_relevant: Floats) -> Floats:
        return values / float(self.cutoff)


@register("R", "rec", "recall")
class Recall(_Binary):
    """Recall at k."""

    summary = "share of the relevant items that are among the first k"
    meaning = (
        "The number of relevant items among the first k, divided by the number of relevant items of the "
        "list, retrieved or not. 0 to 1."
    )
    source = "van Rijsbergen 1979; trec_eval"
    elsewhere = "recall.K of trec_eval, R@k of ir_measures: equal; recall@k of ranx: equal without ties"
    examples = ("R@3",)
    kernel = staticmethod(_ranking.hits)
    cutoff: int = cutoff_setting(needed=True)

    def divided(self, values: Floats, n_relevant: Floats) -> Floats:
        return values / np.maximum(n_relevant, 1.0)


@register("Rprec", "R-precision")
class RPrecision(_Binary):
    """R-precision."""

    summary = "share of relevant items among the first R, the number of relevant items of the list"
    meaning = (
        "The number of relevant items among the first R of each list, divided by R, the number of its "
        "relevant items, retrieved or not. 0 to 1."
    )
    source = "Buckley & Voorhees 2005; trec_eval"
    elsewhere = "Rprec of trec_eval and ir_measures: equal; r-precision of ranx: equal without ties"
    examples = ("Rprec",)
    judge = RPrecisionJudge


@register("Success", "hit-rate")
class Success(_Binary):
    """Success at k."""

    summary = "share of lists with a relevant item among the first k"
    meaning = "1 for a list with a relevant item among the first k, else 0. 0 to 1."
    source = "trec_eval"
    elsewhere = (
        "success.K of trec_eval, Success@k of ir_measures: equal; hit_rate@k of ranx: equal without ties"
    )
    examples = ("Success@2", "Success(rel=2)@2")
    kernel = staticmethod(_ranking.success)
    cutoff: int = cutoff_setting(needed=True)


@register("bpref", "binary-preference")
class BinaryPreference(_OfRelevant):
    """Binary preference."""

    summary = "share of relevant items preferred to judged ones that are not relevant"
    meaning = (
        "For each relevant item 1 minus the number of items judged not relevant above it, at most R, "
        "divided by the smaller of R and their number in all; the sum is divided by R, the number of "
        "relevant items, retrieved or not. Unjudged items and labels below 0 are skipped. 0 to 1."
    )
    source = "Buckley & Voorhees 2004; trec_eval"
    elsewhere = (
        "bpref of trec_eval, Bpref of ir_measures: equal; bpref of ranx: not a number if a query has no "
        "item judged not relevant, else equal without ties"
    )
    examples = ("bpref",)
    judge = BinaryPreferenceJudge
    of_judged = True
    unjudged = "skip"


@register("infAP", "inferred-AP")
class InferredAp(_OfRelevant):
    """Inferred average precision."""

    summary = "average precision estimated from a sample of the pool's judgements"
    meaning = (
        "AP with the precision at each relevant item estimated: 1 / place for the item itself, and for "
        "those above the share in the pool times the share of relevant ones among the judged, (r + e) / "
        "(r + n + 2e), e = 0.00001. Items with labels below 0 are in the pool but not judged, unjudged "
        "ones are not in the pool. 0 to 1."
    )
    source = "Yilmaz & Aslam 2006; trec_eval"
    elsewhere = "infAP of trec_eval and ir_measures: equal"
    examples = ("infAP",)
    judge = InferredApJudge
    of_judged = True
    unjudged = "not-pooled"


@register("Judged", "judged-rate")
class Judged(RankingMetric):
    """Share of judged items."""

    summary = "share of the first k items that are judged, whatever the label"
    meaning = (
        "The number of items with a label among the first k of each list, divided by k, or by the length "
        "of a shorter list. 0 to 1; far from 1, other measures say little about this ranking."
    )
    source = "ir_measures"
    elsewhere = "Judged@k of ir_measures: equal without ties, which it breaks by the smaller id"
    examples = ("Judged@3",)
    judge = JudgedJudge
    of_judged = True
    unjudged = "counted"
    cutoff: int | None = cutoff_setting()
