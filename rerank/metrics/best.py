"""Best of N and pass@k: samples of language models without their answers, in closed form for every k.

Both are means over all subsets of k samples of a list. Lists without a judged item are left out; a sample
without a label counts 0, or as the lowest judged one of its list if that is below 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.judge import corpus_value
from rerank.metrics.base import Preparation, register, value_text
from rerank.metrics.draws import SampleJudge, SampleMetric, Samples, chances_of_lists


@register("best", "best-of")
class Best(SampleMetric):
    """The label of the sample with the largest score among k."""

    summary = "mean label of the best-scored one of k samples, over all subsets of k"
    meaning = (
        "The sample of rank r from the worst counts with the chance C(r-1, k-1) / C(N, k) that it has the "
        "largest score of k drawn from N without replacement. With labels 0 and 1 it is the accuracy of best "
        "of k, from 0 to 1. Equal scores: the mean over the tied samples."
    )
    source = "Nakano et al. (2021), appendix I"
    elsewhere = "best-of-n, rm@k, naive@k: these take the first k samples, as best(draw=first)@k does"
    examples = ("best", "best(short=all)@2", "best(draw=first, short=all)@3", "best(short=skip)@3")

    def prepare_in(self, preparation: Preparation) -> BestJudge:
        """Return a judge that shares order and labels with others of the same draw."""
        return BestJudge(self, self.samples(preparation, Ordered))


class Ordered(Samples):
    """The stage of best@k: the labels of each list in the order of the scores."""

    def place(self, scores: Any) -> Floats:
        """Return labels from the largest score down, the mean of tied ones: float64 (n), list after list."""
        values = super().place(scores)
        index = self.list_index
        order = np.lexsort((-values, index))
        ranked = values[order]
        firsts = np.flatnonzero(np.r_[True, (ranked[1:] != ranked[:-1]) | (np.diff(index) != 0)])
        sizes = np.diff(np.r_[firsts, len(order)])
        return np.repeat(np.add.reduceat(self.labels[order], firsts) / sizes, sizes)

    def order_of_labels(self) -> Floats:
        """Return the labels of each list from the largest down."""
        return self.labels[np.lexsort((-self.labels, self.list_index))]


class BestJudge(SampleJudge):
    """Expected label of the best-scored one of k samples."""

    stage: Ordered

    def __init__(self, metric: Best, stage: Ordered) -> None:
        super().__init__(metric, stage)
        self._chances = chances_of_lists(stage.lengths, self.sizes)

    def of(self, placed: Floats) -> Floats:
        """Return [value, 1] of each list that counts from labels that this judge's stage has placed."""
        return self.counted(np.add.reduceat(placed * self._chances, self.stage.offsets[:-1]))

    def random(self) -> float:
        """Return the exact value of equal scores."""
        return corpus_value(self, self.per_list(np.zeros(self.stage.lists.n_items)))

    def oracle(self) -> float:
        """Return the value of the labels as scores."""
        return corpus_value(self, self.of(self.stage.order_of_labels()))


@register("pass")
class Pass(SampleMetric):
    """The chance that one of k samples is right."""

    summary = "chance that one of k samples is right, unbiased from N; no ranking changes it"
    meaning = (
        "1 - C(N-c, k) / C(N, k) of a list with N samples, c of them right: the chance that k of them, drawn "
        "without replacement, hold a right one; a mean over lists from 0 to 1. It does not depend on the "
        "scores: Success@k looks at the first k of a ranking, best@k at the one that scores choose."
    )
    source = "Chen et al. (2021)"
    elsewhere = "pass@k of HumanEval, of search-and-learn and of NeMo-Skills, with the same values"
    examples = ("pass@1", "pass(short=all)@2", "pass(rel=2, short=skip)@2")
    of_scores = False

    cutoff: int = setting(..., "samples drawn from each list", ge=1)
    rel: float = setting(0.0, "the least label of a right sample; 0 = all above 0", ge=0)

    def formula(self) -> list[str]:
        return [f"rel:{value_text(self.rel) if self.rel else '>0'}"]

    def prepare_in(self, preparation: Preparation) -> PassJudge:
        """Return a judge that shares its labels with others of the same draw."""
        return PassJudge(self, self.samples(preparation, Samples))


class PassJudge(SampleJudge):
    """The share of subsets of k samples that hold a right one, whatever the scores are."""

    def __init__(self, metric: Pass, stage: Samples) -> None:
        super().__init__(metric, stage)
        right = stage.labels >= metric.rel if metric.rel else stage.labels > 0
        counts = np.add.reduceat(right, stage.offsets[:-1], dtype=np.int64)
        self._rows = self.counted(_pass_at(stage.lengths, counts, self.sizes))

    def of(self, placed: Floats) -> Floats:
        """Return [value, 1] of each list that counts."""
        return self._rows

    def random(self) -> float:
        """Return the value, which is that of every ranking."""
        return corpus_value(self, self._rows)

    def oracle(self) -> float:
        """Return the value, which is that of every ranking."""
        return corpus_value(self, self._rows)


def _pass_at(n: Index, right: Index, k: Index) -> Floats:
    """Return 1 - C(n - right, k) / C(n, k) of each list, as the product of Chen et al."""
    memo: dict[tuple[int, int, int], float] = {}
    out = np.empty(len(n))
    for i, key in enumerate(zip(n.tolist(), right.tolist(), k.tolist(), strict=True)):
        if key not in memo:
            size, good, drawn = key
            places = np.arange(size - good + 1, size + 1, dtype=np.float64)
            memo[key] = 1.0 - float(np.prod(np.maximum(1.0 - drawn / places, 0.0)))
        out[i] = memo[key]
    return out
