"""Settings chosen from a small grid: on the dev lists, or on out-of-fold scores of the training lists.

A cell is one combination of the grid's values. With ``choose=folds`` every cell is fitted to K parts of the
training lists, and the number of rounds is chosen with it, all by the metric of the pooled out-of-fold
scores; the dev lists play no part. With ``choose=dev`` every cell is fitted to all training lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, FitError
from rerank.core.registry import did_you_mean
from rerank.core.workers import parallel
from rerank.data.base_scale import checked_scale
from rerank.data.judge import PreparedMetric, SelectingJudge, value_of
from rerank.data.lists import CandidateLists
from rerank.data.scaling import AUTO, SCALINGS
from rerank.learners.base import Learner
from rerank.models.training import CellRecord, ChoiceRecord, RoundsRecord, Value
from rerank.training.base_tuning import BaseTuning, Change, change_on_folds, seed_of, with_rounds
from rerank.training.fitting import final_scores
from rerank.training.prepare import (
    Part,
    Prepared,
    Setup,
    check_scaling,
    column_of_base,
    prepared_by,
)
from rerank.training.side_inputs import NO_SIDE_INPUTS, SideInputs

if TYPE_CHECKING:
    from rerank.training.out_of_fold import OutOfFold, Trial

ChooseOn = Literal["none", "dev", "folds"]
Grid = Mapping[str, Sequence[Value]]

OF_SETUP = ("scaling", "base_scale")  # keys of a grid that are no settings of learners
_MOST_CELLS = 10_000


@dataclass(frozen=True)
class Choosing:
    """What settings are chosen from, and on what.

    Attributes
    ----------
    on
        none, dev or folds.
    grid
        The values of each setting of the learner; also of ``scaling`` and ``base_scale``.
    """

    on: ChooseOn = "none"
    grid: Grid = field(default_factory=dict)

    def check(self, learner: Learner, setup: Setup) -> None:
        """Raise ConfigError if there is nothing to choose, or a setting could not be."""
        if self.on not in get_args(ChooseOn):
            raise ConfigError(f"choose: found {self.on!r}, expected none, dev or folds")
        if self.on == "none":
            if self.grid:
                raise ConfigError("grid: cells are compared with choose=dev or choose=folds (--choose)")
            return
        rounds = self.on == "folds" and chooses_rounds(learner)
        if not self.grid and not rounds:
            raise ConfigError(f"choose={self.on}: nothing to choose: give a grid (--grid KEY=V1,V2)")
        if self.on == "folds" and learner.reads_classes:
            raise ConfigError(
                "choose=folds: settings for tasks with classes are chosen on dev examples (choose=dev)"
            )
        if setup.metric is None:
            raise ConfigError(f"choose={self.on} compares by a metric: give one (--metric, metric=)")
        given = learner.settings_given
        if self.on == "folds" and "keep" in given and getattr(learner, "keep", "last") != "last":
            raise ConfigError(
                f"choose=folds chooses the number of {learner.iterates} on folds: leave keep at last"
            )
        for key, values in self.grid.items():
            self._check_key(key, values, learner)
        taken = [key for key in self.grid if key in learner.given_names]
        taken += [key for key in OF_SETUP if key in self.grid and getattr(setup, key) not in ("auto", 1)]
        if taken:
            raise ConfigError(f"grid: {taken[0]} is also given as a setting: give one of both")
        if np.prod([float(len(values)) for values in self.grid.values()]) > _MOST_CELLS:
            raise ConfigError(f"grid: more than {_MOST_CELLS:,} cells")
        for settings in self.cells():
            _learner_of(learner, settings)
            _setup_of(setup, settings)

    def _check_key(self, key: str, values: Sequence[Value], learner: Learner) -> None:
        known = [*learner.setting_names(self.grid), *OF_SETUP]
        if key not in known:
            raise ConfigError(f"grid: unknown setting {key!r}; {did_you_mean(key, known)}")
        if key.rpartition(".")[2] == "seed":  # also of a base learner
            raise ConfigError("grid: seeds are varied by --seeds, on equal folds")
        if self.on == "folds" and key in ("keep", learner.iterates) and chooses_rounds(learner):
            tries = f"tries every number of {learner.iterates}, up to {learner.iterates}"
            raise ConfigError(f"grid: {key}: choose=folds {tries}")
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ConfigError(f"grid: {key}: found {values!r}, expected a list of values")
        twice = next((value for i, value in enumerate(values) if value in values[:i]), None)
        if twice is not None:
            raise ConfigError(f"grid: {key}: the value {twice!r} is given twice")

    def cells(self) -> Iterator[dict[str, Value]]:
        """Yield the settings of each cell; the last key varies fastest."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


