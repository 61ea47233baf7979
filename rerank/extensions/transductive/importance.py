"""Importance weighting: pairs of the labelled lists count more the more they look like those of a list."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec.structs import replace

from rerank.core import memory
from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.extensions.transductive.base import Adapted, Adapter, Transductive
from rerank.extensions.transductive.generation import GeneratedModel, generated_share
from rerank.extensions.transductive.generation.projection import KernelFeatures, Projection
from rerank.extensions.transductive.space import Basis, Points
from rerank.extensions.transductive.weighting.lists import ListWeighting, WeighedLists
from rerank.extensions.transductive.weighting.pairs import (
    PairWeights,
    Space,
    TrainingPairs,
    Weighed,
    costs_of,
)
from rerank.extensions.transductive.weighting.ranking import ranking_points
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import MetaLearner
from rerank.learners.rankboost import RankBoost
from rerank.models.base import Model
from rerank.models.training import Fact

_SHOWN = ("likelihood", "q25", "median", "q75", "effective", "zeros", "equal_items", "equal_items_unlabelled")
SpaceName = Literal["generated", "augmented", "original"]
_FIGURES = ("components", "generated_share")


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
    list's items are (``weighting.kliep``). A missing feature counts as its mean over the
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
    draws_itself = True
    summary = "RankBoost with labelled pairs weighted by how much they look like those of the list"
    source = "Duh 2009"

    ranking: float = setting(
        0.0,
        "weight of an item's score and place in the unadapted ranking, from 0 to 1 in each list, as two more "
        "features whose differences are compared; 0 = none",
        ge=0,
    )

    def adapter(self, lists: CandidateLists) -> Adapter:
        return _Weighting(self, self.base_learner, lists)


class _Weighting(Adapter):
    """The labelled pairs, and what fits of RankBoost share."""

    def __init__(self, settings: ImportanceWeighting, base: Learner, lists: CandidateLists) -> None:
        self.settings, self.basis, self.points = settings, Basis(base, lists), Points(lists)
        self.training = training_pairs(self.basis, self.points)
        self.unadapted = self.basis.fit() if settings.ranking else None
        if self.unadapted is not None:
            self.ranked = self._ranked(self.unadapted, lists)
            self.training += training_pairs(self.basis, self.ranked)

    def _ranked(self, unadapted: Model, lists: CandidateLists) -> Points:
        return ranking_points(lists, unadapted.score_prepared(lists), self.settings.ranking)

    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        """Return RankBoost's model of the labelled pairs weighted for a list."""
        spaces: list[Space] = [(self.points, Points(one))]
        if self.unadapted is not None:
            spaces.append((self.ranked, self._ranked(self.unadapted, one)))
        found = self.settings.weigh(self.training, spaces, one.labels, rng)
        if found.weights is None:
            return Adapted(None, found.reason, found.figures)
        model = self.basis.fit(**self.settings.fit_inputs(found.weights))
        accuracy = self.basis.accuracy(model.score_prepared(self.basis.lists))
        return Adapted(model, "", found.figures | {"train_accuracy": accuracy})


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


@LEARNERS.register("list-iw", "list-importance-weighting")
class ListImportanceWeighting(ListWeighting, MetaLearner):
    """The base learner on training lists that are weighted by how much they look like the lists to be ranked.

    KLIEP with a kernel on lists gives each training list one weight for the whole set of unlabelled lists
    (``weighting.lists``). Bases take them as list weights. RankBoost takes them as costs
    of AdaCost, which are equal for all pairs of a list (``costs_of``; all pairs are held in memory), or with
    ``use=initial`` as the initial distribution over pairs. The model is the base learner's own. It is one for
    the unlabelled lists: predicting others prints a note.

    In out-of-fold fits the lists that a fold leaves out replace the unlabelled lists. If settings
    are chosen on development lists, the weights remain those of the unlabelled lists.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009. Section
    8.4, Algorithms 11 and 12.
    """

    name = "list-iw"
    summary = "a base learner on lists weighted by how much they look like those to be ranked"
    source = "Duh 2009"
    default_scaling = "zscore"
    needs_unlabelled = True
    draws_itself = True

    use: Literal["cost", "initial"] = setting(
        "cost",
        "base=rankboost: costs of pairs in the rounds (AdaCost), or the initial distribution over pairs",
    )
    seed: int = setting(
        1, "random seed of centres and folds, also of the base learner unless it has its own", ge=0
    )

    def check_values(self) -> None:
        super().check_values()
        base = self.base_learner
        if "use" in self.settings_given and self.use != "cost" and not isinstance(base, RankBoost):
            raise ConfigError(f"use is for base=rankboost: learner {base.name} takes the weights of lists")

    def _why_no_base(self, base: Learner) -> str:
        why = super()._why_no_base(base)
        return why or ("" if base.accepts_list_weights else "it accepts no list weights")

    @property
    def wants_judge(self) -> bool:
        return self.base_learner.wants_judge

    @property
    def uses_metric(self) -> bool:
        return self.base_learner.uses_metric

    @property
    def takes_base_scale(self) -> bool:
        return self.base_learner.takes_base_scale

    @property
    def chooses_on_dev(self) -> bool:
        return self.base_learner.chooses_on_dev

    def _check_judgements(self, lists: CandidateLists) -> None:
        self.base_learner._check_judgements(lists)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        assert inputs.unlabelled is not None  # needs_unlabelled
        base = self.base_learner
        found = self.weigh_lists(lists, inputs.unlabelled, self.seed)
        if isinstance(base, RankBoost) and self.use == "cost":
            model = _with_costs(base, lists, found.weights, replace(inputs, unlabelled=None))
        else:
            model = base.fit(
                lists,
                judge=inputs.judge,
                dev=inputs.dev,
                list_weights=found.weights,
                observer=inputs.observer,
            )
        model.training.notes = model.training.notes | self._notes(found)
        return model

    def _notes(self, found: WeighedLists) -> dict[str, Fact]:
        """Facts about the weights for the training record."""
        kernel, figures = self.kernel_on_lists, found.figures
        own = ", ".join(f"{name} {value:g}" for name, value in kernel.get_params().items())
        facts: dict[str, Fact] = {"kernel": f"{kernel.name} ({own})" if own else kernel.name}
        facts |= {"width": figures["width"]} if self.basis == "gaussian" else {}
        return facts | {f"weights_{name}": figures[name] for name in _SHOWN}


