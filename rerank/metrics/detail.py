"""Parts of BLEU and TER: precisions and lengths, edits and shifts; ``rerank eval --detail``.

WER and CER have such parts already (``rerank.metrics.operations``). Each part is a metric with values,
intervals and tests of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.judge import SumForm
from rerank.metrics.base import FAMILIES, Metric, Preparation, parse, register
from rerank.metrics.bleu import ORDERS, BleuStatistics
from rerank.metrics.edit import RateJudge, Ter
from rerank.metrics.judges import signed
from rerank.metrics.judging import expanded
from rerank.metrics.selecting import (
    MeanJudge,
    RatioJudge,
    SelectingJudge,
    SelectingMetric,
    Selection,
    Tokenizer,
    lc_setting,
    reference_count,
    tok_setting,
)

if TYPE_CHECKING:
    from rerank.core.types import AnyArray, Index

Length = Literal["penalty", "ratio", "texts", "references"]
Edit = Literal["sub", "ins", "del", "shift"]
_LENGTHS: tuple[Length, ...] = ("penalty", "ratio", "texts", "references")
_EDITS: tuple[Edit, ...] = ("sub", "ins", "del", "shift")


class _OfBleu(SelectingMetric):
    """A part of BLEU, with its tokenizer and case."""

    needs = ("texts", "references")
    source = "Papineni et al. 2002; sacrebleu"
    tok: Tokenizer = tok_setting()
    lc: bool = lc_setting()

    def judged_by(self, preparation: Preparation) -> tuple[AnyArray, str, Selection]:
        """Return the statistics of BLEU (n_items, 10), the signature, and the choice of items."""
        counts = preparation.shared(BleuStatistics(tok=self.tok, lc=self.lc))
        nrefs = f"nrefs:{reference_count(preparation.lists)}"
        cutoff, part = getattr(self, "cutoff", None), getattr(self, "part", None)
        head = f"{self.family}(part={part})" if cutoff is None else f"{self.family}@{cutoff}"
        signature = signed(head, nrefs, f"case:{'lc' if self.lc else 'mixed'}", f"tok:{self.tok}")
        return counts, signature, preparation.of_lists(Selection)


class PrecisionJudge(RatioJudge):
    """100 times matches over n-grams; 0 without an n-gram, as sacrebleu has it."""

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return precisions (...) of sums (..., 2)."""
        out = np.nan_to_num(super().score_from_sums(sums), nan=0.0)
        return out if out.ndim else float(out)

    @property
    def sum_form(self) -> SumForm:
        return SumForm("ratio", (100.0, 0.0))


@register("BLEU.precision")
class NgramPrecision(_OfBleu):
    """Precision of n-grams."""

    summary = "percentage of the n-grams of the chosen texts that references have (k = n, 1 to 4)"
    meaning = (
        "100 times the n-grams of the chosen texts that a reference has, each at most as often as the "
        "reference has it, over all their n-grams. 0 to 100, without smoothing; BLEU is their geometric mean "
        "times the penalty for brevity."
    )
    elsewhere = "precisions of sacrebleu: equal where an n-gram matches; it prints smoothed values for 0"
    examples = ("BLEU.precision@1", "BLEU.precision@4", "BLEU.precision(lc=1)@2")
    cutoff: int = setting(..., "n", ge=1, le=ORDERS)

    def prepare_in(self, preparation: Preparation) -> RatioJudge:
        counts, signature, stage = self.judged_by(preparation)
        columns = [self.cutoff - 1, ORDERS + self.cutoff - 1]
        per_item: AnyArray = np.ascontiguousarray(counts[:, columns])
        return PrecisionJudge(self.name, signature, stage, per_item)


