"""Base of the steps around a learner, and the order in which steps run.

A step is one class: the settings of ``TrainOptions`` that it reads, what it refuses, what
it fits to the training lists and what becomes of the model. In order of their stages:

- data: training lists are changed once, before features are selected (quantised labels);
- features: fitted on the training lists and kept by the model, which applies them to all lists that it
  scores (missing values, scaling);
- view: what the learner alone sees (labels of unjudged items, the scaled base score);
- after: the fitted model is changed (weight of the base score, keep margin).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Self, get_args

from msgspec import Struct

from rerank.core.registry import Registry
from rerank.data.judge import Metric
from rerank.data.lists import CandidateLists
from rerank.learners.base import Learner
from rerank.models.base import Model
from rerank.models.pipeline import FittedStep
from rerank.models.training import Training
from rerank.training.data import OutOfFold, Split, TrainingData
from rerank.training.options import TrainOptions

Stage = Literal["data", "features", "view", "after"]
# All training lists and their out-of-fold scores, by the number of folds and of rounds (None = all of them).
Folds = Callable[[int, int | None], tuple[Split, OutOfFold]]


class Step(Struct, frozen=True):
    """One step with the values of its settings; subclasses declare these as fields.

    Attributes
    ----------
    name : in the registry.
    stage, place : when it runs; ``place`` is the order within the stage.
    settings : the settings that it reads, each a field of the step.
    section : the section of ``TrainOptions`` and of YAML files that has them, "" = none.
    in_grid : whether a grid may vary its settings.
    accepts_classes : whether learners of classes can be given it.
    reads_raw : whether ``fit`` reads the features as they were given, so that these must not be overwritten.
    """

    name: ClassVar[str]
    stage: ClassVar[Stage]
    place: ClassVar[int]
    settings: ClassVar[tuple[str, ...]]
    section: ClassVar[str] = ""
    in_grid: ClassVar[bool] = False
    accepts_classes: ClassVar[bool] = False
    reads_raw: ClassVar[bool] = False

    @classmethod
    def of(cls, options: TrainOptions) -> Self:
        """Return the step with the settings that ``options`` have for it."""
        section = getattr(options, cls.section) if cls.section else options
        return cls(**{name: getattr(section, name) for name in cls.settings})

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return the step with the values of one cell of a grid, which may name settings of other steps."""
        return self

    @property
    def active(self) -> bool:
        """Return whether it does anything: its first setting is not at the default, or names it."""
        value = getattr(self, self.settings[0])
        return self.name in value if isinstance(value, tuple) else bool(value != self.__struct_defaults__[0])

    @property
    def uses_dev(self) -> bool:
        """Return whether development lists choose something, so that they are not new to the model."""
        return False

    def check(self, learner: Learner, metric: Metric | None) -> None:
        """Raise ConfigError for what can be refused before any lists are read."""

    def resolve(self, learner: Learner, lists: CandidateLists) -> Self:
        """Return the step for all training lists; folds of them get the same one.

        Raises ConfigError or DataError if it cannot be used on them.
        """
        return self

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> FittedStep:
        """Return what is fitted to training lists.

        Parameters
        ----------
        lists : as the steps before it left them.
        raw : as they were given.
        """
        raise NotImplementedError

    def note(self, learner: Learner, data: TrainingData) -> None:
        """Warn, once in a training, of what was found in the training lists; also if it is not active."""

    def record(self, training: Training, data: TrainingData, learner: Learner) -> None:
        """Add what became of the training lists to the record of a model, also if the step is not active."""


class AfterStep(Step, frozen=True):
    """A step that changes the model of all training lists."""

    stage: ClassVar[Stage] = "after"

    def check_data(self, data: TrainingData) -> None:
        """Raise an error for what it lacks, before anything is learnt."""

    def change(self, model: Model, data: TrainingData, folds: Folds) -> None:
        """Change a model that was fitted to ``data``, and record it; ``folds`` fits further models."""
        raise NotImplementedError


STEPS: Registry[type[Step]] = Registry("step", "rerank.training.steps", "rerank.extensions")


@cache
def steps_in_order() -> tuple[type[Step], ...]:
    """Return all steps in the order in which they run."""
    stages = get_args(Stage)
    kinds = (STEPS.get(name) for name in STEPS.names())
    return tuple(sorted(kinds, key=lambda kind: (stages.index(kind.stage), kind.place)))
