"""Features that training computes from texts or vectors, and that the model computes of other lists."""

from __future__ import annotations

from typing import ClassVar, Self

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings
from rerank.data.judge import Metric
from rerank.data.lists import CandidateLists
from rerank.learners.base import Learner
from rerank.models.feature_sources import SOURCES, FeatureSource
from rerank.training.options import TrainOptions
from rerank.training.steps import STEPS, Stage, Step
from rerank.training.text_options import SourceSettings, TextSettings, VectorSettings


class ComputeFeatures(Step, frozen=True):
    """Compute features of a source: the one of SOURCES that has the name of the step."""

    features_from: tuple[str, ...] = ()
    texts: SourceSettings | None = None
    query: str | None = None
    text: tuple[str, ...] = ()

    stage: ClassVar[Stage] = "features"
    settings: ClassVar[tuple[str, ...]] = ("features_from",)
    own: ClassVar[type[Settings]]  # what of the settings it uses

    @classmethod
    def of(cls, options: TrainOptions) -> Self:
        data = options.data
        return cls(options.features_from, options.texts, data.query_column, data.text_column)

    def check(self, learner: Learner, metric: Metric | None) -> None:
        given = [] if self.texts is None else sorted(self.texts.settings_given & set(self.own.settings))
        if given and not self.active:
            raise ConfigError(f"{given[0]}: not used without features_from={self.name}")
        if self.active and self.texts is not None:
            SOURCES.get(self.name).check_settings(self.texts)

    def resolve(self, learner: Learner, lists: CandidateLists) -> Self:
        if self.active:
            SOURCES.get(self.name).check_lists(lists, self.texts or SourceSettings())
        return self

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> FeatureSource:
        return SOURCES.get(self.name).fit(lists, self.texts or SourceSettings(), self.query, self.text)


@STEPS.register("text")
class ComputeText(ComputeFeatures, frozen=True):
    """Compute features from questions and texts (``features_from: text``)."""

    name: ClassVar[str] = "text"
    place: ClassVar[int] = 0  # before missing values are filled: none of its own is missing
    own: ClassVar[type[Settings]] = TextSettings


@STEPS.register("vectors")
class ComputeVectors(ComputeFeatures, frozen=True):
    """Compute features from vectors (``features_from: vectors``)."""

    name: ClassVar[str] = "vectors"
    place: ClassVar[int] = 1  # after those of texts
    own: ClassVar[type[Settings]] = VectorSettings
