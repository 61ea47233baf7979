"""Experiment files: YAML, environment variables and ``--set key=value`` to checked settings."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pydantic
import yaml

from rerank.errors import ConfigError, DataNote, FormatError
from rerank.files import os_error
from rerank.settings import Settings, setting

ScalingName = Literal["none", "minmax", "zscore", "rank", "list-minmax", "list-zscore", "list-rank"]


DEFAULT_LEARNER = "perceptron"


class DataSection(Settings):
    """Where the lists are and how to read them."""

    train: str | None = setting(None, "training lists")
    dev: str | None = setting(None, "development lists")
    test: str | None = setting(None, "test lists")
    format: str | None = setting(None, "format of all three; none = by name or content")
    refs: list[str] = setting([], "references of the training lists, a file each")
    dev_refs: list[str] = setting([], "references of the development lists")
    test_refs: list[str] = setting([], "references of the test lists")
    init: str | None = setting(None, "weights to start from: a linear model or a file of weights")
    label: str | None = setting(None, "metric that makes the labels from references, such as sBLEU")
    quantise: str | None = setting(
        None, "make the training labels few: best, above=T, model=FILE, top=P%, kmeans=K, list-kmeans=K"
    )
    merge: list[str] = setting([], "further training files, joined by list id")
    distinct: bool = setting(False, "keep the first of a list's items of the same text")
    n_best: int = setting(0, "lines of each list where the file does not say it", ge=0)
    qrels: str | None = setting(None, "TREC judgements that become labels")
    strip: list[str] = setting([], "what is left out of trees: traces, functions")
    list_column: str | None = setting(None, "column of list ids")
    label_column: str | None = setting(None, "column of labels")
    id_column: str | None = setting(None, "column of item ids")
    text_column: str | None = setting(None, "column of texts")
    first_best: str | None = setting(None, "the first stage's order: 'input' or the name of a feature")
    feature_names: str | None = setting(None, "file with the features' names, one a line")
    missing: Literal["zero", "nan"] = setting("zero", "what an absent feature is")
    zero_based: bool = setting(False, "the first feature has index 0")
    layout: Literal["auto", "dense", "sparse"] = setting("auto", "how features are kept in memory")
    strict: bool = setting(False, "refuse what is otherwise mended and said")

    def files(self) -> list[str]:
        """The files that lists are read from."""
        single = (self.train, self.dev, self.test)
        return [*filter(None, single), *self.refs, *self.dev_refs, *self.test_refs, *self.merge]


class SelectSection(Settings):
    """Which metric is watched, and which round is kept by it."""

    metric: str | None = setting(None, "metric of the learning curve and of the choice of a round")
    keep: Literal["last", "best", "train"] | None = setting(
        None, "the last round, or the best on the dev or the training lists"
    )
    keep_margin: float | Literal["auto", "none"] = setting(
        "none", "lead over the first-best that takes its place; auto = tuned on the dev lists"
    )

    @pydantic.field_validator("keep_margin", mode="before")
    @classmethod
    def _margin(cls, value: Any) -> Any:
        if value in ("auto", "none"):
            return value
        try:
            margin = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            margin = math.nan
        if not margin >= 0:
            expected = "auto, none, inf or a number of at least 0"
            raise ValueError(f"select.keep_margin: found {value!r}, expected {expected}")
        return margin


class TrainConfig(Settings):
    """One training run."""

    data: DataSection = setting(DataSection(), "input files")
    scaling: ScalingName = setting("none", "scaling of the features, fitted on the training lists")
    learner: dict[str, Any] = setting({"name": DEFAULT_LEARNER}, "name and settings of the learner")
    select: SelectSection = setting(SelectSection(), "metric to watch and to keep a round by")
    metrics: list[str] = setting([], "metrics to report")
    seed: int | None = setting(None, "seed of a learner that has one", ge=0)
    seeds: int = setting(1, "runs with consecutive seeds, of which one is kept", ge=1)
    jobs: int = setting(1, "workers; 0 = one a core; the model is the same for any number", ge=0)


PATH_KEYS = [
    *("train", "dev", "test", "feature_names", "init", "qrels"),
    *("refs", "dev_refs", "test_refs", "merge"),
]
# Keys of the section select that --set knows without it; its keep is a setting of learners too.
_OF_SELECT = ("metric", "keep_margin")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def read_config(
    path: str | None, overrides: Sequence[str] = (), base: Mapping[str, Any] | None = None
) -> TrainConfig:
    """The settings of a YAML file (None = defaults), then ``base``, then ``key=value`` overrides.

    Relative paths in the file are relative to the file; ``${NAME}`` takes an environment variable.
    A key without a dot that is no section is a setting of the learner, but for ``metric`` and
    ``keep_margin``, which are select's; learner.metric is select.metric too. Where ``base`` names another
    learner than the file, the file's settings of its own learner are left out, and a DataNote says so.
    Raises ConfigError or FormatError with file and key.
    """
    values = {} if path is None else _read_yaml(path)
    _leave_other_learner(values, (base or {}).get("learner.name"), path)
    for key, value in (base or {}).items():
        _put(values, key.split("."), value, "option")
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                f"--set {text}: found no KEY=VALUE, expected such as tau=0.5 or learner.tau=0.5"
            )
        parts = key.strip().split(".")
        if len(parts) == 1 and parts[0] not in TrainConfig.model_fields:
            parts = ["select" if parts[0] in _OF_SELECT else "learner", *parts]
        _put(values, parts, _parse_value(value, text), f"--set {text}")
    learner = values.setdefault("learner", {})
    if isinstance(learner, dict):
        learner.setdefault("name", DEFAULT_LEARNER)
        _move_metric(learner, values)
    return TrainConfig.checked(values, path or "settings")


def _leave_other_learner(values: dict[str, Any], name: Any, path: str | None) -> None:
    """Drops the settings of the file's learner where another one, ``name``, takes its place."""
    own = values.get("learner")
    if name is None or not isinstance(own, dict) or own.get("name", DEFAULT_LEARNER) == name:
        return
    left = sorted(own.keys() - {"name", "metric"})
    values["learner"] = {key: value for key, value in own.items() if key not in left}
    if left:
        text = f"{path}: settings of learner {own.get('name', DEFAULT_LEARNER)} ({', '.join(left)})"
        warnings.warn(f"{text} are left out for learner {name}", DataNote, stacklevel=4)


