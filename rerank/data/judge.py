"""How a metric is seen from everywhere.

Learners import no metric: what they optimise or watch reaches them as a Judge. Everything else
follows from per-list statistics whose column sums give the corpus value: the bootstrap resamples
them, a learning curve sums them, dev selection compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from rerank.data.types import Floats

if TYPE_CHECKING:
    from rerank.data.lists import CandidateLists


@dataclass(frozen=True)
class SumForm:
    """A ``score_from_sums`` that kernels can compute by themselves (rerank/native/_sums.pxd).

    kind "ratio": ``parameters[0]`` * sums[0] / sums[1]; where sums[1] is 0, ``parameters[1]`` (NaN where that
    has no value), or 0 if it is a number and sums[0] is 0 as well.
    kind "BLEU": corpus BLEU, 0 to 100, of ten sums; ``parameters`` are the smoothing's number and its value.
    """

    kind: Literal["ratio", "BLEU"]
    parameters: tuple[float, float]

    @property
    def number(self) -> int:
        """The kind as kernels take it."""
        return ("ratio", "BLEU").index(self.kind)


@runtime_checkable
class Judge(Protocol):
    """A metric made ready for one set of lists.

    ``better`` is +1 where a larger value is better and -1 where a smaller one is. ``signature``
    says everything that changes the number: ties, policy for lists without a relevant item, and so on.
    """

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> str: ...

    @property
    def better(self) -> int: ...

    def per_list(self, scores: Floats) -> Floats:
        """Statistics of each list under ``scores`` (n_items): float64 (n_lists, k)."""
        ...

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """The metric of summed statistics: (..., k) to (...)."""
        ...


@runtime_checkable
class SelectingJudge(Judge, Protocol):
    """A judge of one chosen item a list (BLEU, WER, a mean label): its statistics are per item."""

    @property
    def per_item(self) -> Floats:
        """Statistics of each item if it were chosen: float64 (n_items, k)."""
        ...

    @property
    def sum_form(self) -> SumForm | None:
        """``score_from_sums`` as kernels know it, None where it is something else."""
        ...


class Metric(Protocol):
    """A metric by name, before it has seen data."""

    @property
    def name(self) -> str: ...

    def prepare(self, lists: CandidateLists) -> Judge:
        """One pass over labels, texts or trees; raises DataError where a needed column is absent."""
        ...


def corpus_value(judge: Judge, per_list: Floats) -> float:
    """The metric over all lists, from their statistics (n_lists, k)."""
    return float(judge.score_from_sums(per_list.sum(axis=0)))
