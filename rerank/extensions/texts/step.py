"""Features of texts in training: fitted to the training lists, and kept by the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from rerank.core.errors import ConfigError
from rerank.data.judge import Metric
from rerank.data.lists import CandidateLists
from rerank.learners.base import Learner
from rerank.training.options import TrainOptions
from rerank.training.steps import STEPS, Stage, Step
from rerank.training.text_options import TextSettings

if TYPE_CHECKING:
    from rerank.extensions.texts.extraction import TextFeatures


@STEPS.register("text")
class ComputeText(Step, frozen=True):
    """Compute features from questions and texts (``features_from: text``)."""

    features_from: tuple[str, ...] = ()
    texts: TextSettings | None = None
    query: str | None = None
    text: str | None = None

    name: ClassVar[str] = "text"
    stage: ClassVar[Stage] = "features"
    place: ClassVar[int] = 0  # before missing values are filled: none of its own is missing
    settings: ClassVar[tuple[str, ...]] = ("features_from",)

    @classmethod
    def of(cls, options: TrainOptions) -> Self:
        data = options.data
        return cls(options.features_from, options.texts, data.query_column, data.text_column)

    def check(self, learner: Learner, metric: Metric | None) -> None:
        given = [] if self.texts is None else sorted(self.texts.settings_given)
        if given and not self.active:
            raise ConfigError(f"{given[0]}: not used without features from texts (features_from=text)")
        if self.active and self.texts is not None and self.texts.stemmer is not None:
            from rerank.extensions.texts.tokens import stemmer_of

            stemmer_of(self.texts.stemmer)

    def resolve(self, learner: Learner, lists: CandidateLists) -> Self:
        if self.active:
            from rerank.extensions.texts.extraction import questions_and_texts

            questions_and_texts(lists)
        return self

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> TextFeatures:
        from rerank.extensions.texts.extraction import fit_text

        return fit_text(lists, self.texts or TextSettings(), self.query, self.text)
