"""Methods of fusion with a weight for each run, tuned on the training lists by the metric."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import ClassVar, Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.extensions.fusion.model import FusionOfRuns, fused_scores
from rerank.extensions.fusion.runs import Runs
from rerank.learners.base import LEARNERS, FitInputs
from rerank.models.base import Model
from rerank.models.training import FitRecord

Value = Callable[[Floats], float]  # the metric of weights, larger is better
_MOST_TRIALS = 100_000


class TunedWeights(FusionOfRuns):
    """Base of fusions whose weights are those of the best metric on the training lists.

    The search starts from equal weights. ``coordinate`` tries all steps of one weight after the other and
    continues while the metric improves; ``grid`` tries all weights that sum to 1. The first of equal values
    wins. The weights of the model sum to 1.
    """

    needs_labels: ClassVar[bool] = True
    needs_judge: ClassVar[bool] = True

    search: Literal["coordinate", "grid"] = setting(
        "coordinate", "one weight after the other, or all weights that sum to 1"
    )
    step: float = setting(0.1, "step of the weights, from 0 to 1", gt=0, le=1)

    @property
    def takes_base_scale(self) -> bool:
        """A weight is found for the score as it is."""
        return False

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        judge = inputs.judge
        assert judge is not None  # needs_judge
        runs, parameter, tables = Runs(lists), self.model_parameter(), np.empty((lists.n_features, 0))

        def value(weights: Floats) -> float:
            scores = fused_scores(self.name, runs, weights, parameter, tables)
            if not np.isfinite(scores).all():
                raise FitError(f"{lists.source}: fused scores overflow; scale the features (--scaling)")
            found = judge.better * value_of(judge, scores)
            return -math.inf if math.isnan(found) else found

        weights = np.full(runs.n_runs, 1.0)
        best = value(weights)
        if best == -math.inf:
            raise FitError(f"{lists.source}: {judge.name} has no value, so no weights are the best")
        search = self._coordinates if self.search == "coordinate" else self._grid
        weights, best = search(weights, best, value)
        model = self.fused(lists, weights / weights.sum())
        model.training.rounds = FitRecord(train=judge.better * best)
        return model

    def _steps(self) -> list[float]:
        n = round(1.0 / self.step)
        return [k / n for k in range(n + 1)]

    def _coordinates(self, weights: Floats, best: float, value: Value) -> tuple[Floats, float]:
        improved = True
        while improved:
            improved = False
            for j in range(len(weights)):
                for step in self._steps():
                    trial = weights.copy()
                    trial[j] = step
                    if step == weights[j] or not trial.any():
                        continue
                    found = value(trial)
                    if found > best:
                        weights, best, improved = trial, found, True
        return weights, best

    def _grid(self, weights: Floats, best: float, value: Value) -> tuple[Floats, float]:
        n = round(1.0 / self.step)
        n_trials = math.comb(n + len(weights) - 1, len(weights) - 1)
        if n_trials > _MOST_TRIALS:
            what = f"search=grid: {n_trials:,} weights of {len(weights)} runs"
            raise FitError(f"{what}, at most {_MOST_TRIALS:,}; use search=coordinate or a larger step")
        for parts in _compositions(n, len(weights)):
            trial = np.array(parts) / n
            found = value(trial)
            if found > best:
                weights, best = trial, found
        return weights, best


def _compositions(total: int, n: int) -> Iterator[list[int]]:
    """Yield all ways to write a total as a sum of n numbers from 0, in order."""
    for bars in itertools.combinations(range(total + n - 1), n - 1):
        ends = [-1, *bars, total + n - 1]
        yield [b - a - 1 for a, b in itertools.pairwise(ends)]


class TunedScores(TunedWeights):
    """Base of tuned weights of scaled scores."""

    source: ClassVar[str] = "Wu & Crestani 2002"
    default_scaling: ClassVar[str] = "list-minmax"


@LEARNERS.register("wsum", "weighted_sum")
class WeightedSum(TunedScores):
    """The weighted sum of the scaled scores, 0 for what a run did not return.

    References
    ----------
    Vogt & Cottrell: Fusion via a linear combination of scores. Information Retrieval 1, 1999.
    """

    name = "wsum"
    summary = "weighted sum of the scaled features, with tuned weights"
    source = "Vogt & Cottrell 1999"


@LEARNERS.register("wmnz", "weighted_mnz")
class WeightedMnz(TunedScores):
    """The sum of the scaled scores, times the sum of the weights of the runs that returned the item.

    References
    ----------
    Wu & Crestani: Data fusion with estimated weights. CIKM 2002.
    """

    name = "wmnz"
    summary = "sum of the scaled features, times the tuned weights of the runs with the item"


@LEARNERS.register("mixed")
class Mixed(TunedScores):
    """The weighted sum of the scaled scores, times the root of the number of runs with the item.

    References
    ----------
    Wu & Crestani: Data fusion with estimated weights. CIKM 2002.
    """

    name = "mixed"
    summary = "weighted sum of the scaled features, times the root of the number of runs with the item"


class TunedRanks(TunedWeights):
    """Base of tuned weights of what ranks earn."""

    scale_invariant: ClassVar[bool] = True


@LEARNERS.register("wrrf", "w_rrf", "weighted_rrf")
class WeightedReciprocalRank(TunedRanks):
    """The weighted sum over runs of 1 / (k + rank in the list); equal scores share the mean of their ranks.

    References
    ----------
    Cormack, Clarke & Büttcher: Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods. SIGIR 2009.
    """

    name = "wrrf"
    summary = "reciprocal rank fusion with tuned weights"
    source = "Cormack et al. 2009"
    parameter = "k"

    k: float = setting(60.0, "constant added to each rank; the larger, the less the top ranks count", ge=0)


@LEARNERS.register("w_bordafuse", "weighted_bordafuse")
class WeightedBordaFuse(TunedRanks):
    """Borda's count with a weight for each run's points.

    References
    ----------
    Aslam & Montague: Models for metasearch. SIGIR 2001.
    """

    name = "w_bordafuse"
    summary = "Borda count with tuned weights"
    source = "Aslam & Montague 2001"


@LEARNERS.register("w_condorcet", "weighted_condorcet")
class WeightedCondorcet(TunedRanks):
    """Items sorted by the weighted majority of the runs. Each trial sorts all lists, so that tuning is slow.

    References
    ----------
    Montague & Aslam: Condorcet fusion for improved retrieval. CIKM 2002.
    """

    name = "w_condorcet"
    summary = "weighted majority of the runs on each two items, with tuned weights"
    source = "Montague & Aslam 2002"
