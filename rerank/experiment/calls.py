"""Verbs of the command line as calls on lists in memory, which return what a verb writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, overload

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.data import frames
from rerank.data.array_inputs import vector
from rerank.data.describe import Contents
from rerank.data.folds import folds_of, parts_of
from rerank.data.lists import CandidateLists
from rerank.experiment.notes import note_strangers, note_trained_on
from rerank.experiment.predicting import check_cheating, predictor, validate_file
from rerank.experiment.sources import Data, as_lists, is_path, lists_for
from rerank.models import predictions
from rerank.models.base import Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.predictions import Ranking

OUTPUTS = ("scores", "table", "run", "best", "nbest", "grades", "probabilities", "classes")
_OF_ROWS = ("scores", "grades", "probabilities", "classes")  # which are the same for any lists


def predict(
    model: str | os.PathLike[str] | Model,
    data: Any,
    as_: str | None = None,
    *,
    group: Any = None,
    qid: Any = None,
    strict: bool = False,
) -> Any:
    """Score lists with a model, as ``rerank predict`` does.

    Parameters
    ----------
    model : a model, or its file.
    data : CandidateLists, a file, a data frame with a column of lists, or features (n_rows, n_features) with
        ``group`` or ``qid``. For scores of models that look at one item at a time, no lists are needed.
    as_ : "scores", "grades" or "probabilities": float64 (n_rows), in the order of the caller's rows;
        "table": a ``Ranking``, which becomes a data frame; "run": scores by item id, by list id; "best": the
        best candidate of each list, its text or its id; "nbest": the lists, each with its best item first;
        "classes": a prediction for each row. None = classes for a model of classes, otherwise scores.
    group, qid : of features, as for ``CandidateLists.from_arrays``.
    strict : refuse features that the model does not know, and features that are absent.

    Returns
    -------
    ndarray, list, dict, CandidateLists or Ranking
        As ``as_`` says.

    Raises
    ------
    RerankError
        If the model or the lists cannot be read, do not fit each other, or have not what ``as_`` needs.

    Examples
    --------
    >>> import rerank
    >>> frame = {"qid": ["a", "a", "b", "b"], "id": ["x", "y", "z", "w"], "bm25": [1, 3, 2, 5]}
    >>> train = rerank.CandidateLists.from_frame(frame | {"label": [0, 1, 0, 1]})
    >>> model = rerank.train(train, rounds=2)
    >>> rerank.predict(model, frame, "best")
    ['y', 'w']
    >>> rerank.predict(model, frame, "table").to_dataframe()["rank"].tolist()
    [1, 2, 1, 2]
    """
    loaded = load_model(os.fspath(model)) if isinstance(model, str | os.PathLike) else model
    if not isinstance(loaded, Model):
        raise ConfigError(f"model: found {type(loaded).__name__}, expected a model, or the path of one")
    as_ = as_ or ("classes" if isinstance(loaded, ClassesModel) else "scores")
    if as_ not in OUTPUTS:
        raise ConfigError(f"as_: unknown output {as_!r}; {did_you_mean(as_, OUTPUTS)}")
    check_cheating(loaded, cheating=False)
    lists = _lists(loaded, data, as_, group, qid)
    if isinstance(loaded, ClassesModel):
        if as_ not in ("classes", "scores"):
            raise ConfigError(f"as_: a model of classes predicts classes and scores, found {as_!r}")
        scores = loaded.class_scores(lists, strict=strict)
        return list(loaded.decoded(scores)) if as_ == "classes" else scores
    if as_ == "classes":
        raise ConfigError(f"as_: a model of kind {loaded.kind} predicts no classes")
    if as_ in ("grades", "probabilities"):
        return predictor(loaded, as_)(lists, strict=strict)
    note_trained_on(
        loaded.training.data.sketch or "", loaded.feature_names, lists, "lists that the model was trained on"
    )
    note_strangers(loaded, lists)
    scores = loaded.score(lists, strict=strict)
    if as_ == "scores":
        return scores
    items = lists.from_input_order(scores)
    if as_ == "best":
        return list(predictions.best_lines(lists, items, ""))
    if as_ == "nbest":
        return lists.reordered(predictions.ranking(lists, items))
    found = Ranking.of(lists, items)
    return found if as_ == "table" else found.as_run()


def _lists(model: Model, data: Any, as_: str, group: Any, qid: Any) -> CandidateLists:
    """The lists to score; ``as_`` says whether their grouping matters."""
    if group is None and qid is None and (is_path(data) or isinstance(data, CandidateLists)):
        return lists_for(model, data)
    if is_path(data) or isinstance(data, CandidateLists):
        raise DataError("group and qid are for features in memory, found a file or CandidateLists")
    listwise = model.adapts or model.scaling_name.startswith("list-")
    free = as_ in _OF_ROWS and not listwise and model.keep_margin is None
    if frames.is_frame(data) and group is None and qid is None:
        if not free or frames.has_lists(data):
            return CandidateLists.from_frame(data)
    elif group is None and qid is None and not free:
        raise DataError(f"{as_}: depends on the lists of the rows; give group or qid, or CandidateLists")
    X = frames.plain(data) if frames.is_frame(data) else data
    return CandidateLists.from_arrays(X, group=group, qid=qid)


def validate(data: Data) -> Contents:
    """Return what lists hold: counts, labels, oddities, and faults that break other tools.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.

    Returns
    -------
    Contents
        With ``facts``, ``oddities`` and ``faults``.

    Raises
    ------
    RerankError
        If a file or a frame holds no lists.

    Examples
    --------
    >>> import rerank
    >>> rerank.validate(rerank.CandidateLists.from_arrays([[1.0], [2.0]], [0, 1], group=[2]))
    lists     1, of 2 to 2 items, median 2
    items     2
    features  1, dense float64
    labels    0 × 1, 1 × 1
    ids       none
    """
    return validate_file(data)


def append(data: Data, columns: Mapping[str, Any]) -> CandidateLists:
    """Return lists with further features.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.
    columns : the feature's name to its values (n_items), in the order of the caller's rows.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        If a name exists already, or there are more or fewer values.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays([[1.0], [2.0]], [0, 1], group=[2])
    >>> rerank.append(lists, {"length": [7, 5]}).feature_names
    ['1', 'length']
    """
    lists = as_lists(data)
    added = {
        name: lists.from_input_order(vector(values, name, lists.n_items)) for name, values in columns.items()
    }
    return lists.with_added(added)


@overload
def split(data: Data, parts: Mapping[str, float], *, seed: int = 1) -> dict[str, CandidateLists]: ...
@overload
def split(data: Data, *, folds: int, seed: int = 1) -> dict[str, CandidateLists]: ...
def split(
    data: Data, parts: Mapping[str, float] | None = None, *, folds: int | None = None, seed: int = 1
) -> dict[str, CandidateLists]:
    """Draw parts or folds of the lists; every list is whole in one part.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.
    parts : the share of each part by name, such as ``{"train": 0.8, "test": 0.2}``.
    folds : number of folds, in place of parts: "fold1/train", "fold1/test", ...
    seed : of the drawing.

    Returns
    -------
    dict of str to CandidateLists

    Raises
    ------
    RerankError
        If both or neither of parts and folds are given, or shares sum to more than 1.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays([[1.0]] * 10, group=[2] * 5)
    >>> parts = rerank.split(lists, {"train": 0.8, "test": 0.2})
    >>> {name: len(part) for name, part in parts.items()}
    {'train': 4, 'test': 1}
    """
    if (parts is None) == (folds is None):
        raise ConfigError("give parts, such as {'train': 0.8, 'test': 0.2}, or folds, a number")
    lists = as_lists(data)
    if folds is not None:
        return dict(folds_of(lists, folds, seed))
    if not isinstance(parts, Mapping):
        raise ConfigError(f"parts: found {parts!r}, expected shares by name, such as {{'train': 0.8}}")
    return dict(parts_of(lists, [f"{name}={share}" for name, share in parts.items()], seed))
