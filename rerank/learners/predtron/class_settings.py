"""The settings of Predtron that choose its task, and those of tasks on examples with classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.learners.base import Learner
from rerank.learners.predtron.steps import Variant

TaskName = Literal["ranking", "binary", "multiclass", "ordinal", "multilabel", "multilabel-ranking"]
LossName = Literal["auto", "nDCG", "zero-one", "difference", "Hamming", "error-set"]

# The losses of each task, the default first.
LOSSES: dict[TaskName, tuple[LossName, ...]] = {
    "ranking": ("nDCG",),
    "binary": ("zero-one",),
    "multiclass": ("zero-one",),
    "ordinal": ("difference",),
    "multilabel": ("Hamming", "zero-one", "error-set"),
    "multilabel-ranking": ("nDCG",),
}
_ONE_CLASS: tuple[TaskName, ...] = ("binary", "multiclass", "ordinal")
_RANKED: tuple[TaskName, ...] = ("ranking", "multilabel-ranking")
_CLASSES: tuple[TaskName, ...] = (*_ONE_CLASS, "multilabel", "multilabel-ranking")
# The tasks for which a setting of some tasks is.
_TASKS_OF: dict[str, tuple[TaskName, ...]] = {
    "reject": _ONE_CLASS,
    "class_weights": _ONE_CLASS,
    "bias": _CLASSES,
    "positions": _RANKED,
    "exponent": _RANKED,
    **dict.fromkeys(("gain", "cutoff", "ties", "init"), ("ranking",)),
}


def _by_class(key: str) -> Callable[[Any], Any]:
    """Return what reads the setting ``key``, whose classes YAML may have read as numbers."""

    def parse(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        for name, number in given.items():
            if isinstance(name, bool):
                raise ValueError(f"{key}: found yes or no as a class, expected it in quotes")
            if number is None:
                expected = "class: number, with a blank after the colon"
                raise ValueError(f"{key}: found {str(name)!r}, expected {expected}")
        return {str(name) if isinstance(name, int | float) else name: x for name, x in given.items()}

    return parse


class ClassSettings(Learner):
    """The task, and the settings of tasks on examples with classes."""

    task: TaskName = setting(
        "ranking",
        "what is predicted: the order of each list; or of examples with classes (--classes) one of two "
        "(binary), of several (multiclass), of numbers (ordinal), a set of classes (multilabel), or the "
        "order of all classes (multilabel-ranking)",
    )
    loss: LossName = setting(
        "auto",
        "multilabel: wrong classes (Hamming), 1 for a wrong set (zero-one), or missing classes times "
        "superfluous ones (error-set); auto = Hamming, and for other tasks the only loss that they have",
    )
    reject: float | dict[str, float] | None = setting(
        None,
        "binary, multiclass, ordinal: the cost of predicting REJECT, or its cost by class; none = never",
        parse=_by_class("reject"),
    )
    class_weights: Literal["balanced"] | dict[str, float] | None = setting(
        None,
        "binary, multiclass, ordinal: factors of the losses of classes, others 1; balanced = the same sum "
        "for all classes",
        parse=_by_class("class_weights"),
    )
    bias: float = setting(
        1.0, "examples: the value of a feature that they all have; 0 = scores without a constant", ge=0
    )
    variant: Variant = setting(
        "standard", "standard: towards the largest loss less margin; loss-driven: steps times the loss made"
    )

    def check_values(self) -> None:
        """Raise ConfigError for a setting that would have no effect on the task."""
        for key in ("reject", "class_weights"):
            given = getattr(self, key)
            for name, number in given.items() if isinstance(given, dict) else [("", given)]:
                if isinstance(number, float) and not 0 < number < math.inf:
                    found = f"{key}.{name}: found {number:g}" if name else f"{key}: found {number:g}"
                    raise ConfigError(f"{found}, expected a finite number above 0")
        fields = type(self).settings
        for name, tasks in _TASKS_OF.items():
            if self.task not in tasks and getattr(self, name) != fields[name].default:
                raise ConfigError(f"{name} is for task={', '.join(tasks)}, not task={self.task}")
        if self.loss not in ("auto", *LOSSES[self.task]):
            known = " or ".join(LOSSES[self.task])
            raise ConfigError(f"loss: found {self.loss!r}, expected {known} for task={self.task}")
        same = self.chosen_loss == "zero-one" and self.reject is None
        if same and self.class_weights is None and self.variant == "loss-driven":
            raise ConfigError("variant=loss-driven has no effect if every loss is 1")
        if same and self.class_weights is not None and self.variant == "standard":
            raise ConfigError(
                f"class_weights have no effect on task={self.task} without reject or variant=loss-driven: "
                "all wrong predictions for an example have one loss"
            )

    @property
    def chosen_loss(self) -> LossName:
        """The loss, the task's default for auto."""
        return LOSSES[self.task][0] if self.loss == "auto" else self.loss

    @property
    def reads_classes(self) -> bool:
        """Whether examples with classes are learnt from, otherwise lists with labels."""
        return self.task != "ranking"

    @property
    def ranks_classes(self) -> bool:
        """Whether rankings of classes are predicted."""
        return self.task == "multilabel-ranking"
