"""Feature generation (Duh 2009, chapter 5): a ranker for each list, of original and generated features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists, without_labels
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.discriminants import discriminant_vectors
from rerank.models.base import Model
from rerank.transductive.base import Adapted, Adapter, Transductive
from rerank.transductive.basis import Basis
from rerank.transductive.generation.model import GeneratedModel, own_columns
from rerank.transductive.generation.projection import KernelFeatures, Projection
from rerank.transductive.model import TransductiveModel
from rerank.transductive.space import Points


@dataclass(frozen=True, eq=False)
class Generated:
    """The features that one list generates.

    Attributes
    ----------
    one : CandidateLists
        The list.
    projection : Projection
        Its kernel PCA.
    columns : float64 (n_items, n)
        The generated features of the labelled items.
    """

    one: CandidateLists
    projection: Projection
    columns: Floats


class Generation(Adapter):
    """Kernel PCA of each list, and the base learner on the labelled lists with its components.

    Parameters
    ----------
    settings
        The kernels.
    learner
        The base learner.
    lists
        The labelled lists.
    n_discriminants
        Features by RankLDA of the labelled lists, which are the same for every list.

    Attributes
    ----------
    names : list of str
        Those of the generated features.
    basis : Basis
    points : Points
        The labelled items.
    """

    FIGURES = ("components", "generated_share", "train_accuracy")

    def __init__(
        self, settings: KernelFeatures, learner: Learner, lists: CandidateLists, n_discriminants: int = 0
    ) -> None:
        self.settings, self.basis, self.points = settings, Basis(learner, lists), Points(lists)
        directions = discriminant_vectors(lists, n_discriminants) if n_discriminants else None
        self.directions = np.empty((lists.n_features, 0)) if directions is None else directions
        self._discriminants = self.points.scores(self.directions)
        self.names = settings.generated_names(n_discriminants)
        taken = sorted(set(self.names) & set(lists.names()))
        if taken:
            raise FitError(f"{lists.source}: feature {taken[0]!r} has the name of a generated one")

    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        generated = self.generate(one)
        if isinstance(generated, str):
            return Adapted(None, generated, dict.fromkeys(self.FIGURES, np.nan) | {"components": 0.0})
        inner = self.basis.fit(generated.columns, self.names)
        return Adapted(self.ranker(generated, inner), "", self.figures(generated, inner))

    def generate(self, one: CandidateLists) -> Generated | str:
        """Return the features that a list generates, or why it generates none."""
        points = Points(one)
        projection = Projection(self.settings, points)
        if any(projection.counts.values()):
            columns = np.hstack([projection.columns(self.points), self._discriminants])
            return Generated(one, projection, columns)
        if one.n_items == 1:
            return "one item"
        return "equal items" if points.all_equal() else "no component"

    def own(self) -> GeneratedModel:
        """Return the ranker whose features of each list come from kernel PCA of its own items."""
        columns = np.hstack([own_columns(self.settings, self.basis.lists), self._discriminants])
        inner = self.basis.fit(columns, self.names)
        return GeneratedModel(self.basis.lists.names(), self.settings, inner, directions=self.directions)

    def ranker(self, generated: Generated, inner: Model) -> GeneratedModel:
        """Return the ranker of a list, from a model of original and generated features."""
        names = self.basis.lists.names()
        return GeneratedModel(
            names, self.settings, inner, generated.one, generated.projection, self.directions
        )

    def figures(self, generated: Generated, inner: Model) -> dict[str, float]:
        """Return the diagnostics of a list, ``FIGURES``: of a model of original and generated features."""
        columns = dict(zip(self.names, generated.columns.T, strict=True))
        lists = self.basis.lists.with_added(columns)
        figures = (
            float(sum(generated.projection.counts.values())),
            generated_share(inner, self.names, lists),
            self.basis.accuracy(inner.score_aligned(lists)),
        )
        return dict(zip(self.FIGURES, figures, strict=True))


def generated_share(inner: Model, names: list[str], lists: CandidateLists) -> float:
    """Return the share of generated features in the scores of a model, NaN if unknown for its kind.

    In a sum of steps that is their part of the steps' magnitudes, in a linear model their part of
    |weight * standard deviation| over the items of ``lists``.
    """
    shares = dict(inner.step_shares())
    weights = getattr(inner, "weights", None)
    if not shares and weights is not None and weights.shape == (lists.n_features,):
        sizes = np.abs(weights * [_deviation(column) for column in lists.features.columns()])
        shares = dict(zip(lists.names(), (sizes / (sizes.sum() or 1.0)).tolist(), strict=True))
    return sum(shares.get(name, 0.0) for name in names) if shares else np.nan


def _deviation(column: Floats) -> float:
    """The standard deviation of the values that are not missing, 0 if there is none."""
    known = column[~np.isnan(column)]
    return float(known.std()) if len(known) else 0.0


@LEARNERS.register("fg")
class FeatureGeneration(KernelFeatures, Transductive):
    """Kernel PCA of a list's items generates further features; the base learner learns from all of them.

    For each list the components of several kernels are found in its own items, the labelled items are
    projected onto them, and a ranker is learnt from the original and the generated features of the
    labelled lists. project=own is the control that adapts to nothing: the features of each list, labelled or
    not, are the components of its own items, and one ranker is learnt once.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 5.
    """

    name = "fg"
    summary = "features by kernel PCA of each list, then a ranker for it"
    source = "Duh 2009, chapter 5"

    lda: int = setting(
        0, "further features by the first discriminants of ranklda on the labelled lists", ge=0
    )
    project: Literal["test", "own"] = setting(
        "test",
        "labelled lists are projected onto the components of the list to be ranked (test), or each list onto "
        "its own, for one ranker of all lists (own)",
    )

    def check_values(self) -> None:
        super().check_values()
        if self.project == "own" and self.abstain != "none":
            raise ConfigError("abstain is for project=test: project=own makes one ranker for all lists")

    @property
    def kernel_features(self) -> KernelFeatures:
        """The settings of the kernels alone."""
        return KernelFeatures(**{name: getattr(self, name) for name in KernelFeatures.settings})

    def adapter(self, lists: CandidateLists) -> Generation:
        return Generation(self.kernel_features, self.base_learner, lists, self.lda)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        if self.project == "test":
            adaptive = super()._fit(lists, inputs)
            assert isinstance(adaptive, TransductiveModel)
            _ = adaptive.adapter  # so that what it refuses is refused now, not when lists are ranked
            return adaptive
        model = self.adapter(without_labels(lists, labels=True)).own()
        model.training.data, model.training.rounds = model.inner.training.data, model.inner.training.rounds
        model.training.notes = model.inner.training.notes
        return model
