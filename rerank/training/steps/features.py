"""Missing values and scaling of features, fitted on the training lists and kept by the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from msgspec.structs import replace

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.data.feature_ranges import note_uneven
from rerank.data.lists import CandidateLists
from rerank.data.missing import AFTER_SCALING, Imputation, fit_missing, note_fills
from rerank.data.scaling import AUTO, SCALINGS, Scaling, fit_scaling
from rerank.learners.base import LEARNERS, Learner
from rerank.training.data import TrainingData
from rerank.training.options import TrainOptions
from rerank.training.steps import STEPS, Stage, Step


@STEPS.register("missing")
class FillMissing(Step, frozen=True, dict=True):
    """Fill missing values by a name of data.missing.POLICIES; None keeps features as they are.

    Scores of merged runs are filled by list-min unless another policy is chosen, or stay missing if the
    learner accepts that.
    """

    missing: str | None = None

    name: ClassVar[str] = "missing"
    stage: ClassVar[Stage] = "features"
    place: ClassVar[int] = 10  # raw values are filled, and then scaled, unless it is of AFTER_SCALING
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

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> Imputation:
        assert self.missing is not None  # it is active
        return fit_missing(self.missing, lists)

    def note(self, learner: Learner, data: TrainingData) -> None:
        fitted = data.chain.get(Imputation)
        if fitted is not None:
            note_fills(fitted, data.source)


@STEPS.register("scaling")
class ScaleFeatures(Step, frozen=True):
    """Scale features by a name of ``rerank list scalings``."""

    scaling: str = AUTO

    name: ClassVar[str] = "scaling"
    stage: ClassVar[Stage] = "features"
    place: ClassVar[int] = 20
    settings: ClassVar[tuple[str, ...]] = ("scaling",)
    in_grid: ClassVar[bool] = True
    accepts_classes: ClassVar[bool] = True

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        name = str(settings.get("scaling", self.scaling))
        if name not in SCALINGS and name != AUTO:
            raise ConfigError(f"grid: unknown scaling {name!r}; {did_you_mean(name, SCALINGS)}")
        return replace(self, scaling=name)

    @property
    def active(self) -> bool:
        return self.scaling != "none"

    def resolve(self, learner: Learner, lists: CandidateLists) -> Self:
        """Return the step with the scaling that ``auto`` stands for.

        Raises ConfigError for a scaling within lists if each list is one example with classes.
        """
        name = learner.scaling_of(lists) if self.scaling == AUTO else self.scaling
        if learner.reads_classes and name.startswith("list-") and lists.n_lists == lists.n_items:
            found = f"{lists.source} has one example per list, whose scale is unknown"
            raise ConfigError(f"scaling {name}: {found}")
        return replace(self, scaling=name)

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> Scaling:
        return fit_scaling(self.scaling, lists)

    def note(self, learner: Learner, data: TrainingData) -> None:
        if self.scaling == "none" and not learner.scale_invariant:
            note_uneven(data.source, f"learner {learner.name}")
