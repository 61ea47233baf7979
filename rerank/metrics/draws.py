"""Measures of k samples drawn from each list: best of N and pass@k, and what others share.

A list holds N samples of a language model. A measure at k is the mean over all subsets of k of them, drawn
without replacement: everything that was sampled is used, so that it varies less than the first k samples.

Both are means over all subsets of k samples of a list. Lists without a judged item are left out; a sample
without a label counts 0, or as the lowest judged one of its list if that is below 0.
"""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import corpus_value, filled_labels
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Metric, Preparation, register, value_text
from rerank.metrics.judges import ReportJudge, Stage, checked_scores, signed

Short = Literal["error", "all", "skip"]
Draw = Literal["subsets", "first"]
_SEED = 12345


class Samples(Stage):
    """The items of each list that may be drawn.

    Attributes
    ----------
    items : int64 (n)
        Them, list after list in input order.
    offsets : int64 (n_lists + 1)
        Those of list i are ``items[offsets[i]:offsets[i + 1]]``.
    labels : float64 (n)
        Their labels, see ``filled_labels``.
    judged : bool (n_lists)
        Lists with a judged item.
    """

    def __init__(self, lists: CandidateLists, most: int | None) -> None:
        super().__init__(lists)
        lengths = lists.lengths if most is None else np.minimum(lists.lengths, most)
        self.offsets: Index = offsets_of(lengths)
        starts = np.repeat(lists.offsets[:-1] - self.offsets[:-1], lengths)
        self.items: Index = starts + np.arange(self.offsets[-1])
        self.labels: Floats = filled_labels(lists)[self.items]
        self.judged: Mask = lists.judged_lists()

    @property
    def lengths(self) -> Index:
        """Samples of each list, int64 (n_lists)."""
        return np.diff(self.offsets)

    @property
    def list_index(self) -> Index:
        """The list of each sample, int64 (n)."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def place(self, scores: Any) -> Floats:
        """Return the scores of the samples, float64 (n); raises DataError if one is NaN."""
        values = checked_scores(scores, self.lists.n_items)
        return values[self.items].astype(np.float64)


S = TypeVar("S", bound=Samples)


@dataclass(frozen=True)
class _Taking(Generic[S]):
    """Makes the stage ``kind`` of lists, with the first ``most`` samples of each; None = all."""

    kind: type[S]
    most: int | None

    def __call__(self, lists: CandidateLists) -> S:
        return self.kind(lists, self.most)


class SampleMetric(Metric):
    """A mean over lists of a measure of k samples drawn from each."""

    of_pool = True
    cutoff: int | None = setting(None, "samples drawn from each list; none = all", ge=1)
    short: Short = setting(
        "error", "lists of fewer than k samples: an error, all of their samples count, or they are left out"
    )
    draw: Draw = setting("subsets", "the mean over all subsets of k samples, or the first k in input order")

    def check_values(self) -> None:
        if self.cutoff is None and (self.short, self.draw) != ("error", "subsets"):
            unused = "short" if self.short != "error" else "draw"
            value = getattr(self, unused)
            raise ConfigError(
                f"{unused} needs a number of samples, such as {self.family}({unused}={value})@4"
            )

    def formula(self) -> list[str]:
        """Return what the signature states besides draws and lists."""
        return []

    def signature(self) -> str:
        """Return everything that changes the number."""
        draw = f"draw:{self.draw}" if self.cutoff else "draw:all"
        policy = (f"short:{self.short}", "unjudged:min(0,lowest)", "unjudged_lists:skip")
        return signed(self.name, *self.formula(), draw, *policy)

    def samples(self, preparation: Preparation, kind: type[S]) -> S:
        """Return the samples that may be drawn, as a stage shared by metrics with the same cut.

        Raises DataError if a judged list has fewer than k and ``short`` is error.
        """
        lists, k = preparation.lists, self.cutoff
        found = preparation.of_lists(_Taking(kind, k if self.draw == "first" else None))
        few = np.flatnonzero((lists.lengths < (k or 0)) & found.judged)
        if len(few) and self.short == "error":
            first = int(few[0])
            family = self.name.partition("@")[0].removesuffix(")")
            others = f"{family}, " if "(" in family else f"{family}("
            raise DataError(
                f"{lists.source}: list {lists.list_id(first)!r} has {lists.lengths[first]} samples, expected "
                f"{k} at least for {self.name} ({len(few)} lists have fewer); {others}short=all)@{k} "
                f"takes all of theirs, {others}short=skip)@{k} leaves them out"
            )
        return found


class SampleJudge(ReportJudge):
    """Mean over lists of a measure of k samples."""

    stage: Samples

    def __init__(self, metric: SampleMetric, stage: Samples) -> None:
        super().__init__(metric.name, metric.signature(), stage)
        lengths = stage.lengths
        self.sizes: Index = lengths if metric.cutoff is None else np.minimum(lengths, metric.cutoff)
        self.judged = stage.judged
        if metric.short == "skip" and metric.cutoff is not None:
            self.judged = stage.judged & (lengths >= metric.cutoff)

    def counted(self, values: Floats) -> Floats:
        """Return the statistics [value, 1] of lists that count, else zeros: float64 (n_lists, 2)."""
        out = np.zeros((len(values), 2))
        out[:, 0] = np.where(self.judged, values, 0.0)
        out[:, 1] = self.judged
        return out


def best_chances(n: int, k: int) -> Floats:
    """Return the chance of each of n, best first, to be the best of k drawn without replacement: (n).

    That of the i-th best (from 0) is C(n-1-i, k-1) / C(n, k); each follows from the one before.
    """
    i = np.arange(n - 1, dtype=np.float64)
    steps = np.maximum(n - k - i, 0.0) / (n - 1 - i)
    return np.concatenate(([1.0], np.cumprod(steps))) * (k / n)


def chances_of_lists(lengths: Index, sizes: Index) -> Floats:
    """Return ``best_chances`` of lists of so many samples of which so many are drawn, one after the other."""
    memo: dict[tuple[int, int], Floats] = {}
    out = []
    for pair in zip(lengths.tolist(), sizes.tolist(), strict=True):
        if pair not in memo:
            memo[pair] = best_chances(*pair)
        out.append(memo[pair])
    return np.concatenate(out)


class Subsets:
    """Subsets of k of n samples: all of them if there are at most ``most``, else ``most`` or a few more.

    Drawn ones are blocks of random orders, so that each sample is in about as many subsets as any other. They
    depend on n, k and the content of the list alone, not on other lists.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._tables: dict[tuple[int, int], Index] = {}

    def of(self, n: int, k: int, content: bytes) -> Index:
        """Return the subsets of a list, int64 (n_subsets, k): positions from 0, ascending if not drawn."""
        if (n, k) not in self._tables:
            self._tables[n, k] = self._table(n, k)
        table = self._tables[n, k]
        if not self.is_drawn(n, k):
            return table
        rng = np.random.Generator(np.random.PCG64([_SEED, zlib.crc32(content)]))
        order: Index = rng.permutation(n)
        return order[table]

    def is_drawn(self, n: int, k: int) -> bool:
        """Return whether the subsets are some of all: whether C(n, k) is above ``most``."""
        found = 1
        for i in range(min(k, n - k)):
            found = found * (n - i) // (i + 1)
            if found > self.most:  # the whole number may have a million digits
                return True
        return False

    def _table(self, n: int, k: int) -> Index:
        if not self.is_drawn(n, k):
            return np.array(list(itertools.combinations(range(n), k)), dtype=np.int64)
        blocks = n // k
        orders = -(-self.most // blocks)
        rng = np.random.Generator(np.random.PCG64([_SEED, n, k]))
        drawn = np.stack([rng.permutation(n)[: blocks * k] for _ in range(orders)])
        return drawn.reshape(orders * blocks, k)


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
        return BestJudge(self, self.samples(preparation, Ordered))


def tied(values: Floats, index: Index) -> tuple[Index, Index, Index]:
    """Return the order of values in their lists from the lowest, and the begins and sizes of ties in it."""
    order = np.lexsort((values, index))
    ranked = values[order]
    firsts = np.flatnonzero(np.r_[True, (ranked[1:] != ranked[:-1]) | (np.diff(index) != 0)][: len(order)])
    return order, firsts, np.diff(np.r_[firsts, len(order)])


class Ordered(Samples):
    """The stage of best@k: the labels of each list in the order of the scores."""

    def place(self, scores: Any) -> Floats:
        """Return labels from the largest score down, the mean of tied ones: float64 (n), list after list."""
        values = super().place(scores)
        order, firsts, sizes = tied(-values, self.list_index)
        return np.repeat(np.add.reduceat(self.labels[order], firsts) / sizes, sizes)


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
        falling = np.lexsort((-self.stage.labels, self.stage.list_index))
        return corpus_value(self, self.of(self.stage.labels[falling]))


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
    rel: float = setting(0.0, "the smallest label of a right sample; 0 = all above 0", ge=0)

    def formula(self) -> list[str]:
        return [f"rel:{value_text(self.rel) if self.rel else '>0'}"]

    def prepare_in(self, preparation: Preparation) -> PassJudge:
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
