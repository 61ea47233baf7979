"""Features of vectors as a fitted step: which vectors a model needs, and the similarities of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from rerank.core.errors import DataError
from rerank.core.records import Record, fact
from rerank.core.text import count
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.extensions.vectors.similarities import IN_LIST, TO_QUERY, similarities
from rerank.models.feature_sources import SOURCES, FeatureSource

PREFIX = "vector_"


class _Meta(Record):
    """The part of meta.json about features of vectors."""

    kind: str
    n_features: int
    names: tuple[str, ...]
    n_dims: int = fact(ge=1, lt=1 << 31)
    of_queries: bool


@SOURCES.register("vectors")
class VectorFeatures(FeatureSource, frozen=True, eq=False, kw_only=True):
    """Similarities of the vectors of items and questions.

    Attributes
    ----------
    n_dims : the length of the vectors.
    of_queries : whether questions have vectors as well.
    """

    kind: ClassVar[str] = "vectors"

    n_dims: int
    of_queries: bool

    @property
    def names(self) -> list[str]:
        return [f"{PREFIX}{name}" for name in ((*TO_QUERY, *IN_LIST) if self.of_queries else IN_LIST)]

    def columns(self, lists: CandidateLists) -> Mapping[str, Floats]:
        items, queries = vectors_of(lists)
        if self.of_queries and queries is None:
            raise DataError(f"{lists.source}: found no vectors of questions; --query-vectors FILE has them")
        for vectors in (items, queries):
            if vectors is not None and vectors.shape[1] != self.n_dims:
                found = f"vectors of {count(vectors.shape[1], 'number')}"
                expected = f"{self.n_dims}, as those of the training lists"
                raise DataError(f"{lists.source}: found {found}, expected {expected}")
        found_values = similarities(lists, items, queries if self.of_queries else None)
        return {f"{PREFIX}{name}": values for name, values in found_values.items()}

    def to_meta(self) -> dict[str, Any]:
        return {"n_dims": self.n_dims, "of_queries": self.of_queries}

    def arrays(self) -> dict[str, AnyArray]:
        return {}

    @classmethod
    def forms(cls, meta: Mapping[str, Any]) -> dict[str, ArrayForm]:
        return {}

    @classmethod
    def restore(cls, n_features: int, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        known = _Meta.from_json(dict(meta))
        return cls(n_features=n_features, n_dims=known.n_dims, of_queries=known.of_queries)

    def summary(self) -> str:
        whose = "items and questions" if self.of_queries else "items, none of questions"
        names = ", ".join(name.removeprefix(PREFIX) for name in self.names)
        return f"{names}; vectors of {whose}, {count(self.n_dims, 'number')} each"


def vectors_of(lists: CandidateLists) -> tuple[AnyArray, AnyArray | None]:
    """Return the vectors of items, and of questions if there are any; DataError if items have none."""
    if lists.vectors is None:
        found = "no vectors, from which features are computed"
        raise DataError(f"{lists.source}: found {found}; --vectors FILE has them")
    return lists.vectors, lists.query_vectors


def fit_vectors(lists: CandidateLists) -> VectorFeatures:
    """Return what computes the features of vectors that lists have; DataError if items have none."""
    items, queries = vectors_of(lists)
    return VectorFeatures(n_features=lists.n_features, n_dims=items.shape[1], of_queries=queries is not None)