def _move_metric(learner: dict[str, Any], values: dict[str, Any]) -> None:
    """Takes learner.metric, another spelling of select.metric, to its place."""
    metric = learner.pop("metric", None)
    select = values.setdefault("select", {})
    if metric is not None and isinstance(select, dict) and select.setdefault("metric", metric) != metric:
        raise ConfigError(f"select.metric is {select['metric']!r} but learner.metric is {metric!r}: give one")


def learner_settings(config: TrainConfig, known: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for the learner of ``config``: its own, and the run's seed and keep where it has them."""
    own = {key: value for key, value in config.learner.items() if key != "name"}
    keep = config.select.keep
    if keep is not None:
        if own.get("keep", keep) != keep:
            raise ConfigError(f"select.keep is {keep!r} but learner.keep is {own['keep']!r}: give one")
        if "keep" not in known:
            raise ConfigError(f"select.keep: learner {config.learner.get('name')!r} has no rounds to keep")
        own["keep"] = keep
    if config.seed is not None and "seed" in known:
        own.setdefault("seed", config.seed)
    return own


def _read_yaml(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        values = yaml.safe_load(text)
    except OSError as error:
        raise os_error(path, error) from None
    except UnicodeDecodeError:
        raise FormatError(path, None, "bytes that are not UTF-8", "a YAML file") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "text that is no YAML"
        raise FormatError(path, mark.line + 1 if mark else None, problem, "YAML") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise FormatError(path, 1, f"a {type(values).__name__}", "keys such as data: and learner:")
    values = {str(key): _expand(value, path) for key, value in values.items()}
    data = values.get("data")
    if isinstance(data, dict):
        for key in PATH_KEYS:
            if isinstance(data.get(key), str):
                data[key] = _beside(path, data[key])
            elif isinstance(data.get(key), list):
                data[key] = [_beside(path, str(name)) for name in data[key]]
        if str(data.get("quantise")).startswith("model="):
            data["quantise"] = "model=" + _beside(path, data["quantise"].removeprefix("model="))
    return values


def _beside(path: str, name: str) -> str:
    """The path ``name`` of the file ``path``, which is relative to it."""
    return name if name == "-" else os.path.normpath(Path(path).parent / name)


def _expand(value: Any, path: str) -> Any:
    """The value with every ``${NAME}`` in its strings replaced."""
    if isinstance(value, dict):
        return {str(key): _expand(inner, path) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expand(inner, path) for inner in value]
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in os.environ:
            raise ConfigError(f"{path}: environment variable {name} is not set")
        return os.environ[name]

    return _VARIABLE.sub(variable, value)


def _put(values: dict[str, Any], parts: Sequence[str], value: Any, where: str) -> None:
    for part in parts[:-1]:
        values = values.setdefault(part, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{where}: {part} is a value, not a section")
    values[parts[-1]] = value


def _parse_value(text: str, whole: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"--set {whole}: the value is not readable (quote it as YAML asks)") from None