def _with_costs(base: RankBoost, lists: CandidateLists, weights: Floats, inputs: FitInputs) -> Model:
    """RankBoost's model of lists whose weights (n_lists) are costs, equal for all pairs of a list."""
    # A cost depends on whether the pair is put right: no product of numbers of its items, so all are held.
    presorted = base.presorted(lists, inputs)
    pairs = presorted.pairs
    memory.require(32 * pairs.n_pairs, f"costs of {pairs.n_pairs:,} pairs", "use=initial stores none")
    of_pairs = weights[np.repeat(pairs.lists, pairs.counts)]
    if not of_pairs.any():
        raise FitError(f"{lists.source}: the weight of every list with a pair is 0")
    return base.fit_presorted(presorted, costs=costs_of(of_pairs), inputs=inputs)


@LEARNERS.register("fg-iw")
class GeneratedWeighting(KernelFeatures, Weighted):
    """RankBoost on original and generated features, with the labelled pairs weighted for each list.

    Kernel PCA of a list's items generates features, as in ``fg``; KLIEP weights the labelled pairs, as in
    ``iw``, by differences of the generated features, which describe the list. Beside these the original ones
    add distance in directions in which the list does not vary.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 6.
    """

    name = "fg-iw"
    summary = "features by kernel PCA of each list, and labelled pairs weighted for it"
    source = "Duh 2009, section 6.2"

    space: SpaceName = setting(
        "generated", "features whose differences give the weights: generated, original, or augmented = both"
    )

    def adapter(self, lists: CandidateLists) -> Adapter:
        return _GeneratedWeighting(self, Basis(self.base_learner, lists))


class _GeneratedWeighting(Adapter):
    """The labelled items and pairs in the original space, and what fits of RankBoost share."""

    def __init__(self, method: GeneratedWeighting, basis: Basis) -> None:
        self.method, self.basis, self.points = method, basis, Points(basis.lists)
        self.kernels = method.kernel_features
        self.original = None if method.space == "generated" else training_pairs(basis, self.points)

    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        """Return RankBoost's model of all features of the labelled items, their pairs weighted for a list."""
        own, lists = Points(one), self.basis.lists
        projection = Projection(self.kernels, own)
        components = float(sum(projection.counts.values()))
        figures = {"components": components, "generated_share": np.nan}
        if components == 0:
            found = Weighed.unknown("one item" if one.n_items == 1 else "no component")
            return Adapted(None, found.reason, figures | found.figures)
        columns = projection.columns(self.points)
        found = self._weighed(columns, projection.columns(own), own, one.labels, rng)
        if found.weights is None:
            return Adapted(None, found.reason, figures | found.figures)
        names = self.kernels.generated_names()
        inner = self.basis.fit(columns, names, **self.method.fit_inputs(found.weights))
        wide = lists.with_added(dict(zip(names, columns.T, strict=True)))
        figures |= found.figures | {
            "generated_share": generated_share(inner, names, wide),
            "train_accuracy": self.basis.accuracy(inner.score_prepared(wide)),
        }
        return Adapted(GeneratedModel(lists.names(), self.kernels, inner, one, projection), "", figures)

    def _weighed(
        self, columns: Floats, of_list: Floats, own: Points, labels: Floats | None, rng: np.random.Generator
    ) -> Weighed:
        """The weights in the space that the method names; generated features are (n_items, n_columns)."""
        spaces: list[Space] = []
        training = self.original
        if self.method.space != "original":
            labelled = Points(CandidateLists(self.basis.lists.offsets, Dense(columns)))
            spaces.append((labelled, Points(CandidateLists(np.array([0, own.n]), Dense(of_list)))))
            generated = training_pairs(self.basis, labelled)
            training = generated if training is None else training + generated
        if self.original is not None:
            spaces.append((self.points, own))
        assert training is not None
        return self.method.weigh(training, spaces, labels, rng)
