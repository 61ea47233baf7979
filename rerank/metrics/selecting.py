"""Metrics that judge one chosen item of each list: BLEU, WER, a mean label.

The item with the largest score is chosen, the first on ties. Each item has statistics, a row of
``per_item``; the corpus value is a function of the rows' sum over the chosen items, which is all that the
bootstrap, oracles and MERT need. A new metric is a SelectingMetric whose ``prepare_in`` returns one of

- MeanJudge: the mean over lists of a value of each item (labels, sentence BLEU);
- RatioJudge: 100 times a ratio of two sums (WER, TER, PER, PARSEVAL's F);
- SelectingJudge with a ``score_from_sums`` of its own (BLEU, chrF).

Their statistics come from texts and references by a TextStatistics, or from the set's saved ``counts``.

Texts may be tokenized first. Every tokenizer but ``none`` is sacrebleu's own code (extra ``mt``), imported on
first use. Tokens are then separated by white space as ``str.split()`` defines it.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.settings import setting
from rerank.core.types import AnyArray, ArrayLike, Counts, Floats, Index, Mask
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import first_largest
from rerank.data.judge import SumForm, corpus_value, mean_from_sums, mean_statistics
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Measure, Metric, Preparation
from rerank.metrics.judges import ReportJudge, Stage, checked_scores, ranked_last, signed
from rerank.metrics.judging import AS_USUAL, Judging
from rerank.metrics.signatures import normalisers, note_case

# Those of sacrebleu that need no file from elsewhere (the mecab ones: sacrebleu's extras ja and ko).
Tokenizer = Literal["none", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab"]


def tok_setting() -> Any:
    """Return the parameter ``tok`` of metrics of texts."""
    return setting("none", "sacrebleu's tokenizer; none = words between white space")


def lc_setting() -> Any:
    """Return the parameter ``lc`` of metrics of texts."""
    return setting(False, "count in lower case")


def prepared(column: StringColumn, tok: str = "none", lc: bool = False, norm: str = "none") -> StringColumn:
    """Return the strings normalised, in lower case if that is asked for, then tokenized as sacrebleu does it.

    Raises ConfigError if a step or the tokenizer needs a package that is not installed.
    """
    for step in normalisers(norm):
        column = StringColumn.from_strings(map(cache(step.apply), column))
    if lc and column.data.max(initial=0) >= 0x80:  # rules depend on neighbouring letters
        column = StringColumn.from_strings(text.lower() for text in column)
    elif lc:
        capital = (column.data >= ord("A")) & (column.data <= ord("Z"))
        column = StringColumn(column.data + capital.astype(np.uint8) * np.uint8(32), column.offsets)
    if tok == "none":
        return column
    tokenize = _tokenizer(tok)
    return StringColumn.from_strings(tokenize(text.rstrip()) for text in column)


def sacrebleu_module(name: str, user: str) -> Any:
    """Return ``sacrebleu.NAME``; raises ConfigError that names ``user`` if sacrebleu is not installed."""
    try:
        return importlib.import_module(f"sacrebleu.{name}")
    except ImportError as error:
        if not error.name or error.name.partition(".")[0] != "sacrebleu":
            raise
        raise ConfigError(f"{user} needs the package sacrebleu: pip install 'rerank[mt]'") from None


def _tokenizer(name: str) -> Callable[[str], str]:
    try:
        metrics = importlib.import_module("sacrebleu.metrics")
        tokenize: Callable[[str], str] = metrics.BLEU(tokenize=name, force=True).tokenizer
    except ImportError as error:
        if error.name and error.name.partition(".")[0] == "sacrebleu":
            needed = "the package sacrebleu: pip install 'rerank[mt]'"
        else:
            needed = f"more than is installed ({str(error).strip().splitlines()[0]})"
        raise ConfigError(f"tokenizer {name!r} needs {needed}") from None
    except RuntimeError as error:  # sacrebleu reports a missing extra this way
        reason = " ".join(str(error).split())
        raise ConfigError(f"tokenizer {name!r} needs more than is installed ({reason})") from None
    return tokenize


RANDOM_SAMPLES = 100
RANDOM_SEED = 12345
# A climb continues while a pass gains more than this share of the value: less is rounding.
_GAIN = 1e-12
_MOST = 2.0**53
_BLOCK = 1 << 14  # items whose values are computed at a time
LARGEST_COUNT = 2**31 - 1  # in 32 bits


class Selection(Stage):
    """The stage of every selecting judge: which item of each list the scores choose."""

    def place(self, scores: ArrayLike) -> Index:
        """Return the item with the largest score of each list, the first on ties: int64 (n_lists).

        It is -1 if no item of a list was returned (all scores are NaN).
        """
        values = checked_scores(scores, self.lists.n_items, partial=True)
        chosen = first_largest(ranked_last(values), self.lists.offsets)
        return np.where(np.isnan(values[chosen]), -1, chosen)


class ItemPairs(Protocol):
    """Values of the pairs of items of each list, see ``SelectingMetric.pairs_of``."""

    items: list[Index]  # of each list, those that are compared

    def tables(self, metric: Any) -> list[Floats]:
        """Return the values of each list's items to each other, float64 (k, k)."""


