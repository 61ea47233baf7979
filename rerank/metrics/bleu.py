"""BLEU of the chosen candidates, equal to sacrebleu's, and the mean of sentence BLEU+1.

Ten statistics of a candidate are summed: clipped matches and totals of n = 1..4, its tokens, and the tokens
of the reference of the closest length, the shorter of two as close (Papineni et al. 2002). Both metrics
share them. By default the texts are taken as tokenized and cased; ``tok`` names one of sacrebleu's
tokenizers, ``lc`` takes lower case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rerank._version import __version__
from rerank.data.columns.strings import StringColumn
from rerank.data.judge import SumForm
from rerank.data.leads import first_largest
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, refuse_unknown
from rerank.metrics.selecting import (
    MeanJudge,
    SelectingJudge,
    SelectingMetric,
    TextStatistics,
    flag,
    no_cutoff,
    reference_count,
    selection,
)
from rerank.metrics.tokenizers import check_tokenizer, prepared
from rerank.native.metrics import _bleu, _bleu_climb
from rerank.registry import did_you_mean

if TYPE_CHECKING:
    from rerank.data.types import Floats, Index

ORDERS = 4
WIDTH = 2 * ORDERS + 2
# Smoothing by name, as sacrebleu names them: the kernel's number and the value where one is used.
SMOOTHING: dict[str, tuple[int, float | None]] = {
    "none": (0, None),
    "floor": (1, 0.1),
    "add-k": (2, 1.0),
    "exp": (3, None),
}
PLUS_ONE = ("each", "higher")
_GAIN = 1e-12  # a smaller share of BLEU is rounding


@dataclass(frozen=True)
class BleuStatistics(TextStatistics):
    """The ten statistics of each item, by tokenizer and case."""

    tok: str = "none"
    lc: bool = False

    @property
    def name(self) -> str:
        return "BLEU" + self.parameters()

    @property
    def width(self) -> int:
        return WIDTH

    def parameters(self, *more: str) -> str:
        """What a name holds in brackets, empty where everything is as by default."""
        parts = [f"tok={self.tok}"] * (self.tok != "none") + ["lc=1"] * self.lc + list(more)
        return f"({', '.join(parts)})" if parts else ""

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Floats:
        """Statistics (n_items, 10): matches, totals, tokens, tokens of the closest reference."""
        ready = [prepared(column, self.tok, self.lc) for column in (texts, *references)]
        return bleu_statistics(ready[0], tuple(ready[1:]), offsets)


def bleu_statistics(texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Floats:
    """Statistics (n_items, 10) of texts whose tokens stand between white space.

    Items of list i are ``offsets[i]:offsets[i + 1]`` of texts; references, one at least, are (n_lists).
    """
    begins = np.cumsum([0, *(len(column.data) for column in references[:-1])])
    starts = np.stack(
        [b + column.offsets[:-1] for b, column in zip(begins, references, strict=False)], axis=1
    )
    stops = np.stack([b + column.offsets[1:] for b, column in zip(begins, references, strict=False)], axis=1)
    longest = int(((stops - starts + 1) // 2).sum(axis=1).max())  # tokens, at most
    out = np.empty((len(texts), WIDTH))
    _bleu.statistics(
        np.ascontiguousarray(texts.data),
        texts.offsets,
        offsets,
        np.concatenate([column.data for column in references]),
        starts,
        stops,
        np.zeros((_power_of_two(2 * longest), 4), dtype=np.uint64),
        np.zeros((_power_of_two(6 * longest), 2), dtype=np.uint64),
        np.zeros((4 * longest + 1, 3), dtype=np.int64),
        np.zeros(len(references), dtype=np.int64),
        out,
    )
    return out


def _power_of_two(least: int) -> int:
    return max(8, 1 << (least - 1).bit_length()) if least > 0 else 8


def bleu(sums: npt.ArrayLike, smooth: str = "exp", value: float | None = None) -> Floats | float:
    """Corpus BLEU, 0 to 100, of summed statistics (..., 10): the form of sacrebleu's ``compute_bleu``.

    BP · exp(¼ Σ ln p_n): zero where an order has no n-gram at all, or nothing matches. ``smooth`` says what
    becomes of zero matches: none; floor (``value`` of a match, 0.1); add-k (``value`` added to matches and
    totals of n > 1, 1); exp (½, ¼, ... of a match, as mteval-v13a). Raises ConfigError where ``smooth`` or
    ``value`` is none of these, DataError at another shape.
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