@dataclass(frozen=True, eq=False)
class Chosen:
    """What was chosen, and the change of the base score's weight if folds gave it."""

    learner: Learner
    setup: Setup
    record: ChoiceRecord
    change: Change | None = None


def chooses_rounds(learner: Learner) -> bool:
    """Return whether the number of rounds or epochs of a learner can be chosen."""
    return bool(learner.iterates) and learner.observable


def choose(
    choosing: Choosing,
    learner: Learner,
    setup: Setup,
    lists: CandidateLists,
    dev: CandidateLists | None,
    tuning: BaseTuning,
    extras: SideInputs = NO_SIDE_INPUTS,
) -> Chosen:
    """Return the best cell by the metric; on ties the first cell and its first round win.

    Parameters
    ----------
    choosing
        The grid, and what cells are compared on.
    learner, setup
        What the settings of a cell change.
    lists, dev
        Training and development lists, which have the same columns.
    tuning
        If it tunes the base score's weight on the same lists, cells are compared after it.
    extras
        What else learners get, with the same columns.

    Raises
    ------
    RerankError
        If a cell's settings do not fit together, a cell cannot be fitted, or no cell has a value.
    """
    trials = [_trial(choosing, learner, setup, settings, lists) for settings in choosing.cells()]
    if choosing.on == "folds":
        found = _on_folds(trials, lists, extras, tuning, seed_of(learner))
        part = extras.judged(lists)
    else:
        if dev is None:
            raise ConfigError("choose=dev compares on development lists: give some (--dev, dev=)")
        found = _on_dev(trials, lists, dev, extras, tuning)
        part = dev
    assert setup.metric is not None  # check() refuses
    judge = setup.metric.prepare(part)
    goodness = np.array([judge.better * one.value for one in found])
    if np.isnan(goodness).all():
        raise FitError(f"{part.source}: {judge.name} has no value, so no settings can be chosen by it")
    best = int(np.nanargmax(goodness))
    records = [one.record(s) for one, s in zip(found, choosing.cells(), strict=True)]
    record = ChoiceRecord(
        on=choosing.on,  # type: ignore[arg-type]  # none never comes here
        metric=judge.name,
        chosen=best + 1,
        cells=tuple(records),
        folds=tuning.folds if choosing.on == "folds" else None,
        first_best=_first_best(part, judge),
    )
    trial, rounds = trials[best], found[best].rounds
    if choosing.on == "dev":
        return Chosen(trial.learner, trial.setup, record)
    return Chosen(with_rounds(trial.learner, rounds), trial.setup, record, found[best].change)


def _trial(
    choosing: Choosing, learner: Learner, setup: Setup, settings: dict[str, Value], lists: CandidateLists
) -> Trial:
    """The learner and the setup of one cell."""
    from rerank.training.out_of_fold import Trial

    made, changed = _learner_of(learner, settings), _setup_of(setup, settings)
    if choosing.on == "folds":
        made = with_rounds(made, None)
    elif made.iterates and "keep" not in made.settings_given:
        made = made.copy_with({"keep": "best"}, learner.name)
    scaling = made.scaling_of(lists) if changed.scaling == AUTO else changed.scaling
    check_scaling(made, scaling, lists)
    return Trial(made, replace(changed, scaling=scaling), choosing.on == "folds" and chooses_rounds(made))


def _learner_of(learner: Learner, settings: Mapping[str, Value]) -> Learner:
    """The learner of one cell."""
    own = {key: value for key, value in settings.items() if key not in OF_SETUP}
    made = learner.copy_with(own, f"grid: learner {learner.name}")
    if (made.reads_classes, made.ranks_classes) != (learner.reads_classes, learner.ranks_classes):
        raise ConfigError(f"grid: learner {learner.name}: these settings need other data, or another metric")
    if made.uses_test_labels != learner.uses_test_labels:
        raise ConfigError(
            f"grid: learner {learner.name}: some of these settings use the labels of test lists"
        )
    return made


