"""The interface of metrics for the rest of the package.

Learners import no metric: what they optimise or watch reaches them as a PreparedMetric, which gives per-list
statistics whose column sums determine the corpus value: the bootstrap resamples them, a learning curve
sums them, dev selection compares them.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from msgspec import Struct

from rerank._version import __version__
from rerank.core.errors import DataError
from rerank.core.types import Counts, Floats, Index, Mask
from rerank.data.first_best import first_largest
from rerank.data.lists import CandidateLists


class SumForm(Struct, frozen=True):
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
    name : str, the metric's name.
    signature : str
        Everything that changes the number: ties, the policy for lists without a relevant item, and so on.
    better : int, +1 if a larger value is better, -1 if a smaller one is.
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


_MOST = 1e140


class LabelJudge(Struct, frozen=True, eq=False):
    """The mean label of the item with the largest score of each list, the first on ties: label@1.

    Name, signature and statistics are those of the metric label@1 (metrics.labels).
    """

    per_item: Floats  # float64 (n_items, 2): [label, 1], zeros in lists without a judged item
    offsets: Index  # int64 (n_lists + 1)

    name: ClassVar[str] = "label@1"
    signature: ClassVar[str] = (
        f"label@1|mean:lists|unjudged:min(0,lowest)|unjudged_lists:skip|version:{__version__}"
    )
    better: ClassVar[int] = 1
    sum_form: ClassVar[SumForm] = SumForm("ratio", (1.0, np.nan))

    def per_list(self, scores: Floats) -> Floats:
        """Return the statistics of the chosen items, float64 (n_lists, 2)."""
        return self.per_item[first_largest(scores, self.offsets)]

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return the means (...) of summed statistics (..., 2)."""
        return mean_from_sums(sums)


def label_judge(lists: CandidateLists) -> LabelJudge:
    """Return the judge of the mean label of the chosen items; raises DataError as ``filled_labels``."""
    judged = lists.judged_lists(unretrieved=True)
    return LabelJudge(mean_statistics(filled_labels(lists), lists, judged), lists.offsets)


def labels_of(lists: CandidateLists) -> Floats:
    """Return the labels, float64 (n_items); raises DataError if the lists have none."""
    if lists.labels is None:
        named = " (--label-column names their column in a table)" if lists.feature_names is not None else ""
        raise DataError(f"{lists.source}: no labels to measure against{named}")
    return lists.labels


def filled_labels(lists: CandidateLists) -> Floats:
    """Return the labels, those of unjudged items filled in, float64 (n_items).

    They are 0, or the lowest label of their list if that is below 0. Raises DataError if the lists have no
    labels, or one whose square could overflow a sum.
    """
    labels = labels_of(lists)
    largest = np.fmax.reduce(np.abs(labels))
    if largest > _MOST:
        raise DataError(f"{lists.source}: label {largest:g} is too large for a mean of labels")
    worst = np.fmin(np.fmin.reduceat(labels, lists.offsets[:-1]), 0.0)
    return np.where(np.isnan(labels), np.repeat(worst, lists.lengths), labels)


def mean_statistics(values: Counts, lists: CandidateLists, judged: Mask | None) -> Floats:
    """Return statistics whose sums give means, float64 (n_items, 2): [value, 1], or zeros in other lists.

    values : of the items, int32 or float64 (n_items).
    lists : their lists.
    judged : the lists that count, bool (n_lists); None = all.
    """
    per_item = np.ones((len(values), 2))
    per_item[:, 0] = values
    if judged is not None:
        per_item[~np.repeat(judged, lists.lengths)] = 0.0
    return per_item


def mean_from_sums(sums: Floats) -> Floats | float:
    """Return means of sums of [value, counted] (..., 2); NaN if nothing was counted.

    Raises DataError if the sums have another shape.
    """
    if sums.ndim == 0 or sums.shape[-1] != 2:
        raise DataError(f"sums have shape {sums.shape}, expected (..., 2)")
    total, count = sums[..., 0], sums[..., 1]
    return np.divide(total, count, out=np.full_like(total, np.nan, dtype=np.float64), where=count > 0)
