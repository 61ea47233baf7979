"""Feature generation (Duh 2009, chapter 5): a ranker for each list, of original and generated features."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.records import read_json
from rerank.core.settings import setting
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists, without_labels
from rerank.data.npy import ArrayForm
from rerank.extensions.transductive.base import Adapted, Adapter, Transductive
from rerank.extensions.transductive.generation.projection import KernelFeatures, Projection
from rerank.extensions.transductive.lists import feature_arrays, feature_members, features_of, single
from rerank.extensions.transductive.model import TransductiveModel
from rerank.extensions.transductive.space import Basis, Points
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.discriminants import discriminant_vectors
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model

_DUALS = {
    "dual": ArrayForm("<f8", (None, None)),
    "shift": ArrayForm("<f8", (None,)),
    "sizes": ArrayForm("<f8", (None,)),
}


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
        points = Points(one)
        projection = Projection(self.settings, points)
        components = float(sum(projection.counts.values()))
        figures = dict.fromkeys(self.FIGURES, np.nan) | {"components": components}
        if components == 0:
            equal = "equal items" if points.all_equal() else "no component"
            return Adapted(None, "one item" if one.n_items == 1 else equal, figures)
        lists, columns = self.basis.lists, np.hstack([projection.columns(self.points), self._discriminants])
        inner = self.basis.fit(columns, self.names)
        wide = lists.with_added(dict(zip(self.names, columns.T, strict=True)))
        figures |= {
            "generated_share": generated_share(inner, self.names, wide),
            "train_accuracy": self.basis.accuracy(inner.score_aligned(wide)),
        }
        model = GeneratedModel(lists.names(), self.settings, inner, one, projection, self.directions)
        return Adapted(model, "", figures)

    def own(self) -> GeneratedModel:
        """Return the ranker whose features of each list come from kernel PCA of its own items."""
        columns = np.hstack([own_columns(self.settings, self.basis.lists), self._discriminants])
        inner = self.basis.fit(columns, self.names)
        return GeneratedModel(self.basis.lists.names(), self.settings, inner, directions=self.directions)


def generated_share(inner: Model, names: list[str], lists: CandidateLists) -> float:
    """Return the share of generated features in the scores of a model, NaN if unknown for its kind.

    In a sum of steps that is their part of the steps' magnitudes, in a linear model their part of
    |weight * standard deviation| over the items of ``lists``.
    """
    shares = dict(inner.step_shares())
    weights = getattr(inner, "weights", None)
    if not shares and weights is not None and weights.shape == (lists.n_features,):
        known = (column[~np.isnan(column)] for column in lists.features.columns())
        sizes = np.abs(weights * [float(values.std()) if len(values) else 0.0 for values in known])
        shares = dict(zip(lists.names(), (sizes / (sizes.sum() or 1.0)).tolist(), strict=True))
    return float(np.sum([shares.get(name, 0.0) for name in names])) if shares else np.nan


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
        0, "number of additional features: the first discriminants of ranklda on the labelled lists", ge=0
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


def own_columns(settings: KernelFeatures, lists: CandidateLists) -> Floats:
    """Return features of items by kernel PCA of each list for itself, float64 (n_items, n_columns)."""
    parts = []
    for i in range(lists.n_lists):
        points = Points(single(lists, i, labels=False))
        parts.append(Projection(settings, points).columns(points))
    return np.concatenate(parts)


@MODELS.register("generated")
class GeneratedModel(Model):
    """Scores items by their features and by generated ones.

    Parameters
    ----------
    feature_names
        The columns of the original features.
    settings
        The kernels.
    inner
        A model of the original columns and those of ``settings.generated_names(k)``.
    test, projection
        The list whose kernel PCA generates features of all items, and that; None = kernel PCA of each
        list generates the features of its items.
    directions
        Linear discriminants, whose products with items are further features, float64 (n_features, k); None =
        there are none.

    Attributes
    ----------
    names : list of str
        Those of the generated features.

    Raises
    ------
    DataError
        If the inner model has other columns.
    """

    kind = "generated"

    def __init__(
        self,
        feature_names: list[str],
        settings: KernelFeatures,
        inner: Model,
        test: CandidateLists | None = None,
        projection: Projection | None = None,
        directions: Floats | None = None,
    ) -> None:
        super().__init__(feature_names)
        self.directions = np.empty((len(feature_names), 0)) if directions is None else directions
        self.names = settings.generated_names(self.directions.shape[1])
        if inner.feature_names != [*feature_names, *self.names]:
            found = f"{len(inner.feature_names)} features of the inner model"
            raise DataError(f"{found} are not {len(feature_names)} features and those that kernels generate")
        self.settings, self.inner, self.test, self.projection = settings, inner, test, projection
        self.absent = inner.absent

    def columns(self, lists: CandidateLists) -> Floats:
        """Return the generated features of lists with the model's columns, float64 (n_items, n_columns)."""
        points = Points(lists)
        if self.projection is None:
            found = own_columns(self.settings, lists)
        else:
            found = self.projection.columns(points)
        return np.hstack([found, points.scores(self.directions)])

    def score_aligned(self, lists: CandidateLists) -> Floats:
        columns = dict(zip(self.names, self.columns(lists).T, strict=True))
        return self.inner.score_aligned(lists.with_added(columns))

    def arrays(self) -> Arrays:
        text = json.dumps(self.settings.get_params(), ensure_ascii=False).encode("utf-8")
        own: Arrays = {
            "generation": np.frombuffer(text, dtype=np.uint8),
            "inner": packed_model(self.inner),
            "directions": self.directions,
        }
        if self.projection is None or self.test is None:
            return own
        duals = {name: getattr(self.projection, name) for name in _DUALS}
        return own | duals | feature_arrays(self.test.features)

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        directions = ArrayForm("<f8", (n_features, None))
        return {"generation": ArrayForm("|u1", (None,)), "inner": PACKED, "directions": directions}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {**_DUALS, **feature_members(n_features)}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        try:
            found = read_json(arrays["generation"].tobytes())
        except ValueError as error:
            raise DataError(f"generation: {error}") from None
        if not isinstance(found, dict):
            raise ConfigError("generation: found no settings")
        settings = KernelFeatures.checked(found, "generation")
        inner = unpacked_model(arrays["inner"], "inner")
        if isinstance(inner, TransductiveModel | GeneratedModel | ClassesModel):
            raise DataError(f"a model of kind {inner.kind} as the inner one")
        directions = arrays["directions"]
        if not np.isfinite(directions).all():
            raise DataError("a direction that is not finite")
        if arrays.keys() <= cls.members(0).keys():
            return cls(feature_names, settings, inner, directions=directions)
        features = features_of(arrays, len(feature_names))
        test = CandidateLists(np.array([0, features.n_items]), features, feature_names=feature_names)
        projection = _projection_of(settings, test, arrays)
        return cls(feature_names, settings, inner, test, projection, directions)

    def explain(self) -> list[tuple[str, float]]:
        return self.inner.explain()

    def remarks(self) -> dict[str, str]:
        return self.inner.remarks()

    def step_shares(self) -> list[tuple[str, float]]:
        return self.inner.step_shares()

    def n_weighted(self) -> int:
        """Return how many original features have a weight."""
        names = {name for name, _ in self.step_shares() or self.explain()}
        return len(names & set(self.feature_names))

    def described(self) -> dict[str, Any]:
        """Return what generates features, and its shares of the steps."""
        of_one = "each list" if self.projection is None else "one list"
        facts: dict[str, Any] = {"generated": f"kernel PCA of {of_one}: {self.settings.kernels}"}
        shares: dict[str, float] = {}
        generated = set(self.names)
        for name, share in self.step_shares():
            kernel = name.partition("#")[0] if name in generated else "original"
            shares[kernel] = shares.get(kernel, 0.0) + share
        return facts | ({"shares of steps": shares} if shares else {})


def _projection_of(
    settings: KernelFeatures, test: CandidateLists, arrays: Mapping[str, AnyArray]
) -> Projection:
    """The projection of a model file; raises DataError if its arrays do not fit each other."""
    absent = [name for name in _DUALS if name not in arrays]
    if absent:
        raise DataError(f"no array {absent[0]}, but a list's features")
    dual, shift, sizes = (arrays[name] for name in _DUALS)
    n = len(settings.generated_names())
    if dual.shape != (test.n_items, n) or shift.shape != (n,) or sizes.shape != (n,):
        shapes = f"{dual.shape}, {shift.shape} and {sizes.shape}"
        raise DataError(f"components of {shapes}, expected {n} of {test.n_items} items")
    if not all(np.isfinite(array).all() for array in (dual, shift, sizes)) or (sizes < 0).any():
        raise DataError("a component that is not finite, or of a negative size")
    return Projection(settings, Points(test), dual, shift, sizes)
