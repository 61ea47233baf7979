"""The interface of metrics for the rest of the package.

Learners import no metric: what they optimise or watch reaches them as a PreparedMetric, which gives per-list
statistics whose column sums determine the corpus value: the bootstrap resamples them, a learning curve
sums them, dev selection compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from rerank.core.types import Counts, Floats

if TYPE_CHECKING:
    from rerank.data.lists import CandidateLists


@dataclass(frozen=True)
class SumForm:
    """A ``score_from_sums`` that kernels can compute by themselves (rerank/native/data/_sums.pxd).

    kind "ratio": ``parameters[0]`` * sums[0] / sums[1]. If sums[1] is 0, ``parameters[1]`` (NaN if that is
    undefined), or 0 if it is a number and sums[0] is 0 as well.
    kind "BLEU": corpus BLEU, 0 to 100, of ten sums; ``parameters`` are the smoothing's number and its value.
    kind "chrF": chrF, 0 to 100, of three sums for each order; ``parameters`` are the number of orders, at
    most 24, and the square of beta.
    """

    kind: Literal["ratio", "BLEU", "chrF"]
    parameters: tuple[float, float]

    @property
    def number(self) -> int:
        """The kind as a number, for kernels."""
        return ("ratio", "BLEU", "chrF").index(self.kind)


@runtime_checkable
class PreparedMetric(Protocol):
    """A metric prepared for one set of lists.

    Attributes
    ----------
    name : str
        The metric's name.
    signature : str
        Everything that changes the number: ties, the policy for lists without a relevant item, and so on.
    better : int
        +1 if a larger value is better, -1 if a smaller one is.
    """

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> str: ...

    @property
    def better(self) -> int: ...

    def per_list(self, scores: Floats) -> Floats:
        """Return the statistics of each list under ``scores`` (n_items): float64 (n_lists, k).

        A judge of examples with classes takes the scores of all classes, float64 (n_items, n_classes).
        """
        ...

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return the metric of summed statistics: (..., k) to (...)."""
        ...


@runtime_checkable
class SelectingJudge(PreparedMetric, Protocol):
    """A judge of one chosen item per list (BLEU, WER, a mean label): its statistics are per item."""

    @property
    def per_item(self) -> Counts:
        """Statistics of each item if it were chosen: int32 or float64 (n_items, k), rows contiguous.

        Differences and sums of int32 rows may need more bits: take them in int64 or float64.
        """
        ...

    @property
    def sum_form(self) -> SumForm | None:
        """``score_from_sums`` as kernels compute it, None if they cannot."""
        ...


class Metric(Protocol):
    """A metric by name, before it has seen data."""

    @property
    def name(self) -> str: ...

    def prepare(self, lists: CandidateLists) -> PreparedMetric:
        """Make one pass over labels, texts or trees; raise DataError if a needed column is absent."""
        ...


def corpus_value(judge: PreparedMetric, per_list: Counts) -> float:
    """Return the metric over all lists, from their statistics (n_lists, k)."""
    return float(judge.score_from_sums(per_list.sum(axis=0)))


def value_of(judge: PreparedMetric, scores: Floats, list_weights: Floats | None = None) -> float:
    """Return the metric of scores as ``per_list`` takes them, with its rows times list weights if given."""
    per_list = judge.per_list(scores)
    if list_weights is not None:
        per_list = per_list * list_weights[:, None]
    return corpus_value(judge, per_list)
