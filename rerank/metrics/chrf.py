"""chrF of the chosen candidates: character n-gram F-score (Popović 2015), 0 to 100.

The statistics are counted by sacrebleu itself (extra ``mt``); the score of their sums equals sacrebleu's. Of
several references the one with the best sentence score counts, the first on ties. If candidates and
references have no order in common, the score is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.errors import DataError
from rerank.metrics.base import Preparation, register
from rerank.metrics.judges import signed
from rerank.metrics.selecting import (
    SelectingJudge,
    SelectingMetric,
    Selection,
    TextStatistics,
    reference_count,
)
from rerank.metrics.tokenizers import lc_setting, sacrebleu_module
from rerank.settings import setting

if TYPE_CHECKING:
    from rerank.data.types import Floats, Index


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
    elsewhere = "chrF2 of sacrebleu: equal"
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

    def count(self, texts: StringColumn, references: tuple[StringColumn, ...], offsets: Index) -> Floats:
        """Return statistics of texts; raises ConfigError if sacrebleu is not installed."""
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
        return sacrebleu_module("metrics.chrf", "chrF").CHRF(
            char_order=self.nc, word_order=self.nw, beta=self.beta, lowercase=self.lc, whitespace=self.space
        )

    def prepare_in(self, preparation: Preparation) -> ChrfJudge:
        """Return a judge that shares counts and choices with the others of ``preparation``."""
        return ChrfJudge(self, preparation)


@register("chrF++")
class ChrfWithWords(Chrf):
    """chrF with words up to bigrams."""

    summary = "chrF of characters and of words up to bigrams, 0 to 100"
    meaning = "The F-score of chrF in which words and pairs of words count as n-grams too. 0 to 100."
    source = "Popović 2017; sacrebleu"
    elsewhere = "chrF2++ of sacrebleu: equal"
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


def chrf(sums: Floats, beta: float = 2.0) -> Floats | float:
    """Return chrF, 0 to 100, of sums (..., 3 orders) of n-grams of candidates, of references, and matches.

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
