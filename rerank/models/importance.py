"""Importance of features: standardised weights, and permutation within lists."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.core import memory, progress
from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats, Index, Mask
from rerank.core.workers import parallel
from rerank.data.base_scores import base_scores_of
from rerank.data.feature_ranges import deviations_within
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.data.names import Columns
from rerank.data.reading import Reading
from rerank.data.selection import columns_matching, permuted, random_order
from rerank.evaluation.importance import (
    Basis,
    Drop,
    Permutation,
    Weight,
    Weights,
    drop_of,
    judge_of,
    judging_by,
)
from rerank.formats.sources import Data
from rerank.models.base import ORACLE, Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.linear import LinearModel, ThresholdModel
from rerank.models.predict import lists_for

LINEAR = (LinearModel, ThresholdModel)
SEED = 1
_MOST_REPEATS = 10_000
_AT_ONCE = 64  # groups between two signs of progress


def standardised_weights(
    model: str | os.PathLike[str] | Model, data: Data, *, reading: Reading | None = None
) -> Weights:
    """Return the weights of a linear model times the standard deviations of its features within lists.

    Parameters
    ----------
    model : a model, or its file.
    data : a file of lists, or CandidateLists.
    reading : how the file is read.

    Returns
    -------
    Weights
        One for each feature of the model, in its order.

    Raises
    ------
    ConfigError
        If the model has no weight for each feature.
    """
    loaded = _loaded(model)
    if not isinstance(loaded, LINEAR):
        advice = "permutation importance needs none ('rerank importance permute')"
        raise ConfigError(f"a model of kind {loaded.kind} has no weight of each feature; {advice}")
    ready = loaded.prepared(lists_for(loaded, data, reading))
    deviations = deviations_within(ready)
    with np.errstate(over="ignore"):
        products = loaded.weights * deviations
    if not np.isfinite(products).all():
        name = loaded.feature_names[int(np.argmin(np.isfinite(products)))]
        raise DataError(f"{ready.source}: the weight of feature {name!r} times its deviation overflows")
    total = float(np.abs(products).sum()) or 1.0
    columns = (loaded.weights, deviations, products, np.abs(products) / total)
    rows = zip(loaded.feature_names, *(column.tolist() for column in columns), strict=True)
    return Weights(Weight(*row) for row in rows)


def permutation_importance(
    model: str | os.PathLike[str] | Model,
    data: Data,
    metric: str,
    *,
    groups: Sequence[str] = (),
    repeats: int = 10,
    permutation_seed: int = SEED,
    jobs: int | None = None,
    cluster: str | None = None,
    reading: Reading | None = None,
    **settings: Any,
) -> Permutation:
    """Return how much a metric loses if features are permuted within each list.

    Each repeat draws one order of the items of every list, which all features share. A group is permuted as
    one: its features keep their values of the same item. The base score of a model with a base weight stays.

    Parameters
    ----------
    model : a model, or its file.
    data : a file of judged lists, or CandidateLists.
    metric : a name of ``rerank list metrics``.
    groups : items as ``--features`` takes them, such as "prm*,-prm7", each a group; () = each feature alone.
    repeats : permutations of each list.
    permutation_seed : of the permutations.
    jobs, cluster : workers, which change no result; see ``core.workers.parallel.using``.
    reading : how the file is read.
    settings : ``ties`` and ``no_relevant`` as for ``rerank.evaluate``; ``samples``, ``level`` and ``seed``
        of the bootstrap over lists.

    Returns
    -------
    Permutation
        The loss of each feature or group, with its interval.

    Raises
    ------
    RerankError
        If a group matches no feature, or the lists cannot be judged or scored.
    """
    if not 1 <= repeats <= _MOST_REPEATS:
        raise ConfigError(f"repeats: found {repeats}, expected 1 to {_MOST_REPEATS}")
    judging, loaded = judging_by(metric, settings), _loaded(model)
    lists = lists_for(loaded, data, reading)
    judge = judge_of(lists, judging)
    ready = loaded.prepared(lists)
    scores = loaded.with_keep_margin(ready, loaded.score_prepared(ready))
    if not np.isfinite(scores).all():
        loaded.score_items(lists)  # raises an error that names the item and the cause
    basis = Basis(judge, value_of(judge, scores), lists.n_items, judging)
    chosen = _with_indicators(
        loaded, groups_of(Columns(loaded.input_names, len(loaded.input_names)), groups, "the model")
    )
    memory.require(8 * repeats * ready.n_items, f"{repeats:,} permutations of {ready.n_items:,} items")
    orders = [random_order(ready, permutation_seed, repeat) for repeat in range(repeats)]
    with parallel.using(jobs, cluster):
        drops = _Permuting(loaded, ready, basis, orders).drops(chosen)
    return Permutation(basis, repeats, permutation_seed, drops)


def groups_of(columns: Columns, texts: Sequence[str], source: str) -> list[tuple[str, Index]]:
    """Return the name and the columns of each group, of each column alone if ``texts`` is empty.

    Raises
    ------
    ConfigError, DataError
        If a group is given twice, has an empty item, or matches no column.
    """
    if len(set(texts)) < len(texts):
        raise ConfigError(f"group {next(text for text in texts if texts.count(text) > 1)!r} is given twice")
    try:
        found = [(text, np.flatnonzero(columns_matching(columns, [text], source))) for text in texts]
    except ValueError as error:
        raise ConfigError(f"group: {error}") from None
    return found or [(name, np.array([j])) for j, name in enumerate(columns.at(np.arange(columns.n)))]


def _with_indicators(model: Model, groups: list[tuple[str, Index]]) -> list[tuple[str, Index]]:
    """Groups of columns with the indicators of their missing values, which are permuted with them."""
    if model.imputation is None or not len(indicated := model.imputation.indicated):
        return groups
    first = len(model.input_names)
    return [
        (name, np.concatenate([columns, first + np.flatnonzero(np.isin(indicated, columns))]))
        for name, columns in groups
    ]


@dataclass(frozen=True, eq=False)
class _Permuting:
    """Input of permutations: prepared lists, their judge, and an order for each repeat."""

    model: Model
    lists: CandidateLists
    basis: Basis
    orders: list[Index]

    def drops(self, groups: Sequence[tuple[str, Index]]) -> list[Drop]:
        """Return ``drop`` of each group, some at once."""
        found: list[Drop] = []
        at_once = max(_AT_ONCE, parallel.jobs())
        with progress.step("permuting features", len(groups), "feature") as advance:
            for first in range(0, len(groups), at_once):
                some = groups[first : first + at_once]
                found += parallel.each(self.drop, some, threads=True, anywhere=True)
                advance(len(some))
        return found

    def drop(self, name: str, columns: Index) -> Drop:
        """Return what permuting some columns together loses."""
        chosen = np.zeros(self.lists.n_features, dtype=bool)
        chosen[columns] = True
        scores, here = self._scorer(chosen), np.arange(self.lists.n_items)
        final = (self.model.with_keep_margin(self.lists, scores(order)) for order in (here, *self.orders))
        whole, *rows = map(self.basis.judge.per_list, final)
        return drop_of(self.basis.judge, name, len(columns), whole, rows, self.basis.judging)

    def _scorer(self, chosen: Mask) -> Callable[[Index], Floats]:
        """The function from an order of the items to the scores with some columns in that order."""
        model, lists = self.model, self.lists
        if isinstance(model, LINEAR):  # the sum of both parts, of which one moves
            rest = lists.features.scores(np.where(chosen, 0.0, model.weights))
            own = lists.features.scores(np.where(chosen, model.weights, 0.0))
            if model.base_weight is not None:
                rest = rest + model.base_weight * base_scores_of(lists, model.kind)
            return lambda order: rest + own[order]
        names = lists.names()
        return lambda order: model.score_prepared(
            lists.with_features(permuted(lists.features, chosen, order), names)
        )


def _loaded(model: str | os.PathLike[str] | Model) -> Model:
    """The model of a file; raises ConfigError for one of examples, whose lists have nothing to permute.

    One that uses the labels of the lists that it ranks is refused as well.
    """
    loaded = model if isinstance(model, Model) else load_model(os.fspath(model))
    if isinstance(loaded, ClassesModel):
        advice = "'rerank show' prints its weights"
        raise ConfigError(
            f"a model of kind {loaded.kind} has no importance of features within lists; {advice}"
        )
    if loaded.uses_test_labels:
        text = "this model uses the labels of the lists that it ranks"
        raise ConfigError(f"{ORACLE}: {text}, so that importances would say nothing")
    return loaded
