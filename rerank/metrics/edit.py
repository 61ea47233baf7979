"""Edit rates of the chosen candidates: WER, CER, PER and TER, in percent, smaller is better.

100 times the sum of edits over the sum of the references' tokens:

- WER: Levenshtein's distance over words, which are separated by white space as in ``str.split()``;
- CER: the same over characters, that is code points without white space at a text's ends, blanks inside
  counted (as in jiwer);
- PER: max(h, r) - matches for h words and r of the reference, in any order; matches is the size of the
  bags' intersection (Tillmann et al. 1997).

Of several references the one with the fewest edits counts, on ties the longest; its length goes into the
sum. A sum of no tokens gives 0 without an edit and 100 with any.

TER equals sacrebleu's: 100 times the sum of edits over the sum of the references' lengths, where an edit is
an insertion, deletion or substitution of a word or the shift of a block of words, found greedily (Snover et
al. 2006). As in sacrebleu, texts count in lower case, words are separated by white space, and of several
references the fewest edits and the mean length count. If the references' sum has no words, the rate is 0
without an edit and 100 with any.

``normalized``, ``no_punct`` and ``asian`` change the words by sacrebleu's own code (extra ``mt``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import first_largest
from rerank.data.judge import SumForm
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Preparation, register
from rerank.metrics.judges import signed
from rerank.metrics.selecting import (
    RatioJudge,
    SelectingMetric,
    Selection,
    TextStatistics,
    Tokenizer,
    lc_setting,
    prepared,
    reference_count,
    room_for,
    sacrebleu_module,
    tok_setting,
)
from rerank.metrics.signatures import norm_setting, norm_words, note_forms
from rerank.native.data import _numbers
from rerank.native.data._texts import Numbers, Texts
from rerank.native.metrics import _edit, _ter

if TYPE_CHECKING:
    from rerank.core.types import Counts, Floats, Index

# Bytes of candidates that are numbered at a time, so that they stay in the caches; there are more characters.
PORTION = 1 << 20
CHARACTERS_PORTION = 60_000


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


def numbers(
    texts: StringColumn,
    references: tuple[StringColumn, ...],
    offsets: Index,
    *,
    kind: str = "words",
    portion: int | None = None,
) -> Iterator[Numbers]:
    """Yield the tokens of candidates and references as numbers, some lists at a time.

    Parameters are those of ``TextStatistics.count``; ``kind`` of tokens, see ``_numbers.number``; and
    ``portion``, the bytes of candidates in a piece, which has one list at least (None = what is fast).
    """
    of_all = Texts(texts, references, offsets)
    ends = texts.offsets[offsets]  # bytes of candidates up to the beginning of each list
    points = None
    portion = portion or (PORTION if kind in ("words", "separated") else CHARACTERS_PORTION)
    if kind not in ("words", "separated"):
        largest = max(int(column.data.max(initial=0)) for column in (texts, *references))
        points = _numbers.character_table(largest)
    first = 0
    while first < len(ends) - 1:
        stop = max(first + 1, int(np.searchsorted(ends, ends[first] + portion, side="right")) - 1)
        yield _numbers.number(of_all, first, stop, kind, points)
        first = stop


def counted(kernel: Callable[[Numbers, Counts], None], pieces: Iterator[Numbers], out: Counts) -> Counts:
    """Return ``out``, filled with what a kernel of edits counts for each item (n_items, width).

    With a width of 2 they are [edits, tokens of the reference].
    """
    for piece in pieces:
        kernel(piece, out[piece.offsets[0] : piece.offsets[-1]])
    return out


class EditRate(SelectingMetric, TextStatistics):
    """Edits over reference tokens; the statistics are [edits, reference tokens] of each item."""

    needs = ("texts", "references")
    better = -1
    width = 2

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Counts:
        """Return statistics (n_items, 2) of texts."""
        ready = [prepared(column, **self.get_params()) for column in (texts, *references)]
        kind = "stripped" if self.family == "CER" else "words"
        pieces = numbers(ready[0], tuple(ready[1:]), offsets, kind=kind)
        out = room_for(self.width, *ready)
        return counted(_edit.bags if self.family == "PER" else _edit.levenshtein, pieces, out)

    def signature(self, lists: CandidateLists, *first: str) -> str:
        """Return everything that changes the number, after ``first``."""
        count = reference_count(lists)
        given = self.get_params()
        return signed(
            *first,
            f"nrefs:{count}",
            *["mref:fewest"] * (count != "1"),
            *norm_words(given["norm"]),
            f"case:{'lc' if given['lc'] else 'mixed'}",
            "unit:chars" if self.family == "CER" else f"tok:{given['tok']}",
        )

    def prepare_in(self, preparation: Preparation) -> RateJudge:
        if not self.get_params()["lc"] and self.get_params()["norm"] == "none":
            preparation.of_lists(note_forms)
        signature = self.signature(preparation.lists, self.family)
        stage = preparation.of_lists(Selection)
        counts = preparation.shared(self)
        return RateJudge(self.name, signature, stage, counts, better=-1, counts={self.name: counts})


@register("CER")
class CharacterErrorRate(EditRate):
    """Levenshtein's distance over characters."""

    summary = "character edits per 100 characters of the reference"
    meaning = (
        "100 times the insertions, deletions and substitutions of characters that turn the references "
        "into the chosen texts, divided by the characters of the references. 0 or more, in percent."
    )
    source = "Levenshtein 1966"
    elsewhere = "cer of jiwer: equal, times 100"
    examples = ("CER", "CER(lc=1)")
    lc: bool = lc_setting()
    norm: str = norm_setting()


