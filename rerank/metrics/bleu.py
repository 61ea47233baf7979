"""BLEU of the chosen candidates, equal to sacrebleu's, and the mean of sentence BLEU+1.

Ten statistics of a candidate are summed: clipped matches and totals of n = 1..4, its tokens, and the tokens
of the reference of the closest length, on ties the shorter (Papineni et al. 2002). Both metrics share them.
By default texts count as they are, tokenized and cased; ``tok`` names one of sacrebleu's tokenizers, ``lc``
counts in lower case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.settings import setting
from rerank.core.types import ArrayLike
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import first_largest
from rerank.data.judge import SumForm
from rerank.metrics.base import Preparation, register
from rerank.metrics.judges import signed
from rerank.metrics.selecting import (
    MeanJudge,
    SelectingJudge,
    SelectingMetric,
    Selection,
    TextStatistics,
    Tokenizer,
    lc_setting,
    prepared,
    reference_count,
    room_for,
    tok_setting,
)
from rerank.native.data._texts import Texts
from rerank.native.metrics import _bleu, _bleu_climb

if TYPE_CHECKING:
    from rerank.core.types import Counts, Floats, Index

ORDERS = 4
WIDTH = 2 * ORDERS + 2
Smoothing = Literal["none", "floor", "add-k", "exp"]
PlusOne = Literal["each", "higher"]
# Smoothing by sacrebleu's names: the kernel's number, and the usual value if it takes one.
SMOOTHING: dict[str, tuple[int, float | None]] = {
    "none": (0, None),
    "floor": (1, 0.1),
    "add-k": (2, 1.0),
    "exp": (3, None),
}
_BLOCK = 1 << 14  # sentences whose BLEU is computed at a time
_GAIN = 1e-12  # a smaller share of BLEU is rounding


class BleuStatistics(TextStatistics):
    """The ten statistics of each item, by tokenizer and case."""

    family = "BLEU"
    tok: Tokenizer = tok_setting()
    lc: bool = lc_setting()

    @property
    def width(self) -> int:
        return WIDTH

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Counts:
        """Return statistics (n_items, 10): matches, totals, tokens, tokens of the closest reference."""
        ready = [prepared(column, self.tok, self.lc) for column in (texts, *references)]
        return bleu_statistics(ready[0], tuple(ready[1:]), offsets)


def bleu_statistics(texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Counts:
    """Return statistics (n_items, 10) of texts whose tokens are separated by white space.

    Parameters are those of ``TextStatistics.count``.
    """
    out = room_for(WIDTH, texts, *references)
    _bleu.statistics(Texts(texts, references, offsets), out)
    return out


def bleu(sums: ArrayLike, smooth: str = "exp", value: float | None = None) -> Floats | float:
    """Return corpus BLEU, 0 to 100, of summed statistics (..., 10), as sacrebleu's ``compute_bleu`` does.

    It is BP · exp(¼ Σ ln p_n), and zero if an order has no n-gram at all or nothing matches.

    Parameters
    ----------
    sums : array_like (..., 10)
    smooth : {"exp", "none", "floor", "add-k"}
        What replaces zero matches: ½, ¼, ... of a match as in mteval-v13a, nothing, ``value`` of a match, or
        ``value`` added to matches and totals of n > 1.
    value : float, optional
        Of floor (0.1 by default) and add-k (1).

    Raises
    ------
    ConfigError
        If ``smooth`` is unknown or ``value`` does not fit it.
    DataError
        If ``sums`` has another shape.
    """
    sums = np.asarray(sums, dtype=np.float64)
    if sums.ndim == 0 or sums.shape[-1] != WIDTH:
        raise DataError(f"sums have shape {sums.shape}, expected (..., {WIDTH})")
    amount = _amount(smooth, value)
    matches, totals = sums[..., :ORDERS].copy(), sums[..., ORDERS : 2 * ORDERS].copy()
    possible = matches.sum(axis=-1) > 0
    if smooth == "add-k":
        matches[..., 1:] += amount
        totals[..., 1:] += amount
    zero = matches <= 0
    if smooth == "exp":
        matches = np.where(zero, 0.5 ** np.cumsum(zero, axis=-1), matches)
    elif smooth == "floor":
        matches = np.where(zero, amount, matches)
    possible = possible & (totals > 0).all(axis=-1) & (matches > 0).all(axis=-1)
    safe = possible[..., None]
    precisions = 100.0 * np.where(safe, matches, 1.0) / np.where(safe, totals, 1.0)
    out = np.where(possible, from_precisions(precisions, sums[..., 2 * ORDERS], sums[..., -1]), 0.0)
    return out if out.ndim else float(out)


def from_precisions(precisions: ArrayLike, length: ArrayLike, reference: ArrayLike) -> Floats:
    """Return BLEU, 0 to 100, of n-gram precisions in percent (..., orders) > 0 and the two lengths (...)."""
    length, reference = np.asarray(length, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    ratio = np.divide(reference, length, out=np.ones_like(length), where=length > 0)
    penalty: Floats = np.where(length > 0, np.exp(np.minimum(0.0, 1.0 - ratio)), 0.0)
    mean: Floats = np.log(precisions).mean(axis=-1)
    return penalty * np.exp(mean)


def _amount(smooth: str, value: float | None) -> float:
    """The value of a smoothing, 0.0 if it takes none; raises ConfigError if the two do not fit."""
    usual = SMOOTHING[_one_of(smooth, tuple(SMOOTHING))][1]
    if value is None:
        return 0.0 if usual is None else usual
    if usual is None:
        raise ConfigError("value belongs to smooth=floor or smooth=add-k")
    if not 0 < value < float("inf"):
        raise ConfigError(f"value is a number above 0, got {value!r}")
    return float(value)


def sentence_bleu(counts: Counts, smooth: str = "each") -> Floats:
    """Return BLEU+1 of each row of statistics (n, 10), 0 to 100.

    One is added to matches and totals: of every order with ``each`` (the thesis' 3.2.2, and Moses), of n > 1
    with ``higher`` (Lin & Och 2004), which gives 0 if nothing matches. An order without n-grams then counts
    as 1/1. The brevity penalty is the sentence's own; a text without tokens has 0.

    Raises ConfigError if ``smooth`` is unknown.
    """
    _one_of(smooth, get_args(PlusOne))
    out = np.empty(len(counts))
    for first in range(0, len(out), _BLOCK):
        rows = counts[first : first + _BLOCK]
        precisions = 100.0 * (rows[:, :ORDERS] + 1.0) / (rows[:, ORDERS : 2 * ORDERS] + 1.0)
        each = from_precisions(precisions, rows[:, 2 * ORDERS], rows[:, -1])
        out[first : first + _BLOCK] = bleu(rows, "add-k", 1.0) if smooth == "higher" else each
    return out


class _BleuMetric(SelectingMetric):
    needs = ("texts", "references")
    tok: Tokenizer = tok_setting()
    lc: bool = lc_setting()

    @property
    def statistics(self) -> BleuStatistics:
        """Return the statistics that the metric sums."""
        return BleuStatistics(tok=self.tok, lc=self.lc)

    def signature(self, preparation: Preparation, how: str, smooth: str) -> str:
        """Everything that changes the number."""
        case = f"case:{'lc' if self.lc else 'mixed'}"
        counts = f"nrefs:{reference_count(preparation.lists)}"
        return signed(self.family, counts, case, how, f"tok:{self.tok}", f"smooth:{smooth}")


@register("BLEU")
class Bleu(_BleuMetric):
    """Corpus BLEU."""

    summary = "corpus BLEU of the chosen texts, 0 to 100, equal to sacrebleu's"
    meaning = (
        "The geometric mean of the precisions of n-grams of 1 to 4 words over all chosen texts, times a "
        "penalty for texts shorter than the references. 0 to 100."
    )
    source = "Papineni et al. 2002; sacrebleu"
    elsewhere = "BLEU of sacrebleu: equal with the same tokenizer"
    examples = ("BLEU", "BLEU(lc=1)", "BLEU(smooth=floor, value=0.01)")
    smooth: Smoothing = setting("exp", "replacement of zero matches")
    value: float | None = setting(None, "of floor (0.1 by default) and add-k (1)", gt=0)

    def check_values(self) -> None:
        _amount(self.smooth, self.value)

    def canonical(self) -> Bleu:
        """Return the metric without a value that its smoothing has anyway."""
        usual = self.value == SMOOTHING[self.smooth][1]
        return Bleu(tok=self.tok, lc=self.lc, smooth=self.smooth) if usual else self

    def prepare_in(self, preparation: Preparation) -> BleuJudge:
        return BleuJudge(self, preparation)


class BleuJudge(SelectingJudge):
    """Corpus BLEU, 0 to 100; statistics (k = 10) as BleuStatistics counts them."""

    def __init__(self, metric: Bleu, preparation: Preparation) -> None:
        self.metric = metric
        amount = _amount(metric.smooth, metric.value)
        self._smoothing = SMOOTHING[metric.smooth][0], amount
        # Two decimals as sacrebleu prints them, more if the value has more.
        digits = f"{amount:.2f}" if amount == round(amount, 2) else f"{amount:.12g}"
        shown = metric.smooth + (f"[{digits}]" if amount else "")
        counts = preparation.shared(metric.statistics)
        super().__init__(
            metric.name,
            metric.signature(preparation, "eff:no", shown),
            preparation.of_lists(Selection),
            counts,
            counts={metric.statistics.name: counts},
        )

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return BLEU (...) of sums (..., 10)."""
        return bleu(sums, self.metric.smooth, self.metric.value)

    @property
    def sum_form(self) -> SumForm:
        return SumForm("BLEU", self._smoothing)

    def best_of(self, items: Index, offsets: Index) -> Index:
        """Return the better of two climbs, from the best items by BLEU+1 and from the first ones offered.

        The choice is never worse than either start; see ``SelectingJudge.best_of``.
        """
        rows = self.rows_of(items)
        starts = (first_largest(sentence_bleu(rows), offsets), offsets[:-1].copy())
        climbs = [self._climb(rows, offsets, chosen) for chosen in starts]
        return items[starts[climbs[1] > climbs[0] * (1 + _GAIN)]]

    def _climb(self, rows: Counts, offsets: Index, chosen: Index) -> float:
        """Climb from ``chosen`` (n_lists), changed in place, and return the BLEU that is reached."""
        sums = np.empty((2, WIDTH))
        value = -np.inf
        while True:
            sums[0] = rows[chosen].sum(axis=0)
            before, value = value, float(self.score_from_sums(sums[0]))
            if not value > before * (1 + _GAIN):
                return value
            _bleu_climb.climb(rows, offsets, chosen, sums, *self._smoothing)


@register("sBLEU", "BLEU+1", "sentence-BLEU")
class SentenceBleu(_BleuMetric):
    """Mean of BLEU+1."""

    summary = "mean over lists of the chosen text's BLEU+1, 0 to 100"
    meaning = (
        "BLEU of each chosen text alone, with one match added to each order of n-grams, averaged over "
        "lists. 0 to 100."
    )
    source = "Lin & Och 2004"
    elsewhere = "not sentence_bleu of sacrebleu, which smooths otherwise"
    examples = ("sBLEU", "sBLEU(smooth=higher)")
    smooth: PlusOne = setting("each", "orders that get one match more: each, or those of n > 1")

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        counts = preparation.shared(self.statistics)
        return MeanJudge(
            self.name,
            self.signature(preparation, "mean:lists", f"add-1[{self.smooth}]"),
            preparation.of_lists(Selection),
            sentence_bleu(counts, self.smooth),
            counts={self.statistics.name: counts},
        )


def _one_of(name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise ConfigError(f"unknown smooth {name!r}; {did_you_mean(name, known)}")
    return name
