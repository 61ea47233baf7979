"""Feature generation (Duh 2009, chapter 5): a ranker for each list, of original and generated features."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import pydantic

from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.learners.base import LEARNERS, FitInputs
from rerank.models.base import Model
from rerank.settings import setting
from rerank.transductive.base import Adapted, Adapter, Transductive
from rerank.transductive.basis import Basis
from rerank.transductive.generation.model import GeneratedModel, own_columns, shares_of
from rerank.transductive.generation.projection import KernelFeatures, Projection
from rerank.transductive.labelled import stripped
from rerank.transductive.space import Points

_FIGURES = ("components", "generated_share", "train_accuracy")


class Generation(Adapter):
    """Kernel PCA of each list, and the base learner on the labelled lists with its components.

    Parameters
    ----------
    settings
        The kernels.
    basis
        The base learner and the labelled lists.
    """

    def __init__(self, settings: KernelFeatures, basis: Basis) -> None:
        self.settings, self.basis = settings, basis
        self.points = Points(basis.lists)

    def adapt(self, one: CandidateLists, rng: np.random.Generator) -> Adapted:
        projection = Projection(self.settings, Points(one))
        n = sum(projection.counts.values())
        if n == 0:
            reason = "one item" if one.n_items == 1 else "equal items" if _equal(one) else "no component"
            return Adapted(None, reason, dict.fromkeys(_FIGURES, np.nan) | {"components": 0.0})
        columns = projection.columns(self.points)
        names = self.settings.generated_names()
        inner = self.basis.fit(columns, names)
        model = GeneratedModel(self.basis.lists.names(), self.settings, inner, one, projection)
        lists = self.basis.lists.with_added(dict(zip(names, columns.T, strict=True)))
        figures = (
            float(n),
            generated_share(inner, names, lists),
            self.basis.accuracy(inner.score_aligned(lists)),
        )
        return Adapted(model, "", dict(zip(_FIGURES, figures, strict=True)))


def _equal(one: CandidateLists) -> bool:
    """Whether all items of a list have the same features."""
    points = Points(one)
    return not points.squared_distances(points, slice(0, 1)).any()


def generated_share(inner: Model, names: list[str], lists: CandidateLists) -> float:
    """Return the share of generated features in the scores of a model, NaN if unknown for its kind.

    That is their part of the steps' magnitudes, or of |weight * standard deviation| over the items.
    """
    shares = dict(shares_of(inner))
    if not shares and hasattr(inner, "weights"):
        deviations = np.array([_deviation(column) for column in lists.features.columns()])
        shares = dict(shares_of(inner, deviations))
    return sum(shares.get(name, 0.0) for name in names) if shares else np.nan


def _deviation(column: Floats) -> float:
    """The standard deviation of the values that are not missing, 0 if none is."""
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

    project: Literal["test", "own"] = setting(
        "test",
        "labelled lists are projected onto the components of the list to be ranked (test), or each list onto "
        "its own, for one ranker of all lists (own)",
    )

    @pydantic.model_validator(mode="after")
    def _project_fits(self) -> Self:
        if self.project == "own" and self.abstain != "none":
            raise ValueError("abstain is for project=test: project=own makes one ranker for all lists")
        return self

    def adapter(self, lists: CandidateLists) -> Adapter:
        return Generation(self.kernel_features, Basis(self.base_learner, lists))

    @property
    def kernel_features(self) -> KernelFeatures:
        """The settings of the kernels alone."""
        return KernelFeatures(**{name: getattr(self, name) for name in KernelFeatures.model_fields})

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        if self.project == "test":
            return super()._fit(lists, inputs)
        labelled = stripped(lists, labels=True)
        settings = self.kernel_features
        columns = own_columns(settings, labelled)
        inner = Basis(self.base_learner, labelled).fit(columns, settings.generated_names())
        model = GeneratedModel(lists.names(), settings, inner)
        model.training.data, model.training.rounds = inner.training.data, inner.training.rounds
        model.training.notes = inner.training.notes
        return model
