"""Pairwise accuracy: the share of pairs with different labels that the scores put in the labels' order.

Tied pairs count one half whatever the mode of ties. Unjudged items are in no pair. ``PairAcc`` is the
mean over the lists that have a pair; ``PairAcc(over=pairs)`` pools the pairs of all lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rerank._version import __version__
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index, Mask
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, mean_from_sums, refuse_unknown
from rerank.metrics.relevance import checked_scores
from rerank.native.metrics import _placement


class Pairs:
    """The pairs of different labels of each list; raises DataError where the lists hold no label."""

    def __init__(self, lists: CandidateLists) -> None:
        if lists.labels is None:
            raise DataError(f"{lists.source}: no labels to measure against")
        self.lists = lists
        longest = int(lists.lengths.max())
        self._ranks = np.empty(lists.n_items, dtype=np.int32)
        self._n_ranks = np.empty(lists.n_lists, dtype=np.int32)
        self.n_pairs: Index = np.empty(lists.n_lists, dtype=np.int64)
        self._work = (np.empty((2, longest)), np.empty((2, longest), dtype=np.int64))
        labels = np.ascontiguousarray(lists.labels, dtype=np.float64)
        _placement.label_ranks(labels, lists.offsets, *self._work, self._ranks, self._n_ranks, self.n_pairs)

    def place(self, scores: npt.ArrayLike) -> Floats:
        """Pairs in the right order, a tie counting one half: float64 (n_lists)."""
        values = checked_scores(scores, self.lists.n_items).astype(np.float64, copy=False)
        right = np.empty(self.lists.n_lists, dtype=np.int64)
        wrong = np.empty_like(right)
        keys, index = np.empty_like(self._work[0]), np.empty_like(self._work[1])
        tree = np.empty(index.shape[1] + 1, dtype=np.int64)
        _placement.concordance(
            values, self.lists.offsets, self._ranks, self._n_ranks, keys, index, tree, right, wrong
        )
        return (self.n_pairs + right - wrong) / 2.0


def _pairs(preparation: Preparation) -> Pairs:
    return Pairs(preparation.lists)


@dataclass(frozen=True)
class PairAccuracy:
    """The measure; ``over`` is lists or pairs."""

    over: str = "lists"

    @property
    def name(self) -> str:
        return "PairAcc" if self.over == "lists" else f"PairAcc(over={self.over})"

    def prepare(self, lists: CandidateLists) -> PairJudge:
        """A judge of these lists."""
        return self.prepare_in(Preparation(lists))

    def prepare_in(self, preparation: Preparation) -> PairJudge:
        """A judge that shares its pairs with the others of ``preparation``."""
        return PairJudge(self, preparation.shared(_pairs))


class PairJudge:
    """Statistics [right + tied / 2, pairs] of each list, both divided by the pairs for a mean over lists."""

    better = 1
    digits = 4

    def __init__(self, metric: PairAccuracy, pairs: Pairs) -> None:
        self.metric = metric
        self.name = metric.name
        self.stage = pairs
        self.judged: Mask = pairs.lists.judged_lists()

    @property
    def signature(self) -> str:
        return (
            f"{self.name}|over:{self.metric.over}|ties:half|no_pair:skip|unjudged:skip|version:{__version__}"
        )

    def per_list(self, scores: npt.ArrayLike) -> Floats:
        """Statistics of each list under ``scores`` (n_items): float64 (n_lists, 2)."""
        return self.of(self.stage.place(scores))

    def of(self, placed: Floats) -> Floats:
        """The statistics of pairs counted by this judge's stage."""
        n_pairs = self.stage.n_pairs
        out = np.stack([placed, n_pairs.astype(np.float64)], axis=1)
        if self.metric.over == "lists":
            out /= np.maximum(n_pairs, 1)[:, None]
        return out

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Accuracies (...) of sums (..., 2); NaN where there is no pair."""
        return mean_from_sums(sums)

    def first_best(self) -> Floats | None:
        """Statistics of the first stage's ranking, None where the lists have none."""
        lists = self.stage.lists
        if lists.first_best is None:
            return None
        # No ties are left in an order: of equal numbers the earlier item stands higher.
        down = np.lexsort((np.arange(lists.n_items), -lists.first_best, lists.list_index))
        scores = np.empty(lists.n_items)
        scores[down] = -np.arange(lists.n_items, dtype=np.float64)
        return self.per_list(scores)

    def random(self) -> float:
        """One half, as a constant scorer gets; NaN where there is no pair."""
        return corpus_value(self, self.per_list(np.zeros(self.stage.lists.n_items)))

    def oracle(self) -> float:
        """One; NaN where there is no pair."""
        labels = self.stage.lists.labels
        assert labels is not None  # Pairs refuses lists without
        return corpus_value(self, self.per_list(np.nan_to_num(labels, nan=-np.inf)))


def _make(*, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None) -> PairAccuracy:
    assert inner is None
    refuse_unknown(parameters, ["over"])
    over = parameters.get("over", "lists")
    if over not in ("lists", "pairs"):
        raise ConfigError(f"over is lists or pairs, got {over!r}")
    if cutoff is not None:
        raise ConfigError("pairwise accuracy takes no cutoff")
    return PairAccuracy(str(over))


FAMILIES.register("PairAcc", "pairs", "pair-accuracy", "pairwise-accuracy")(_make)
