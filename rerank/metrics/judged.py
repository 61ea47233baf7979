"""Measures that tell unjudged items from those judged not relevant: bpref, inferred AP, Judged@k.

An item without a label is unjudged. A label below 0 stands for an item of the pool that was not judged, as
in trec_eval: bpref skips both, inferred AP skips the second and counts the first as not relevant. Judged@k
counts every label. Judged items that were not retrieved are known if judgements were read from qrels.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rerank.core.settings import setting
from rerank.core.types import Bytes, Floats, Index, Mask
from rerank.metrics.base import register, value_text
from rerank.metrics.ranking import RankingJudge, RankingMetric, any_cutoff
from rerank.metrics.relevance import Relevance
from rerank.native.metrics import _judged, _placement, _ranking


class _OfPool(RankingMetric):
    """A measure that tells items judged not relevant from those that are not judged."""

    rel: float = setting(1.0, "the least label that is relevant", gt=0)


@register("bpref", "binary-preference")
class BinaryPreference(_OfPool):
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
    unjudged = "skip"

    def judge(self, relevance: Relevance, no_relevant: str) -> BinaryPreferenceJudge:
        return BinaryPreferenceJudge(self, relevance.of_judged, no_relevant)


@register("infAP", "inferred-AP")
class InferredAp(_OfPool):
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
    unjudged = "not-pooled"

    def judge(self, relevance: Relevance, no_relevant: str) -> InferredApJudge:
        return InferredApJudge(self, relevance.of_judged, no_relevant)


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
    unjudged = "counted"
    cutoff: int | None = any_cutoff()

    def judge(self, relevance: Relevance, no_relevant: str) -> JudgedJudge:
        return JudgedJudge(self, relevance.of_judged, no_relevant, [])


class _PoolJudge(RankingJudge):
    metric: _OfPool

    def __init__(self, metric: _OfPool, relevance: Relevance, no_relevant: str) -> None:
        super().__init__(metric, relevance, no_relevant, [f"rel:{value_text(metric.rel)}"])

    @cached_property
    def _kinds(self) -> Bytes:
        labels, kinds = self.stage.item_labels, _judged.KINDS
        out = np.where(labels >= 0, kinds["not relevant"], kinds["sampled out"])
        return np.where(labels >= self.metric.rel, kinds["relevant"], out).astype(np.uint8)

    @cached_property
    def _n_relevant(self) -> Index:
        known = self.stage.known
        return known.count(known.values >= self.metric.rel).astype(np.int64)

    @cached_property
    def possible(self) -> Mask:
        return self._n_relevant > 0


class BinaryPreferenceJudge(_PoolJudge):
    """bpref."""

    def _values(self, placed: _placement.Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        _judged.bpref(placed, self._kinds, self._n_relevant, self._n_not_relevant, self.cutoff, out)
        return out

    @cached_property
    def _n_not_relevant(self) -> Index:
        known = self.stage.known
        return known.count((known.values >= 0) & (known.values < self.metric.rel)).astype(np.int64)


class InferredApJudge(_PoolJudge):
    """Inferred AP."""

    def _values(self, placed: _placement.Placement) -> Floats:
        out = np.empty(self.stage.lists.n_lists)
        _judged.inferred_ap(placed, self._kinds, self._n_relevant, self.cutoff, out)
        return out


class JudgedJudge(RankingJudge):
    """Judged@k; every list with a judged item counts."""

    @cached_property
    def possible(self) -> Mask:
        return np.ones(self.stage.lists.n_lists, dtype=bool)

    def _values(self, placed: _placement.Placement) -> Floats:
        lists = self.stage.lists
        out = np.empty(lists.n_lists)
        _ranking.hits(placed, np.ones(len(self.stage.items), dtype=np.uint8), self.cutoff, out)
        lengths = lists.lengths if placed.n_returned is None else np.maximum(placed.n_returned, 1)
        return out / np.minimum(lengths, self.cutoff)
