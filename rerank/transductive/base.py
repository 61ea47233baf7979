"""What every transductive method shares: the base learner, the abstain rule, and the model that adapts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import pydantic

from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError, FitError
from rerank.learners.base import LEARNERS, FitInputs, Learner, Watched
from rerank.models.base import Model
from rerank.settings import setting, value_text
from rerank.transductive.abstain import abstained, tuned_threshold
from rerank.transductive.adapter import Adapted, Adapter
from rerank.transductive.labelled import stripped
from rerank.transductive.model import TransductiveModel

__all__ = ["Adapted", "Adapter", "Base", "Transductive"]

Base = str | dict[str, Any]  # the name of a learner, or its name and settings
_BASE = "base"


class Transductive(Learner):
    """Base of the methods that learn a ranker for each list, from labelled lists and from its own items.

    The model holds the labelled lists, scaled, and the base learner's model of them: the unadapted one. A
    subclass declares its settings and returns an ``Adapter`` of labelled lists.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, chapter 4.
    """

    default_scaling: ClassVar[str] = "list-minmax"
    accepts_nan: ClassVar[bool] = True

    base: Base = setting(
        "rankboost", "learner of the rankers: a name, or its name and settings; base.rounds is one of them"
    )
    abstain: Literal["none", "auto"] | float = setting(
        "none",
        "keep the unadapted ranking of a list if Kendall's tau of the two is below this, from -1 to 1; "
        "auto = chosen on the dev lists by the metric",
    )
    seed: int = setting(1, "seed of all that is drawn, also by the base learner unless it has its own", ge=0)

    @pydantic.field_validator("abstain", mode="before")
    @classmethod
    def _no_truth_value(cls, value: Any) -> Any:
        if isinstance(value, bool):  # which pydantic takes for 0 or 1
            raise ValueError(
                f"abstain: found {value_text(value)}, expected none, auto or a number from -1 to 1"
            )
        return value

    @pydantic.model_validator(mode="after")
    def _base_fits(self) -> Self:
        check_base(self.base_learner)
        if isinstance(self.abstain, float) and not -1 <= self.abstain <= 1:
            raise ValueError(f"abstain: found {self.abstain:g}, expected none, auto or a number from -1 to 1")
        return self

    @property
    def base_learner(self) -> Learner:
        """The learner that ``base`` names; its seed is that of the method unless it is given."""
        given = _parts(self.base)
        name = given.pop("name")
        if not isinstance(name, str):
            raise ConfigError(f"base.name: found {name!r}, expected text")
        kind = LEARNERS.get(name)
        if "seed" in kind.model_fields:
            given.setdefault("seed", self.seed)
        return kind.checked(given, f"base learner {name}")

    def setting_names(self, grid: Mapping[str, Any]) -> list[str]:
        bases = [
            self.with_settings({_BASE: base}, "grid").base_learner for base in grid.get(_BASE, [self.base])
        ]
        of_bases = {name: None for base in bases for name in type(base).model_fields}
        return [*super().setting_names(grid), *(f"{_BASE}.{name}" for name in of_bases)]

    @property
    def given_names(self) -> set[str]:
        own = self.base if isinstance(self.base, dict) else {}
        return super().given_names | {f"{_BASE}.{name}" for name in own}

    def with_settings(self, settings: Mapping[str, Any], where: str) -> Self:
        prefix = f"{_BASE}."
        of_base = {key: value for key, value in settings.items() if key.startswith(prefix)}
        own = {key: value for key, value in settings.items() if key not in of_base}
        if of_base:
            parts = _parts(own.get(_BASE, self.base))
            own[_BASE] = parts | {key.removeprefix(prefix): value for key, value in of_base.items()}
        return super().with_settings(own, where)

    @property
    def chooses_on_dev(self) -> bool:
        return self.abstain == "auto"

    @abstractmethod
    def adapter(self, lists: CandidateLists) -> Adapter:
        """Return the method prepared for labelled lists, which are scaled."""

    def _check(self, lists: CandidateLists, inputs: FitInputs) -> None:
        super()._check(lists, inputs)
        if self.abstain == "auto" and inputs.dev is None:
            text = "abstain=auto is chosen on development lists by a metric: give both (--dev, --metric)"
            raise FitError(f"learner {self.name}: {text}")

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        labelled = stripped(lists, labels=True)
        base = self.base_learner
        unadapted = base.fit(labelled)
        unadapted.training.learner, unadapted.training.settings = base.name, base.get_params()
        model = TransductiveModel(labelled, self, unadapted)
        model.training.data = unadapted.training.data
        if self.abstain != "none":
            self._set_threshold(model, inputs.dev)
        return model

    def _set_threshold(self, model: TransductiveModel, dev: Watched | None) -> None:
        """Set below which tau the model abstains, and record what that does on the dev lists."""
        tuned = self.abstain == "auto"
        threshold = None if tuned else float(self.abstain)
        if dev is not None:
            lists, judge = dev
            found = model.adapt_prepared(lists)
            if threshold is None:
                threshold = tuned_threshold(found, judge)
            model.training.abstain = abstained(found, judge, threshold, tuned=tuned)
        model.threshold = threshold


def check_base(base: Learner) -> None:
    """Raise ConfigError if a learner cannot be the base of a transductive method."""
    why = ""
    if isinstance(base, Transductive):
        why = "it is transductive itself"
    elif base.reads_classes:
        why = "it learns from classes with these settings"
    elif not base.needs_features:
        why = "it reads no features"
    elif base.needs_judge:
        why = "it optimises a metric, which a model file does not hold"
    elif getattr(base, "keep", "last") != "last":
        why = f"keep={getattr(base, 'keep', '')} needs a metric, expected keep=last"
    if why:
        raise ConfigError(f"learner {base.name} is no base of a transductive method: {why}")


def _parts(base: Base) -> dict[str, Any]:
    """The name and the settings of a base learner."""
    return {"name": base} if isinstance(base, str) else {"name": "rankboost", **base}