class OfWords(SelectingMetric):
    """Settings of metrics of words."""

    tok: Tokenizer = tok_setting()
    lc: bool = lc_setting()
    norm: str = norm_setting()


@register("WER")
class WordErrorRate(OfWords, EditRate):
    """Levenshtein's distance over words."""

    summary = "word edits per 100 words of the reference"
    meaning = (
        "100 times the insertions, deletions and substitutions of words that turn the references into the"
        " chosen texts, divided by the words of the references. 0 or more, in percent."
    )
    source = "Levenshtein 1966; sclite"
    elsewhere = "wer of jiwer: equal, times 100"
    examples = ("WER", "WER(lc=1)")


@register("PER")
class PositionIndependentErrorRate(OfWords, EditRate):
    """Edits of bags of words."""

    summary = "word edits in any order per 100 words of the reference"
    meaning = (
        "100 times the larger of the two numbers of words minus the words in common in any order, summed "
        "and divided by the words of the references. 0 or more, in percent."
    )
    source = "Tillmann et al. 1997"
    examples = ("PER", "PER(lc=1)")


@register("TER")
class Ter(SelectingMetric, TextStatistics):
    """Translation edit rate; the statistics are [edits, mean length of the references] of each item."""

    summary = "word edits and shifts per 100 words of the references"
    meaning = (
        "100 times the insertions, deletions, substitutions and shifts of blocks of words that turn the "
        "chosen texts into the references, divided by the mean number of words of the references. 0 or "
        "more, in percent."
    )
    source = "Snover et al. 2006; sacrebleu"
    elsewhere = "TER of sacrebleu: equal"
    better = -1
    examples = ("TER", "TER(case_sensitive=1)")
    needs = ("texts", "references")
    width = 2
    normalized: bool = setting(False, "tokenize as mteval-v13a does")
    no_punct: bool = setting(False, "drop punctuation")
    asian: bool = setting(False, "separate Chinese and Japanese characters")
    case_sensitive: bool = setting(False, "keep upper case")

    def check_values(self) -> None:
        if self.asian and not (self.normalized or self.no_punct):
            raise ConfigError("asian changes something only with normalized or no_punct")

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Counts:
        """Return statistics (n_items, 2) of texts."""
        ready = [self._words(column) for column in (texts, *references)]
        # The mean length of several references need not be whole.
        out = room_for(self.width, *ready) if len(references) == 1 else np.empty((len(texts), self.width))
        return counted(_ter.edits, numbers(ready[0], tuple(ready[1:]), offsets), out)

    def _words(self, column: StringColumn) -> StringColumn:
        if not self.normalized and not self.no_punct:
            return prepared(column, lc=not self.case_sensitive)
        module = sacrebleu_module("tokenizers.tokenizer_ter", self.name)
        tokenize = module.TercomTokenizer(self.normalized, self.no_punct, self.asian, self.case_sensitive)
        return StringColumn.from_strings(tokenize(text.rstrip()) for text in column)

    def prepare_in(self, preparation: Preparation) -> RateJudge:
        signature = signed(
            "TER",
            f"nrefs:{reference_count(preparation.lists)}",
            f"case:{'mixed' if self.case_sensitive else 'lc'}",
            "tok:tercom",
            f"norm:{_yes(self.normalized)}",
            f"punct:{_yes(not self.no_punct)}",
            f"asian:{_yes(self.asian)}",
        )
        stage = preparation.of_lists(Selection)
        counts = preparation.shared(self)
        return RateJudge(self.name, signature, stage, counts, better=-1, counts={self.name: counts})


def _yes(value: bool) -> str:
    return "yes" if value else "no"
