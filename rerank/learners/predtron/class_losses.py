"""The losses of Predtron's tasks on examples with classes: what the kernels need of each, and its range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data.classes import ClassLabels, class_values, example_of
from rerank.data.columns.class_sets import coder
from rerank.data.lists import CandidateLists
from rerank.learners.predtron.positions import Positions, discounts
from rerank.learners.predtron.settings import PredtronSettings
from rerank.learners.predtron.steps import LossRange
from rerank.models.classes import Decode
from rerank.native.learners import _predtron_sets, _predtron_tasks


@dataclass(frozen=True, eq=False)
class ClassTask:
    """A task on the examples of a data set.

    Attributes
    ----------
    kernel
        A ``Task`` of native.learners._predtron_tasks.
    losses
        The range of losses above 0 that predictions for these examples can have.
    decode
        How a model predicts.
    reject
        Whether REJECT is a prediction.
    """

    kernel: Any
    losses: LossRange
    decode: Decode
    reject: bool = False


def class_task(learner: PredtronSettings, lists: CandidateLists, labels: ClassLabels) -> ClassTask:
    """Return the task of a learner on examples.

    Parameters
    ----------
    learner
        Its ``task`` is not ranking.
    lists
        The examples, for messages.
    labels
        Their classes.

    Raises
    ------
    RerankError
        If the classes do not fit the task, with the example or what was found.
    """
    return _MADE[learner.task](learner, lists, labels)


def numbers_by_class(given: Mapping[str, float], names: tuple[str, ...], key: str) -> Floats:
    """Return the number of each class, NaN without one, float64 (n_classes).

    Raises
    ------
    ConfigError
        If a class is unknown or given twice.
    """
    place_of = coder(names)
    found = np.full(len(names), np.nan)
    for name, number in given.items():
        place = place_of(name)
        if place is None:
            raise ConfigError(f"{key}: found class {name!r}; {did_you_mean(name, names)}")
        if not np.isnan(found[place]):
            raise ConfigError(f"{key}: found class {names[place]!r} twice")
        found[place] = number
    return found


def _class_weights(learner: PredtronSettings, labels: ClassLabels) -> Floats:
    """The factor of the losses of each class; every example has one class."""
    given, m = learner.class_weights, len(labels.names)
    if given is None:
        return np.ones(m)
    if given == "balanced":
        balanced: Floats = labels.n_items / (m * np.bincount(labels.codes, minlength=m))
        return balanced
    assert isinstance(given, Mapping)
    found = numbers_by_class(given, labels.names, "class_weights")
    return np.where(np.isnan(found), 1.0, found)


def _reject_costs(learner: PredtronSettings, labels: ClassLabels) -> Floats | None:
    """The cost of REJECT by class, None if it is no prediction."""
    given = learner.reject
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return np.full(len(labels.names), given)
    found = numbers_by_class(given, labels.names, "reject")
    if np.isnan(found).any():
        missing = [name for name, cost in zip(labels.names, found.tolist(), strict=True) if np.isnan(cost)]
        raise ConfigError(f"reject: found no cost of class {some(missing)}, expected one of every class")
    return found


def _check_one_class(lists: CandidateLists, labels: ClassLabels) -> None:
    """Raise FitError unless every example has one class, and there are two classes or more."""
    odd = np.flatnonzero(labels.lengths != 1)
    if len(odd):
        found = count(int(labels.lengths[odd[0]]), "class", "classes")
        place = f"{lists.source}: {example_of(lists, int(odd[0]))}"
        raise FitError(f"{place}: found {found}, expected one; task=multilabel learns sets of classes")
    m = len(labels.names)
    if m < 2:
        raise FitError(f"{lists.source}: found only class {labels.names[0]!r}, expected two classes or more")


def _class_values(lists: CandidateLists, labels: ClassLabels) -> Floats:
    """The numbers of the classes, rising; FitError if they are not different finite numbers."""
    try:
        values = class_values(labels.names)
    except DataError as error:
        raise FitError(f"{lists.source}: {error}") from None
    same = np.flatnonzero(np.diff(values) <= 0)
    if len(same):
        pair = " and ".join(labels.names[same[0] : same[0] + 2])
        raise FitError(f"{lists.source}: found classes {pair}, expected classes that differ as doubles")
    return values


def _one_class(learner: PredtronSettings, lists: CandidateLists, labels: ClassLabels) -> ClassTask:
    """Binary, multiclass and ordinal tasks."""
    _check_one_class(lists, labels)
    m = len(labels.names)
    if learner.task == "binary" and m != 2:
        found = f"{m} classes ({some(list(labels.names))})"
        raise FitError(
            f"{lists.source}: found {found}, expected two for task=binary; task=multiclass takes more"
        )
    weights, reject = _class_weights(learner, labels), _reject_costs(learner, labels)
    given = (labels.offsets, labels.codes, learner.variant == "loss-driven", weights)
    values = _class_values(lists, labels) if learner.task == "ordinal" else None
    least = most = np.ones(m)
    if values is not None:
        gaps = np.diff(values)
        least = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
        most = np.maximum(values - values[0], values[-1] - values)
    if reject is not None:
        least, most = np.minimum(least, reject), np.maximum(most, reject)
    losses = LossRange(float((weights * least).min()), float((weights * most).max()))
    if learner.task == "binary" and reject is None:
        return ClassTask(_predtron_tasks.TwoClasses(*given), losses, "binary")
    decode: Decode = "multiclass" if values is None else "ordinal"
    return ClassTask(_predtron_tasks.OneClass(*given, values, reject), losses, decode, reject is not None)


def _mixed_sizes(lists: CandidateLists, labels: ClassLabels) -> Floats:
    """The different numbers of classes of examples that have some but not all, float64, rising.

    Raises FitError if there are none: then no prediction can be wrong.
    """
    sizes = np.unique(labels.lengths)
    sizes = sizes[(sizes > 0) & (sizes < len(labels.names))]
    if not len(sizes):
        found = f"{len(labels.names)} classes, and no example that has some but not all of them"
        raise FitError(f"{lists.source}: found {found}: no prediction has a loss")
    return sizes.astype(np.float64)


def _class_sets(learner: PredtronSettings, lists: CandidateLists, labels: ClassLabels) -> ClassTask:
    """The multilabel task."""
    m = len(labels.names)
    if m == 0:
        raise FitError(f"{lists.source}: found no example with a class")
    most = 1.0
    if learner.chosen_loss == "Hamming":
        most = float(m)
    elif learner.chosen_loss == "error-set":
        sizes = _mixed_sizes(lists, labels)
        most = float((sizes * (m - sizes)).max())
    given = (labels.offsets, labels.codes, learner.variant == "loss-driven", m)
    kernel = _predtron_sets.ClassSets(*given, _predtron_sets.LOSSES[learner.chosen_loss])
    return ClassTask(kernel, LossRange(1.0, most), "multilabel")


def _class_rankings(learner: PredtronSettings, lists: CandidateLists, labels: ClassLabels) -> ClassTask:
    """The ranking of all classes."""
    m = len(labels.names)
    sizes = _mixed_sizes(lists, labels).astype(np.int64)
    falling = discounts(m, None)
    positions = Positions.of(learner.positions, learner.exponent, m)
    total = np.concatenate([[0.0], np.cumsum(falling)])
    least = (falling[sizes - 1] - falling[sizes]) / total[sizes]
    most = (total[sizes] - (total[m] - total[m - sizes])) / total[sizes]
    given = (labels.offsets, labels.codes, learner.variant == "loss-driven")
    values = np.array([falling, positions.values])
    kernel = _predtron_sets.ClassRankings(*given, values, float(positions.scales[-1]))
    return ClassTask(kernel, LossRange(float(least.min()), float(most.max())), "multilabel-ranking")


_MADE: dict[str, Callable[[PredtronSettings, CandidateLists, ClassLabels], ClassTask]] = {
    "binary": _one_class,
    "multiclass": _one_class,
    "ordinal": _one_class,
    "multilabel": _class_sets,
    "multilabel-ranking": _class_rankings,
}
