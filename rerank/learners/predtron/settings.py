"""The settings of Predtron, and which of them suit which task."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.learners.base import Learner
from rerank.learners.rounds import KEEP_HELP, Keep
from rerank.similarity.vectors import KernelName, VectorKernel

TaskName = Literal["ranking", "binary", "multiclass", "ordinal", "multilabel", "multilabel-ranking"]
GainName = Literal["exponential", "linear"]
PositionsName = Literal["power", "reciprocal"]
Eta = float | Literal["theorem"]
Variant = Literal["standard", "loss-driven"]
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


class PredtronSettings(Learner):
    """The settings of Predtron, and which of them suit which task."""

    task: TaskName = setting(
        "ranking",
        "prediction task: the order of each list; or for examples with classes (--classes) one of "
        "two (binary), of several (multiclass), of numbers (ordinal), a set of classes "
        "(multilabel), or the order of all classes (multilabel-ranking)",
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
        1.0, "value of a feature that all examples have; 0 = scores without a constant", ge=0
    )
    variant: Variant = setting(
        "standard", "standard: towards the largest loss less margin; loss-driven: steps times the loss made"
    )

    positions: PositionsName = setting(
        "power", "f, the value of place i in the vector of a ranking: power (-i^exponent) or reciprocal (1/i)"
    )
    exponent: float = setting(1.0, "power: the exponent of i", gt=0, le=100)
    gain: GainName = setting("exponential", "nDCG: 2^label - 1, or the label")
    cutoff: int | None = setting(None, "nDCG: only the first so many items count; none = all", ge=1)
    ties: Literal["score", "index"] = setting(
        "score",
        "the ranking without loss that updates move to: the nearest one (items of one label by score), or "
        "the one with items of one label in input order",
    )
    eta: Eta = setting(
        1.0,
        "factor of a step; theorem = the one for which a bound of the losses is proved, by the data's norms",
    )
    norm: Literal["l2", "p"] = setting(
        "l2", "margins by this norm: l2, or p for the l1 norm (p-norm link function, for few useful features)"
    )
    kernel: KernelName | Literal["none"] = setting(
        "none", "scores are sums of a kernel over training items; for small data. none = weights of features"
    )
    degree: int = setting(2, "polynomial kernel: (gamma x·x' + constant)^degree", ge=1, le=100)
    gamma: Literal["auto"] | float = setting(
        "auto", "polynomial, gaussian: exp(-gamma |x - x'|^2); auto = 1, gaussian: median distance", gt=0
    )
    constant: float = setting(1.0, "polynomial kernel: the constant", ge=0)
    epochs: int = setting(30, "maximum number of epochs; training stops after an epoch without updates", ge=1)
    average: Literal["last", "average"] = setting("average", "the last weights, or the mean of all visits")
    init: Literal["auto", "given", "base", "zero"] = setting(
        "auto",
        "initial weights: given (with --init), base (they reproduce the first stage's scores) or zero; "
        "auto = given, else zero",
    )
    keep: Keep = setting("last", KEEP_HELP)
    shuffle: bool = setting(True, "shuffle the lists before each epoch")
    seed: int = setting(1, "random seed of the order", ge=0)

    def check_values(self) -> None:
        """Raise ConfigError for a setting that would have no effect on the task or beside the others."""
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
            text = f"class_weights have no effect on task={self.task} without reject or variant=loss-driven"
            raise ConfigError(f"{text}: all wrong predictions for an example have one loss")
        if self.eta != "theorem" and not 0 < self.eta < math.inf:
            raise ConfigError(f"eta: found {self.eta:g}, expected more than 0 or theorem")
        used = {
            "exponent": ("positions=power", self.positions == "power"),
            "degree": ("kernel=polynomial", self.kernel == "polynomial"),
            "gamma": ("kernel=polynomial and gaussian", self.kernel in ("polynomial", "gaussian")),
            "constant": ("kernel=polynomial", self.kernel == "polynomial"),
        }
        for name, (where, has_effect) in used.items():
            if not has_effect and getattr(self, name) != fields[name].default:
                raise ConfigError(f"{name} is for {where}")
        for name, allowed in {"norm": ("l2",), "init": ("auto", "zero")}.items():
            if self.kernel != "none" and (given := getattr(self, name)) not in allowed:
                raise ConfigError(f"{name}={given} is for kernel=none: a kernel has no weights of features")

    @property
    def vector_kernel(self) -> VectorKernel | None:
        """The kernel of these settings, None if scores are weighted sums of features."""
        # gamma 0 stands for that of the median distance of items, see models.dual.with_width.
        gamma = float(self.kernel != "gaussian") if isinstance(self.gamma, str) else self.gamma
        return None if self.kernel == "none" else VectorKernel(self.kernel, self.degree, gamma, self.constant)

    @property
    def chosen_loss(self) -> LossName:
        """The loss, the task's default for auto."""
        return LOSSES[self.task][0] if self.loss == "auto" else self.loss

    @property
    def reads_classes(self) -> bool:
        """Return whether examples with classes are learnt from, otherwise lists with labels."""
        return self.task != "ranking"

    @property
    def ranks_classes(self) -> bool:
        """Return whether rankings of classes are predicted."""
        return self.task == "multilabel-ranking"
