"""Cross-validation from Python: learners trained on folds and judged on lists that they have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataNote
from rerank.data.folds import Key
from rerank.data.folds import folds as folds_of
from rerank.data.judge import labels_of
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.judged import Judged
from rerank.formats.sources import Data, as_lists
from rerank.learners.base import Learner
from rerank.training.options import TrainOptions
from rerank.training.train import train

Chosen = TrainOptions | Learner | str


def cross_validate(
    data: Data,
    learners: Chosen | Mapping[str, Chosen] = "perceptron",
    metrics: str | Sequence[str] | None = None,
    *,
    folds: int = 5,
    seed: int = 1,
    key: Key | None = None,
    baseline: str | None = None,
    judging: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Judged:
    """Train on all folds but one, score the lists of that one, and judge the scores of all lists.

    No list is scored by a model that has seen it, nor by one that has seen a list of its ``key``. The folds
    are the same for all learners.

    Parameters
    ----------
    data : lists with labels: CandidateLists, a file or a data frame.
    learners : as ``options`` of ``rerank.train``; or several by the names that the result has.
    metrics : what the lists are judged by; None = as for ``rerank.evaluate``.
    folds : number of folds.
    seed : of the folds.
    key : a value for each list: lists of one value stay in one fold.
    baseline : a learner that the others are tested against; None = the first stage, if it has an order.
    judging : further arguments of ``rerank.evaluate``, such as ties or samples.
    settings : of all learners, as for ``rerank.train``; ``metric`` is what training watches.

    Returns
    -------
    Judged
        With values, intervals, tests and ``plot``. ``rerank.train`` on all lists makes a model to use.

    Raises
    ------
    RerankError
        ConfigError, DataError or FitError, as for ``rerank.train`` and ``rerank.evaluate``.

    Examples
    --------
    >>> import rerank
    >>> X, y = [[i % 3, i % 2] for i in range(24)], [int(i % 3 == 2) for i in range(24)]
    >>> lists = rerank.CandidateLists.from_arrays(X, y, group=[6] * 4)
    >>> found = rerank.cross_validate(lists, {"a": "perceptron", "b": "ridge"}, "AP", folds=2)
    >>> found.systems["a"]["AP"].value
    1.0
    """
    lists = as_lists(data)
    labels_of(lists)
    named = learners if isinstance(learners, Mapping) else {_name_of(learners): learners}
    if not named:
        raise ConfigError("learners: found none, expected one at least")
    parts = folds_of(lists, folds, seed, key=key)
    scores = {name: np.empty(lists.n_items) for name in named}
    with progress.step("cross-validating", len(parts) * len(named), "fit") as advance:
        for fold in parts:
            seen, unseen = lists.subset(fold.train), lists.subset(fold.test)
            items = np.flatnonzero(np.isin(lists.list_index, fold.test))
            for name, learner in named.items():
                model = train(seen, learner, **settings)
                found = model.score(unseen)
                scores[name][items] = unseen.from_input_order(found)
                advance()
    if metrics is None and isinstance(settings.get("metric"), str):
        text = f"judged by the default metrics; metrics={settings['metric']!r} judges by that of training"
        warnings.warn(text, DataNote, stacklevel=2)
    systems = {name: lists.input_order(values) for name, values in scores.items()}
    result: Judged = evaluate(lists, systems, metrics, baseline=baseline, **(judging or {}))
    return result


def _name_of(learner: Chosen) -> str:
    """The name of a learner in results."""
    if isinstance(learner, TrainOptions):
        return str(learner.learner["name"])
    return learner if isinstance(learner, str) else learner.name
