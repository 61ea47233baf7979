"""The fitted steps that a model keeps, and applies to all lists before it scores them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists

if TYPE_CHECKING:
    from rerank.models.base import Model

T = TypeVar("T")


class FittedStep(Protocol):
    """What a step has fitted to training lists: ``Imputation`` and ``Scaling`` are two."""

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


@runtime_checkable
class FittedView(Protocol):
    """What only the learner sees changed, so that its model has to be changed afterwards."""

    def fold_back(self, model: Model, names: list[str]) -> None:
        """Let a model of changed lists score the given ones; ``names`` are those of the features."""
        ...


@dataclass(frozen=True)
class Chain:
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

    def fold_back(self, model: Model, names: list[str]) -> None:
        """Put what only a learner saw back into its model, the last step first."""
        for one in reversed(self.fitted):
            if isinstance(one, FittedView):
                one.fold_back(model, names)

    def get(self, kind: type[T]) -> T | None:
        """Return the fitted step of a class, None if there is none."""
        return next((one for one in self.fitted if isinstance(one, kind)), None)
