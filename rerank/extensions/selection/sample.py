"""Lists on which a system and its baseline were judged: what is gained, lost, right and sure on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats, Index, Mask
from rerank.data.first_best import first_largest
from rerank.data.lists import CandidateLists
from rerank.evaluation.judged import Judged
from rerank.evaluation.results import FIRST_BEST, WHOLE
from rerank.extensions.selection.confidence import confidences
from rerank.extensions.selection.curve import Curve, gains
from rerank.metrics.judges import ReportJudge, first_stage, ranked_last

BETTER, RIGHT = "better", "right"  # outcomes that have a probability


@dataclass(frozen=True, eq=False)
class Sample:
    """Lists on which a system and what may take its place were judged.

    Attributes
    ----------
    lists : CandidateLists
    judge : ReportJudge
    scores : mapping of str to float64 (n_items)
        Of "system" and "baseline", by item.
    statistics : mapping of str to float64 (n_lists, k)
        The same for the metric.
    judged : bool (n_lists)
        Lists that have a value.
    confidence : float64 (n_lists, n_rules - 1)
    """

    lists: CandidateLists
    judge: ReportJudge
    scores: Mapping[str, Floats]
    statistics: Mapping[str, Floats]
    judged: Mask
    confidence: Floats

    @classmethod
    def of(cls, judged: Judged, system: str) -> Sample:
        """Return what was judged; DataError if nothing can take the system's place."""
        if len(judged.metrics) > 1:
            raise ConfigError(f"metrics: found {len(judged.metrics)}, expected one to choose by")
        lists, baseline = judged.parts[0].lists, judged.against
        if baseline is None:
            found = f"{lists.source}: found no ranking of a first stage"
            raise DataError(f"{found}; name a system that replaces {system} (--baseline)")
        first = first_stage(lists)
        other = first if baseline == FIRST_BEST else _scores_of(judged, baseline)
        assert other is not None  # the first stage is there
        scores = {"system": _scores_of(judged, system), "baseline": other}
        rows = judged.bootstrap_table().rows
        statistics = {"system": rows[system][0][0][0], "baseline": rows[baseline][0][0][0]}
        judge = judged.parts[0].judges[next(iter(judged.parts[0].judges))]
        known = judge.judged & judged.parts[0].judged
        return cls(lists, judge, scores, statistics, known, confidences(lists, *scores.values()))

    @cached_property
    def right(self) -> Mask | None:
        """See ``right_items``."""
        return right_items(self.lists)

    @cached_property
    def outcomes(self) -> dict[str, tuple[Mask, Mask]]:
        """Return for each outcome the masks (n_lists) of lists on which it is known and happens."""
        gain = np.zeros(self.lists.n_lists)
        gain[self.judged] = self.gains(np.flatnonzero(self.judged))
        found = {BETTER: (self.judged, gain > 0)}
        if self.right is not None:
            found[RIGHT] = right_choices(self.lists, self.scores["system"], self.right)
        return found

    def gains(self, lists: Index) -> Floats:
        """By how much the metric of all of these lists gets better if the system is used on each, (n)."""
        return gains(self.judge, self.statistics["baseline"][lists], self.statistics["system"][lists])

    def losses(self, lists: Index, kind: str) -> Floats:
        """Return the losses (n) where the system is used, from 0 to 1: whether it is worse, or how much."""
        if kind == "worse":
            return (self.gains(lists) < 0).astype(np.float64)
        both = [np.asarray(self.judge.score_from_sums(rows[lists])) for rows in self.statistics.values()]
        both = [np.nan_to_num(values) for values in both]
        if min(values.min(initial=0.0) for values in both) < 0 or max(v.max(initial=1.0) for v in both) > 1:
            raise ConfigError(f"loss drop: {self.judge.name} has values outside 0 to 1; expected loss worse")
        return np.maximum(self.judge.better * (both[1] - both[0]), 0.0)

    def curve(self, lists: Index, confidence: Floats) -> Curve:
        """The curve of some lists, by the confidence in each of them (n)."""
        return Curve(
            self.judge, self.statistics["baseline"][lists], self.statistics["system"][lists], confidence
        )

    @cached_property
    def distances_from_top(self) -> Floats:
        """The best score of the item's list minus its own, float64 (n_items); infinite if not returned."""
        scores = ranked_last(self.scores["system"])
        top = np.maximum.reduceat(scores, self.lists.offsets[:-1])[self.lists.list_index]
        with np.errstate(invalid="ignore"):  # nothing was returned
            return np.where(np.isneginf(scores), np.inf, top - scores)

    def distances(self, lists: Index) -> Floats:
        """The same for the best right item of each list, infinite without one, float64 (n)."""
        assert self.right is not None
        far = np.where(self.right, self.distances_from_top, np.inf)
        found: Floats = np.minimum.reduceat(far, self.lists.offsets[:-1])[lists]
        return found


def right_items(lists: CandidateLists) -> Mask | None:
    """Return the items with the best label of their list, if some item has a worse one or it is above 0.

    bool (n_items); None if the lists have no labels.
    """
    if lists.labels is None:
        return None
    labels = np.where(np.isnan(lists.labels), -np.inf, lists.labels)
    best = np.maximum.reduceat(labels, lists.offsets[:-1])
    worst = np.minimum.reduceat(np.where(np.isneginf(labels), np.inf, labels), lists.offsets[:-1])
    some = np.isfinite(best) & ((best > worst) | (best > 0))
    found: Mask = (labels == best[lists.list_index]) & some[lists.list_index]
    return found


def right_choices(lists: CandidateLists, scores: Floats, right: Mask) -> tuple[Mask, Mask]:
    """Return which lists have a label, and in which the item with the largest score is right, bool (n_lists).

    right : bool (n_items), see ``right_items``.
    """
    known = np.logical_or.reduceat(~np.isnan(lists.labels), lists.offsets[:-1])  # type: ignore[arg-type]
    return known, right[first_largest(ranked_last(scores), lists.offsets)]


def _scores_of(judged: Judged, system: str) -> Floats:
    values = judged.parts[0].lists.from_input_order(judged.runs[system][WHOLE][0][0].scores)
    return values.astype(np.float64, copy=False)
