"""What measures of k samples drawn from each list share: which lists count, and the chances of a draw.

A list holds N samples of a language model. A measure at k is the mean over all subsets of k of them, drawn
without replacement: everything that was sampled is used, so that it varies less than the first k samples.
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
from rerank.data.judge import filled_labels
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Metric, Preparation
from rerank.metrics.judges import ReportJudge, Stage, checked_scores, signed

Short = Literal["error", "all", "skip"]
Draw = Literal["subsets", "first"]
_SEED = 12345


def all_samples() -> Any:
    """Return the setting of a cutoff that may be left out."""
    return setting(None, "samples drawn from each list; none = all", ge=1)


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
    cutoff: int | None = all_samples()
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

        Raises
        ------
        DataError
            If a judged list has fewer than k and ``short`` is error.
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
    """Mean over lists of a measure of k samples.

    Parameters
    ----------
    metric : SampleMetric
    stage : Samples
    """

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
