"""Metrics that judge one chosen item a list: BLEU, WER, a mean label.

The item with the largest score is chosen, the earliest of equals. Each item has statistics, a row of
``per_item``; the corpus value is a function of the rows' sum over the chosen items, which is all that the
bootstrap, oracles and MERT need. A new metric is a SelectingMetric whose ``prepare_in`` gives one of

- MeanJudge: the mean over lists of a value of each item (labels, sentence BLEU);
- RatioJudge: 100 times a ratio of two sums (WER, TER, PER, PARSEVAL's F);
- SelectingJudge with a ``score_from_sums`` of its own (BLEU, chrF).

Their statistics come from texts and references by a TextStatistics, or from the set's saved ``counts``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rerank.data.columns.strings import StringColumn
from rerank.data.judge import SumForm, corpus_value
from rerank.data.leads import first_largest
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index, Mask
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import Metric, Parameter, Preparation, mean_from_sums
from rerank.metrics.relevance import checked_scores

RANDOM_SAMPLES = 100
RANDOM_SEED = 12345
# A climb goes on while a pass gains more than this share of the value: less is rounding.
_GAIN = 1e-12


class Selection:
    """The stage of every selecting judge: which item of each list the scores choose."""

    def __init__(self, lists: CandidateLists) -> None:
        self.lists = lists

    def place(self, scores: npt.ArrayLike) -> Index:
        """The chosen item of each list, int64 (n_lists): the largest score, the earliest of equals.

        ``scores`` are (n_items), larger is better; raises DataError at a NaN or a wrong length.
        """
        return first_largest(checked_scores(scores, self.lists.n_items), self.lists.offsets)

    @cached_property
    def first_best(self) -> Index | None:
        """The items that the first stage chose, None where the lists have no order of their own."""
        return None if self.lists.first_best is None else self.place(self.lists.first_best)


def selection(preparation: Preparation) -> Selection:
    """The stage that all selecting judges of ``preparation`` share: ``preparation.shared(selection)``."""
    return Selection(preparation.lists)


class SelectingMetric(ABC):
    """A metric of one chosen item a list, before it has seen data (a frozen dataclass: hashable)."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def prepare_in(self, preparation: Preparation) -> SelectingJudge:
        """A judge that shares what ``preparation`` has made ready."""

    def prepare(self, lists: CandidateLists) -> SelectingJudge:
        """A judge of these lists."""
        return self.prepare_in(Preparation(lists))


class TextStatistics(ABC):
    """Statistics of items counted from texts and references; a frozen dataclass, equal by what it counts.

    Calling one gives float64 (n_items, width) of a preparation, saved or counted, so that
    ``preparation.shared(TextStatistics(...))`` counts once for all judges that sum the same numbers.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The key in ``lists.counts``: the metric's name with the parameters that change the counts."""

    @property
    @abstractmethod
    def width(self) -> int: ...

    @abstractmethod
    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Floats:
        """Statistics float64 (n_items, width), all finite; references are columns of (n_lists)."""

    def __call__(self, preparation: Preparation) -> Floats:
        return self.of(preparation.lists)

    def of(self, lists: CandidateLists) -> Floats:
        """The saved statistics where the set has them, else counted ones.

        Whoever gives a set other texts or references must drop its counts. Raises DataError where
        neither the counts nor what they are counted from is there, or saved ones are of another shape.
        """
        saved = lists.counts.get(self.name)
        if saved is not None:
            if saved.shape[1] != self.width or np.isnan(saved).any():
                raise DataError(
                    f"{lists.source}: the saved counts of {self.name} must be {self.width} numbers an item"
                )
            return saved
        if lists.texts is None:
            raise DataError(
                f"{lists.source}: {self.name} needs the candidates' texts or saved counts, there are neither"
            )
        if not lists.references:
            raise DataError(f"{lists.source}: {self.name} needs references; give them with --refs FILE")
        return self.count(lists.texts, lists.references, lists.offsets)


def reference_count(lists: CandidateLists) -> str:
    """How many references a list has, for signatures; "saved" where only counts are there."""
    return str(len(lists.references)) if lists.references else "saved"


