"""Learners that are made of another one: their base, with settings of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.learners.base import LEARNERS, Learner

Base = str | dict[str, Any]  # the name of a learner, or its name and settings
_BASE = "base"


class MetaLearner(Learner):
    """Base of learners that fit another learner, which ``base`` names.

    A subclass says in ``_why_no_base`` which learners it cannot use; it may give ``base`` another default.
    ``draws_itself`` says whether it draws random numbers beside its base.
    """

    draws_itself: ClassVar[bool] = False

    base: Base = setting(
        "rankboost", "learner of the rankers: a name, or its name and settings; base.rounds is one of them"
    )

    def check_values(self) -> None:
        base = self.base_learner
        why = self._why_no_base(base)
        if why:
            raise ConfigError(f"learner {base.name} is no base of learner {self.name}: {why}")

    @property
    def draws(self) -> bool:
        return self.draws_itself or self.base_learner.draws

    @property
    def base_learner(self) -> Learner:
        """The learner that ``base`` names; its seed is that of the method unless it is given."""
        given = self._parts(self.base)
        name = given.pop("name")
        if not isinstance(name, str):
            raise ConfigError(f"base.name: found {name!r}, expected text")
        kind = LEARNERS.get(name)
        seed = getattr(self, "seed", None)
        if "seed" in kind.settings and seed is not None:
            given.setdefault("seed", seed)
        return kind.checked(given, f"base learner {name}")

    def setting_names(self, grid: Mapping[str, Any]) -> list[str]:
        bases = [self.copy_with({_BASE: base}, "grid").base_learner for base in grid.get(_BASE, [self.base])]
        of_bases = {name: None for base in bases for name in type(base).settings}
        return [*super().setting_names(grid), *(f"{_BASE}.{name}" for name in of_bases)]

    @property
    def given_names(self) -> set[str]:
        own = self.base if isinstance(self.base, dict) else {}
        return super().given_names | {f"{_BASE}.{name}" for name in own}

    def copy_with(self, settings: Mapping[str, Any], where: str) -> Self:
        prefix = f"{_BASE}."
        of_base = {key: value for key, value in settings.items() if key.startswith(prefix)}
        own = {key: value for key, value in settings.items() if key not in of_base}
        if of_base:
            parts = self._parts(own.get(_BASE, self.base))
            own[_BASE] = parts | {key.removeprefix(prefix): value for key, value in of_base.items()}
        return super().copy_with(own, where)

    def _why_no_base(self, base: Learner) -> str:
        """Return why a learner cannot be the base; "" if it can."""
        if isinstance(base, MetaLearner):
            return "it has a base itself"
        if base.reads_classes:
            return "it learns from classes with these settings"
        return "" if base.needs_features else "it reads no features"

    def _parts(self, base: Base) -> dict[str, Any]:
        """The name and the settings of a base learner."""
        default = str(self.settings[_BASE].default)
        return {"name": base} if isinstance(base, str) else {"name": default, **base}


def needs_dev(base: Learner) -> str:
    """Return why a base cannot be fitted without a metric and development lists; "" if it can."""
    keep = getattr(base, "keep", "last")
    return "" if keep == "last" else f"keep={keep} needs a metric, expected keep=last"