class SelectingMetric(Metric):
    """A metric of one chosen item of each list.

    Attributes
    ----------
    of_pairs : bool
        Whether ``pairs_of`` compares the items of a list without making texts of references of them.
    """

    unreturned = "as its worst item"
    of_pairs: ClassVar[bool] = False

    @classmethod
    def pairs_of(cls, lists: CandidateLists, metrics: Sequence[Any]) -> ItemPairs:
        """Return the values of all pairs of items within lists by ``metrics``, each pair compared once.

        Raises DataError if the lists lack what is compared.
        """
        raise NotImplementedError

    def prepare(self, lists: CandidateLists, judging: Judging = AS_USUAL) -> SelectingJudge:
        """Return a judge of these lists."""
        return super().prepare(lists, judging)  # type: ignore[return-value]  # as prepare_in makes it

    @abstractmethod
    def prepare_in(self, preparation: Preparation) -> SelectingJudge:
        """Return a judge that shares counts and choices with the others of ``preparation``."""


def with_worst(values: Floats, lists: CandidateLists, better: int) -> tuple[Floats, Mask]:
    """Return the worst value of the list instead of NaN (n_items), and the lists with a value (n_lists)."""
    worst = (np.fmin if better > 0 else np.fmax).reduceat(values, lists.offsets[:-1])
    return np.where(np.isnan(values), np.repeat(worst, lists.lengths), values), ~np.isnan(worst)


class MeanMetric(SelectingMetric):
    """The mean over lists of a value of the chosen item."""

    digits: ClassVar[int] = 4

    @abstractmethod
    def of_items(self, lists: CandidateLists) -> Floats:
        """Return the value of each item, float64 (n_items).

        An item whose value is NaN counts as the worst other one of its list. A list without a value is not
        judged. Raises DataError if the lists lack what is measured.
        """

    def formula(self) -> list[str]:
        """Return what the signature states of how it is computed."""
        return []

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        values = self.of_items(preparation.lists)
        filled, judged = with_worst(values, preparation.lists, self.better)
        judge = MeanJudge(
            self.name,
            signed(self.name, *self.formula(), "missing:worst", "mean:lists"),
            preparation.of_lists(Selection),
            filled,
            better=self.better,
            judged=judged,
            digits=self.digits,
        )
        judge.lacking = np.isnan(values)
        return judge


