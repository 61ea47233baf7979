"""Edit rates of the chosen candidates: WER, CER and PER, in percent, smaller is better.

100 times the sum of edits over the sum of the references' tokens:

- WER: Levenshtein's distance over words, the runs between white space as ``str.split()`` makes them;
- CER: the same over characters, that is code points without white space at a text's ends, blanks inside
  counted (as jiwer does);
- PER: max(h, r) - matches of h words and r of the reference, in any order, where matches is the size of the
  bags' intersection (Tillmann et al. 1997).

Of several references the one with the fewest edits counts, the longest of equals; its length goes into the
sum. A sum of no tokens gives 0 without an edit and 100 with any, so an empty candidate has as many edits as
its reference has tokens, and each token of a candidate without a reference's is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rerank._version import __version__
from rerank.data.columns.strings import StringColumn
from rerank.data.judge import SumForm
from rerank.data.leads import first_largest
from rerank.metrics.base import FAMILIES, Metric, Parameter, Preparation, refuse_unknown
from rerank.metrics.selecting import (
    RatioJudge,
    SelectingMetric,
    TextStatistics,
    flag,
    no_cutoff,
    reference_count,
    selection,
)
from rerank.metrics.tokenizers import check_tokenizer, prepared
from rerank.native.data import _numbers
from rerank.native.metrics import _edit

if TYPE_CHECKING:
    from rerank.data.types import Floats, Index, Ints

# Bytes of candidates that are numbered at a time: what the kernels pass on stays in the caches.
PORTION = 1 << 20
CODE_POINTS = 0x110000


class RateJudge(RatioJudge):
    """100 times edits over reference tokens; statistics [edits, tokens]."""

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Rates (...) of sums (..., 2); over no tokens 0 without an edit, else 100."""
        rates = super().score_from_sums(sums)
        out = np.where(sums[..., 1] > 0, rates, 100.0 * (sums[..., 0] > 0))
        return out if out.ndim else float(out)

    @property
    def sum_form(self) -> SumForm:
        return SumForm("ratio", (100.0, 100.0))

    def best_of(self, items: Index, offsets: Index) -> Index:
        """As RatioJudge; the fewest edits where that is no edit, or no reference has a token."""
        edits, tokens = self.per_item[items].T
        fewest = first_largest(-edits, offsets)
        if not edits[fewest].any() or not tokens.any():
            return items[fewest]
        return super().best_of(items, offsets)


@dataclass(frozen=True)
class Numbers:
    """Tokens of some lists as numbers: from 1 those that a list's references hold, 0 the others.

    ids, bounds : int32, int64 (n_items + 1); item ``offsets[0] + j`` is ``ids[bounds[j]:bounds[j + 1]]``.
    offsets : int64 (n_lists + 1), the lists' items among all items.
    reference_ids, reference_bounds : the same of references, list by list (n_lists * n_references + 1).
    """

    ids: Ints
    bounds: Index
    offsets: Index
    reference_ids: Ints
    reference_bounds: Index
    n_references: int

    @property
    def longest_item(self) -> int:
        """Tokens of the longest candidate."""
        return int(np.diff(self.bounds).max())

    @property
    def longest_list(self) -> int:
        """Tokens of the candidates of the longest list."""
        return int(np.diff(self.bounds[self.offsets - self.offsets[0]]).max())

    @property
    def longest_reference(self) -> int:
        return int(np.diff(self.reference_bounds).max())

    @property
    def largest(self) -> int:
        """The largest number."""
        return int(self.reference_ids.max(initial=0))


