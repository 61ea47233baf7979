"""The settings of Predtron."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator, model_validator

from rerank.core.settings import setting
from rerank.learners.predtron.class_settings import ClassSettings
from rerank.learners.predtron.gains import GainName
from rerank.learners.predtron.positions import PositionsName
from rerank.learners.predtron.steps import Eta
from rerank.learners.rounds import KEEP_HELP, Keep
from rerank.similarity.vectors import KernelName, VectorKernel


class PredtronSettings(ClassSettings):
    """What the tasks of Predtron read of the learner."""

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
    gamma: float = setting(1.0, "polynomial kernel, and gaussian: exp(-gamma |x - x'|^2)", gt=0)
    constant: float = setting(1.0, "polynomial kernel: the constant", ge=0)
    rounds: int = setting(30, "most passes over the lists; a pass without an update is the last", ge=1)
    average: Literal["last", "average"] = setting(
        "average", "the last weights, or their mean over all visits"
    )
    init: Literal["auto", "given", "base", "zero"] = setting(
        "auto",
        "initial weights: given (with --init), base (they reproduce the first stage's scores) or zero; "
        "auto = given, else zero",
    )
    keep: Keep = setting("last", KEEP_HELP)
    shuffle: bool = setting(True, "visit the lists in a new random order each round")
    seed: int = setting(1, "seed of the random order", ge=0)

    @field_validator("eta")
    @classmethod
    def _is_step(cls, eta: Eta) -> Eta:
        if eta != "theorem" and not 0 < eta < float("inf"):
            raise ValueError(f"eta: found {eta:g}, expected more than 0 or theorem")
        return eta

    @model_validator(mode="after")
    def _fits_together(self) -> PredtronSettings:
        """Raise ValueError for a setting that would have no effect beside the others."""
        fields = type(self).model_fields
        used = {
            "exponent": ("positions=power", self.positions == "power"),
            "degree": ("kernel=polynomial", self.kernel == "polynomial"),
            "gamma": ("kernel=polynomial and gaussian", self.kernel in ("polynomial", "gaussian")),
            "constant": ("kernel=polynomial", self.kernel == "polynomial"),
        }
        for name, (where, has_effect) in used.items():
            if not has_effect and getattr(self, name) != fields[name].default:
                raise ValueError(f"{name} is for {where}")
        if self.kernel != "none":
            if self.norm != "l2":
                raise ValueError("norm=p is for kernel=none: a kernel has no weights of features")
            if self.init not in ("auto", "zero"):
                raise ValueError(f"init={self.init} is for kernel=none: a kernel has no weights of features")
        return self

    @property
    def vector_kernel(self) -> VectorKernel | None:
        """The kernel of these settings, None if scores are weighted sums of features."""
        if self.kernel == "none":
            return None
        return VectorKernel(self.kernel, self.degree, self.gamma, self.constant)
