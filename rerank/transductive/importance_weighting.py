"""Importance weighting: pairs of the labelled lists count more the more they look like those of a list."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.errors import ConfigError, FitError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, Learner
from rerank.learners.rankboost.rankboost import RankBoost
from rerank.models.base import Model
from rerank.transductive.base import Adapted, Adapter, Transductive
from rerank.transductive.basis import Basis
from rerank.transductive.space import Points
from rerank.transductive.weighting.differences import TrainingPairs
from rerank.transductive.weighting.pairs import PairWeights, costs_of


class Weighted(PairWeights, Transductive):
    """Base of the methods that weight pairs."""

    def check_values(self) -> None:
        super().check_values()
        base = self.base_learner
        if not isinstance(base, RankBoost):
            raise ConfigError(f"base: found {base.name}, which weights no pairs; expected rankboost")

    @property
    def uses_test_labels(self) -> bool:
        return self.pairs == "oracle"


@LEARNERS.register("iw", "importance-weighting")
class ImportanceWeighting(Weighted):
    """RankBoost with the pairs of the labelled lists weighted for each list to be ranked.

    KLIEP estimates, at the feature differences of the labelled pairs, how much denser the differences of the
    list's items are (``rerank.transductive.weighting.kliep``). A missing feature counts as its mean over the
    item's list. The weights are costs of AdaCost (``costs_of``) or the initial distribution.

    The list's pairs have no known direction, so both directions count. If labelled pairs have one, the better
    item minus the worse one, then the largest weights go to pairs whose better item looks like the worse one
    of most others: weighted, the labelled pairs are as symmetric as those of the list, and teach nothing. So
    they have both directions by default, and a pair has the mean of the weights of its two differences.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 6.
    Sugiyama, Suzuki, Nakajima, Kashima, von Bünau, Kawanabe: Direct importance estimation for covariate shift
    adaptation. Annals of the Institute of Statistical Mathematics 60, 2008.
    """

    name = "iw"
    summary = "RankBoost with labelled pairs weighted by how much they look like those of the list"
    source = "Duh 2009"

    def adapter(self, lists: CandidateLists) -> Adapter:
        return _Weighting(self, self.base_learner, lists)


class _Weighting(Adapter):
    """The labelled pairs, and what fits of RankBoost share."""

    def __init__(self, settings: PairWeights, base: Learner, lists: CandidateLists) -> None:
        self.settings, self.basis, self.points = settings, Basis(base, lists), Points(lists)
        self.training = training_pairs(self.basis, self.points)

    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        """Return RankBoost's model of the labelled pairs weighted for a list."""
        found = self.settings.weigh(self.training, [(self.points, Points(one))], one.labels, rng)
        if found.weights is None:
            return Adapted(None, found.reason, found.figures)
        model = weighted_fit(self.settings, self.basis, found.weights)
        accuracy = self.basis.accuracy(model.score_prepared(self.basis.lists))
        return Adapted(model, "", found.figures | {"train_accuracy": accuracy})


def weighted_fit(
    settings: PairWeights,
    basis: Basis,
    weights: Floats,
    columns: Floats | None = None,
    names: Sequence[str] = (),
) -> Model:
    """Return the model of ``basis``, with any further columns, whose pairs are weighted."""
    if settings.use == "cost":
        return basis.fit(columns, names, costs=costs_of(weights))
    return basis.fit(columns, names, pair_weights=weights)


def training_pairs(basis: Basis, points: Points) -> TrainingPairs:
    """Return the pairs of labelled lists, whose items are these points.

    Raises
    ------
    FitError
        If a distance of two items overflows.
    """
    found = TrainingPairs.of(basis.pairs, points)
    if not np.isfinite(found.squared).all():
        raise FitError(
            f"{basis.lists.source}: distances of items overflow: features that large need a scaling"
        )
    return found
