"""The fitted steps that a model keeps, and applies to all lists before it scores them."""

from __future__ import annotations

from typing import Protocol, TypeVar

from msgspec import Struct

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.models.feature_sources import FeatureSource

T = TypeVar("T")


class FittedStep(Protocol):
    """Step fitted to training lists: ``Imputation`` and ``Scaling`` are two."""

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return changed lists, in new arrays unless ``overwrite`` gives the features of ``lists`` up.

        With ``warn`` a DataNote says what the training lists did not have.
        """
        ...

    def unfold(self, weights: Floats, names: list[str], source: str) -> Floats:
        """Return weights of changed features that give the same scores as ``weights`` of the given ones.

        They are the same up to a constant for each list. Raises ConfigError, which begins with ``source``, if
        there are no such weights; ``names`` are those of the features.
        """
        ...


class Chain(Struct, frozen=True):
    """Fitted steps in the order in which they are applied."""

    fitted: tuple[FittedStep, ...] = ()

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return lists changed by every step."""
        for one in self.fitted:
            lists = one.apply(lists, overwrite=overwrite, warn=warn)
        return lists

    def unfold(self, weights: Floats, names: list[str], source: str) -> Floats:
        """Return weights of changed features, as those of raw ones are for the same scores."""
        for one in self.fitted:
            weights = one.unfold(weights, names, source)
        return weights

    @property
    def sources(self) -> list[FeatureSource]:
        """The steps that make features, in their order."""
        return [one for one in self.fitted if isinstance(one, FeatureSource)]

    def get(self, kind: type[T]) -> T | None:
        """Return the fitted step of a class, None if there is none."""
        return next((one for one in self.fitted if isinstance(one, kind)), None)
