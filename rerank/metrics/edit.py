"""Edit rates of the chosen candidates: WER, CER and PER, in percent, smaller is better.

100 times the sum of edits over the sum of the references' tokens:

- WER: Levenshtein's distance over words, which are separated by white space as in ``str.split()``;
- CER: the same over characters, that is code points without white space at a text's ends, blanks inside
  counted (as in jiwer);
- PER: max(h, r) - matches for h words and r of the reference, in any order; matches is the size of the
  bags' intersection (Tillmann et al. 1997).

Of several references the one with the fewest edits counts, on ties the longest; its length goes into the
sum. A sum of no tokens gives 0 without an edit and 100 with any.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.judge import SumForm
from rerank.data.leads import first_largest
from rerank.metrics.base import Preparation, register
from rerank.metrics.judges import signed
from rerank.metrics.selecting import (
    RatioJudge,
    SelectingMetric,
    Selection,
    TextStatistics,
    reference_count,
)
from rerank.metrics.tokenizers import Tokenizer, lc_setting, prepared, tok_setting
from rerank.native.data import _numbers
from rerank.native.metrics import _edit

if TYPE_CHECKING:
    from rerank.data.types import Floats, Index, Ints

# Bytes of candidates that are numbered at a time, so that they stay in the caches.
PORTION = 1 << 20
CODE_POINTS = 0x110000


class RateJudge(RatioJudge):
    """100 times edits over reference tokens; statistics [edits, tokens]."""

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return rates (...) of sums (..., 2); over no tokens 0 without an edit, else 100."""
        rates = super().score_from_sums(sums)
        out = np.where(sums[..., 1] > 0, rates, 100.0 * (sums[..., 0] > 0))
        return out if out.ndim else float(out)

    @property
    def sum_form(self) -> SumForm:
        return SumForm("ratio", (100.0, 100.0))

    def best_of(self, items: Index, offsets: Index) -> Index:
        """Return the best choice; if no reference has a token, that with the fewest edits."""
        edits, tokens = self.per_item[items].T
        fewest = first_largest(-edits, offsets)
        if not edits[fewest].any() or not tokens.any():
            return items[fewest]
        return super().best_of(items, offsets)


@dataclass(frozen=True)
class Numbers:
    """Tokens of some lists as numbers: from 1 those in a list's references, 0 the others.

    Attributes
    ----------
    ids, bounds : int32, int64 (n_items + 1)
        Item ``offsets[0] + j`` is ``ids[bounds[j]:bounds[j + 1]]``.
    offsets : int64 (n_lists + 1)
        The lists' items among all items.
    reference_ids, reference_bounds : int32, int64 (n_lists * n_references + 1)
        The same for references, list by list.
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
    """Yield the words, or characters, of candidates and references as numbers, some lists at a time.

    Parameters are those of ``TextStatistics.count``, and ``portion``, the bytes of candidates in a piece,
    which has one list at least.
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
    """Return [edits, tokens of the reference] of each item, float64 (n_items, 2)."""
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
    """Return [max(h, r) - matches, r] of each item, float64 (n_items, 2)."""
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


class EditRate(SelectingMetric, TextStatistics):
    """Edits over reference tokens; the statistics are [edits, reference tokens] of each item."""

    needs = ("texts", "references")

    @property
    def width(self) -> int:
        return 2

    @abstractmethod
    def options(self) -> tuple[str, bool]:
        """Return the tokenizer, and whether texts count in lower case."""

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Floats:
        """Return statistics (n_items, 2) of texts."""
        ready = [prepared(column, *self.options()) for column in (texts, *references)]
        pieces = numbers(ready[0], tuple(ready[1:]), offsets, characters=self.family == "CER")
        return (bag_edits if self.family == "PER" else levenshtein)(pieces, len(texts))

    def prepare_in(self, preparation: Preparation) -> RateJudge:
        """Return a judge that shares counts and choices with the others of ``preparation``."""
        count = reference_count(preparation.lists)
        tok, lc = self.options()
        signature = signed(
            self.family,
            f"nrefs:{count}",
            *["mref:fewest"] * (count != "1"),
            f"case:{'lc' if lc else 'mixed'}",
            "unit:chars" if self.family == "CER" else f"tok:{tok}",
        )
        stage = preparation.of_lists(Selection)
        return RateJudge(self.name, signature, stage, preparation.shared(self), better=-1)


@register("CER")
class CharacterErrorRate(EditRate):
    """Levenshtein's distance over characters."""

    summary = "character edits per 100 characters of the reference; lower is better"
    examples = ("CER", "CER(lc=1)")
    lc: bool = lc_setting()

    def options(self) -> tuple[str, bool]:
        return "none", self.lc


class _WordRate(EditRate):
    tok: Tokenizer = tok_setting()
    lc: bool = lc_setting()

    def options(self) -> tuple[str, bool]:
        return self.tok, self.lc


@register("WER")
class WordErrorRate(_WordRate):
    """Levenshtein's distance over words."""

    summary = "word edits per 100 words of the reference; lower is better"
    examples = ("WER", "WER(lc=1)")


@register("PER")
class PositionIndependentErrorRate(_WordRate):
    """Edits of bags of words."""

    summary = "word edits in any order per 100 words of the reference; lower is better"
    examples = ("PER", "PER(lc=1)")
