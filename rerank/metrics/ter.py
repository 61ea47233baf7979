"""TER of the chosen candidates, in percent, equal to sacrebleu's TER; smaller is better.

100 times the sum of edits over the sum of the references' lengths, where an edit is an insertion, deletion or
substitution of a word or the shift of a block of words, found greedily (Snover et al. 2006). As sacrebleu has
it: lower case, words between white space; of several references the fewest edits and their mean length;
no words in the references' sum give 0 without an edit and 100 with any.

``normalized``, ``no_punct`` and ``asian`` change the words: they are sacrebleu's own code (extra ``mt``).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from rerank._version import __version__
from rerank.data.columns.strings import StringColumn
from rerank.errors import ConfigError
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, refuse_unknown
from rerank.metrics.edit import Numbers, RateJudge, numbers
from rerank.metrics.selecting import (
    SelectingMetric,
    TextStatistics,
    flag,
    no_cutoff,
    reference_count,
    selection,
)
from rerank.metrics.tokenizers import prepared
from rerank.native.metrics import _ter

if TYPE_CHECKING:
    from rerank.data.types import Floats, Index


def shift_edits(pieces: Iterator[Numbers], n_items: int) -> Floats:
    """[edits and shifts, mean length of the references] of each item, float64 (n_items, 2)."""
    out = np.empty((n_items, 2))
    for piece in pieces:
        sizes = piece.longest_item, piece.longest_reference, piece.largest
        ints, words, places = _ter.work_sizes(*sizes)
        _ter.edits(
            piece.ids,
            piece.bounds,
            piece.offsets,
            piece.reference_ids,
            piece.reference_bounds,
            piece.n_references,
            *sizes,
            np.empty(ints, dtype=np.int32),
            np.empty(words, dtype=np.uint64),
            np.empty(places, dtype=np.int64),
            out[piece.offsets[0] : piece.offsets[-1]],
        )
    return out


@dataclass(frozen=True)
class TerStatistics(TextStatistics):
    """[edits, mean length of the references] of each item, by sacrebleu's four options."""

    normalized: bool = False
    no_punct: bool = False
    asian: bool = False
    case_sensitive: bool = False

    @property
    def name(self) -> str:
        parts = [f"{option.name}=1" for option in fields(self) if getattr(self, option.name)]
        return "TER" + (f"({', '.join(parts)})" if parts else "")

    @property
    def width(self) -> int:
        return 2

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Floats:
        """Statistics (n_items, 2) from texts."""
        ready = [self._words(column) for column in (texts, *references)]
        return shift_edits(numbers(ready[0], tuple(ready[1:]), offsets), len(texts))

    def _words(self, column: StringColumn) -> StringColumn:
        if not self.normalized and not self.no_punct:
            return prepared(column, lowercase=not self.case_sensitive)
        try:
            module = importlib.import_module("sacrebleu.tokenizers.tokenizer_ter")
        except ImportError as error:
            if not error.name or error.name.partition(".")[0] != "sacrebleu":
                raise
            raise ConfigError(f"{self.name} needs the package sacrebleu: pip install 'rerank[mt]'") from None
        tokenize = module.TercomTokenizer(self.normalized, self.no_punct, self.asian, self.case_sensitive)
        return StringColumn.from_strings(tokenize(text.rstrip()) for text in column)


@dataclass(frozen=True)
class Ter(SelectingMetric):
    """Translation edit rate."""

    statistics: TerStatistics = TerStatistics()

    @property
    def name(self) -> str:
        return self.statistics.name

    def prepare_in(self, preparation: Preparation) -> RateJudge:
        """A judge that shares counts and choices with the others of ``preparation``."""
        counted = self.statistics
        parts = [
            "TER",
            f"nrefs:{reference_count(preparation.lists)}",
            f"case:{'mixed' if counted.case_sensitive else 'lc'}",
            "tok:tercom",
            f"norm:{_yes(counted.normalized)}",
            f"punct:{_yes(not counted.no_punct)}",
            f"asian:{_yes(counted.asian)}",
            f"version:{__version__}",
        ]
        return RateJudge(
            self.name,
            "|".join(parts),
            preparation.shared(selection),
            preparation.shared(counted),
            better=-1,
        )


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _make(*, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None) -> Ter:
    no_cutoff("TER", cutoff, inner)
    options = [option.name for option in fields(TerStatistics)]
    refuse_unknown(parameters, options)
    chosen = TerStatistics(**{option: flag(parameters, option) for option in options})
    if chosen.asian and not (chosen.normalized or chosen.no_punct):
        raise ConfigError("asian changes something only with normalized or no_punct")
    return Ter(chosen)


FAMILIES.register("TER")(_make)
