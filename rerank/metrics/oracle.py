"""Top-k oracles, ``oracleK.METRIC``: the value of the best choice among the K items with the largest scores.

It is what a later stage can still reach that is given the first K items (the thesis' 3.2.2). For metrics
whose best choice is exact it never falls as K grows; ``oracle1.X`` is X.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.core.types import ArrayLike, Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import corpus_value, value_of
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Metric, Preparation, register
from rerank.metrics.draws import chances_of_lists
from rerank.metrics.judges import ReportJudge, Stage, checked_scores
from rerank.metrics.selecting import RANDOM_SEED, MeanJudge, SelectingJudge, SelectingMetric

# Random rankings whose oracles are averaged; each is a search over all lists.
RANDOM_RANKINGS = 20


class Prefix(Stage):
    """The stage of top-k oracles: the items of each list that the scores put first."""

    def __init__(self, lists: CandidateLists, size: int) -> None:
        super().__init__(lists)
        self.size = size
        self.lengths: Index = np.minimum(lists.lengths, size)
        self.offsets: Index = offsets_of(self.lengths)

    def place(self, scores: ArrayLike) -> Index:
        """Return the first items of each list from the top down, ties in input order.

        They are int64 (sum of ``lengths``), those of list i at ``offsets[i]:offsets[i + 1]``. For items that
        were not returned (NaN) the list's first one stands again, -1 if there is none.
        """
        values = checked_scores(scores, self.lists.n_items, partial=True)
        order = np.lexsort((-values, self.lists.list_index))  # stable: ties stay in the input's order
        starts = np.repeat(self.lists.offsets[:-1] - self.offsets[:-1], self.lengths)
        first: Index = order[starts + np.arange(self.offsets[-1])].astype(np.int64, copy=False)
        absent = np.isnan(values[first])
        if absent.any():  # NaN is sorted last
            leading = np.repeat(first[self.offsets[:-1]], self.lengths)
            first = np.where(absent, np.where(np.isnan(values[leading]), -1, leading), first)
        return first


@dataclass(frozen=True)
class _Top:
    """Makes the stage of ``size`` items, which oracles of one size share."""

    size: int

    def __call__(self, lists: CandidateLists) -> Prefix:
        return Prefix(lists, self.size)


def _chooses(inner: Any) -> Any:
    """The inner metric, if it chooses one item."""
    if not isinstance(inner, SelectingMetric):
        name = getattr(inner, "name", inner)
        raise ConfigError(f"an oracle needs a metric of one chosen item, such as oracle2.sBLEU, not {name}")
    return inner


@register("oracle.")
class TopOracle(Metric):
    """The best choice by ``inner`` among the first ``cutoff`` items of each list."""

    summary = "value of the best choice among the first k items, of any metric of one chosen item"
    meaning = (
        "The value of METRIC if the best of the K items with the largest scores were chosen in each list:"
        " the most that a later stage can reach. In the units of METRIC."
    )
    source = "Duh 2009, 3.2.2"
    examples = ("oracle2.sBLEU", "oracle2.label@1", "oracle3.loss@1", "oracle2.WER")
    needs = ()  # those of the inner metric
    list_by_list = False  # the best choice for a ratio depends on the other lists
    cutoff: int = setting(..., "how many items are offered", ge=1)
    inner: SelectingMetric = setting(..., "the metric of the chosen item", parse=_chooses)

    @property
    def name(self) -> str:
        return f"oracle{self.cutoff}.{self.inner.name}"

    def prepare_in(self, preparation: Preparation) -> OracleJudge:
        stage = preparation.of_lists(_Top(self.cutoff))
        return OracleJudge(self.name, self.inner.prepare_in(preparation), stage)


class OracleJudge(ReportJudge):
    """Statistics of each list's item in the best choice by ``inner`` among the first ones.

    ``inner.best_of`` determines how good the choice is: exact for means and ratios, a climb for BLEU.
    """

    stage: Prefix

    def __init__(self, name: str, inner: SelectingJudge, stage: Prefix) -> None:
        super().__init__(name, f"oracle:{stage.size}|{inner.signature}", stage)
        self.inner = inner
        self.better = inner.better
        self.digits = inner.digits
        self.judged = inner.judged

    def of(self, placed: Index) -> Floats:
        """Return the statistics of the best choice among items that this judge's stage has placed."""
        offsets = self.stage.offsets
        nothing = placed[offsets[:-1]] < 0
        if nothing.any():
            placed = np.where(placed < 0, np.repeat(self.inner.worst, self.stage.lengths), placed)
        return self.inner.of(np.where(nothing, -1, self.inner.best_of(placed, offsets)))

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return the inner metric (...) of summed statistics (..., k)."""
        return self.inner.score_from_sums(sums)

    def random(self) -> float:
        """Return the exact expectation over all orders of a mean, else the mean over seeded orders."""
        lists = self.stage.lists
        if isinstance(self.inner, MeanJudge):
            own = self.inner.per_item
            order = np.lexsort((-self.better * own[:, 0], lists.list_index))
            chances = chances_of_lists(lists.lengths, np.minimum(lists.lengths, self.stage.size))
            return corpus_value(self, np.add.reduceat(own[order] * chances[:, None], lists.offsets[:-1]))
        rng = np.random.Generator(np.random.PCG64(RANDOM_SEED))
        values = [value_of(self, rng.random(lists.n_items)) for _ in range(RANDOM_RANKINGS)]
        return float(np.mean(values))

    def oracle(self) -> float:
        """Return the best value of the whole lists."""
        return self.inner.oracle()
