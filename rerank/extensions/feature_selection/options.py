"""The settings of feature selection, of the verb and of the learner."""

from __future__ import annotations

from typing import Literal

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting


class Selecting(Settings):
    """Options of feature selection."""

    method: Literal["boosting", "filter", "backward", "l1"] = setting(
        "boosting",
        "the first features that boosting chooses, the best by a criterion of single features (filter), "
        "those left after the smallest weights are removed step by step, with refits (backward), or the "
        "largest weights of a log-linear model with an l1 penalty (l1)",
    )
    criterion: Literal["gain", "count", "correlation"] | None = setting(
        None,
        "filter: information gain on pairs, lists within which the feature varies, or correlation with the "
        "labels within lists; none = gain",
    )
    ranker: str | None = setting(
        None, "backward: the linear learner whose weights decide; none = ranksvm", metavar="NAME"
    )
    step: float | None = setting(
        None, "backward: share of the features that are removed before each refit; none = 0.5", gt=0, lt=1
    )

    def check_values(self) -> None:
        for name, method in (("criterion", "filter"), ("ranker", "backward"), ("step", "backward")):
            if getattr(self, name) is not None and self.method != method:
                raise ConfigError(f"{name}: not used by method {self.method}, only by {method}")
