"""Features of vectors in training, kept by the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rerank.data.lists import CandidateLists
from rerank.training.steps import STEPS, Stage, Step

if TYPE_CHECKING:
    from rerank.extensions.vectors.extraction import VectorFeatures


@STEPS.register("vectors")
class ComputeVectors(Step, frozen=True):
    """Compute features from vectors (``features_from: vectors``)."""

    features_from: tuple[str, ...] = ()

    name: ClassVar[str] = "vectors"
    stage: ClassVar[Stage] = "features"
    place: ClassVar[int] = 1  # after those of texts
    settings: ClassVar[tuple[str, ...]] = ("features_from",)

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> VectorFeatures:
        from rerank.extensions.vectors.extraction import fit_vectors

        return fit_vectors(lists)
