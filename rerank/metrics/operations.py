"""Substitutions, insertions and deletions of WER and CER, and the sentence error rate.

A substitution replaces a token of the reference, an insertion is a token that the reference lacks, a deletion
one that the chosen text lacks. The three rates of WER (of CER) sum to it: 100 times the operations over the
tokens of the references. Of several references the one that WER takes counts, the first on ties.

Several shortest edit scripts can exist, with other numbers of the three. The one of rapidfuzz counts, which
jiwer reports; ``_alignment.pyx`` states it. sclite aligns by other costs (substitution 4, insertion and
deletion 3), so that its numbers can differ, its word error rate too.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.data.columns.strings import StringColumn
from rerank.metrics.base import Preparation, register
from rerank.metrics.edit import (
    CharacterErrorRate,
    EditRate,
    OfWords,
    RateJudge,
    WordErrorRate,
    counted,
    numbers,
)
from rerank.metrics.selecting import (
    MeanJudge,
    SelectingMetric,
    Selection,
    TextStatistics,
    lc_setting,
    prepared,
    room_for,
)
from rerank.metrics.signatures import norm_setting
from rerank.native.data._texts import Numbers
from rerank.native.metrics import _alignment

if TYPE_CHECKING:
    from rerank.core.types import AnyArray, Counts, Index

# Bytes that an alignment may take: one candidate and one reference of 130,000 tokens each.
MOST_BYTES = 1 << 28


class Operations(TextStatistics):
    """Substitutions, insertions, deletions and tokens of the reference of each item, for ``rate``."""

    family = "operations"
    rate: EditRate

    @property
    def name(self) -> str:
        return f"{self.rate.name}.operations"

    @property
    def width(self) -> int:
        return 4

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Counts:
        """Return statistics (n_items, 4) of texts.

        Raises DataError if texts are so long that aligning them would take more than ``MOST_BYTES``.
        """
        ready = [prepared(column, **self.rate.get_params()) for column in (texts, *references)]
        kind = "stripped" if self.rate.family == "CER" else "words"
        pieces = numbers(ready[0], tuple(ready[1:]), offsets, kind=kind)
        out = room_for(self.width, *ready)
        return counted(self._align, pieces, out)

    def _align(self, piece: Numbers, out: Counts) -> None:
        needed = _alignment.operations(piece, out, MOST_BYTES)
        if needed:
            found = f"found texts whose alignment takes {needed >> 20:,} MiB"
            raise DataError(f"{self.name}: {found}, expected at most {MOST_BYTES >> 20}")


class _OfText(SelectingMetric):
    """Values that follow from the edits of an error rate."""

    needs = ("texts", "references")
    better = -1

    @abstractmethod
    def rate(self) -> EditRate:
        """Return the error rate."""


class _OfWords(_OfText, OfWords):
    def rate(self) -> EditRate:
        return WordErrorRate(**self.get_params())


class _OfCharacters(_OfText):
    lc: bool = lc_setting()
    norm: str = norm_setting()

    def rate(self) -> EditRate:
        return CharacterErrorRate(**self.get_params())


class _Operation(_OfText):
    """The share of one operation; ``column`` is its number among the statistics."""

    source = "Levenshtein 1966; jiwer"
    column: ClassVar[int]

    def prepare_in(self, preparation: Preparation) -> RateJudge:
        rate = self.rate()
        found: AnyArray = preparation.shared(Operations(rate=rate))
        per_item = np.ascontiguousarray(found[:, [self.column, 3]])
        signature = rate.signature(preparation.lists, self.family, "alignment:rapidfuzz")
        stage = preparation.of_lists(Selection)
        return RateJudge(self.name, signature, stage, per_item, better=self.better)


@register("SER", "sentence-error-rate")
class SentenceErrorRate(_OfWords):
    """Sentences with an error."""

    summary = "percentage of chosen texts that differ from every reference"
    meaning = (
        "The chosen texts with at least one wrong word: those whose words are not exactly those of a "
        "reference, after the tokenizer and case of WER. 0 to 100."
    )
    source = "sclite"
    elsewhere = "S.Err of sclite: equal without its own normalisation of texts"
    examples = ("SER", "SER(lc=1)")

    def prepare_in(self, preparation: Preparation) -> MeanJudge:
        rate = self.rate()
        wrong = np.where(preparation.shared(rate)[:, 0] > 0, 100.0, 0.0)
        signature = rate.signature(preparation.lists, self.family)
        return MeanJudge(self.name, signature, preparation.of_lists(Selection), wrong, better=self.better)


def _per_reference(operations: str, rate: str) -> str:
    """The meaning of a rate of operations, such as "words of the references that the chosen texts lack"."""
    tokens = operations.partition(" ")[0]
    return (
        f"100 times the {operations}, by a shortest edit script, over the {tokens} of the references. "
        f"{rate}.sub, {rate}.ins and {rate}.del sum to {rate}. In percent."
    )


@register("WER.sub")
class WordSubstitutions(_Operation, _OfWords):
    """Substitutions of words."""

    summary = "substitutions of words per 100 words of the reference"
    meaning = _per_reference("words of the references that the chosen texts replace by another one", "WER")
    elsewhere = "substitutions of jiwer's process_words: equal as counts"
    examples = ("WER.sub",)
    column = 0


@register("WER.ins")
class WordInsertions(_Operation, _OfWords):
    """Insertions of words."""

    summary = "insertions of words per 100 words of the reference"
    meaning = _per_reference("words of the chosen texts that the references lack", "WER")
    elsewhere = "insertions of jiwer's process_words: equal as counts"
    examples = ("WER.ins",)
    column = 1


@register("WER.del")
class WordDeletions(_Operation, _OfWords):
    """Deletions of words."""

    summary = "deletions of words per 100 words of the reference"
    meaning = _per_reference("words of the references that the chosen texts lack", "WER")
    elsewhere = "deletions of jiwer's process_words: equal as counts"
    examples = ("WER.del",)
    column = 2


@register("CER.sub")
class CharacterSubstitutions(_Operation, _OfCharacters):
    """Substitutions of characters."""

    summary = "substitutions of characters per 100 characters of the reference"
    meaning = _per_reference(
        "characters of the references that the chosen texts replace by another one", "CER"
    )
    elsewhere = "substitutions of jiwer's process_characters: equal as counts"
    examples = ("CER.sub",)
    column = 0


@register("CER.ins")
class CharacterInsertions(_Operation, _OfCharacters):
    """Insertions of characters."""

    summary = "insertions of characters per 100 characters of the reference"
    meaning = _per_reference("characters of the chosen texts that the references lack", "CER")
    elsewhere = "insertions of jiwer's process_characters: equal as counts"
    examples = ("CER.ins",)
    column = 1


@register("CER.del")
class CharacterDeletions(_Operation, _OfCharacters):
    """Deletions of characters."""

    summary = "deletions of characters per 100 characters of the reference"
    meaning = _per_reference("characters of the references that the chosen texts lack", "CER")
    elsewhere = "deletions of jiwer's process_characters: equal as counts"
    examples = ("CER.del",)
    column = 2
