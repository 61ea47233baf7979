"""The mean label of the chosen items as a judge, for packages that import no metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank._version import __version__
from rerank.core.errors import DataError
from rerank.core.types import Counts, Floats, Index, Mask
from rerank.data.first_best import first_largest
from rerank.data.judge import SumForm
from rerank.data.lists import CandidateLists

_MOST = 1e140


@dataclass(frozen=True, eq=False)
class LabelJudge:
    """The mean label of the item with the largest score of each list, the first on ties: label@1.

    Name, signature and statistics are those of the metric label@1 (metrics.labels).

    Attributes
    ----------
    per_item
        float64 (n_items, 2): [label, 1], zeros in lists without a judged item.
    offsets
        int64 (n_lists + 1).
    """

    per_item: Floats
    offsets: Index

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
    """Return the judge of the mean label of the chosen items.

    Raises
    ------
    DataError
        As ``filled_labels``.
    """
    judged = lists.judged_lists(unretrieved=True)
    return LabelJudge(mean_statistics(filled_labels(lists), lists, judged), lists.offsets)


def labels_of(lists: CandidateLists) -> Floats:
    """Return the labels, float64 (n_items).

    Raises
    ------
    DataError
        If the lists have none.
    """
    if lists.labels is None:
        named = " (of a table, --label-column names them)" if lists.feature_names is not None else ""
        raise DataError(f"{lists.source}: no labels to measure against{named}")
    return lists.labels


def filled_labels(lists: CandidateLists) -> Floats:
    """Return the labels, those of unjudged items filled in, float64 (n_items).

    They are 0, or the lowest label of their list if that is below 0.

    Raises
    ------
    DataError
        If the lists have no labels, or one whose square could overflow a sum.
    """
    labels = labels_of(lists)
    largest = np.fmax.reduce(np.abs(labels))
    if largest > _MOST:
        raise DataError(f"{lists.source}: label {largest:g} is too large for a mean of labels")
    worst = np.fmin(np.fmin.reduceat(labels, lists.offsets[:-1]), 0.0)
    return np.where(np.isnan(labels), np.repeat(worst, lists.lengths), labels)


def mean_statistics(values: Counts, lists: CandidateLists, judged: Mask | None) -> Floats:
    """Return statistics whose sums give means, float64 (n_items, 2): [value, 1], or zeros in other lists.

    Parameters
    ----------
    values
        Of the items, int32 or float64 (n_items).
    lists
        Their lists.
    judged
        The lists that count, bool (n_lists); None = all.
    """
    per_item = np.ones((len(values), 2))
    per_item[:, 0] = values
    if judged is not None:
        per_item[~np.repeat(judged, lists.lengths)] = 0.0
    return per_item


def mean_from_sums(sums: Floats) -> Floats | float:
    """Return means of sums of [value, counted] (..., 2); NaN if nothing was counted.

    Raises
    ------
    DataError
        If the sums have another shape.
    """
    if sums.ndim == 0 or sums.shape[-1] != 2:
        raise DataError(f"sums have shape {sums.shape}, expected (..., 2)")
    total, count = sums[..., 0], sums[..., 1]
    return np.divide(total, count, out=np.full_like(total, np.nan, dtype=np.float64), where=count > 0)
