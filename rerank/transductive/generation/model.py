"""Models of generated features: kernel PCA, then a ranker of the original and the generated features."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.records import read_json
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.transductive.generation.projection import KernelFeatures, Projection
from rerank.transductive.labelled import feature_arrays, feature_members, features_of, single
from rerank.transductive.model import TransductiveModel
from rerank.transductive.space import Points

_DUALS = {
    "dual": ArrayForm("<f8", (None, None)),
    "shift": ArrayForm("<f8", (None,)),
    "sizes": ArrayForm("<f8", (None,)),
}


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
        own = {"generation": np.frombuffer(text, dtype=np.uint8), "inner": packed_model(self.inner)}
        own["directions"] = self.directions  # type: ignore[assignment]
        if self.projection is None or self.test is None:
            return {**own}
        duals = {name: getattr(self.projection, name) for name in _DUALS}
        return {**own, **duals, **feature_arrays(self.test.features)}

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
        test = _test_of(arrays, feature_names)
        projection = _projection_of(settings, test, arrays)
        return cls(feature_names, settings, inner, test, projection, directions)

    def explain(self) -> list[tuple[str, float]]:
        """Return the rows of the inner model."""
        return self.inner.explain()

    def remarks(self) -> dict[str, str]:
        """Return the remarks of the inner model."""
        return self.inner.remarks()

    def step_shares(self) -> list[tuple[str, float]]:
        """Return the shares of the inner model."""
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


def _test_of(arrays: Mapping[str, AnyArray], feature_names: list[str]) -> CandidateLists:
    """The list whose components a model file holds; raises DataError if its arrays do not fit each other."""
    features = features_of(arrays, len(feature_names))
    return CandidateLists(np.array([0, features.n_items]), features, feature_names=feature_names)


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
