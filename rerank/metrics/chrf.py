"""chrF of the chosen candidates: character n-gram F-score (Popović 2015), 0 to 100.

The statistics are counted by sacrebleu itself (extra ``mt``); the score is a function of their sums equal to
sacrebleu's. Of several references the one with the best sentence score counts, the first of equals. A sum
without a common order (nothing in all candidates, or in all references) is 0.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank._version import __version__
from rerank.data.columns.strings import StringColumn
from rerank.errors import ConfigError, DataError
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, refuse_unknown
from rerank.metrics.selecting import (
    SelectingJudge,
    SelectingMetric,
    TextStatistics,
    flag,
    no_cutoff,
    reference_count,
    selection,
)

if TYPE_CHECKING:
    from rerank.data.types import Floats, Index

# Largest orders that make sense: what is longer hardly ever matches, and takes its time.
MOST = {"nc": 20, "nw": 4, "beta": 10}


@dataclass(frozen=True)
class ChrfStatistics(TextStatistics):
    """n-grams of the candidate, of the reference and matches, for each order: (n_items, 3 (nc + nw)).

    nc, nw : largest order of characters and of words; lc: lower case; space: white space counts as
    characters. beta is among them because it decides between references.
    """

    nc: int = 6
    nw: int = 0
    beta: int = 2
    lc: bool = False
    space: bool = False

    @property
    def name(self) -> str:
        usual = ChrfStatistics()
        keys = [
            key for key in ("nc", "nw", "beta", "lc", "space") if getattr(self, key) != getattr(usual, key)
        ]
        return "chrF" + (f"({', '.join(f'{key}={int(getattr(self, key))}' for key in keys)})" if keys else "")

    @property
    def width(self) -> int:
        return 3 * (self.nc + self.nw)

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Floats:
        """Statistics from texts; raises ConfigError where sacrebleu is not installed."""
        counter = self._counter()
        out = np.empty((len(texts), self.width))
        j = 0
        for i, of_list in enumerate(zip(*references, strict=True)):
            (known,) = counter._cache_references([[reference] for reference in of_list])
            while j < offsets[i + 1]:
                ready = counter._preprocess_segment(texts[j])
                out[j] = counter._compute_segment_statistics(ready, known)
                j += 1
        return out

    def _counter(self) -> Any:
        try:
            module = importlib.import_module("sacrebleu.metrics.chrf")
        except ImportError as error:
            if not error.name or error.name.partition(".")[0] != "sacrebleu":
                raise
            raise ConfigError("chrF needs the package sacrebleu: pip install 'rerank[mt]'") from None
        return module.CHRF(
            char_order=self.nc, word_order=self.nw, beta=self.beta, lowercase=self.lc, whitespace=self.space
        )


@dataclass(frozen=True)
class Chrf(SelectingMetric):
    """Corpus chrF."""

    statistics: ChrfStatistics = ChrfStatistics()

    @property
    def name(self) -> str:
        return self.statistics.name

    def prepare_in(self, preparation: Preparation) -> ChrfJudge:
        """A judge that shares counts and choices with the others of ``preparation``."""
        return ChrfJudge(self, preparation)


class ChrfJudge(SelectingJudge):
    """Corpus chrF; statistics as ChrfStatistics counts them."""

    def __init__(self, metric: Chrf, preparation: Preparation) -> None:
        counted = metric.statistics
        self.beta = counted.beta
        parts = [
            f"chrF{counted.beta}{'+' * counted.nw}",
            f"nrefs:{reference_count(preparation.lists)}",
            f"case:{'lc' if counted.lc else 'mixed'}",
            "eff:yes",
            f"nc:{counted.nc}",
            f"nw:{counted.nw}",
            f"space:{'yes' if counted.space else 'no'}",
            f"version:{__version__}",
        ]
        super().__init__(
            metric.name, "|".join(parts), preparation.shared(selection), preparation.shared(counted)
        )

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """chrF (...) of sums (..., k)."""
        return chrf(sums, self.beta)


def chrf(sums: Floats, beta: float = 2.0) -> Floats | float:
    """chrF, 0 to 100, of sums (..., 3 orders) of n-grams of candidates, of references, and matches.

    Precision and recall are means over the orders that both sides have; F weighs recall beta times.
    """
    if sums.ndim == 0 or sums.shape[-1] == 0 or sums.shape[-1] % 3:
        raise DataError(f"sums have shape {sums.shape}, expected (..., three for each order)")
    ours, theirs, matches = sums[..., 0::3], sums[..., 1::3], sums[..., 2::3]
    both = (ours > 0) & (theirs > 0)
    orders = np.maximum(both.sum(axis=-1), 1)
    nothing = np.zeros((*sums.shape[:-1], sums.shape[-1] // 3))
    precision = np.divide(matches, ours, out=nothing.copy(), where=both).sum(axis=-1) / orders
    recall = np.divide(matches, theirs, out=nothing, where=both).sum(axis=-1) / orders
    factor = beta**2
    below = factor * precision + recall
    out = 100.0 * ((1 + factor) * precision * recall / np.where(below > 0, below, 1.0))
    return out if out.ndim else float(out)


def _number(parameters: Mapping[str, Parameter], key: str, least: int) -> int:
    value = parameters.get(key, float(getattr(ChrfStatistics(), key)))
    if not isinstance(value, float) or not least <= value <= MOST[key] or value != int(value):
        raise ConfigError(f"{key} is a whole number from {least} to {MOST[key]}, got {value!r}")
    return int(value)


def _make(*, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None) -> Chrf:
    no_cutoff("chrF", cutoff, inner)
    refuse_unknown(parameters, ["nc", "nw", "beta", "lc", "space"])
    numbers = _number(parameters, "nc", 1), _number(parameters, "nw", 0), _number(parameters, "beta", 1)
    return Chrf(ChrfStatistics(*numbers, flag(parameters, "lc"), flag(parameters, "space")))


def _with_words(*, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None) -> Chrf:
    """chrF++: words up to bigrams too."""
    return _make(parameters={"nw": 2.0, **parameters}, cutoff=cutoff, inner=inner)


FAMILIES.register("chrF", "chrF2")(_make)
FAMILIES.register("chrF++")(_with_words)
