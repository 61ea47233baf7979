"""Feature generation and pseudo-margins with unlabelled lists other than those to be ranked.

The model is one for all lists: it ranks new ones without being trained again. Unlabelled lists are given in
training (``--unlabelled``); without them the training lists take their place, without labels.

References
----------
Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section 9.3.4.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.joining import stacked
from rerank.data.lists import CandidateLists, without_labels
from rerank.data.pairs import PairRelation, make_pairs
from rerank.extensions.transductive.generation import GeneratedModel
from rerank.extensions.transductive.generation.projection import KernelFeatures, Projection
from rerank.extensions.transductive.lists import single
from rerank.extensions.transductive.pseudo_margin import Mixture, PseudoPairs
from rerank.extensions.transductive.space import Basis, Points
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import MetaLearner, needs_dev
from rerank.learners.rankboost import RankBoost
from rerank.learners.rankboost.rounds import Distribution, boost
from rerank.models.base import Model
from rerank.models.training import Fact


class _Inductive(MetaLearner):
    """Base of both learners."""

    source = "Duh 2009, section 9.3.4"
    watches: ClassVar[bool] = False
    accepts_nan: ClassVar[bool] = True
    accepts_unlabelled: ClassVar[bool] = True

    seed: int = setting(1, "random seed, also of the base learner unless it has its own", ge=0)

    def _why_no_base(self, base: Learner) -> str:
        why = super()._why_no_base(base) or needs_dev(base)
        return why or ("it optimises a metric" if base.needs_judge else "")

    def _noted(self, model: Model, base: Model, pool: CandidateLists, inputs: FitInputs) -> Model:
        """The model with the training record of its base, and what its unlabelled lists were."""
        model.training.data, model.training.rounds = base.training.data, base.training.rounds
        of = "" if inputs.unlabelled is not None else " (those of the training set)"
        facts: dict[str, Fact] = {"unlabelled": count(pool.n_lists, "list") + of}
        model.training.notes = base.training.notes | facts
        return model


@LEARNERS.register("fg-inductive")
class InductiveGeneration(KernelFeatures, _Inductive):
    """``fg`` with components of unlabelled lists: one ranker for all lists, which is trained once.

    Kernel PCA finds components among the items of all unlabelled lists together, or of a sample of them.
    Labelled items and those of new lists are projected onto these, and the base learner learns from original
    and generated features.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section
    9.3.4, which names the idea.
    """

    name = "fg-inductive"
    summary = "features by kernel PCA of unlabelled lists, and one ranker for new lists"
    default_scaling: ClassVar[str] = "list-minmax"
    draws_itself: ClassVar[bool] = True

    items: int = setting(
        1000, "maximum number of unlabelled items whose components are found; more are sampled", ge=2
    )

    @property
    def takes_base_scale(self) -> bool:
        return False

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        labelled = without_labels(lists, labels=True)
        pool = without_labels(lists if inputs.unlabelled is None else inputs.unlabelled, labels=False)
        features = pool.features
        if pool.n_items > self.items:
            drawn = np.random.default_rng(self.seed).choice(pool.n_items, self.items, replace=False)
            features = features.take(np.sort(drawn))
        # One list of all: a missing feature counts as its mean over the pool.
        one = CandidateLists(np.array([0, features.n_items]), features, feature_names=pool.feature_names)
        settings, points, basis = self.kernel_features, Points(labelled), Basis(self.base_learner, labelled)
        projection = Projection(settings, Points(one))
        if not any(projection.counts.values()):
            raise FitError(f"{pool.source}: equal items, which have no component")
        inner = basis.fit(projection.columns(points), settings.generated_names())
        return self._noted(
            GeneratedModel(lists.names(), settings, inner, one, projection), inner, pool, inputs
        )


@LEARNERS.register("pm-inductive")
class InductiveMargins(_Inductive):
    """``pm`` with pairs of unlabelled lists: one RankBoost model for all lists, which is trained once.

    The loss is the sum over labelled pairs of exp(-(F_i - F_j)), plus gamma * N_l / N_u times the sum over
    all N_u pairs of items of an unlabelled list of exp(-|F_i - F_j|); see ``pm``.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section
    9.3.4 with equation 7.5.
    """

    name = "pm-inductive"
    summary = "RankBoost that also separates the items of unlabelled lists, for new lists"
    scale_invariant = True

    gamma: float = setting(
        0.5, "weight of the sum over unlabelled pairs, in units of labelled pairs / unlabelled pairs", gt=0
    )

    def check_values(self) -> None:
        super().check_values()
        base = self.base_learner
        if not isinstance(base, RankBoost):
            raise ConfigError(f"learner {self.name} extends the loss of rankboost: found base {base.name}")

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        labelled = without_labels(lists, labels=True)
        pool = without_labels(lists if inputs.unlabelled is None else inputs.unlabelled, labels=False)
        learner = self.base_learner
        assert isinstance(learner, RankBoost)
        presorted = learner.presorted(labelled)
        n = len(presorted.pairs.items)
        relation, first = PairRelation("all"), n
        ones = [single(pool, i, labels=False) for i in range(pool.n_lists) if pool.lengths[i] > 1]
        if not ones:
            raise FitError(f"{pool.source}: no list has two items")
        pairs = [make_pairs(one.replace_labels(np.arange(float(one.n_items))), relation) for one in ones]
        factor = math.log(self.gamma) - math.log(sum(one.n_pairs for one in pairs))
        features = stacked([one.features.take(of.items) for one, of in zip(ones, pairs, strict=True)])
        joined = presorted.with_items(features, features.n_items)
        distribution = learner.distribution(presorted)
        own: list[tuple[Distribution, slice, float]] = [
            (distribution, slice(n), -distribution.potentials()[1])
        ]
        for one in pairs:
            start: Floats = np.zeros(len(one.items))
            own.append((PseudoPairs(one, start), slice(first, first + len(start)), factor))
            first += len(start)
        model = joined.model(boost(Mixture(own, first), joined.rankers, learner.rule, learner.rounds))
        if joined.has_missing:  # an item outside the pairs may lack a feature that those of pairs have
            model = model.with_missing_as_zero()
        return self._noted(model, model, pool, inputs)
