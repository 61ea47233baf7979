"""The configuration of an experiment: rows of learners, folds, seeds, shares of the lists, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from rerank.core.errors import ConfigError
from rerank.core.files.read import is_pipe
from rerank.core.registry import did_you_mean
from rerank.core.settings import setting
from rerank.data.reading import DataSection, OptionalPath, Paths, Reading, paths_of, read_as
from rerank.evaluation.results import FIRST_BEST
from rerank.experiments.text_rows import StoredData, TextRows
from rerank.learners.base import LEARNERS, Learner
from rerank.metrics.base import parse_all
from rerank.metrics.judging import expanded
from rerank.models.base import ORACLE
from rerank.training.config import put_beside, read_values
from rerank.training.options import Select, TrainOptions, check_data
from rerank.training.pipeline import chooses_rounds, pipeline_of

PLACE = "{fold}"
SINGLE = "1"  # the name of the only fold if there are none
_OF_ROW = ("name", "grid", "features_from", "texts", "scaling", "base_scale", "select", "metric", "data")
_DATA_OF_ROW = ("features", "label", "quantise", "init", "missing", "unjudged")
_OF_SELECT = frozenset(Select.settings)
SPELLING = {"first-best": FIRST_BEST}


def _names(given: Any) -> Any:
    """Folds as a number of them, or as a tuple of names."""
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 2:
            raise ValueError(f"folds: found {given}, expected 2 or more, or a list of names")
        return given
    if not isinstance(given, list | tuple) or not given:
        raise ValueError(f"folds: found {given!r}, expected a list of names, or the number of folds to draw")
    names = tuple(str(name) for name in given)
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ValueError(f"folds: {twice!r} is given twice")
    return names


def _fractions(given: Any) -> Any:
    """Fractions of the training lists in percent, in increasing order."""
    values = given if isinstance(given, list | tuple) else [given]
    for i, value in enumerate(values):
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 100:
            raise ValueError(f"train_fractions: found {value!r}, expected whole percentages of 1 to 100")
        if value in values[:i]:
            raise ValueError(f"train_fractions: {value} is given twice")
    return tuple(sorted(values)) or (100,)


def _metrics(given: Any) -> Any:
    """Metrics, one or several, with presets expanded."""
    values = (given,) if isinstance(given, str) else given
    texts = isinstance(values, list | tuple) and all(isinstance(one, str) for one in values)
    return expanded(values) if texts else values


class ExperimentData(DataSection):
    """Paths of the lists of an experiment; ``{fold}`` in a path stands for the name of a fold."""

    test: Paths = setting((), "test lists, which the metrics judge; several files are joined", path=True)
    test_refs: Paths = setting((), "references of the test lists", path=True)
    test_ids: OptionalPath = setting(None, "ids of the test lists", path=True)

    def training(self, fold: str) -> DataSection:
        """Return what is trained on in a fold: all but the test part."""
        values = {name: getattr(self, name) for name in DataSection.settings}
        for name in (*paths_of(DataSection), "quantise"):
            value = values[name]
            if isinstance(value, str):
                values[name] = value.replace(PLACE, fold)
            elif value:
                values[name] = tuple(path.replace(PLACE, fold) for path in value)
        return DataSection(**values)

    def judging(self, fold: str) -> DataSection:
        """Return the test lists of a fold as the training part of a section of their own."""
        values = {name: getattr(self, name) for name in Reading.settings}
        values |= {
            "train": self.test,
            "refs": self.test_refs,
            "ids": self.test_ids,
            "merge": (),
            "features": (),
        }
        return ExperimentData(**values, label=self.label).training(fold)

    def with_place(self) -> list[str]:
        """Return the keys whose paths hold {fold}."""
        found = []
        for name in (*paths_of(type(self)), "quantise"):
            value = getattr(self, name) or ()
            if any(PLACE in path for path in ((value,) if isinstance(value, str) else value)):
                found.append(name)
        return found


class ExperimentConfig(TextRows):
    """Configuration of an experiment; see the manual's page on experiments."""

    renamed: ClassVar = {"ablation": "train_fractions"}

    name: str = setting("", "name of the experiment; none = that of the file")
    data: ExperimentData = setting(ExperimentData(), "input files and how they are read")
    folds: Annotated[int | tuple[str, ...], _names] = setting(
        (SINGLE,), "what {fold} in paths stands for, or the number of folds to draw from the training lists"
    )
    fold_dev: Literal["next", "none"] = setting(
        "next", "development lists of a drawn fold: those of the next fold, or none"
    )
    select: Select = setting(Select(), "model selection: hyperparameters, epochs, weight of the base score")
    scaling: str | None = setting(None, "scaling of rows that name none; none = the learner's")
    base_scale: float | Literal["auto"] | None = setting(None, "base_scale of rows that name none")
    metrics: Annotated[tuple[str, ...], _metrics] = setting((), "metrics of the test lists")
    baseline: str | None = setting(None, "the row that others are tested against, or first-best")
    seed: int = setting(1, "first seed of learners that draw, of drawn folds and of train_fractions", ge=0)
    seeds: int = setting(1, "runs with consecutive seeds of each learner that draws", ge=1, le=10_000)
    train_fractions: Annotated[tuple[int, ...], _fractions] = setting(
        (100,), "fractions of the training lists in percent; smaller ones are part of larger ones"
    )
    grid: dict[str, Any] = setting({}, "hyperparameter grid of every row")
    learners: dict[str, dict[str, Any] | None] = setting({}, "the rows: settings of a learner and its grid")

    _path: str = "experiment"

    def check_values(self) -> None:
        """Check what keys mean for each other."""
        if not self.learners:
            raise ConfigError("learners: found none, expected a row for each learner to compare")
        if FIRST_BEST in self.learners:
            raise ConfigError(f"learners: {FIRST_BEST} is the first stage's ranking; expected another name")
        if not self.metrics:
            raise ConfigError("metrics: found none, expected those of the test lists: [AP, nDCG@10]")
        known = parse_all(self.metrics)
        if len(known) < len(self.metrics):
            raise ConfigError(f"metrics: one of {', '.join(self.metrics)} is given twice")
        baseline = self.baseline
        if baseline is not None and baseline not in (*self.learners, *SPELLING):
            hint = did_you_mean(baseline, [*self.learners, *SPELLING])
            raise ConfigError(f"baseline: found {baseline!r}, expected a row or first-best; {hint}")
        if not self.data.train:
            raise ConfigError("data.train: found none, expected a file of training lists")
        if self.data.unlabelled:
            raise ConfigError("data.unlabelled: not used by run: learners get the test lists of a fold")
        if self.data.list_weights:
            raise ConfigError("data.list_weights: not used by run; learner list-iw weights lists itself")
        self.check_texts(self.learners)
        pipe = next(filter(is_pipe, [*self.data.files(), *self.texts.files()]), None)
        if pipe is not None:
            raise ConfigError(f"data: found {pipe}, expected files: a pipe can be read only once")
        if self.drawn is None:
            self._check_files()
        else:
            self._check_drawn(self.drawn)

    def _check_files(self) -> None:
        """Raise ConfigError if folds of files are incomplete."""
        data, places = self.data, self.data.with_place()
        if not data.test:
            raise ConfigError("data.test: found none, expected a file of test lists (or folds: K draws them)")
        if "fold_dev" in self.settings_given:
            raise ConfigError("fold_dev: not used with folds of files; data.dev names development lists")
        if "folds" in self.settings_given and not places:
            raise ConfigError(f"folds: no path of data: holds {PLACE}")
        if "folds" not in self.settings_given and places:
            raise ConfigError(f"data.{places[0]}: holds {PLACE}, expected folds: with their names")
        if len(self.fold_names) > 1 and "test" not in places:
            raise ConfigError(f"data.test: no {PLACE} in the path: each fold would have the same test lists")

    def _check_drawn(self, k: int) -> None:
        """Raise ConfigError if something contradicts folds that are drawn from the training lists."""
        data, places = self.data, self.data.with_place()
        for key in ("test", "dev", "test_refs", "test_ids", "dev_refs", "dev_ids"):
            if getattr(data, key):
                raise ConfigError(f"data.{key}: not used with folds: {k}, which are drawn from data.train")
        if places:
            raise ConfigError(f"data.{places[0]}: holds {PLACE}, expected folds: with a list of names")
        if k == 2 and self.has_dev:
            raise ConfigError(
                "folds: 2 leave no training lists beside dev; expected fold_dev: none or more folds"
            )

    @property
    def drawn(self) -> int | None:
        """The number of folds drawn from the training lists, None if folds are files."""
        return self.folds if isinstance(self.folds, int) else None

    @property
    def fold_names(self) -> tuple[str, ...]:
        """The names of the folds."""
        if isinstance(self.folds, int):
            return tuple(str(k + 1) for k in range(self.folds))
        return self.folds

    @property
    def has_dev(self) -> bool:
        """Return whether there are development lists."""
        return bool(self.data.dev) if self.drawn is None else self.fold_dev != "none"

    @property
    def path(self) -> str:
        """The file, for messages."""
        return self._path

    def training(self, row: str, fold: str) -> DataSection:
        """Return what a row is trained on in a fold, and how its lists are changed.

        Raises ConfigError if the row's section ``data`` has an unknown key.
        """
        own = self._own_data(row)
        if own.get("missing") not in (None, "none") and read_as(self.data.policy()) != "nan":
            expected = "expected data: {missing: nan} of the experiment, as all rows read the same lists"
            raise ConfigError(f"{self._path}: learners.{row}: data.missing: {expected}")
        return (
            ExperimentData(**{**self.data.get_params(), **own}).training(fold)
            if own
            else self.data.training(fold)
        )

    def stored(
        self, row: str, fold: str, train: tuple[str, ...], dev: tuple[str, ...], test: str
    ) -> DataSection:
        """Return what a row is trained on if the parts are stores, which have the labels of all rows.

        A learner that needs the lists to be ranked gets the test lists, of which reading keeps no label.
        """
        given, own = self.training(row, fold), self._own_data(row)
        changes = {key: getattr(given, key) for key in _DATA_OF_ROW if key != "label" or key in own}
        changes["missing"] = given.policy(self._kind(row).accepts_nan)  # the stores hold merged runs
        unlabelled = (test,) if self._kind(row).needs_unlabelled else ()
        return StoredData.of(given, train=train, dev=dev, unlabelled=unlabelled, **changes)

    def _kind(self, row: str) -> type[Learner]:
        """The learner of a row."""
        return LEARNERS.get(str((self.learners[row] or {}).get("name", row)))

    def _own_data(self, row: str) -> dict[str, Any]:
        """The section ``data`` of a row."""
        try:
            return _section(self.learners[row] or {}, "data", _DATA_OF_ROW)
        except ConfigError as error:
            raise ConfigError(f"{self._path}: learners.{row}: {error}") from None

    def train_config(self, row: str, data: DataSection, seed: int | None = None) -> TrainOptions:
        """Return the training run of a row on data as ``training`` or ``stored`` gives them.

        A row with a grid chooses on the development lists, or without them on out-of-fold scores. With
        development lists the best round on them is kept. ``select`` may say otherwise.

        Raises
        ------
        ConfigError
            With the file and the row, if a setting is unknown or wrong.
        """
        where = f"{self._path}: learners.{row}"
        own = self._own_data(row)
        try:
            if not self._kind(row).needs_labels and "unjudged" not in own:
                data = data.with_settings(unjudged="skip")  # the data's choice is for the other rows
            config = TrainOptions(**self._values(row, data))
            if seed is not None:
                config = config.with_settings(learner={**config.learner, "seed": seed})
            learner = pipeline_of(config).learner
            check_data(config, learner)
            self._check_choice(config, learner)
            if learner.uses_test_labels and ORACLE not in row:
                text = "these settings use the labels of the test lists"
                raise ConfigError(f"{text}: expected {ORACLE} in the name of the row")
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None
        return config

    def _check_choice(self, config: TrainOptions, learner: Learner) -> None:
        """Raise ConfigError if something is chosen without a metric or without development lists."""
        select = config.select
        if select.metric is None and (self.has_dev or learner.wants_judge):
            what = "is what settings and rounds are chosen by on development lists" if self.has_dev else ""
            raise ConfigError(f"select.metric: not given; it {what or 'is what the learner optimises'}")
        keep = getattr(learner, "keep", "last") == "best"
        asked = {"keep: best": keep, "by: dev": select.by == "dev"}
        asked |= {
            "tune_base: dev": select.tune_base == "dev",
            "keep_margin: auto": select.keep_margin == "auto",
        }
        if getattr(learner, "abstain", "none") == "auto" and not self.has_dev:
            raise ConfigError("abstain: auto needs development lists: data.dev names none")
        wanting = [key for key, given in asked.items() if given]
        if wanting and not self.has_dev:
            raise ConfigError(f"select.{wanting[0]} needs development lists: data.dev names none")

    def draws(self, row: str) -> bool:
        """Return whether the model of a row depends on its seed, for any setting of its grid."""
        pipeline = pipeline_of(self.train_config(row, self.training(row, self.fold_names[0])))
        return any(pipeline.with_cell(cell).learner.draws for cell in pipeline.cells())

    def first_seed(self, row: str) -> int | None:
        """Return the seed of the first run of a row, None if its learner has none."""
        entry = self.learners[row] or {}
        return int(entry.get("seed", self.seed)) if "seed" in self._kind(row).settings else None

    def _values(self, row: str, data: DataSection) -> dict[str, Any]:
        """The values of a TrainOptions for a row."""
        entry = dict(self.learners[row] or {})
        parts = {key: entry.pop(key) for key in _OF_ROW if key in entry}
        learner = self._kind(row)
        if "features" in entry and "features" not in learner.settings:
            raise ConfigError("features: expected data: {features: ...}")
        own = _section(parts, "grid")
        shared = {key: values for key, values in self.grid.items() if key not in {*entry, *parts, *own}}
        grid = shared | own
        values = {"data": data, "grid": grid, **self.of_row(parts, _section(parts, "texts"))}
        for key in ("scaling", "base_scale"):
            given = parts.get(key, getattr(self, key))
            if given is not None and (key in parts or key not in grid):
                values[key] = given
        select = self._select(parts, learner.settings, grid, entry)
        keep = {"keep": select["keep"]} if "keep" in select and "keep" in learner.settings else {}
        made = learner.checked(keep | entry, f"learner {learner.name}")
        if made.reads_classes:
            raise ConfigError(f"learner {learner.name}: rerank run compares scores of lists, not classes")
        own_select = parts.get("select") or {}
        choice = select.get("by", "none")
        if not grid and "by" not in own_select and not (choice == "cv" and chooses_rounds(made)):
            select["by"] = choice = "none"
        on_folds = choice == "cv" or select.get("tune_base") == "folds"
        if "folds" not in own_select and not on_folds:
            select.pop("folds", None)
        return {**values, "learner": {"name": learner.name, **entry}, "select": select}

    def _select(
        self, parts: Mapping[str, Any], fields: Mapping[str, Any], grid: Mapping[str, Any], entry: Any
    ) -> dict[str, Any]:
        """The section select of a row: its own keys, those of the experiment, and what dev lists imply."""
        own = _section(parts, "select", _OF_SELECT)
        if "metric" in parts and own.setdefault("metric", parts["metric"]) != parts["metric"]:
            raise ConfigError(f"metric is {parts['metric']!r} but select.metric is {own['metric']!r}")
        shared = {key: getattr(self.select, key) for key in self.select.settings_given}
        select = {"by": "dev" if self.has_dev else "cv"} if grid else {}
        select |= shared | own
        keeps = "keep" in fields and "keep" not in entry and "keep" not in grid
        if select.get("by", "none") == "cv" and "keep" not in own:
            keeps = False
        if "keep" in shared and "keep" not in own and not keeps:
            del select["keep"]
        if keeps and "keep" not in select and self.has_dev and select.get("metric") is not None:
            select["keep"] = "best"
        return select


