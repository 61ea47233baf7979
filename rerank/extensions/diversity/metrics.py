"""Metrics of diversity: how early, and how often, the subtopics of a list's query are covered.

They equal ndeval's if they have its names. Each is a mean over lists. A document is relevant to a subtopic if
its judgement is at least ``rel``; subtopics without a relevant document do not count. With ties a value is
the expectation over the orders of tied items, unless they are broken as trec_eval does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rerank.core.settings import setting
from rerank.core.types import Floats, Index, Mask
from rerank.data.columns.offsets import offsets_of, places_of
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.extensions.diversity.native import _subtopics
from rerank.extensions.diversity.subtopics import pairs_of
from rerank.metrics.base import Preparation, register, value_text
from rerank.metrics.judging import Judging
from rerank.metrics.ranking import RankingJudge, RankingMetric, cutoff_setting
from rerank.metrics.relevance import Relevance
from rerank.native.metrics import _placement, _ranking


class SubtopicRelevance(Relevance):
    """The judgements by subtopic of a set of lists, and how ties are broken; see ``Relevance``.

    Raises DataError if the lists have no such judgements.
    """

    def __init__(self, lists: CandidateLists, ties: str | None = None) -> None:
        self.pairs = pairs_of(lists)
        labels = np.full(lists.n_items, np.nan)
        there = self.pairs.items >= 0
        np.fmax.at(labels, self.pairs.items[there], self.pairs.grades[there])
        super().__init__(replace(lists, labels=labels, unretrieved=None), ties)

    @cached_property
    def judged(self) -> Mask:
        out = np.zeros(self.lists.n_lists, dtype=bool)
        out[self.pairs.lists] = True
        return out


def _shared(preparation: Preparation) -> SubtopicRelevance:
    return SubtopicRelevance(preparation.lists, preparation.judging.ties)


class SubtopicJudge(RankingJudge):
    """Mean over lists of a sum over their subtopics, divided by what the list could reach."""

    metric: SubtopicMetric
    stage: SubtopicRelevance

    def __init__(self, metric: SubtopicMetric, relevance: SubtopicRelevance, judging: Judging) -> None:
        super().__init__(metric, relevance, judging)
        pairs = relevance.pairs
        kept = np.flatnonzero(pairs.grades >= metric.rel)
        # Subtopics with a relevant document, numbered again list after list.
        numbers, self._subtopic_of = np.unique(pairs.subtopics[kept], return_inverse=True)
        self._lists, self._documents = pairs.lists[kept], pairs.documents[kept]
        self._list_of = np.zeros(len(numbers), dtype=np.int64)
        self._list_of[self._subtopic_of] = self._lists
        self.n_relevant = np.bincount(self._subtopic_of, minlength=len(numbers)).astype(np.float64)
        self.n_subtopics = np.bincount(self._list_of, minlength=relevance.lists.n_lists).astype(np.float64)
        there = np.flatnonzero(pairs.items[kept] >= 0)
        items = np.searchsorted(relevance.items, pairs.items[kept][there])
        order = np.argsort(items, kind="stable")
        self._of_items = self._subtopic_of[there][order]  # the subtopics of each placed item ...
        self._bounds = offsets_of(np.bincount(items, minlength=len(relevance.items)))  # ... and their bounds
        self._items = pairs.items[kept][there]
        self._there = there
        self._divisor = np.asarray(metric.divisor(self), dtype=np.float64)

    @cached_property
    def possible(self) -> Mask:
        return self.n_subtopics > 0

    def of(self, placed: _placement.Placement) -> Floats:
        order = np.asarray(placed.order)
        places, bounds = places_of(self._bounds, order)
        subtopics = self._of_items[places]
        sort = np.argsort(subtopics, kind="stable")
        inner = _placement.Placement(offsets_of(np.bincount(subtopics, minlength=len(self._list_of))))
        for name in ("above", "tied"):
            values = np.repeat(np.asarray(getattr(placed, name)), np.diff(bounds))
            np.asarray(getattr(inner, name))[:] = values[sort]
        np.asarray(inner.order)[:] = np.arange(len(sort))
        out = np.empty(len(self._list_of))
        self.metric.of_subtopics(inner, self, out)
        sums = np.bincount(self._list_of, weights=out, minlength=len(self.possible))
        return self._statistics(np.divide(sums, self._divisor, out=np.zeros_like(sums), where=self.possible))

    def oracle(self) -> float:
        """Return the value of the greedy order of the items, each of the largest gain after those above."""
        scores = np.zeros(self.stage.lists.n_items)
        item_of = dict(zip(self._documents[self._there].tolist(), self._items.tolist(), strict=True))
        known = np.zeros(len(self._lists), dtype=bool)
        known[self._there] = True
        for order in self._greedy(known, self.cutoff):
            for place, document in enumerate(order.tolist()):
                scores[item_of[document]] = len(order) - place
        return corpus_value(self, self.of(self.stage.place(scores, "input")))

    def best_sums(self, depth: int | None) -> Floats:
        """Return the sum of gains of the greedy order of all judged documents of each list, (n_lists).

        Documents of equal gain come by their ids, the largest first, as in ndeval.
        """
        n = self.stage.lists.n_lists
        out = np.zeros(n)
        every = np.ones(len(self._lists), dtype=bool)
        longest = int(np.bincount(self._lists, minlength=1).max(initial=1)) if depth is None else depth
        discounts = self.metric.discounts(longest)
        for i, order in enumerate(self._greedy(every, depth)):
            relevant, documents, _ = self._matrix(i, every)
            rows = relevant[np.searchsorted(documents, order)].astype(np.float64)
            above = np.cumsum(rows, axis=0) - rows
            out[i] = discounts[: len(rows)] @ (rows * self.metric.kept**above).sum(axis=1)
        return out

    def _matrix(self, i: int, known: Mask) -> tuple[Mask, Index, Index]:
        """Return which documents are relevant to which subtopic of list ``i``, and the numbers of both."""
        first, last = np.searchsorted(self._lists, (i, i + 1)).tolist()
        own = first + np.flatnonzero(known[first:last])
        documents, rows = np.unique(self._documents[own], return_inverse=True)
        subtopics, columns = np.unique(self._subtopic_of[own], return_inverse=True)
        out = np.zeros((len(documents), len(subtopics)), dtype=bool)
        out[rows, columns] = True
        return out, documents, subtopics

    def _greedy(self, known: Mask, depth: int | None) -> list[Index]:
        """The documents of each list in greedy order, down to a depth."""
        out = []
        for i in range(self.stage.lists.n_lists):
            relevant, documents, subtopics = self._matrix(i, known)
            above, left = np.zeros(len(subtopics)), np.ones(len(documents), dtype=bool)
            chosen: list[int] = []
            while left.any() and len(chosen) != depth:
                weights = self.metric.weights(above, self.n_relevant[subtopics])
                gains = np.where(left, np.einsum("ij,j->i", relevant.astype(np.float64), weights), -1.0)
                best = int(np.argmax(gains))
                chosen.append(best)
                left[best] = False
                above += relevant[best]
            out.append(documents[chosen])
        return out


class SubtopicMetric(RankingMetric):
    """A sum over subtopics and their relevant documents of a discount that falls with the place.

    Each relevant document above for the same subtopic multiplies it by ``kept``. The sum is divided by
    ``divisor``.
    """

    needs = ("subtopics",)
    judge = SubtopicJudge
    elsewhere = "ndeval and ir_measures (pyndeval): equal without ties"
    rel: float = setting(1.0, "the smallest judgement that is relevant", gt=0)
    discount: ClassVar[str] = "log2(1+i)"

    @property
    def kept(self) -> float:
        """Return what is left of the gain of a document for each relevant one above."""
        alpha: float = getattr(self, "alpha", 0.0)
        return 1.0 - alpha

    def discounts(self, n: int) -> Floats:
        """Return the factor of each place, float64 (n)."""
        return 1.0 / np.log2(np.arange(2.0, n + 2.0))

    def divisor(self, judge: SubtopicJudge) -> Floats:
        """Return what the sum of each list is divided by (n_lists): the sum of its best order."""
        return judge.best_sums(self.depth)

    def weights(self, above: Floats, n_relevant: Floats) -> Floats:
        """Return what the next relevant document of each subtopic gains, apart from its discount.

        Parameters
        ----------
        above : float64 (n_subtopics)
            How many relevant documents each has already.
        n_relevant : float64 (n_subtopics)
            How many it has in all.
        """
        found: Floats = self.kept**above
        return found

    def of_subtopics(self, placed: _placement.Placement, judge: SubtopicJudge, out: Floats) -> None:
        """Fill in the sum of each subtopic (n_subtopics), whose relevant documents are placed."""
        _subtopics.falling_gains(placed, self.discounts(judge.cutoff), self.kept, judge.cutoff, out)

    def formula(self, relevance: Relevance) -> list[str]:
        parts = [f"{key}:{value_text(getattr(self, key))}" for key in ("alpha", "beta") if hasattr(self, key)]
        return [f"rel:{value_text(self.rel)}", *parts]

    def prepare_in(self, preparation: Preparation) -> SubtopicJudge:
        return SubtopicJudge(self, preparation.shared(_shared), preparation.judging)


class _OfFixedSum(SubtopicMetric):
    """A measure divided by the number of subtopics, times the sum for documents relevant to every one."""

    def divisor(self, judge: SubtopicJudge) -> Floats:
        assert self.depth is not None
        return judge.n_subtopics * float(self.discounts(self.depth) @ self.kept ** np.arange(self.depth))


def _alpha() -> Any:
    return setting(0.5, "share of its gain that a document loses for each relevant one above", ge=0, le=1)


@register("alpha-nDCG", "alpha_nDCG", "alpha-ndcg_cut")
class AlphaNdcg(SubtopicMetric):
    """nDCG with gains of new subtopics."""

    summary = "nDCG that rewards new subtopics: gains fall with relevant documents above"
    meaning = (
        "The gain of a document is the sum over its subtopics of (1 - alpha)^(relevant documents above). The "
        "gains divided by log2(1 + place) are summed down to place k, and divided by the sum of the best "
        "order, which is found greedily. 0 to 1."
    )
    source = "Clarke et al. 2008; ndeval"
    examples = ("alpha-nDCG@3", "alpha-nDCG", "alpha-nDCG(alpha=0.8, rel=2)@2")
    alpha: float = _alpha()
    cutoff: int | None = cutoff_setting()


@register("alpha-DCG", "alpha_DCG")
class AlphaDcg(_OfFixedSum):
    """DCG with gains of new subtopics."""

    summary = "DCG that rewards new subtopics, divided by the same sum for every list of as many subtopics"
    meaning = (
        "The sum of alpha-nDCG, divided by that of k documents which are relevant to every subtopic of the "
        "list. 0 to 1, which lists without such documents cannot reach."
    )
    source = "Clarke et al. 2008; ndeval"
    examples = ("alpha-DCG@3",)
    alpha: float = _alpha()
    cutoff: int = cutoff_setting(needed=True)


class _Reciprocal(SubtopicMetric):
    discount = "i"

    def discounts(self, n: int) -> Floats:
        return 1.0 / np.arange(1.0, n + 1.0)


@register("ERR-IA", "ERR_IA")
class ErrIa(_Reciprocal, _OfFixedSum):
    """Intent-aware ERR."""

    summary = "intent-aware expected reciprocal rank: the mean over subtopics"
    meaning = (
        "The sum over subtopics and relevant documents down to place k of (1 - alpha)^(relevant documents "
        "above) / place, divided by that of k documents which are relevant to every subtopic. 0 to 1."
    )
    source = "Chapelle et al. 2011; ndeval"
    elsewhere = "ndeval and ir_measures (pyndeval): equal without ties, but ndeval does not divide at k = 1"
    examples = ("ERR-IA@3",)
    alpha: float = _alpha()
    cutoff: int = cutoff_setting(needed=True)


@register("nERR-IA", "nERR_IA")
class NormalisedErrIa(_Reciprocal):
    """Intent-aware ERR, normalised by the best order."""

    summary = "intent-aware expected reciprocal rank, divided by that of the best order"
    meaning = "The sum of ERR-IA, divided by the sum of the best order, which is found greedily. 0 to 1."
    source = "Chapelle et al. 2011; ndeval"
    examples = ("nERR-IA@3", "nERR-IA")
    alpha: float = _alpha()
    cutoff: int | None = cutoff_setting()


class _Biased(SubtopicMetric):
    discount = "beta^(i-1)"
    alpha: float = _alpha()
    beta: float = setting(0.5, "probability of reading the next document", gt=0, lt=1)

    def discounts(self, n: int) -> Floats:
        return self.beta ** np.arange(float(n))


@register("NRBP")
class Nrbp(_Biased):
    """Novelty- and rank-biased precision."""

    summary = "novelty- and rank-biased precision: RBP that rewards new subtopics"
    meaning = (
        "The sum over subtopics and relevant documents of (1 - alpha)^(relevant documents above) "
        "beta^(place - 1), times 1 - (1 - alpha) beta, divided by the number of subtopics. 0 to 1."
    )
    source = "Clarke et al. 2009; ndeval"
    examples = ("NRBP", "NRBP(beta=0.8)")

    def divisor(self, judge: SubtopicJudge) -> Floats:
        return judge.n_subtopics / (1.0 - self.kept * self.beta)


@register("nNRBP")
class NormalisedNrbp(_Biased):
    """NRBP, normalised by the best order."""

    summary = "novelty- and rank-biased precision, divided by that of the best order"
    meaning = "The sum of NRBP, divided by the sum of the best order, which is found greedily. 0 to 1."
    source = "Clarke et al. 2009; ndeval"
    examples = ("nNRBP",)


@register("P-IA", "P_IA", "precision-IA")
class PrecisionIa(SubtopicMetric):
    """Intent-aware precision."""

    summary = "intent-aware precision: the mean over subtopics of P@k"
    meaning = (
        "The mean over the subtopics of the list of the share of relevant documents among the first k. "
        "0 to 1."
    )
    source = "Agrawal et al. 2009; ndeval"
    examples = ("P-IA@3",)
    discount = "1"
    cutoff: int = cutoff_setting(needed=True)

    def discounts(self, n: int) -> Floats:
        return np.ones(n)

    def divisor(self, judge: SubtopicJudge) -> Floats:
        return judge.n_subtopics * float(self.cutoff)


@register("strec", "StRecall", "subtopic-recall", "S-recall")
class SubtopicRecall(SubtopicMetric):
    """Subtopic recall."""

    summary = "share of the subtopics that the first k documents cover"
    meaning = "The share of the list's subtopics that have a relevant document among the first k. 0 to 1."
    source = "Zhai et al. 2003; ndeval"
    examples = ("strec@3", "strec(rel=2)@2")
    discount = "1"
    cutoff: int = cutoff_setting(needed=True)

    @property
    def kept(self) -> float:
        """Only the first relevant document counts."""
        return 0.0

    def discounts(self, n: int) -> Floats:
        return np.ones(n)

    def divisor(self, judge: SubtopicJudge) -> Floats:
        return judge.n_subtopics


@register("AP-IA", "AP_IA", "MAP-IA")
class AveragePrecisionIa(SubtopicMetric):
    """Intent-aware average precision."""

    summary = "intent-aware average precision: the mean over subtopics"
    meaning = (
        "The mean over the subtopics of the list of average precision, in which a document counts that is "
        "relevant to the subtopic. 0 to 1."
    )
    source = "Agrawal et al. 2009; ndeval"
    elsewhere = "MAP-IA of ndeval, AP_IA of ir_measures (pyndeval): equal without ties"
    examples = ("AP-IA",)

    def divisor(self, judge: SubtopicJudge) -> Floats:
        return judge.n_subtopics

    def weights(self, above: Floats, n_relevant: Floats) -> Floats:
        return (above + 1.0) / n_relevant

    def of_subtopics(self, placed: _placement.Placement, judge: SubtopicJudge, out: Floats) -> None:
        """Fill in the average precision of each subtopic."""
        good = np.ones(len(placed.order), dtype=np.uint8)
        _ranking.average_precision(placed, good, judge.cutoff, out)
        out /= judge.n_relevant