def from_precisions(precisions: npt.ArrayLike, length: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """BLEU, 0 to 100, of n-gram precisions in percent (..., orders) > 0 and the two lengths (...)."""
    length, reference = np.asarray(length, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    ratio = np.divide(reference, length, out=np.ones_like(length), where=length > 0)
    penalty: Floats = np.where(length > 0, np.exp(np.minimum(0.0, 1.0 - ratio)), 0.0)
    mean: Floats = np.log(precisions).mean(axis=-1)
    return penalty * np.exp(mean)


def _amount(smooth: str, value: Parameter | None) -> float:
    """What smoothing adds, 0.0 where it takes no value; raises ConfigError where the two do not fit."""
    usual = SMOOTHING[_one_of(smooth, tuple(SMOOTHING))][1]
    if value is None:
        return 0.0 if usual is None else usual
    if usual is None:
        raise ConfigError("value belongs to smooth=floor or smooth=add-k")
    if isinstance(value, str | bool) or not 0 < value < float("inf"):
        raise ConfigError(f"value is a number above 0, got {value!r}")
    return float(value)


def sentence_bleu(counts: Floats, smooth: str = "each") -> Floats:
    """BLEU+1 of each row of statistics (n, 10), 0 to 100, of orders 1 to 4.

    One is added to matches and totals: of every order with ``each`` (the thesis' 3.2.2, as Moses does too),
    of n > 1 with ``higher`` (Lin & Och 2004), where nothing matched is 0. An order without n-grams then
    counts as 1/1. The brevity penalty is the sentence's own; no tokens are 0. Raises ConfigError at another
    ``smooth``.
    """
    if _one_of(smooth, PLUS_ONE) == "higher":
        return np.asarray(bleu(counts, "add-k", 1.0))
    precisions = 100.0 * (counts[:, :ORDERS] + 1.0) / (counts[:, ORDERS : 2 * ORDERS] + 1.0)
    return from_precisions(precisions, counts[:, 2 * ORDERS], counts[:, -1])


@dataclass(frozen=True)
class Bleu(SelectingMetric):
    """Corpus BLEU; ``value`` None = the usual one of ``smooth``."""

    statistics: BleuStatistics = BleuStatistics()
    smooth: str = "exp"
    value: float | None = None

    @property
    def name(self) -> str:
        more = [f"smooth={self.smooth}"] * (self.smooth != "exp")
        more += [] if self.value is None else [f"value={self.value:.12g}"]
        return "BLEU" + self.statistics.parameters(*more)

    def prepare_in(self, preparation: Preparation) -> BleuJudge:
        """A judge that shares counts and choices with the others of ``preparation``."""
        return BleuJudge(self, preparation)


class BleuJudge(SelectingJudge):
    """Corpus BLEU, 0 to 100; statistics (k = 10) as BleuStatistics counts them."""

    def __init__(self, metric: Bleu, preparation: Preparation) -> None:
        self.metric = metric
        amount = _amount(metric.smooth, metric.value)
        self._smoothing = SMOOTHING[metric.smooth][0], amount
        # Two decimals as sacrebleu prints them, all of them where two do not say the value.
        digits = f"{amount:.2f}" if amount == round(amount, 2) else f"{amount:.12g}"
        shown = metric.smooth + (f"[{digits}]" if amount else "")
        super().__init__(
            metric.name,
            _signature("BLEU", metric.statistics, preparation, ["eff:no"], shown),
            preparation.shared(selection),
            preparation.shared(metric.statistics),
        )

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """BLEU (...) of sums (..., 10)."""
        return bleu(sums, self.metric.smooth, self.metric.value)

    @property
    def sum_form(self) -> SumForm:
        return SumForm("BLEU", self._smoothing)

    def best_of(self, items: Index, offsets: Index) -> Index:
        """As SelectingJudge.best_of, by the better of two climbs: from the best items by BLEU+1, and from
        the first ones offered, so that the choice is never worse than either."""
        rows = self.per_item[items]
        starts = (first_largest(sentence_bleu(rows), offsets), offsets[:-1].copy())
        climbs = [self._climb(rows, offsets, chosen) for chosen in starts]
        return items[starts[climbs[1] > climbs[0] * (1 + _GAIN)]]

    def _climb(self, rows: Floats, offsets: Index, chosen: Index) -> float:
        """Climb from ``chosen`` (n_lists), which is changed in place; gives the BLEU that is reached."""
        sums = np.empty((2, WIDTH))
        value = -np.inf
        while True:
            sums[0] = rows[chosen].sum(axis=0)
            before, value = value, float(self.score_from_sums(sums[0]))
            if not value > before * (1 + _GAIN):
                return value
            _bleu_climb.climb(rows, offsets, chosen, sums, *self._smoothing)


@dataclass(frozen=True)
class SentenceBleu(SelectingMetric):
    """Mean of BLEU+1; ``smooth`` is each or higher."""

    statistics: BleuStatistics = BleuStatistics()
    smooth: str = "each"

    @property
    def name(self) -> str:
        return "sBLEU" + self.statistics.parameters(*[f"smooth={self.smooth}"] * (self.smooth != "each"))

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        """A judge that shares counts and choices with the others of ``preparation``."""
        smoothed = f"add-1[{self.smooth}]"
        return MeanJudge(
            self.name,
            _signature("sBLEU", self.statistics, preparation, ["mean:lists"], smoothed),
            preparation.shared(selection),
            sentence_bleu(preparation.shared(self.statistics), self.smooth),
        )


def _signature(
    name: str, counted: BleuStatistics, preparation: Preparation, more: list[str], smooth: str
) -> str:
    parts = [
        name,
        f"nrefs:{reference_count(preparation.lists)}",
        f"case:{'lc' if counted.lc else 'mixed'}",
        *more,
        f"tok:{counted.tok}",
        f"smooth:{smooth}",
        f"version:{__version__}",
    ]
    return "|".join(parts)


def _counted(parameters: Mapping[str, Parameter]) -> BleuStatistics:
    return BleuStatistics(check_tokenizer(str(parameters.get("tok", "none"))), flag(parameters, "lc"))


def _one_of(name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise ConfigError(f"unknown smooth {name!r}; {did_you_mean(name, known)}")
    return name


def _bleu_metric(
    *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
) -> SelectingMetric:
    no_cutoff("BLEU", cutoff, inner)
    refuse_unknown(parameters, ["tok", "lc", "smooth", "value"])
    smooth = _one_of(str(parameters.get("smooth", "exp")), tuple(SMOOTHING))
    amount = _amount(smooth, parameters.get("value"))
    return Bleu(_counted(parameters), smooth, amount if amount and amount != SMOOTHING[smooth][1] else None)


def _sentence_metric(
    *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
) -> SelectingMetric:
    no_cutoff("sBLEU", cutoff, inner)
    refuse_unknown(parameters, ["tok", "lc", "smooth"])
    return SentenceBleu(_counted(parameters), _one_of(str(parameters.get("smooth", "each")), PLUS_ONE))


FAMILIES.register("BLEU")(_bleu_metric)
FAMILIES.register("sBLEU", "BLEU+1", "sentence-BLEU")(_sentence_metric)
