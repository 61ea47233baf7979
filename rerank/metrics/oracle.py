"""Top-k oracles, ``oracleK.METRIC``: the value of the best choice among the K items with the largest scores.

The thesis' 3.2.2: what a later stage could still reach that is given the first K. It never falls with K for
metrics whose best choice is exact; ``oracle1.X`` is X.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index
from rerank.errors import ConfigError
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, refuse_unknown
from rerank.metrics.relevance import checked_scores
from rerank.metrics.selecting import RANDOM_SEED, MeanJudge, SelectingJudge, SelectingMetric

# Random rankings whose oracles are averaged: each one is a search over all lists.
RANDOM_RANKINGS = 20


@dataclass(frozen=True)
class TopItems:
    """Makes the stage of the ``size`` items of each list with the largest scores."""

    size: int

    def __call__(self, preparation: Preparation) -> Prefix:
        return Prefix(preparation.lists, self.size)


class Prefix:
    """The stage of top-k oracles: which items of each list the scores put first."""

    def __init__(self, lists: CandidateLists, size: int) -> None:
        self.lists = lists
        self.size = size
        self.lengths: Index = np.minimum(lists.lengths, size)
        self.offsets: Index = np.concatenate(([0], np.cumsum(self.lengths))).astype(np.int64)

    def place(self, scores: npt.ArrayLike) -> Index:
        """The first items of each list from the top down, of equals the earlier first.

        int64 (sum of ``lengths``), list i's at ``offsets[i]:offsets[i + 1]``; raises DataError at a NaN
        or a wrong length.
        """
        values = checked_scores(scores, self.lists.n_items)
        order = np.lexsort((-values, self.lists.list_index))  # stable: ties stay in the input's order
        starts = np.repeat(self.lists.offsets[:-1] - self.offsets[:-1], self.lengths)
        first: Index = order[starts + np.arange(self.offsets[-1])].astype(np.int64, copy=False)
        return first


@dataclass(frozen=True)
class TopOracle:
    """The best choice by ``inner`` among the first ``size`` items of each list."""

    size: int
    inner: SelectingMetric

    @property
    def name(self) -> str:
        return f"oracle{self.size}.{self.inner.name}"

    def prepare(self, lists: CandidateLists) -> OracleJudge:
        """A judge of these lists."""
        return self.prepare_in(Preparation(lists))

    def prepare_in(self, preparation: Preparation) -> OracleJudge:
        """A judge that shares what the inner metric shares, and its order with oracles of one size."""
        stage = preparation.shared(TopItems(self.size))
        return OracleJudge(self.name, self.inner.prepare_in(preparation), stage)


class OracleJudge:
    """Statistics of each list's item in the best choice by ``inner`` among the first ones.

    How good the choice is, ``inner.best_of`` says: exact for means and ratios, a climb for BLEU.
    """

    def __init__(self, name: str, inner: SelectingJudge, stage: Prefix) -> None:
        self.name = name
        self.inner = inner
        self.stage = stage
        self.better = inner.better
        self.digits = inner.digits
        self.judged = inner.judged
        self.signature = f"oracle:{stage.size}|{inner.signature}"

    def per_list(self, scores: npt.ArrayLike) -> Floats:
        """Statistics of each list under ``scores`` (n_items): float64 (n_lists, k)."""
        return self.of(self.stage.place(scores))

    def of(self, placed: Index) -> Floats:
        """Statistics of the best choice among items that this judge's stage has placed."""
        return self.inner.of(self.inner.best_of(placed, self.stage.offsets))

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """The inner metric (...) of summed statistics (..., k)."""
        return self.inner.score_from_sums(sums)

    def first_best(self) -> Floats | None:
        """Statistics of the best among the first stage's first items, None where it has no order."""
        order = self.stage.lists.first_best
        return None if order is None else self.per_list(order)

    def random(self) -> float:
        """Of a mean, the exact expectation over all orders; else the mean over seeded random orders."""
        lists = self.stage.lists
        if isinstance(self.inner, MeanJudge):
            return corpus_value(self, self._expected(self.inner))
        rng = np.random.Generator(np.random.PCG64(RANDOM_SEED))
        values = [
            corpus_value(self, self.per_list(rng.random(lists.n_items))) for _ in range(RANDOM_RANKINGS)
        ]
        return float(np.mean(values))

    def oracle(self) -> float:
        """The best value of the whole lists."""
        return self.inner.oracle()

    def _expected(self, inner: MeanJudge) -> Floats:
        """Expected statistics of the best of ``size`` items drawn from each list without replacement.

        The i-th best of n (from 0) is the best of K drawn with chance C(n-1-i, K-1) / C(n, K); the chances
        follow from each other.
        """
        lists = self.stage.lists
        order = np.lexsort((-inner.better * inner.per_item[:, 0], lists.list_index))
        chances = np.empty(lists.n_items)
        memo: dict[int, Floats] = {}
        for start, n in zip(lists.offsets[:-1].tolist(), lists.lengths.tolist(), strict=True):
            if n not in memo:
                memo[n] = _chances(n, min(n, self.stage.size))
            chances[start : start + n] = memo[n]
        return np.add.reduceat(inner.per_item[order] * chances[:, None], lists.offsets[:-1])


def _chances(n: int, size: int) -> Floats:
    """Chance of each of n, best first, to be the best of ``size`` of them drawn at random: (n)."""
    i = np.arange(n - 1, dtype=np.float64)
    steps = np.maximum(n - size - i, 0.0) / (n - 1 - i)
    return np.concatenate(([1.0], np.cumprod(steps))) * (size / n)


def _make(*, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None) -> TopOracle:
    if inner is None or cutoff is None:
        raise ConfigError("say the best of how many of which metric, such as oracle5.BLEU")
    refuse_unknown(parameters, [])
    if cutoff < 1:
        raise ConfigError("an oracle is of the first 1 or more items")
    if not isinstance(inner, SelectingMetric):
        raise ConfigError(
            f"an oracle is of a metric of one chosen item, such as oracle5.BLEU; {inner.name} is none"
        )
    return TopOracle(cutoff, inner)


FAMILIES.register("oracle.")(_make)
