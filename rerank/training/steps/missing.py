"""Missing values, filled or kept by a policy that is fitted on the training lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from rerank.data.lists import CandidateLists
from rerank.data.missing import AFTER_SCALING, Imputation, fit_missing, note_empty
from rerank.learners.base import LEARNERS, Learner
from rerank.training.data import TrainingData
from rerank.training.options import TrainOptions
from rerank.training.steps.base import STEPS, Stage, Step


@STEPS.register("missing")
@dataclass(frozen=True)
class FillMissing(Step):
    """Fill missing values by a name of data.missing.POLICIES; None keeps features as they are.

    Scores of merged runs are filled by list-min unless another policy is chosen, or stay missing if the
    learner accepts that.
    """

    missing: str | None = None

    name: ClassVar[str] = "missing"
    stage: ClassVar[Stage] = "features"
    place: ClassVar[int] = 10  # raw values are filled, and then scaled, unless it is list-min
    settings: ClassVar[tuple[str, ...]] = ("missing",)
    section: ClassVar[str] = "data"
    accepts_classes: ClassVar[bool] = True

    @classmethod
    def of(cls, options: TrainOptions) -> Self:
        data = options.data
        default = data.missing is None and bool(data.merge)  # others may have learners without a name
        return cls(data.policy(default and LEARNERS.get(str(options.learner["name"])).accepts_nan))

    def __post_init__(self) -> None:
        if self.missing in AFTER_SCALING:
            vars(self)["place"] = 30

    @property
    def active(self) -> bool:
        return self.missing is not None

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> Imputation:
        assert self.missing is not None  # it is active
        return fit_missing(self.missing, lists)

    def note(self, learner: Learner, data: TrainingData) -> None:
        fitted = data.chain.get(Imputation)
        if fitted is not None:
            note_empty(fitted, data.source)
