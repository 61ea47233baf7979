"""The settings of a training, declared once: keys of YAML files, options of verbs and keywords in Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting
from rerank.core.text import number
from rerank.data.reading import BASE, PER_PART, DataSection, Sources
from rerank.training.text_options import SourceSettings

if TYPE_CHECKING:  # help and completion of train read the settings without numpy
    from rerank.learners.base import Learner

ScalingName = Literal["auto", "none", "minmax", "zscore", "rank", "list-minmax", "list-zscore", "list-rank"]


DEFAULT_LEARNER = "perceptron"


def _margin(value: Any) -> Any:
    """A keep margin as a number, auto or none."""
    if value in ("auto", "none"):
        return value
    margin = math.inf if value in ("inf", math.inf) else number(str(value))
    if margin is None or margin < 0:
        expected = "auto, none, inf or a number of at least 0"
        raise ValueError(f"select.keep_margin: found {value!r}, expected {expected}")
    return margin


def _scale(value: Any) -> Any:
    """A factor of the base score as a number, or auto."""
    if value == "auto":
        return value
    scale = None if isinstance(value, bool) else number(str(value))
    if scale is None or not 0 < scale < math.inf:
        raise ValueError(f"base_scale: found {value!r}, expected auto or a number above 0")
    return scale


class Select(Settings):
    """Model selection: the metric, the round or epoch that is kept, and how hyperparameters are selected."""

    help_group: ClassVar[str] = "Choice and tuning"
    renamed: ClassVar = {"choose": "by"}

    metric: str | None = setting(
        None,
        "metric to optimise, to watch after each round or epoch, and to choose the best one",
        metavar="METRIC",
        flags=("--metric", "-m"),
        group="",
    )
    keep: Literal["last", "best", "train"] | None = setting(
        None,
        "which round or epoch to keep: the last, the best on dev (best), the best on the training lists "
        "(train)",
    )
    keep_margin: float | Literal["auto", "none"] = setting(
        "none",
        "the first-best stays unless another item leads by more than this; auto = tuned on the development "
        "lists",
        metavar="auto|M|none",
        parse=_margin,
        finite=False,
    )

    tune_base: Literal["none", "dev", "folds"] = setting(
        "none",
        "after training, tune the weight of the base score (the first stage's) by the metric: on the "
        "development lists, or on out-of-fold scores of the training lists",
    )
    by: Literal["none", "dev", "cv"] = setting(
        "none",
        "select hyperparameters on the dev set, or by cross-validation on the training lists (cv), "
        "which also selects the number of epochs",
        flags=("--select",),
    )
    folds: int | None = setting(None, "number of cross-validation folds; none = 5", ge=2)


class TrainOptions(Settings):
    """All that decides how a model is trained: YAML keys, options, and keywords of ``rerank.train``."""

    help_group: ClassVar[str] = "Choice and tuning"

    data: DataSection = setting(DataSection(), "input files")
    features_from: Sources = setting(
        (), "features that the model computes: from texts, from vectors, or both", metavar="text,vectors"
    )
    texts: SourceSettings = setting(SourceSettings(), "how features are computed from texts")
    scaling: ScalingName = setting(
        "auto",
        "scaling of the features, fitted on the training lists; auto = the learner's; see 'rerank list "
        "scalings'",
        metavar="NAME",
    )
    base_scale: float | Literal["auto"] = setting(
        1.0,
        "multiply the feature that is the base score by this after scaling, for the learner alone; auto = as "
        "much variance within lists as all other features together",
        metavar="auto|X",
        parse=_scale,
    )
    learner: dict[str, Any] = setting({"name": DEFAULT_LEARNER}, "name and settings of the learner")
    select: Select = setting(Select(), "metric to watch, round to keep, keep margin")
    grid: dict[str, Any] = setting(
        {}, "hyperparameter grid: values of the learner's settings, of scaling and of base_scale"
    )
    seed: int | None = setting(None, "random seed, for learners that draw", group="", ge=0)
    seeds: int = setting(
        1,
        "train with this many consecutive seeds and keep the run that is best on the development lists, or "
        "without them the median run; {seed} in MODEL writes every run",
        ge=1,
        le=10_000,
    )
    jobs: int | None = setting(
        None,
        "workers, 1 unless given; 0 = one per core; the model is the same for any number",
        flags=("--jobs", "-j"),
        group="Running",
        ge=0,
    )
    cluster: str | None = setting(
        None,
        "workers of a Dask cluster, by its address, instead of --jobs; see 'rerank help configuration'",
        metavar="tcp://HOST:PORT",
        group="Running",
    )

    _path: str | None = None

    def files(self) -> list[str]:
        """Return the paths of all input files, also that of the configuration itself."""
        return [*self.data.files(), *filter(None, [self._path]), *(self.features_from and self.texts.files())]


def learner_settings(options: TrainOptions, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for the learner of ``options``: its own, and the run's seed and keep.

    Parameters
    ----------
    options : the training run.
    known : the settings that the learner has, by name.

    Raises
    ------
    ConfigError
        If a setting is given twice with different values, or the learner keeps no rounds.
    """
    own = {key: value for key, value in options.learner.items() if key != "name"}
    keep = options.select.keep
    if keep is not None:
        if own.get("keep", keep) != keep:
            raise ConfigError(f"select.keep is {keep!r} but learner.keep is {own['keep']!r}: give one")
        if "keep" not in known:
            raise ConfigError(
                f"select.keep: learner {options.learner.get('name')!r} has no rounds or epochs to keep"
            )
        own["keep"] = keep
    if options.seed is not None:
        if "seed" not in known:
            raise ConfigError(f"seed: not used by learner {options.learner.get('name')}, which draws nothing")
        if own.setdefault("seed", options.seed) != options.seed:
            raise ConfigError(f"seed is {options.seed!r} but learner.seed is {own['seed']!r}: give one")
    if options.data.init == BASE and "init" in known and own.setdefault("init", BASE) != BASE:
        raise ConfigError(f"data.init is base but learner.init is {own['init']!r}: give one")
    return own


