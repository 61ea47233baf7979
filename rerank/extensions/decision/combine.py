"""Ensembles of models that exist: nothing is trained again but the weights of the sum."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.names import Columns
from rerank.data.overlap import note, overlap, sketch
from rerank.data.reading import Reading
from rerank.extensions.decision.ensemble import EnsembleModel, learnt_weights
from rerank.extensions.decision.gain import deviation
from rerank.extensions.decision.model import MbrModel
from rerank.formats.sources import Data, check_outputs, inputs_of
from rerank.learners.base import LEARNERS
from rerank.metrics.base import parse
from rerank.models.base import Model, load_model
from rerank.models.classes import ClassesModel
from rerank.models.predict import lists_for
from rerank.models.training import DataRecord

EQUAL = "equal"


def ensemble(
    models: Sequence[Model | str | os.PathLike[str]],
    data: Data,
    weights: str | Sequence[float] = EQUAL,
    metric: str | None = None,
    *,
    out: str | None = None,
    reading: Reading | None = None,
) -> EnsembleModel:
    """Return a model whose score is the weighted sum of the standardised scores of existing models.

    The scores of each model are divided by their deviation within the lists of ``data``, which should be
    like those that will be scored, and not those that a model was trained on. The models may have different
    features: the ensemble has those of all, matched by their names.

    Parameters
    ----------
    models : sequence of Model, or their files
        Two or more.
    data : a file of lists, or CandidateLists
        Labelled, if weights are learnt.
    weights : str or sequence of float
        "equal", the linear learner that learns them from the standardised scores, such as "loglinear", or a
        number for each model, also as text, "2,1".
    metric : str, optional
        What the learner of the weights optimises, if it optimises a metric.
    out : str, optional
        File of the model.
    reading : Reading, optional
        How a file of lists is read.

    Returns
    -------
    EnsembleModel
        It can be saved, and needs the files of the models no more.

    Raises
    ------
    ConfigError
        If there are fewer than two models, one of them does not score the items of lists, is an ensemble, has
        a decision or a keep margin, or the weights are unknown.
    DataError
        If features are numbered and not the same in all models, lists lack the features of a model, or a
        model gives the items of each list equal scores.

    References
    ----------
    Wolpert: Stacked generalization. Neural Networks 5, 1992.

    Examples
    --------
    >>> import rerank
    >>> features = [[1, 0], [0, 3], [2, 1], [0, 2]]
    >>> lists = rerank.CandidateLists.from_arrays(features, [1, 0, 1, 0], group=[2, 2])
    >>> models = [rerank.train(lists, learner=name) for name in ("ranksvm", "loglinear")]
    >>> other = rerank.CandidateLists.from_arrays([[3, 1], [0, 1]], [1, 0], group=[2])
    >>> scores = rerank.ensemble(models, other).score(other)
    >>> round(float(scores[0] - scores[1]), 4)
    2.0
    """
    paths = [None if isinstance(one, Model) else os.fspath(one) for one in models]
    given = [path for path in paths if path is not None]
    check_outputs({} if out is None else {"--out": out}, [*given, *inputs_of(data, reading)])
    again = next((path for path in given if given.count(path) > 1), None)
    if again is not None:
        raise ConfigError(f"{again} is given twice")
    names = [f"model {k}" if path is None else path for k, path in enumerate(paths, 1)]
    if len(models) < 2:
        raise ConfigError(f"found {count(len(models), 'model')}, expected two or more")
    members = [copy.copy(one) if isinstance(one, Model) else load_model(os.fspath(one)) for one in models]
    for name, one in zip(names, members, strict=True):
        _check_member(name, one)
    _check_features(names, members)
    made = EnsembleModel(members, np.ones(len(members)))
    selections = [one.training.data.features for one in members if one.training.data.features]
    made.training.data = DataRecord(features=selections[0] if selections else None)
    lists = lists_for(made, data, reading)
    columns, divisors = [], []
    for name, one in zip(names, members, strict=True):
        if made.joined and not set(one.input_names) & set(lists.names()):
            raise DataError(f"{lists.source}: found none of the features of {name} ({some(one.input_names)})")
    pairs = zip(names, members, strict=True)
    known = [name for name, one in pairs if overlap(one.training.data.sketch or "", one.input_names, lists)]
    if known:
        note(f"{lists.source}: many lists that {some(known)} learnt from, where scores are too sure")
    ready = made.prepared(lists)
    for k, name in enumerate(names):
        made.weights_ = np.eye(len(members))[k]
        scores = made._finite(ready, made.score_prepared(ready))
        divisors.append(deviation(lists, scores))
        if divisors[-1] == 0:
            raise DataError(f"{lists.source}: {name} gives the items of each list equal scores")
        columns.append(scores / divisors[-1])
    standard = lists.with_features(Dense(np.column_stack(columns)), names)
    found, learnt = _weights(weights, metric, standard)
    made.weights_ = found / np.array(divisors)
    made.training.learner = "ensemble"
    made.training.settings = {"weights": weights if isinstance(weights, str) else "given"}
    size = {"lists": lists.n_lists, "items": lists.n_items, "fingerprint": lists.fingerprint()}
    hashes = sketch(ready) if learnt else None if made.joined else members[0].training.data.sketch
    made.training.data = made.training.data.with_fields(sketch=hashes, **size)
    if out is not None:
        made.save(out)
    return made


def _check_member(name: str, one: Model) -> None:
    """Raise ConfigError if a model cannot be a member."""
    why = ""
    if one.adapts or isinstance(one, ClassesModel):
        why = f"a model of kind {one.kind}, expected one that scores the items of lists"
    elif isinstance(one, EnsembleModel):
        why = "an ensemble itself; give its members"
    elif isinstance(one, MbrModel):
        why = "a model that decides by expected utility; decide after the sum (predict --decide mbr)"
    elif one.keep_margin is not None:
        why = f"a model with a keep margin of {one.keep_margin:g}, which is in units of its own scores"
    if why:
        raise ConfigError(f"{name}: found {why}")


def _check_features(names: Sequence[str], members: Sequence[Model]) -> None:
    """Raise DataError if features are numbered and not the same: the numbers may mean other features."""
    columns = [Columns(own, len(own)) for own in (one.input_names for one in members)]
    for name, one, own in zip(names[1:], members[1:], columns[1:], strict=True):
        if one.input_names != members[0].input_names and (own.unnamed or columns[0].unnamed):
            found = (
                f"{count(own.n, 'feature')}, and {columns[0].n} in {names[0]}, of which some have no names"
            )
            raise DataError(f"{name}: found {found}; expected the same features, or names in all models")


def _weights(
    weights: str | Sequence[float], metric: str | None, lists: CandidateLists
) -> tuple[Floats, bool]:
    """The weights of standardised scores, the features of ``lists``, float64 (n_members); whether learnt."""
    n, given = lists.n_features, _numbers(weights) if isinstance(weights, str) else weights
    learner = LEARNERS.get(given)() if isinstance(given, str) and given != EQUAL else None
    if metric is not None and (learner is None or not learner.wants_judge):
        raise ConfigError(f"--metric: not used by weights {weights}")
    if learner is not None:
        if lists.labels is None:
            raise DataError(f"{lists.source}: found no labels, which weights are learnt from")
        judge = None if metric is None else parse(metric).prepare(lists)
        return learnt_weights(learner, lists, judge), True
    found = np.ones(n) if given == EQUAL else np.array(given, dtype=np.float64)
    if found.shape != (n,) or not np.isfinite(found).all() or not found.any():
        raise ConfigError(f"weights: found {weights}, expected {n} finite numbers, not all 0")
    return found / np.abs(found).sum(), False


def _numbers(text: str) -> str | list[float]:
    """The numbers in a text that are separated by commas, or the text if they are no numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text
