"""The configuration of an experiment: learners with their grids, folds of files, metrics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import model_validator

from rerank.config import DEFAULT_LEARNER, TrainConfig, read_config
from rerank.errors import ConfigError, FormatError
from rerank.experiment import learner_of
from rerank.experiment.training import plan_of
from rerank.learners.base import LEARNERS
from rerank.registry import did_you_mean
from rerank.settings import Settings, setting
from rerank.yamltext import read_yaml

PARTS = ("train", "dev", "test")
# Keys of a learner's entry that are not settings of the learner.
_OF_PLAN = ("grid", "scaling")


class Experiment(Settings):
    """What is compared on what.

    ``data`` names train, dev and test, with {fold} in their paths; its other keys are options of the reader.
    An entry of ``learners`` holds the settings of one learner, a ``grid`` to choose from on dev, and
    ``scaling``. Its key is the learner's name and that of the row, unless the entry has a ``name``. A
    learner with another ``metric`` than the experiment's optimises that one, and is chosen by it.
    """

    data: dict[str, Any] = setting(
        {}, "train, dev and test, with {fold} in their paths, and how to read them"
    )
    folds: list[int | str] = setting([1], "what {fold} stands for")
    select: dict[str, Any] = setting({}, "the metric that chooses on dev lists")
    metrics: list[str] = setting([], "the metrics that judge on test lists")
    baseline: str = setting(DEFAULT_LEARNER, "the row that the others are tested against")
    seed: int = setting(1, "seed of the learners that have one", ge=0)
    learners: dict[str, dict[str, Any] | None] = setting({}, "settings and grid of each learner")

    @model_validator(mode="after")
    def _complete(self) -> Experiment:
        missing = [part for part in PARTS if part not in self.data]
        if missing:
            raise ValueError(f"data.{missing[0]}: not given, expected a path")
        if "metric" not in self.select:
            raise ValueError("select.metric: not given, expected the metric that chooses on dev lists")
        if not self.metrics:
            raise ValueError("metrics: none given")
        if self.baseline not in self.learners:
            raise ValueError(f"baseline: {self.baseline!r} is none of the learners")
        return self

    def files(self, fold: int | str) -> list[str]:
        """Return the paths of the training, dev and test lists of a fold."""
        return [str(self.data[part]).replace("{fold}", str(fold)) for part in PARTS]

    def reading(self) -> dict[str, Any]:
        """Return the options of the reader."""
        return {key: value for key, value in self.data.items() if key not in PARTS}

    def check_rows(self, rows: Sequence[str]) -> None:
        """Raise ConfigError if a row is none of the learners."""
        unknown = [row for row in rows if row not in self.learners]
        if unknown:
            raise ConfigError(f"learners: no {unknown[0]!r}; {did_you_mean(unknown[0], self.learners)}")

    def config(self, row: str) -> dict[str, Any]:
        """Return the values of a training run for a row, without its files."""
        entry = dict(self.learners[row] or {})
        entry.setdefault("name", row)
        select = dict(self.select)
        if "metric" in entry:
            select["metric"] = entry.pop("metric")
        grid = entry.get("grid") or {}
        fields = LEARNERS.get(str(entry["name"])).model_fields
        if "keep" in fields and "keep" not in entry and "keep" not in grid:
            entry["keep"] = "best"
        if grid:
            select["choose"] = "dev"
        plan = {key: entry.pop(key) for key in _OF_PLAN if key in entry}
        return {"learner": entry, "select": select, "seed": self.seed, **plan}


def train_config(values: Mapping[str, Any]) -> TrainConfig:
    """Return the training run of ``Experiment.config``, checked.

    Raises
    ------
    ConfigError
        If a setting is unknown or wrong.
    """
    config = read_config(None, base=values)
    plan_of(config).check(learner_of(config))
    return config


def read_experiment(path: Path) -> Experiment:
    """Return the experiment of a YAML file; ``$NAME`` and ``${NAME}`` in paths are environment variables.

    Raises
    ------
    ConfigError, FormatError
        If the file is not one.
    """
    try:
        values = read_yaml(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    if not isinstance(values, dict):
        raise FormatError(str(path), 1, f"a {type(values).__name__}", "keys such as data: and learners:")
    data = values.get("data")
    if isinstance(data, dict):
        values["data"] = {key: _expanded(value, path) for key, value in data.items()}
    return Experiment.checked(values, str(path))


def _expanded(value: Any, path: Path) -> Any:
    """A value with the environment variables in its text replaced."""
    found = os.path.expandvars(value) if isinstance(value, str) else value
    if isinstance(found, str) and "$" in found:
        raise ConfigError(f"{path}: {found}: an environment variable is not set")
    return found