def learner_of(options: TrainOptions) -> Learner:
    """Return the learner that ``options`` name, with the run's seed and keep.

    Raises
    ------
    ConfigError
        If there is no such learner, or a setting is unknown, out of range or given twice.
    """
    from rerank.learners.base import LEARNERS

    kind = LEARNERS.get(str(options.learner["name"]))
    return kind.checked(learner_settings(options, kind.settings), f"learner {kind.name}")


# Keyword -> its section and its key there.
_SECTIONS = {
    **{name: ("select", name) for name in ("metric", "keep_margin", "tune_base", "folds")},
    "select": ("select", "by"),
    **{name: ("data", name) for name in ("missing", "unjudged", "quantise", "label")},
    **{name: ("texts", name) for name in SourceSettings.settings},
}
KEYWORDS = ("features_from", "scaling", "base_scale", "grid", "seeds", "jobs", "cluster", *_SECTIONS)


def options_of(learner: str | Learner | None = None, given: Mapping[str, Any] | None = None) -> TrainOptions:
    """Return options from keywords: names of settings, whatever their section, and settings of the learner.

    Parameters
    ----------
    learner : a name of ``rerank list learners``, or a learner, whose settings are those that it was given.
    given : values by keyword; None = not given. What is not in KEYWORDS is a setting of the learner.

    Raises
    ------
    ConfigError
        If a value is wrong.
    """
    from rerank.learners.base import Learner

    own: dict[str, Any] = {"name": DEFAULT_LEARNER if learner is None else learner}
    if isinstance(learner, Learner):
        own = {"name": learner.name, **{name: getattr(learner, name) for name in learner.settings_given}}
    values: dict[str, Any] = {"learner": own}
    for name, value in (given or {}).items():
        if name == "choose":
            raise ConfigError("unknown setting 'choose'; it is now 'select'")
        if name not in KEYWORDS:
            own[name] = value
        elif value is not None and name in _SECTIONS:
            section, key = _SECTIONS[name]
            values.setdefault(section, {})[key] = value
        elif value is not None:
            values[name] = value
    return TrainOptions(**values)


def check_data(options: TrainOptions, learner: Learner) -> None:
    """Raise ConfigError at what the section ``data`` of files cannot have, before anything is read."""
    data = options.data
    if not data.train:
        raise ConfigError("data.train: found none, expected a file of training lists (--data FILE)")
    for part, prefix in (("train", ""), ("dev", "dev_")):
        n = len(getattr(data, part))
        keys = [f"{prefix}{key}" for key in PER_PART] + ["merge"] * (part == "train")
        for key in keys:
            if n > 1 and getattr(data, key):
                raise ConfigError(f"data.{key}: belongs to one file of lists, found {n} in data.{part}")
    if data.classes and not learner.reads_classes:
        raise ConfigError(f"data.classes: learner {learner.name} learns from labels with these settings")
    own = [
        name for name in ("label", "quantise", "refs", "first_best", "list_weights") if getattr(data, name)
    ]
    refuse_with_classes(learner, *(f"data.{name}" for name in own))
    if data.init is not None and not learner.accepts_initial:
        raise ConfigError(f"learner {learner.name} accepts no initial weights (--init, data.init)")
    if data.list_weights is not None and not learner.accepts_list_weights:
        found = f"learner {learner.name} accepts no list weights"
        raise ConfigError(f"{found} (--list-weights, data.list_weights)")
    if data.unlabelled:
        learner.check_unlabelled(True)
    if data.label is not None:
        from rerank.metrics.base import parse

        parse(data.label)


def refuse_with_classes(learner: Learner, *given: str) -> None:
    """Raise ConfigError if a learner of classes is given any of these, which work on scores of lists."""
    if learner.reads_classes and given:
        raise ConfigError(f"{given[0]}: not used by learner {learner.name} for tasks with classes")
