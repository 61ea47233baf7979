"""Quantised labels of the training lists; development lists and out-of-fold scores keep their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rerank.core.types import Floats
from rerank.data.judge import Metric
from rerank.data.lists import CandidateLists
from rerank.learners.base import Learner
from rerank.models.training import Training
from rerank.training.data import TrainingData
from rerank.training.steps.base import STEPS, Stage, Step

if TYPE_CHECKING:
    from rerank.data.labels import Quantiser


@dataclass(frozen=True)
class QuantisedLabels:
    """A scheme that quantises labels: best, above=T, model=FILE, top=P%, kmeans=K or list-kmeans=K."""

    quantiser: Quantiser

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return the lists with quantised labels; RerankError if there are none, or no such model."""
        from rerank.models.predict import with_quantised

        return with_quantised(lists, self.quantiser)

    def unfold(self, weights: Floats, names: list[str], source: str) -> Floats:
        """Return the weights: features stay as they are."""
        return weights


@STEPS.register("quantise")
@dataclass(frozen=True)
class QuantiseLabels(Step):
    """Quantise the labels of all training lists, before features are selected or folds are drawn."""

    quantise: str | None = None

    name: ClassVar[str] = "quantise"
    stage: ClassVar[Stage] = "data"
    place: ClassVar[int] = 10
    settings: ClassVar[tuple[str, ...]] = ("quantise",)
    section: ClassVar[str] = "data"

    @property
    def active(self) -> bool:
        return self.quantise is not None

    def check(self, learner: Learner, metric: Metric | None) -> None:
        if self.active:
            self._quantiser()

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> QuantisedLabels:
        return QuantisedLabels(self._quantiser())

    def record(self, training: Training, data: TrainingData, learner: Learner) -> None:
        if self.active:
            training.data = training.data.with_fields(quantise=str(self._quantiser()))

    def _quantiser(self) -> Quantiser:
        from rerank.data.labels import parse_quantiser

        assert self.quantise is not None  # it is active
        return parse_quantiser(self.quantise)