def _section(parts: Mapping[str, Any], key: str, known: Iterable[str] | None = None) -> dict[str, Any]:
    """A section of a row; ConfigError if it is no section or has an unknown key."""
    section = parts.get(key)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise ConfigError(f"{key}: found {section!r}, expected keys and values")
    unknown = [] if known is None else [name for name in section if name not in known]
    if unknown:
        raise ConfigError(f"unknown setting '{key}.{unknown[0]}'; {did_you_mean(unknown[0], known or ())}")
    return dict(section)


def read_experiment(path: str) -> ExperimentConfig:
    """Return the experiment of a YAML file; paths in it are relative to it, ``${NAME}`` is a variable.

    The settings of every row are checked; input files need not exist yet.

    Parameters
    ----------
    path : the file.

    Returns
    -------
    ExperimentConfig

    Raises
    ------
    ConfigError, FormatError
        With the file and the key.
    """
    values = read_values(path, ExperimentData)
    if "learner" in values and "learners" not in values:
        raise ConfigError(f"{path}: learner: a single learner is for 'rerank train'; expected learners:")
    rows = values.get("learners")
    for entry in rows.values() if isinstance(rows, dict) else ():
        put_beside(entry if isinstance(entry, dict) else {}, path)
    config = ExperimentConfig.checked(values, path)
    config = config.with_settings(name=config.name or Path(path).name.split(".")[0])
    config._path = path
    for row in config.learners:
        config.train_config(row, config.training(row, config.fold_names[0]))
    return config