def _setup_of(setup: Setup, settings: Mapping[str, Value]) -> Setup:
    """The setup of one cell; its scaling may be auto."""
    scaling = str(settings.get("scaling", setup.scaling))
    if scaling != AUTO and scaling not in SCALINGS:
        raise ConfigError(f"grid: unknown scaling {scaling!r}; {did_you_mean(scaling, SCALINGS)}")
    return replace(
        setup, scaling=scaling, base_scale=checked_scale(settings.get("base_scale", setup.base_scale))
    )


@dataclass(frozen=True)
class _Outcome:
    """The metric of a cell, its best number of rounds, and the change of the base score's weight."""

    value: float
    rounds: int | None = None
    change: Change | None = None

    def record(self, settings: dict[str, Value]) -> CellRecord:
        factor, added = (None, None) if self.change is None else (self.change.factor, self.change.added)
        return CellRecord(settings=settings, value=self.value, rounds=self.rounds, factor=factor, added=added)


def _on_folds(
    trials: list[Trial], lists: CandidateLists, extras: SideInputs, tuning: BaseTuning, seed: int
) -> list[_Outcome]:
    """Every trial on pooled out-of-fold scores; as many at once as keep all workers busy."""
    from rerank.training.out_of_fold import folds_of, out_of_fold

    found: list[_Outcome] = []
    metric = trials[0].setup.metric
    assert metric is not None  # check() refuses
    whole = Part("train", lists, metric.prepare(extras.judged(lists)), lists)
    column = column_of_base(lists)
    chosen = folds_of(lists, tuning.folds, seed)
    at_once = -(-parallel.jobs() // tuning.folds)
    with progress.step("choosing settings", len(trials), "cell") as advance:
        for first in range(0, len(trials), at_once):
            for pooled in out_of_fold(lists, chosen, trials[first : first + at_once], column, extras):
                found.append(_best_round(whole, pooled, tuning.on == "folds"))
                advance()
    return found


def _best_round(whole: Part, pooled: OutOfFold, tune: bool) -> _Outcome:
    """The first round with the best value of the pooled scores, after tuning if ``tune``."""
    judge, best = whole.judge, None
    assert judge is not None
    for at, scores in enumerate(pooled.scores):
        change = change_on_folds(whole, pooled, at) if tune else None
        value = value_of(judge, scores) if change is None else change.after
        if best is None or judge.better * value > judge.better * best.value or np.isnan(best.value):
            best = _Outcome(value, at + 1 if pooled.by_round else None, change)
    assert best is not None  # there is one round at least
    return best


def _on_dev(
    trials: list[Trial], lists: CandidateLists, dev: CandidateLists, extras: SideInputs, tuning: BaseTuning
) -> list[_Outcome]:
    """Every trial, fitted to all lists, on the dev lists; lists are prepared once for each setup."""
    found: list[_Outcome] = []
    with progress.step("choosing settings", len(trials), "cell") as advance:
        for _, group in itertools.groupby(
            trials, lambda trial: (trial.setup.scaling, trial.setup.base_scale)
        ):
            some = list(group)
            prepared = prepared_by(some[0].setup, lists, dev, extras)
            tasks = [(prepared, one, tuning) for one in some]
            found += parallel.each(_fitted_on_dev, tasks, threads=True, anywhere=True)
            advance(len(some))
    return found


def _fitted_on_dev(prepared: Prepared, trial: Trial, tuning: BaseTuning) -> _Outcome:
    dev = prepared.dev
    assert dev is not None  # choose() refuses
    assert dev.judge is not None
    model = prepared.learn(trial.learner, (dev.learnt, dev.judge))
    rounds = model.training.rounds
    kept = rounds.kept if isinstance(rounds, RoundsRecord) else None
    if tuning.on == "dev":
        change = tuning.on_dev(model, prepared)
        return _Outcome(change.after, kept, change)
    return _Outcome(value_of(dev.judge, final_scores(model, dev.lists)), kept)


def _first_best(lists: CandidateLists, judge: PreparedMetric) -> float | None:
    """The metric of the first stage's own choice, None if it is unknown."""
    if lists.first_best is None or not isinstance(judge, SelectingJudge):
        return None
    return value_of(judge, lists.first_best)