class PenaltyJudge(RatioJudge):
    """The penalty for brevity of summed lengths, [tokens, tokens of the closest references]."""

    scale = 1.0
    digits = 3

    @property
    def sum_form(self) -> None:  # type: ignore[override]  # kernels know no exponential
        return None

    def random_of(self, items: Index, offsets: Index) -> float:
        """Return a sampled mean: it is no ratio of sums."""
        return SelectingJudge.random_of(self, items, offsets)

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return exp(1 - references / tokens), 1 at most, of sums (..., 2); 0 without a token."""
        length, reference = sums[..., 0], sums[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.where(length > 0, np.exp(np.minimum(0.0, 1.0 - reference / length)), 0.0)
        return out if out.ndim else float(out)


class _LengthRatioJudge(RatioJudge):
    scale = 1.0
    digits = 3


@register("BLEU.length")
class BleuLength(_OfBleu):
    """Lengths of the chosen texts and of the closest references."""

    summary = "the penalty for brevity of BLEU, and the lengths that it comes from"
    meaning = (
        "With part=penalty exp(1 - reference length / length), 1 at most; with ratio length / reference "
        "length; with texts the tokens of a chosen text, with references those of its closest reference, "
        "both as means over lists. More is not always better."
    )
    elsewhere = "BP, ratio, hyp_len / lists and ref_len / lists of sacrebleu: equal"
    examples = (
        "BLEU.length",
        "BLEU.length(part=ratio)",
        "BLEU.length(part=texts)",
        "BLEU.length(part=references)",
    )
    of_length: ClassVar[bool] = True  # that the best and a random choice have the same value says little
    part: Length = setting("penalty", "penalty, ratio, texts or references")

    def prepare_in(self, preparation: Preparation) -> SelectingJudge:
        counts, signature, stage = self.judged_by(preparation)
        lengths: AnyArray = np.ascontiguousarray(counts[:, -2:])
        if self.part in ("texts", "references"):
            column = np.ascontiguousarray(lengths[:, int(self.part == "references")], dtype=np.float64)
            return MeanJudge(self.name, signature, stage, column)
        kind = PenaltyJudge if self.part == "penalty" else _LengthRatioJudge
        return kind(self.name, signature, stage, lengths)


class TerEdits(Ter):
    """The statistics of TER by kind of edit: what TER has, then the four kinds, (n_items, 6)."""

    family = "TER.counts"
    width = 6


@register("TER.edits")
class TerPart(Ter):
    """The edits of TER by kind."""

    summary = "edits of TER of one kind per 100 words of the references"
    meaning = (
        "100 times the substitutions (part=sub), insertions (ins), deletions (del) or shifts of blocks "
        "(shift) of words, over the mean number of words of the references. The four sum to TER. An "
        "insertion is a word that the reference lacks. In percent."
    )
    elsewhere = "tercom counts them; sacrebleu has the sum only"
    examples = ("TER.edits(part=shift)", "TER.edits(case_sensitive=1, part=del)")
    part: Edit = setting("sub", "sub, ins, del or shift")

    def prepare_in(self, preparation: Preparation) -> RateJudge:
        counts: AnyArray = preparation.shared(TerEdits(**_own(TerEdits, self)))
        whole = Ter(**_own(Ter, self)).prepare_in(preparation)
        signature = whole.signature.replace("TER", f"{self.family}(part={self.part})", 1)
        per_item: AnyArray = np.ascontiguousarray(counts[:, [2 + _EDITS.index(self.part), 1]])
        return RateJudge(self.name, signature, preparation.of_lists(Selection), per_item, better=-1)


def _own(kind: type[Metric], metric: Metric) -> dict[str, Any]:
    """The settings of a metric that another kind has too."""
    return {key: getattr(metric, key) for key in metric.settings if key in kind.settings and key != "part"}


def with_parts(metrics: Sequence[str]) -> list[str]:
    """Return the names of metrics, by default of BLEU, each followed by those of its parts.

    BLEU has the four precisions, the penalty and the lengths; WER and CER substitutions, insertions and
    deletions; TER shifts too. Other metrics have none.

    Raises ConfigError if no metric has parts.
    """
    out: list[str] = []
    names = expanded(metrics or ["BLEU"])
    for name in names:
        metric = parse(name)
        out.append(name)
        if metric.family == "BLEU":
            own = _own(NgramPrecision, metric)
            out += [NgramPrecision(**own, cutoff=n).name for n in range(1, ORDERS + 1)]
            out += [BleuLength(**own, part=part).name for part in _LENGTHS]
        elif metric.family in ("WER", "CER"):
            kinds = [FAMILIES.get(f"{metric.family}.{part}") for part in _EDITS[:3]]
            out += [kind(**_own(kind, metric)).name for kind in kinds]
        elif metric.family == "TER":
            out += [TerPart(**_own(TerPart, metric), part=part).name for part in _EDITS]
    if len(out) == len(names):
        raise ConfigError(
            f"detail: found {', '.join(metrics)}, expected one with parts: BLEU, WER, CER or TER"
        )
    return list(dict.fromkeys(out))