class SelectingJudge(ABC):
    """A judge of one chosen item a list, from statistics of each item.

    per_item : float64 (n_items, k), what is summed if the item is chosen; rows of lists that are not
        judged are zero.
    judged : bool (n_lists), all lists unless said.
    counts : what it was counted from, as a set's ``counts`` keep it, where that is more than per_item.
    """

    digits = 2

    def __init__(
        self,
        name: str,
        signature: str,
        stage: Selection,
        per_item: Floats,
        *,
        better: int = 1,
        judged: Mask | None = None,
        counts: Mapping[str, Floats] | None = None,
    ) -> None:
        self.name = name
        self.signature = signature
        self.stage = stage
        self.per_item = per_item
        self.better = better
        self.counts: Mapping[str, Floats] = {} if counts is None else counts
        self.judged: Mask = np.ones(stage.lists.n_lists, dtype=bool) if judged is None else judged

    @abstractmethod
    def score_from_sums(self, sums: Floats) -> Floats | float:
        """The metric (...) of summed statistics (..., k)."""

    @property
    def sum_form(self) -> SumForm | None:
        """``score_from_sums`` as kernels know it; None has them call it."""
        return None

    def per_list(self, scores: npt.ArrayLike) -> Floats:
        """Statistics of the item that ``scores`` (n_items) choose in each list: float64 (n_lists, k)."""
        return self.of(self.stage.place(scores))

    def of(self, placed: Index) -> Floats:
        """Statistics of the chosen items (n_lists)."""
        return self.per_item[placed]

    def item_values(self) -> Floats:
        """The metric of each item on its own, float64 (n_items); NaN where it has none."""
        return np.asarray(self.score_from_sums(self.per_item), dtype=np.float64)

    def first_best(self) -> Floats | None:
        """Statistics of the first stage's choice, None where the lists have none."""
        chosen = self.stage.first_best
        return None if chosen is None else self.of(chosen)

    def random(self) -> float:
        """Mean of the corpus value over RANDOM_SAMPLES seeded random choices."""
        lists = self.stage.lists
        rng = np.random.Generator(np.random.PCG64(RANDOM_SEED))
        sums = np.empty((RANDOM_SAMPLES, self.per_item.shape[1]))
        for row in sums:
            row[:] = self.of(lists.offsets[:-1] + rng.integers(lists.lengths)).sum(axis=0)
        return float(np.mean(self.score_from_sums(sums)))

    def oracle(self) -> float:
        """The best corpus value of any choice (see ``best_of`` for how good), never below first-best."""
        lists = self.stage.lists
        chosen = self.best_of(np.arange(lists.n_items, dtype=np.int64), lists.offsets)
        value, first = corpus_value(self, self.of(chosen)), self.first_best()
        if first is None:
            return value
        own = corpus_value(self, first)
        return own if self.better * (own - value) > 0 else value

    def best_of(self, items: Index, offsets: Index) -> Index:
        """The best choice of one item for each list from those offered: int64 (n_lists).

        Items of list i are ``items[offsets[i]:offsets[i + 1]]``, one at least; of equals the first one
        offered is taken. Here: greedy hill-climbing of the corpus value, list after list until nothing is
        gained, from the choice of the best single items: good, not proven best.
        """
        rows = self.per_item[items]
        own = np.nan_to_num(self.better * self.item_values()[items], nan=-np.inf)
        chosen = first_largest(own, offsets)
        value = -np.inf
        while True:
            total = rows[chosen].sum(axis=0)
            before, value = value, self.better * float(self.score_from_sums(total))
            if not value > before + _GAIN * abs(value):
                return items[chosen]
            for i in range(len(chosen)):
                start = offsets[i]
                others = total - rows[chosen[i]]
                values = self.better * np.asarray(self.score_from_sums(others + rows[start : offsets[i + 1]]))
                best = int(np.argmax(values))
                if values[best] > values[chosen[i] - start]:
                    chosen[i] = start + best
                    total = others + rows[chosen[i]]


class RatioJudge(SelectingJudge):
    """100 times a ratio of sums of two statistics: [numerator, denominator], the latter never negative."""

    scale = 100.0

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Ratios (...) of sums (..., 2); NaN where the denominator is zero."""
        return mean_from_sums(sums) * self.scale

    @property
    def sum_form(self) -> SumForm:
        return SumForm("ratio", (self.scale, np.nan))

    def best_of(self, items: Index, offsets: Index) -> Index:
        """The very best choice: Dinkelbach's method, which ends at the best ratio of sums."""
        top, bottom = self.per_item[items].T.copy()
        chosen = first_largest(bottom, offsets)  # a ratio to begin with, where there is any
        ratio = self._ratio(top[chosen].sum(), bottom[chosen].sum())
        while np.isfinite(ratio):
            better = first_largest(self.better * (top - ratio * bottom), offsets)
            found = self._ratio(top[better].sum(), bottom[better].sum())
            if not self.better * (found - ratio) > 0:
                return items[better if found == ratio else chosen]  # of equals the first offered
            chosen, ratio = better, found
        return items[chosen]

    def _ratio(self, top: float, bottom: float) -> float:
        return top / bottom if bottom > 0 else -self.better * np.inf

    def random(self) -> float:
        """Exact where every item of a list has the same denominator, else as for any other metric."""
        starts = self.stage.lists.offsets[:-1]
        bottom = np.ascontiguousarray(self.per_item[:, 1])
        if np.array_equal(np.maximum.reduceat(bottom, starts), np.minimum.reduceat(bottom, starts)):
            return corpus_value(
                self, np.add.reduceat(self.per_item, starts) / self.stage.lists.lengths[:, None]
            )
        return super().random()


class MeanJudge(RatioJudge):
    """The mean over judged lists of the chosen item's value; statistics [value, 1], or zeros.

    values : float64 (n_items), NaN only in lists that are not judged; in the metric's own units.
    """

    scale = 1.0

    def __init__(
        self,
        name: str,
        signature: str,
        stage: Selection,
        values: Floats,
        *,
        better: int = 1,
        judged: Mask | None = None,
        digits: int = 2,
        counts: Mapping[str, Floats] | None = None,
    ) -> None:
        per_item = np.ones((len(values), 2))
        per_item[:, 0] = values
        if judged is not None:
            per_item[~np.repeat(judged, stage.lists.lengths)] = 0.0
        super().__init__(name, signature, stage, per_item, better=better, judged=judged, counts=counts)
        self.digits = digits

    def best_of(self, items: Index, offsets: Index) -> Index:
        """The best item of each list."""
        return items[first_largest(self.better * self.per_item[items, 0], offsets)]


def no_cutoff(name: str, cutoff: int | None, inner: Metric | None) -> None:
    """Raises ConfigError where a metric without a cutoff was given one."""
    assert inner is None  # only names that end in a dot wrap another metric
    if cutoff is not None:
        raise ConfigError(f"{name} takes no cutoff")


def flag(parameters: Mapping[str, Parameter], key: str) -> bool:
    """A parameter that is 1, true or yes, or 0, false or no (the default)."""
    value = parameters.get(key, 0.0)
    word = str(value).lower()
    if value in (0.0, 1.0) or word in ("true", "yes", "false", "no"):
        return value == 1.0 or word in ("true", "yes")
    raise ConfigError(f"{key} is 1 or 0, got {value!r}")
