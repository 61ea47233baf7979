"""chrF of the chosen candidates: character n-gram F-score (Popović 2015), 0 to 100.

Statistics and values equal sacrebleu's to the bit. Characters are code points; words are separated by white
space, and one ASCII punctuation mark at a word's end, or else at its start, is a word of its own. Of several
references the one with the best sentence score counts, the first on ties. If candidates and references have
no order in common, the score is 0.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.data.columns.strings import StringColumn
from rerank.data.judge import SumForm
from rerank.metrics.base import Preparation, register
from rerank.metrics.edit import numbers
from rerank.metrics.judges import signed
from rerank.metrics.selecting import (
    SelectingJudge,
    SelectingMetric,
    Selection,
    TextStatistics,
    lc_setting,
    prepared,
    reference_count,
)
from rerank.native.metrics import _chrf

if TYPE_CHECKING:
    from rerank.core.types import Floats, Index, Ints

# Bytes of candidates that are counted at a time.
PORTION = 1 << 18


@register("chrF", "chrF2")
class Chrf(SelectingMetric, TextStatistics):
    """Corpus chrF.

    The statistics are n-grams of the candidate, of the reference and matches, for each order: (n_items,
    3 (nc + nw)). They depend on beta too, which decides between references.
    """

    summary = "character n-gram F-score, 0 to 100, equal to sacrebleu's"
    meaning = (
        "The F-score of precision and recall of character n-grams, recall weighing beta times as much, "
        "over all chosen texts. 0 to 100."
    )
    source = "Popović 2015; sacrebleu"
    elsewhere = "chrF2 of sacrebleu: equal to the bit"
    examples: ClassVar[tuple[str, ...]] = ("chrF", "chrF(nc=3, beta=1, lc=1)")
    needs = ("texts", "references")
    # Longer orders hardly ever match, and cost time.
    nc: int = setting(6, "largest order of characters", ge=1, le=20)
    nw: int = setting(0, "largest order of words", ge=0, le=4)
    beta: int = setting(2, "weight of recall relative to precision", ge=1, le=10)
    lc: bool = lc_setting()
    space: bool = setting(False, "count white space as characters")

    @property
    def width(self) -> int:
        return 3 * (self.nc + self.nw)

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Ints:
        """Return statistics of texts, int32 (n_items, 3 (nc + nw))."""
        ready = [prepared(column, lc=self.lc) for column in (texts, *references)]
        given = ready[0], tuple(ready[1:]), offsets
        characters = numbers(*given, kind="all" if self.space else "unspaced", portion=PORTION)
        words = numbers(*given, kind="separated", portion=PORTION) if self.nw else itertools.repeat(None)
        out = np.empty((len(texts), self.width), dtype=np.int32)
        for of_characters, of_words in zip(characters, words, strict=False):
            items = slice(of_characters.offsets[0], of_characters.offsets[-1])
            rows = np.empty((len(references), *out[items].shape), dtype=np.int32)
            for r, row in enumerate(rows):
                _chrf.statistics(of_characters, r, self.nc, row[:, : 3 * self.nc])
                if of_words is not None:
                    _chrf.statistics(of_words, r, self.nw, row[:, 3 * self.nc :])
            _chrf.best(rows, self.beta**2, out[items])
        return out

    def prepare_in(self, preparation: Preparation) -> ChrfJudge:
        return ChrfJudge(self, preparation)


@register("chrF++", "chrF2++")
class ChrfWithWords(Chrf):
    """chrF with words up to bigrams."""

    summary = "chrF of characters and of words up to bigrams, 0 to 100"
    meaning = "The F-score of chrF in which words and pairs of words count as n-grams too. 0 to 100."
    source = "Popović 2017; sacrebleu"
    elsewhere = "chrF2++ of sacrebleu: equal to the bit"
    examples = ("chrF++",)
    nw: int = setting(2, "largest order of words", ge=0, le=4)

    def canonical(self) -> Chrf:
        """Return the equal chrF(nw=2)."""
        return Chrf(**self.get_params())


class ChrfJudge(SelectingJudge):
    """Corpus chrF; statistics as Chrf counts them."""

    def __init__(self, metric: Chrf, preparation: Preparation) -> None:
        self.beta = metric.beta
        signature = signed(
            f"chrF{metric.beta}{'+' * metric.nw}",
            f"nrefs:{reference_count(preparation.lists)}",
            f"case:{'lc' if metric.lc else 'mixed'}",
            "eff:yes",
            f"nc:{metric.nc}",
            f"nw:{metric.nw}",
            f"space:{'yes' if metric.space else 'no'}",
        )
        stage = preparation.of_lists(Selection)
        super().__init__(metric.name, signature, stage, preparation.shared(metric))

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return chrF (...) of sums (..., k)."""
        return chrf(sums, self.beta)

    @property
    def sum_form(self) -> SumForm:
        return SumForm("chrF", (self.per_item.shape[1] / 3, float(self.beta**2)))


def chrf(sums: Floats, beta: float = 2.0) -> Floats | float:
    """Return chrF, 0 to 100, of sums (..., 3 orders) of n-grams of candidates, of references, and matches.

    Precision and recall are means over the orders that both sides have; F weighs recall beta times.
    """
    if sums.ndim == 0 or sums.shape[-1] == 0 or sums.shape[-1] % 3:
        raise DataError(f"sums have shape {sums.shape}, expected (..., three for each order)")
    rows = np.ascontiguousarray(sums, dtype=np.float64).reshape(-1, sums.shape[-1])
    out = np.empty(len(rows))
    _chrf.values(rows, beta**2, out)
    return out.reshape(sums.shape[:-1]) if sums.ndim > 1 else float(out[0])
