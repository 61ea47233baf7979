"""Scores of the training lists from models that did not see them: K models on K parts.

Everything that is fitted, scaling and base scale included, is fitted to the other parts alone. Copies of a
list (see data.overlap) stay in one part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rerank.core import checkpoints, memory
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.data.columns.offsets import places_of
from rerank.data.folds import Fold, folds
from rerank.data.lists import CandidateLists
from rerank.data.overlap import copy_groups
from rerank.learners.base import Learner
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.stumps import StumpModel
from rerank.training.prepare import Setup, prepared_by
from rerank.training.side_inputs import NO_SIDE_INPUTS, SideInputs

Folds = list[Fold]
WEIGHTED_SUMS = (LinearModel, StumpModel)  # a multiple of the base score can be added to their scores


@dataclass(frozen=True, eq=False)
class Trial:
    """A learner, the setup of its lists, and whether its scores are wanted after each round."""

    learner: Learner
    setup: Setup
    each_round: bool = False


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold scores of all training lists.

    Attributes
    ----------
    scores : list of float64 (n_items)
        After each round, or only those at the end.
    weights : list of float64 (n_folds)
        The weight of the base score in each fold's model, beside ``scores``. NaN: it is no weighted sum.
    base : float64 (n_items)
        What these weights multiply.
    fold_of : int64 (n_items)
        The fold whose model scored an item.
    by_round : bool
        Whether there are scores after each round.
    """

    scores: list[Floats]
    weights: list[Floats]
    base: Floats
    fold_of: Index
    by_round: bool

    def term(self, at: int) -> Floats | None:
        """Return the part of ``scores[at]`` that is the base score; None if it has no weight in a fold."""
        weights = self.weights[at]
        return weights[self.fold_of] * self.base if weights.all() else None


@dataclass(eq=False)
class _Part:
    """What one fold gives: scores of its test lists by round, weights of the base score, base scores."""

    scores: list[Floats] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    base: Floats = field(default_factory=lambda: np.empty(0))
    by_round: bool = True

    @classmethod
    def kept(cls, place: checkpoints.Slot | None) -> _Part | None:
        """Return the part that a checkpoint has, None if it has none."""
        if place is None or place.state is None:
            return None
        with place.restoring() as state:
            return cls(**state)


def folds_of(lists: CandidateLists, k: int, seed: int) -> Folds:
    """Return ``k`` folds drawn by list, in which copies of a list stay together.

    Errors are those of ``data.folds.folds``.
    """
    groups = copy_groups(lists)
    return folds(lists, k, seed, key=groups if len(set(groups)) < lists.n_lists else None)


def out_of_fold(
    lists: CandidateLists,
    chosen: Folds,
    trials: list[Trial],
    column: int | None,
    extras: SideInputs = NO_SIDE_INPUTS,
) -> list[OutOfFold]:
    """Return the out-of-fold scores of each trial.

    Parameters
    ----------
    lists
        All training lists, as given.
    chosen
        Of ``folds_of``.
    trials
        What is fitted.
    column
        The feature that is the base score; None: the base scores have a weight of their own.
    extras
        What else learners get. If there are unlabelled lists, those of a fold are the lists that it leaves
        out: its model is one for them, as the model of all training lists is one for ``extras.unlabelled``.

    Raises
    ------
    RerankError
        As ``prepared_by`` and ``Learner.fit`` of a fold's lists.
    """
    tasks = [(lists, fold, trial, column, extras) for trial in trials for fold in chosen]
    at_once = 0 if parallel.remote() else min(parallel.jobs(), len(tasks))
    need = at_once * sum(array.nbytes for array in lists.features.arrays().values() if array is not None)
    memory.require(need, f"the lists of {at_once} folds at once", "fewer workers need less (--jobs)")
    rounds = sum(
        getattr(trial.learner, trial.learner.iterates) if trial.each_round else 1 for trial in trials
    )
    memory.require(16 * rounds * lists.n_items, f"scores of {rounds:,} rounds", "fewer rounds need less")
    parts = parallel.each(_fitted_part, tasks, threads=True, anywhere=True, step=("training on folds", "fit"))
    k = len(chosen)
    return [_pooled(lists, chosen, parts[i * k : (i + 1) * k]) for i in range(len(trials))]


def _fitted_part(
    lists: CandidateLists, fold: Fold, trial: Trial, column: int | None, extras: SideInputs
) -> _Part:
    """Fit a trial to one fold's training lists and score its test lists; kept in a checkpoint."""
    place = checkpoints.slot()
    kept = _Part.kept(place)
    if kept is not None:
        return kept
    learner, setup = trial.learner, trial.setup
    if not learner.wants_judge:
        setup = replace(setup, metric=None)
    own = extras.of_fold(lists, fold)
    prepared = prepared_by(setup, lists.subset(fold.train), lists.subset(fold.test), own)
    test = prepared.dev
    assert test is not None  # the test lists
    part = _Part(base=base_values(test.lists, column))

    def see(state: Any, scores: Floats) -> None:
        part.scores.append(scores)
        linear = isinstance(state, np.ndarray) and state.shape == (test.lists.n_features,)
        seen = prepared.base_factor(column)
        part.weights.append(float(state[column]) * seen if linear and column is not None else np.nan)

    model = prepared.learn(learner, observer=(test.learnt, see) if trial.each_round else None)
    if not part.scores:
        part.by_round = False
        part.scores.append(model.score_prepared(test.lists))
        part.weights.append(base_weight(model, column))
    if place is not None:
        place.keep(vars(part))
    return part


def base_values(lists: CandidateLists, column: int | None) -> Floats:
    """Return what the weight of the base score multiplies in prepared lists, NaN if they have none."""
    if column is not None:
        return lists.features.column(column)
    return np.full(lists.n_items, np.nan) if lists.base_scores is None else lists.base_scores


def base_weight(model: Model, column: int | None) -> float:
    """Return the weight of the base score in a model, NaN if its score is no weighted sum."""
    if not isinstance(model, WEIGHTED_SUMS):
        return np.nan
    return (model.base_weight or 0.0) if column is None else float(model.weights[column])


def _pooled(lists: CandidateLists, chosen: Folds, parts: list[_Part]) -> OutOfFold:
    """The parts of all folds; one that ended early keeps its last scores."""
    rounds = max(len(part.scores) for part in parts)
    base, fold_of = np.empty(lists.n_items), np.empty(lists.n_items, dtype=np.int64)
    scores = [np.empty(lists.n_items) for _ in range(rounds)]
    weights = [np.empty(len(parts)) for _ in range(rounds)]
    for k, (fold, part) in enumerate(zip(chosen, parts, strict=True)):
        items, _ = places_of(lists.offsets, fold.test)
        base[items], fold_of[items] = part.base, k
        for r in range(rounds):
            at = min(r, len(part.scores) - 1)
            scores[r][items] = part.scores[at]
            weights[r][k] = part.weights[at]
    return OutOfFold(scores, weights, base, fold_of, parts[0].by_round)
