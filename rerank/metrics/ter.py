"""TER of the chosen candidates, in percent, equal to sacrebleu's TER; smaller is better.

100 times the sum of edits over the sum of the references' lengths, where an edit is an insertion, deletion or
substitution of a word or the shift of a block of words, found greedily (Snover et al. 2006). As in
sacrebleu, texts count in lower case, words are separated by white space, and of several references the
fewest edits and the mean length count. If the references' sum has no words, the rate is 0 without an edit
and 100 with any.

``normalized``, ``no_punct`` and ``asian`` change the words by sacrebleu's own code (extra ``mt``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.data.columns.strings import StringColumn
from rerank.metrics.base import Preparation, register
from rerank.metrics.edit import RateJudge, counted, numbers
from rerank.metrics.judges import signed
from rerank.metrics.selecting import (
    SelectingMetric,
    Selection,
    TextStatistics,
    reference_count,
    room_for,
)
from rerank.metrics.tokenizers import prepared, sacrebleu_module
from rerank.native.metrics import _ter

if TYPE_CHECKING:
    from rerank.core.types import Counts, Index


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
    normalized: bool = setting(False, "tokenize as mteval-v13a does")
    no_punct: bool = setting(False, "drop punctuation")
    asian: bool = setting(False, "separate Chinese and Japanese characters")
    case_sensitive: bool = setting(False, "keep upper case")

    def check_values(self) -> None:
        if self.asian and not (self.normalized or self.no_punct):
            raise ConfigError("asian changes something only with normalized or no_punct")

    @property
    def width(self) -> int:
        return 2

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Counts:
        """Return statistics (n_items, 2) of texts."""
        ready = [self._words(column) for column in (texts, *references)]
        # The mean length of several references need not be whole.
        out = room_for(self.width, *ready) if len(references) == 1 else np.empty((len(texts), self.width))
        return counted(_ter.edits, numbers(ready[0], tuple(ready[1:]), offsets), out)

    def _words(self, column: StringColumn) -> StringColumn:
        if not self.normalized and not self.no_punct:
            return prepared(column, lowercase=not self.case_sensitive)
        module = sacrebleu_module("tokenizers.tokenizer_ter", self.name)
        tokenize = module.TercomTokenizer(self.normalized, self.no_punct, self.asian, self.case_sensitive)
        return StringColumn.from_strings(tokenize(text.rstrip()) for text in column)

    def prepare_in(self, preparation: Preparation) -> RateJudge:
        """Return a judge that shares counts and choices with the others of ``preparation``."""
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
        known = {self.name: counts}
        return RateJudge(self.name, signature, stage, counts, better=self.better, counts=known)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
