"""Scores of the training lists from models that did not see them: K models on K parts.

Everything that is fitted, scaling and base scale included, is fitted to the other parts alone. Copies of a
list (see data.overlap) stay in one part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import replace

from rerank.core import checkpoints, memory
from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.columns.offsets import places_of
from rerank.data.folds import Fold, folds
from rerank.data.lists import CandidateLists
from rerank.data.overlap import copy_groups
from rerank.training.data import NO_SIDE_INPUTS, OutOfFold, SideInputs
from rerank.training.pipeline import Pipeline, chooses_rounds, prepare
from rerank.training.steps.base_scale import ScaledColumn
from rerank.training.steps.tune_base import base_values, base_weight


@dataclass(eq=False)
class _Part:
    """Result of one fold: scores of its test lists by round, weights of the base score, base scores."""

    scores: list[Floats] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    base: Floats = field(default_factory=lambda: np.empty(0))
    by_round: bool = True


def folds_of(lists: CandidateLists, k: int, seed: int) -> list[Fold]:
    """Return ``k`` folds drawn by list, in which copies of a list stay together.

    Errors are those of ``data.folds.folds``.
    """
    groups = copy_groups(lists)
    return folds(lists, k, seed, key=groups if len(set(groups)) < lists.n_lists else None)


def out_of_fold(
    lists: CandidateLists,
    chosen: list[Fold],
    trials: Sequence[Pipeline],
    column: int | None,
    side: SideInputs = NO_SIDE_INPUTS,
    *,
    each_round: bool = False,
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
    side
        What else learners get. If there are unlabelled lists, those of a fold are the lists that it leaves
        out: its model is one for them, as the model of all training lists is one for ``side.unlabelled``.
    each_round
        Return the scores after each round of learners whose rounds can be selected.

    Raises
    ------
    RerankError
        As ``prepare`` and ``Learner.fit`` of a fold's lists.
    """
    tasks = [(lists, fold, trial, column, side, each_round) for trial in trials for fold in chosen]
    at_once = 0 if parallel.remote() else min(parallel.jobs(), len(tasks))
    need = at_once * sum(array.nbytes for array in lists.features.arrays().values() if array is not None)
    memory.require(need, f"the lists of {at_once} folds at once", "fewer workers need less (--jobs)")
    by_round = [trial.learner for trial in trials if each_round and chooses_rounds(trial.learner)]
    rounds = len(trials) - len(by_round) + sum(getattr(learner, learner.iterates) for learner in by_round)
    memory.require(16 * rounds * lists.n_items, f"scores of {rounds:,} rounds", "fewer rounds need less")
    parts = parallel.each(_fitted_part, tasks, threads=True, anywhere=True, step=("training on folds", "fit"))
    k = len(chosen)
    return [_pooled(lists, chosen, parts[i * k : (i + 1) * k]) for i in range(len(trials))]


def _fitted_part(
    lists: CandidateLists, fold: Fold, trial: Pipeline, column: int | None, side: SideInputs, each_round: bool
) -> _Part:
    """Fit a trial to one fold's training lists and score its test lists; kept in a checkpoint."""
    place = checkpoints.slot()
    if place is not None and place.state is not None:
        with place.restoring() as state:
            return _Part(**state)
    if not trial.learner.wants_judge:
        trial = replace(trial, metric=None)
    own = side.of_fold(lists, fold)
    data = prepare(trial, lists.subset(fold.train), lists.subset(fold.test), own)
    test, scaled = data.dev, data.view.get(ScaledColumn)
    assert test is not None  # the test lists
    part = _Part(base=base_values(test.lists, column))
    factor = scaled.factor if scaled is not None and scaled.index == column else 1.0

    def see(state: Any, scores: Floats) -> None:
        part.scores.append(scores)
        linear = isinstance(state, np.ndarray) and state.shape == (test.lists.n_features,)
        part.weights.append(float(state[column]) * factor if linear and column is not None else np.nan)

    observer = (test.learnt, see) if each_round and chooses_rounds(trial.learner) else None
    model = trial.learner.fit(data.train.learnt, **data.inputs(observer=observer))
    data.complete(model)
    if not part.scores:
        part.by_round = False
        part.scores.append(model.score_prepared(test.lists))
        part.weights.append(base_weight(model, column))
    if place is not None:
        place.keep(vars(part))
    return part


def _pooled(lists: CandidateLists, chosen: list[Fold], parts: list[_Part]) -> OutOfFold:
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
