"""Methods of fusion that estimate on training lists how probably a position of a run is relevant.

An item is relevant from the label 1 on; items that are not judged are not. Lists without a judged item do
not count. Items with equal scores share the mean of their positions.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from rerank.core.errors import DataNote
from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.evaluation.evaluate import evaluate
from rerank.extensions.fusion.methods import BAYES_CUTS, LEAST_ODDS, N_SEGMENTS, segfuse_cuts
from rerank.extensions.fusion.model import FusionOfRuns
from rerank.extensions.fusion.runs import Ranking, Runs
from rerank.learners.base import LEARNERS, FitInputs
from rerank.models.base import Model

_RELEVANT = 1.0


class Estimated(FusionOfRuns):
    """Base of what learns a table for each run."""

    needs_labels: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True


class ByPosition(Estimated):
    """Base of what sums over runs an estimate for the item's position."""

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        judged = np.flatnonzero(lists.judged_lists())
        if len(judged) < lists.n_lists:
            lists = lists.subset(judged)
        assert lists.labels is not None  # needs_labels
        relevant = np.where(lists.labels >= _RELEVANT, 1.0, 0.0)
        tables = [
            self._table(ranking, ranking.shared(relevant[ranking.items]), lists.n_lists)
            for ranking in Runs(lists).rankings
        ]
        width = max(map(len, tables))
        padded = np.array([np.append(table, np.zeros(width - len(table))) for table in tables])
        return self.fused(lists, tables=padded)

    @abstractmethod
    def _table(self, ranking: Ranking, hits: Floats, n_lists: int) -> Floats:
        """Return a run's estimates, from the relevance of what it returned, float64 (n_returned)."""


def _by_position(ranking: Ranking, hits: Floats) -> Floats:
    """The share of relevant items at each position, of the lists that reach it."""
    if not len(hits):
        return np.zeros(1)
    return np.asarray(np.bincount(ranking.positions, hits) / np.bincount(ranking.positions))


def _by_segment(ranking: Ranking, hits: Floats, cuts: Index, n_lists: int) -> Floats:
    """The mean over lists of the share of relevant items in segments, which are full in every list."""
    segments = np.searchsorted(cuts, ranking.positions, side="right") - 1
    sums = np.bincount(segments, hits, minlength=len(cuts))[: len(cuts) - 1]
    return np.asarray(sums / np.diff(cuts) / n_lists)


@LEARNERS.register("posfuse")
class PosFuse(ByPosition):
    """The sum over runs of the share of training lists whose item at that position is relevant.

    References
    ----------
    Lillis, Zhang, Toolan, Collier, Leonard & Dunnion: Estimating probabilities for effective data fusion.
    SIGIR 2010.
    """

    name = "posfuse"
    summary = "sum over runs of the probability that an item at its position is relevant"
    source = "Lillis et al. 2010"

    def _table(self, ranking: Ranking, hits: Floats, n_lists: int) -> Floats:
        return _by_position(ranking, hits)


@LEARNERS.register("slidefuse")
class SlideFuse(ByPosition):
    """As posfuse, with the mean of the probabilities of a window of positions around the item's.

    References
    ----------
    Lillis, Toolan, Collier & Dunnion: Extending probabilistic data fusion using sliding windows. ECIR 2008.
    """

    name = "slidefuse"
    summary = "sum over runs of the mean probability of relevance in a window around the item's position"
    source = "Lillis et al. 2008"
    parameter = "window"

    window: int = setting(5, "positions on each side of an item that count", ge=0, le=1_000_000)

    def _table(self, ranking: Ranking, hits: Floats, n_lists: int) -> Floats:
        return _by_position(ranking, hits)


@LEARNERS.register("probfuse")
class ProbFuse(ByPosition):
    """The sum over runs of the probability of the item's segment, divided by the segment's number.

    Each run's list is divided into ``segments`` of equal length; a segment's probability is the mean over
    training lists of the share of its items that are relevant.

    References
    ----------
    Lillis, Toolan, Collier & Dunnion: ProbFuse: a probabilistic approach to data fusion. SIGIR 2006.
    """

    name = "probfuse"
    summary = (
        "sum over runs of the probability that an item of its segment is relevant / the segment's number"
    )
    source = "Lillis et al. 2006"

    segments: int = setting(25, "segments of equal length in each list", ge=1, le=100_000)

    def _table(self, ranking: Ranking, hits: Floats, n_lists: int) -> Floats:
        size = -(-ranking.lengths // self.segments)
        segment = ranking.positions // size
        own = np.minimum(size, ranking.lengths - segment * size)
        return np.asarray(np.bincount(segment, hits / own, minlength=self.segments) / n_lists)


@LEARNERS.register("segfuse")
class SegFuse(ByPosition):
    """The sum over runs of the probability of the item's segment, times its scaled score plus 1.

    Segment k of ten has 10 * 2^(k - 1) - 5 positions. With ``segments=ends`` that is where it ends, as in
    ranx. Items after the last segment get 0.

    References
    ----------
    Shokouhi: Segmentation of search engine results for effective data-fusion. ECIR 2007.
    """

    name = "segfuse"
    summary = "sum over runs of the probability of relevance in its segment, times the scaled score plus 1"
    source = "Shokouhi 2007"
    default_scaling = "list-minmax"
    scale_invariant = False

    segments: Literal["sizes", "ends"] = setting(
        "sizes", "whether 10 * 2^(k - 1) - 5 is the size of segment k, or where it ends (ranx)"
    )

    @property
    def takes_base_scale(self) -> bool:
        """A score counts as it is scaled."""
        return False

    def model_parameter(self) -> float:
        return float(self.segments == "ends")

    def _table(self, ranking: Ranking, hits: Floats, n_lists: int) -> Floats:
        return _by_segment(ranking, hits, segfuse_cuts(self.segments == "ends"), n_lists)[:N_SEGMENTS]


@LEARNERS.register("bayesfuse")
class BayesFuse(ByPosition):
    """The sum over runs of the log odds of relevance at the item's position.

    Odds are estimated in nine segments of 1,000 positions. A precision of 0 counts as 0.001, and so does what
    a run did not return, or only at a position after 1,000.

    References
    ----------
    Aslam & Montague: Models for metasearch. SIGIR 2001.
    """

    name = "bayesfuse"
    summary = "sum over runs of the log odds that an item at its position is relevant"
    source = "Aslam & Montague 2001"

    def _table(self, ranking: Ranking, hits: Floats, n_lists: int) -> Floats:
        precision = np.minimum(_by_segment(ranking, hits, BAYES_CUTS, n_lists), 1.0)
        precision[precision == 0.0] = 0.001
        rest = 1.0 - precision
        rest[rest == 0.0] = 0.001
        return np.asarray(np.maximum(np.log(precision / rest), LEAST_ODDS))


@LEARNERS.register("mapfuse")
class MapFuse(Estimated):
    """The sum over runs of the run's mean average precision on the training lists / the item's rank.

    References
    ----------
    Lillis, Zhang, Toolan, Collier, Leonard & Dunnion: Estimating probabilities for effective data fusion.
    SIGIR 2010.
    """

    name = "mapfuse"
    summary = "sum over runs of the run's mean average precision / rank in the list"
    source = "Lillis et al. 2010"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        runs = Runs(lists)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)  # of what each run did not return
            means = [
                evaluate(lists, lists.input_order(runs.values[:, j]), ["AP"], missing="nan")["AP"]
                for j in range(runs.n_runs)
            ]
        tables = np.nan_to_num(np.array(means)).reshape(-1, 1)
        return self.fused(lists, tables=tables)