def numbers(
    texts: StringColumn,
    references: tuple[StringColumn, ...],
    offsets: Index,
    *,
    characters: bool = False,
    portion: int = PORTION,
) -> Iterator[Numbers]:
    """The words, or characters, of candidates and references as numbers, some lists at a time.

    Items of list i are ``offsets[i]:offsets[i + 1]`` of texts; references, one at least, are (n_lists).
    A piece has about ``portion`` bytes of candidates, one list at least.
    """
    begins = np.cumsum([0, *(len(column.data) for column in references)])[:-1]
    starts = np.stack([b + column.offsets[:-1] for b, column in zip(begins, references, strict=True)], axis=1)
    stops = np.stack([b + column.offsets[1:] for b, column in zip(begins, references, strict=True)], axis=1)
    buffer = np.concatenate([column.data for column in references])
    data = np.ascontiguousarray(texts.data)
    text_bounds = np.ascontiguousarray(texts.offsets)
    ends = text_bounds[offsets[1:]]  # bytes of candidates up to the end of each list
    table = np.zeros(CODE_POINTS if characters else 0, dtype=np.int64)
    first = 0
    while first < len(ends):
        before = text_bounds[offsets[first]]
        stop = max(first + 1, int(np.searchsorted(ends, before + portion, side="right")))
        of_lists = (stops[first:stop] - starts[first:stop]).sum(axis=1)
        n_texts = int(offsets[stop] - offsets[first])
        n_references = (stop - first) * len(references)
        per_byte = 1.0 if characters else 0.5
        out = (
            np.empty(int((ends[stop - 1] - before + n_texts) * per_byte) + 1, dtype=np.int32),
            np.empty(n_texts + 1, dtype=np.int64),
            np.zeros(int((of_lists.sum() + n_references) * per_byte) + 1, dtype=np.int32),
            np.empty(n_references + 1, dtype=np.int64),
        )
        piece = offsets[first : stop + 1]
        given = (data, text_bounds, piece, buffer, starts[first:stop], stops[first:stop])
        if characters:
            _numbers.characters(*given, first, table, *out)
        else:
            slots = max(8, 1 << (2 * int(of_lists.max()) - 1).bit_length())
            _numbers.words(*given, np.zeros((slots, 4), dtype=np.uint64), *out)
        yield Numbers(out[0], out[1], piece, out[2][: out[3][-1] + 1], out[3], len(references))
        first = stop


def levenshtein(pieces: Iterator[Numbers], n_items: int) -> Floats:
    """[edits, tokens of the reference] of each item, float64 (n_items, 2)."""
    out = np.empty((n_items, 2))
    for piece in pieces:
        _edit.levenshtein(
            piece.ids,
            piece.bounds,
            piece.offsets,
            piece.reference_ids,
            piece.reference_bounds,
            piece.n_references,
            np.zeros(piece.largest + 1, dtype=np.uint64),
            np.empty(piece.longest_list + 1, dtype=np.int8),
            out[piece.offsets[0] : piece.offsets[-1]],
        )
    return out


def bag_edits(pieces: Iterator[Numbers], n_items: int) -> Floats:
    """[max(h, r) - matches, r] of each item, float64 (n_items, 2)."""
    out = np.empty((n_items, 2))
    for piece in pieces:
        _edit.bags(
            piece.ids,
            piece.bounds,
            piece.offsets,
            piece.reference_ids,
            piece.reference_bounds,
            piece.n_references,
            np.zeros(piece.largest + 1, dtype=np.int32),
            out[piece.offsets[0] : piece.offsets[-1]],
        )
    return out


@dataclass(frozen=True)
class EditStatistics(TextStatistics):
    """[edits, reference tokens] of each item; ``kind`` is WER, CER or PER."""

    kind: str
    tok: str = "none"
    lc: bool = False

    @property
    def name(self) -> str:
        parts = [f"tok={self.tok}"] * (self.tok != "none") + ["lc=1"] * self.lc
        return self.kind + (f"({', '.join(parts)})" if parts else "")

    @property
    def width(self) -> int:
        return 2

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Floats:
        """Statistics (n_items, 2) from texts."""
        ready = [prepared(column, self.tok, self.lc) for column in (texts, *references)]
        pieces = numbers(ready[0], tuple(ready[1:]), offsets, characters=self.kind == "CER")
        return (bag_edits if self.kind == "PER" else levenshtein)(pieces, len(texts))


@dataclass(frozen=True)
class EditRate(SelectingMetric):
    """WER, CER or PER, by what is counted."""

    statistics: EditStatistics

    @property
    def name(self) -> str:
        return self.statistics.name

    def prepare_in(self, preparation: Preparation) -> RateJudge:
        """A judge that shares counts and choices with the others of ``preparation``."""
        counted = self.statistics
        count = reference_count(preparation.lists)
        parts = [
            counted.kind,
            f"nrefs:{count}",
            *["mref:fewest"] * (count != "1"),
            f"case:{'lc' if counted.lc else 'mixed'}",
            "unit:chars" if counted.kind == "CER" else f"tok:{counted.tok}",
            f"version:{__version__}",
        ]
        return RateJudge(
            self.name,
            "|".join(parts),
            preparation.shared(selection),
            preparation.shared(counted),
            better=-1,
        )


def _make(
    kind: str, *, parameters: Mapping[str, Parameter], cutoff: int | None, inner: Metric | None
) -> EditRate:
    no_cutoff(kind, cutoff, inner)
    refuse_unknown(parameters, ["lc"] if kind == "CER" else ["tok", "lc"])
    tok = check_tokenizer(str(parameters.get("tok", "none")))
    return EditRate(EditStatistics(kind, tok, flag(parameters, "lc")))


def _family(kind: str) -> Callable[..., EditRate]:
    return partial(_make, kind)


for _kind in ("WER", "CER", "PER"):
    FAMILIES.register(_kind)(_family(_kind))