class TextStatistics(Measure):
    """Statistics of items counted from texts and references, equal by what they count.

    Calling one returns those of a preparation, so that ``preparation.shared(TextStatistics(...))`` counts
    once for all judges that sum the same numbers. The name is the key in ``lists.counts``.
    """

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of statistics of an item."""

    @abstractmethod
    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Counts:
        """Return finite statistics, int32 or float64 (n_items, width), see ``room_for``.

        - ``texts``: StringColumn (n_items)
        - ``references``: tuple of StringColumn (n_lists); one at least.
        - ``offsets``: int64 (n_lists + 1); items of list i are ``offsets[i]:offsets[i + 1]``.
        """

    def __call__(self, preparation: Preparation) -> Counts:
        return self.of(preparation.lists)

    def of(self, lists: CandidateLists) -> Counts:
        """Return the saved statistics if the set has them, else counted ones.

        Code that gives a set other texts or references must drop its counts.

        Raises DataError if neither counts nor texts and references are present, or the counts have another
        shape.
        """
        saved = saved_counts(lists, self.name, self.width)
        if saved is not None:
            return saved
        if lists.texts is None:
            raise DataError(f"{lists.source}: {self.name} needs the candidates' texts or saved counts")
        if not lists.references:
            raise DataError(f"{lists.source}: {self.name} needs references; give them with --refs FILE")
        note_case(lists, self)
        return self.count(lists.texts, lists.references, lists.offsets)


def saved_counts(lists: CandidateLists, name: str, width: int, known: int | None = None) -> Counts | None:
    """Return the statistics saved under ``name``, int32 or float64 (n_items, width); None if there are none.

    Raises DataError if they have another shape, NaN among the first ``known`` columns (None = all), or a
    number that no count reaches, beyond 2^53, whose sums and products could overflow.
    """
    saved = lists.counts.get(name)
    if saved is None:
        return None
    whole = saved.dtype == np.int32
    if saved.shape[1] != width or (not whole and np.isnan(saved[:, :known]).any()):
        raise DataError(f"{lists.source}: the saved counts of {name} must be {width} numbers per item")
    largest = 0.0 if whole else np.nanmax(np.abs(saved))
    if largest > _MOST:
        raise DataError(f"{lists.source}: the saved counts of {name} hold {largest:g}, expected at most 2^53")
    return saved


def room_for(width: int, texts: StringColumn, *references: StringColumn) -> Counts:
    """Return an array, not filled, for ``width`` counts of tokens or n-grams of each text.

    It is int32 if no text or reference has more bytes than that can hold, else float64.
    """
    columns = (texts, *references)
    short = all(len(c.data) <= LARGEST_COUNT or c.lengths().max() <= LARGEST_COUNT for c in columns)
    shape = len(texts), width
    return np.empty(shape, dtype=np.int32) if short else np.empty(shape)


def fitted(*columns: AnyArray) -> Counts:
    """Return numbers (n) as columns (n, k), int32 if all are whole and fit, else float64."""
    counts: Floats = np.column_stack(columns).astype(np.float64, copy=False)
    if not np.abs(counts).max(initial=0) <= LARGEST_COUNT:
        return counts
    whole = counts.astype(np.int32)
    return whole if np.array_equal(whole, counts) else counts


def reference_count(lists: CandidateLists) -> str:
    """Return the number of references for signatures; "saved" if only counts are there."""
    return str(len(lists.references)) if lists.references else "saved"


class SelectingJudge(ReportJudge):
    """A judge of one chosen item of each list, from statistics of each item.

    - ``per_item``: int32 or float64 (n_items, k); what is summed if the item is chosen; rows of lists that
      are not judged are zero.
    - ``better``: {1, -1}
    - ``judged``: bool (n_lists); all lists by default.
    - ``counts``: mapping of str to int32 or float64 (n_items, ...); the counts that give ``per_item``, as a
      set's ``counts`` keep them, if they hold more.
    """

    digits = 2

    def __init__(
        self,
        name: str,
        signature: str,
        stage: Selection,
        per_item: Counts,
        *,
        better: int = 1,
        judged: Mask | None = None,
        counts: Mapping[str, Counts] | None = None,
    ) -> None:
        super().__init__(name, signature, stage)
        self.per_item = per_item
        self.better = better
        self.counts: Mapping[str, Counts] = {} if counts is None else counts
        self.lacking: Mask | None = None  # items that have the value of another, as they have none
        self.judged = np.ones(stage.lists.n_lists, dtype=bool) if judged is None else judged

    @abstractmethod
    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return the metric (...) of summed statistics (..., k)."""

    @property
    def sum_form(self) -> SumForm | None:
        """``score_from_sums`` as kernels know it; None if they must call it."""
        return None

    def of(self, placed: Index) -> Floats:
        """Return the statistics of the chosen items ``placed`` (n_lists), those of ``nothing`` for -1."""
        rows: Floats = self.per_item[placed].astype(np.float64, copy=False)
        absent = placed < 0
        return np.where(absent[:, None], self.nothing, rows) if absent.any() else rows

    @cached_property
    def worst(self) -> Index:
        """The worst item of each list on its own, the first on ties: int64 (n_lists)."""
        badness = np.nan_to_num(-self.better * self.item_values(), nan=np.inf)
        return first_largest(badness, self.stage.lists.offsets)

    @property
    def nothing(self) -> Floats:
        """Statistics of lists of which nothing was returned, float64 (n_lists, k): of the worst items."""
        return self.per_item[self.worst].astype(np.float64, copy=False)

    def item_values(self) -> Floats:
        """Return the metric of each item on its own, float64 (n_items); NaN if it has none."""
        values = np.empty(len(self.per_item))
        for first in range(0, len(values), _BLOCK):
            some = self.per_item[first : first + _BLOCK].astype(np.float64, copy=False)
            values[first : first + _BLOCK] = self.score_from_sums(some)
        return values

    def rows_of(self, items: Index) -> Counts:
        """Return the statistics of items (n), which are not copied if these are all items in their order."""
        n = len(self.per_item)
        if len(items) == n and items[0] == 0 and items[-1] == n - 1 and np.all(items[1:] > items[:-1]):
            return self.per_item
        return self.per_item[items]

    def own_values(self) -> Floats:
        """Return ``item_values``, NaN for items that have none of their own, and in lists not judged."""
        own = np.repeat(self.judged, self.stage.lists.lengths)
        return np.where(own if self.lacking is None else own & ~self.lacking, self.item_values(), np.nan)

    def random(self) -> float:
        """Return the value of ``random_of`` all items."""
        lists = self.stage.lists
        return self.random_of(np.arange(lists.n_items, dtype=np.int64), lists.offsets)

    def random_of(self, items: Index, offsets: Index) -> float:
        """Return the value that a random choice from the items offered has on average.

        Items are offered as to ``best_of``. Here: the mean over RANDOM_SAMPLES seeded random choices.
        """
        rng = np.random.Generator(np.random.PCG64(RANDOM_SEED))
        lengths = np.diff(offsets)
        sums = np.empty((RANDOM_SAMPLES, self.per_item.shape[1]))
        for row in sums:
            row[:] = self.of(items[offsets[:-1] + rng.integers(lengths)]).sum(axis=0)
        return float(np.mean(self.score_from_sums(sums)))

    def oracle(self) -> float:
        """Return the value of the choice of ``best_of``, or of first-best if that is better."""
        lists = self.stage.lists
        chosen = self.best_of(np.arange(lists.n_items, dtype=np.int64), lists.offsets)
        value, first = corpus_value(self, self.of(chosen)), self.first_best()
        if first is None:
            return value
        own = corpus_value(self, first)
        return own if self.better * (own - value) > 0 else value

    def best_of(self, items: Index, offsets: Index) -> Index:
        """Return the best choice of one item for each list from those offered: int64 (n_lists).

        Items of list i are ``items[offsets[i]:offsets[i + 1]]``, one at least; on ties the first wins. Here:
        greedy hill-climbing of the corpus value, list after list until nothing is gained, from the choice
        of the best single items: good, not proven best.
        """
        rows = self.rows_of(items)
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
    """100 times a ratio of sums of two statistics, [numerator, denominator >= 0]."""

    scale = 100.0

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return ratios (...) of sums (..., 2); NaN if the denominator is zero."""
        return mean_from_sums(sums) * self.scale

    @property
    def sum_form(self) -> SumForm:
        return SumForm("ratio", (self.scale, np.nan))

    def best_of(self, items: Index, offsets: Index) -> Index:
        """Return the best choice, found by Dinkelbach's method, which ends at the best ratio of sums."""
        top, bottom = self.rows_of(items).T.astype(np.float64)
        chosen = first_largest(bottom, offsets)  # a start that has a ratio, if there is any
        ratio = self._ratio(top[chosen].sum(), bottom[chosen].sum())
        while np.isfinite(ratio):
            better = first_largest(self.better * (top - ratio * bottom), offsets)
            found = self._ratio(top[better].sum(), bottom[better].sum())
            if not self.better * (found - ratio) > 0:
                return items[better if found == ratio else chosen]  # on ties the first
            chosen, ratio = better, found
        return items[chosen]

    def _ratio(self, top: float, bottom: float) -> float:
        return top / bottom if bottom > 0 else -self.better * np.inf

    def random_of(self, items: Index, offsets: Index) -> float:
        """Return the exact mean if all items of each list have the same denominator, else a sampled one."""
        rows, starts = self.rows_of(items), offsets[:-1]
        bottom = np.ascontiguousarray(rows[:, 1])
        if np.array_equal(np.maximum.reduceat(bottom, starts), np.minimum.reduceat(bottom, starts)):
            sums = np.add.reduceat(rows, starts, dtype=np.float64)
            return corpus_value(self, sums / np.diff(offsets)[:, None])
        return super().random_of(items, offsets)


class MeanJudge(RatioJudge):
    """The mean over judged lists of the chosen item's value; statistics [value, 1], or zeros.

    Parameters are those of SelectingJudge, except for ``values``, int32 or float64 (n_items) in the
    metric's own units, NaN only in lists that are not judged.
    """

    scale = 1.0

    def __init__(
        self,
        name: str,
        signature: str,
        stage: Selection,
        values: Counts,
        *,
        better: int = 1,
        judged: Mask | None = None,
        digits: int = 2,
        counts: Mapping[str, Counts] | None = None,
    ) -> None:
        per_item = mean_statistics(values, stage.lists, judged)
        super().__init__(name, signature, stage, per_item, better=better, judged=judged, counts=counts)
        self.digits = digits

    def best_of(self, items: Index, offsets: Index) -> Index:
        """Return the best item of each list."""
        return items[first_largest(self.better * self.per_item[items, 0], offsets)]
