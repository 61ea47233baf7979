"""One call from runs to a fused run: ``rerank fuse``, and ``rerank.fuse`` on plain dictionaries."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.files.write import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import places_of
from rerank.data.first_best import ranks_in
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note
from rerank.data.reading import Reading
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.judged import Judged
from rerank.evaluation.systems import mapped_items, mapped_judgements
from rerank.extensions.fusion.runs import Runs
from rerank.formats.base import ReadOptions
from rerank.formats.sources import check_outputs, read_lists
from rerank.formats.trec import Run
from rerank.formats.trec import fused as merged
from rerank.formats.trec.qrels import Judgements, with_qrels
from rerank.learners.base import LEARNERS, Learner
from rerank.learners.baselines import Fusion
from rerank.models.predictions import Ranking, run_lines, trec_ranking
from rerank.training.out_of_fold import folds_of
from rerank.training.train import train as fit

TUNED_ON = "AP"


@dataclass(frozen=True, eq=False)
class FusedRuns:
    """Result of ``fuse_files``.

    Attributes
    ----------
    lists : CandidateLists
        The documents of all runs by query, a feature for each run.
    scores : float64 (n_items)
        Fused scores.
    method : str
    learnt : str
        How the method was fitted, for people; empty if it needs no judgements.
    judged : Judged, optional
        The metrics of every run and of the fusion, if there are judgements.
    """

    lists: CandidateLists
    scores: Floats
    method: str
    learnt: str
    judged: Judged | None


def fuse(
    runs: Mapping[Any, Mapping[Any, Mapping[Any, float]]] | Sequence[Mapping[Any, Mapping[Any, float]]],
    qrels: Mapping[Any, Mapping[Any, float]] | None = None,
    method: str = "rrf",
    *,
    train: Mapping[Any, Mapping[Any, float]] | None = None,
    metric: str = TUNED_ON,
    folds: int = 5,
    seed: int = 1,
    **settings: Any,
) -> dict[str, dict[str, float]]:
    """Fuse the runs of several systems into one.

    Parameters
    ----------
    runs : scores by document, by query, by the name of the run; or a list of runs, which are named 1, 2, ...
        A document that a run lacks was not returned by it.
    qrels : labels by document, by query. Methods that learn are cross-validated on them: each judged query
        is fused by a model of the other folds' queries, an unjudged one by a model of all judged queries.
    method : a name of ``rerank help fusion``, such as rrf, combsum, wsum or posfuse, or of another learner,
        such as ranksvm or listnet, which then learns from the scores scaled within each query.
    train : labels that a method learns from instead of ``qrels``, once and for all queries. Queries that are
        judged here have been seen by the model: their scores cannot be used for an evaluation.
    metric : the metric that weights are tuned on.
    folds, seed : of the cross-validation.
    settings : of the method, such as ``k=60``, and ``scaling`` of the scores.

    Returns
    -------
    dict
        Fused scores by document, by query, best first.

    Raises
    ------
    RerankError
        If the method or a setting is unknown, a score is not a finite number, the method learns and there is
        nothing to learn from, or judgements and runs have no query in common.

    Examples
    --------
    >>> import rerank
    >>> bm25 = {"q1": {"a": 9.0, "b": 7.0}, "q2": {"c": 3.0}}
    >>> dense = {"q1": {"b": 0.9, "d": 0.3}, "q2": {"c": 0.5, "e": 0.4}}
    >>> list(rerank.fuse({"bm25": bm25, "dense": dense})["q1"])
    ['b', 'a', 'd']
    >>> rerank.fuse([bm25, dense], method="combsum")["q2"]
    {'c': 1.0, 'e': 0.0}
    """
    lists = merged_mappings(runs)
    kind = _method(method)
    training = None if train is None else checked_judgements(train, "train").on(lists)
    if qrels is not None:
        lists = checked_judgements(qrels, "qrels").on(lists)
    scores, _ = _scores(lists, kind, training, metric, folds, seed, settings)
    return Ranking.of(lists, scores).as_run()


def fuse_files(
    runs: Sequence[str],
    out: str,
    method: str = "rrf",
    *,
    qrels: str | None = None,
    train: str | None = None,
    metrics: Sequence[str] = (),
    folds: int = 5,
    seed: int = 1,
    depth: int | None = None,
    tag: str | None = None,
    settings: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
) -> FusedRuns:
    """Fuse files of runs, and write a TREC run.

    The runs have the names of their files.

    Parameters
    ----------
    runs : paths, in any format of runs.
    out : the file to write, "-" = standard output.
    method, folds, seed : as for ``fuse``.
    qrels, train : files of judgements, as for ``fuse``. The metrics of all runs are returned with ``qrels``.
    metrics : names; None = the default ones of ``rerank eval``. Weights are tuned on the first one, or on AP.
    depth : write and judge so many documents of each query; None = all.
    tag : name of the run; None = the method.
    settings : of the method, and ``scaling``.
    reading : how the files are read.

    Returns
    -------
    FusedRuns

    Raises
    ------
    RerankError
        As for ``fuse``, or if a file cannot be read or written.
    """
    kind = _method(method)
    given = [path for path in (qrels, train) if path is not None]
    check_outputs({"--out": out}, [*runs, *given])
    if len(runs) < 2:
        raise ConfigError(f"found {count(len(runs), 'run')}, expected two or more")
    if depth is not None and depth < 1:
        raise ConfigError(f"--depth: found {depth}, expected 1 or more")
    _check_judged(kind, qrels is not None or train is not None)
    reading = (reading or Reading()).with_settings(merge=tuple(runs[1:]), missing="nan")
    names = [path if path not in runs[:k] else f"{path} ({k + 1})" for k, path in enumerate(runs)]
    with _lacking_allowed():
        lists = read_lists(runs[0], reading)
    lists = _checked(replace(lists, feature_names=names))
    training = None if train is None else with_qrels(lists, train)
    if qrels is not None:
        lists = with_qrels(lists, qrels)
    metric = metrics[0] if metrics else TUNED_ON
    scores, learnt = _scores(lists, kind, training, metric, folds, seed, dict(settings or {}))
    kept = scores
    if depth is not None:
        places = np.arange(lists.n_items) - np.repeat(lists.offsets[:-1], lists.lengths)
        kept = scores.copy()
        kept[trec_ranking(lists, scores)[places >= depth]] = np.nan
    judged = None if qrels is None else _judged(lists, method, kept, metrics)
    write_lines(out, run_lines(lists, kept, tag or method))
    return FusedRuns(lists, scores, method, learnt, judged)


def _method(name: str) -> type[Learner]:
    """The learner of a method: one of fusion, or one that learns; raises ConfigError for others."""

    def fuses(kind: type[Learner]) -> bool:
        learns = kind.needs_labels or kind.needs_judge
        return issubclass(kind, Fusion) or (learns and not kind.needs_unlabelled)

    names = LEARNERS.names()
    if name in (*names, *(alias for one in names for alias in LEARNERS.aliases(one))):
        kind = LEARNERS.get(name)
        if fuses(kind):
            return kind
    methods = [one for one in names if fuses(LEARNERS.get(one))]  # imports every learner
    raise ConfigError(f"unknown method {name!r}; {did_you_mean(name, methods)}")


def _check_judged(kind: type[Learner], given: bool) -> None:
    if (kind.needs_labels or kind.needs_judge) and not given:
        text = "give them (--qrels FILE for cross-validation, --train FILE for other judgements)"
        raise ConfigError(f"method {kind.name} learns from judgements; {text}")


def _scores(
    lists: CandidateLists,
    kind: type[Learner],
    training: CandidateLists | None,
    metric: str,
    n_folds: int,
    seed: int,
    settings: dict[str, Any],
) -> tuple[Floats, str]:
    """The fused scores (n_items) of lists, and how the method was fitted."""
    if issubclass(kind, Fusion):
        settings = settings | {"missing": "nan"}
    else:
        scaled = {"scaling": "list-minmax", "missing": "nan" if kind.accepts_nan else "list-min"}
        settings = scaled | settings
    if kind.needs_judge:
        settings = settings | {"metric": metric}
    if kind.needs_labels:
        settings = {"unjudged": "negative"} | settings  # as metrics take them
    _check_judged(kind, training is not None or lists.labels is not None)
    if not (kind.needs_labels or kind.needs_judge):
        if training is not None:
            raise ConfigError(
                f"--train: not used by method {kind.name}, which does not learn from judgements"
            )
        return fit(lists, kind.name, **settings).score_items(lists), ""
    if training is not None:
        model = fit(training, kind.name, **settings)
        if lists.labels is not None:
            both = int(np.count_nonzero(training.judged_lists() & lists.judged_lists()))
            if both:
                seen = f"{count(both, 'judged query was', 'judged queries were')} learnt from as well"
                note(f"{seen}: their values are too good to be true; --qrels alone cross-validates")
        learnt = f"learnt from {count(int(training.judged_lists().sum()), 'query', 'queries')} of --train"
        return model.score_items(lists), learnt
    judged = np.flatnonzero(lists.judged_lists())
    others = np.flatnonzero(~lists.judged_lists())
    scores = np.full(lists.n_items, np.nan)
    for fold in folds_of(lists.subset(judged), n_folds, seed):
        model = fit(lists.subset(judged[fold.train]), kind.name, **settings)
        _fill(scores, lists, judged[fold.test], model)
    if len(others):
        _fill(scores, lists, others, fit(lists.subset(judged), kind.name, **settings))
    learnt = (
        f"{n_folds}-fold cross-validation of {len(judged)} judged queries: none is fused by a model of itself"
    )
    return scores, learnt


def _fill(scores: Floats, lists: CandidateLists, numbers: Index, model: Any) -> None:
    """Put the scores of some lists where they belong."""
    items, _ = places_of(lists.offsets, numbers)
    scores[items] = model.score_items(lists.subset(numbers))


def _judged(lists: CandidateLists, method: str, scores: Floats, metrics: Sequence[str]) -> Judged:
    """The metrics of every run and of the fusion, tested against the first run.

    What a run did not return has no rank in it.
    """
    names = lists.names()
    systems = {name: lists.input_order(Runs(lists).values[:, j]) for j, name in enumerate(names)}
    own = f"{method} (fused)" if method in names else method
    systems[own] = lists.input_order(scores)
    with _lacking_allowed():
        found: Judged = evaluate(lists, systems, metrics or None, baseline=names[0], missing="nan")
    return found


@contextmanager
def _lacking_allowed() -> Iterator[None]:
    """Do not report documents that some runs lack: fusion is about them."""
    with warnings.catch_warnings():
        for text in ("documents runs lack", "not returned by this system"):
            warnings.filterwarnings("ignore", f"(?s).*{text}", DataNote)
        yield


def _checked(lists: CandidateLists) -> CandidateLists:
    """Warn if two runs are the same, or a run returned nothing for some queries."""
    names, runs = lists.names(), Runs(lists)
    for j in range(runs.n_runs):
        same = [i for i in range(j) if np.array_equal(runs.values[:, i], runs.values[:, j], equal_nan=True)]
        if same:
            note(f"runs {names[same[0]]!r} and {names[j]!r} have the same scores, which count twice")
        absent = np.flatnonzero(~np.logical_or.reduceat(runs.returned[:, j], lists.offsets[:-1]))
        if len(absent):
            first = f"the first is {lists.list_id(int(absent[0]))!r}"
            note(f"run {names[j]!r} returned nothing for {count(len(absent), 'query', 'queries')} ({first})")
    return lists


def merged_mappings(runs: Any) -> CandidateLists:
    """Return the lists of runs as dictionaries, a feature of each."""
    if isinstance(runs, str | os.PathLike) or not isinstance(runs, Mapping | Sequence):
        raise ConfigError(
            f"runs: found {type(runs).__name__}, expected {{name: {{query: {{document: score}}}}}}"
        )
    named = runs if isinstance(runs, Mapping) else {str(k): run for k, run in enumerate(runs, 1)}
    if len(named) < 2:
        raise ConfigError(f"found {count(len(named), 'run')}, expected two or more")
    parts = [_run_of(str(name), run) for name, run in named.items()]
    with _lacking_allowed():
        return _checked(merged(parts, ReadOptions(missing="nan")))


def _run_of(name: str, nested: Any) -> Run:
    """A run of a dictionary; raises DataError if a score is not a finite number."""
    what = f"run {name!r}"
    _check_mapping(nested, what, "score")
    if not any(nested.values()):
        raise DataError(f"{what}: no document")
    lists, scores = mapped_items(nested, what, "score")
    assert lists.list_ids is not None
    assert lists.item_ids is not None
    ranks = ranks_in(lists.offsets, scores).astype(np.float64)
    return Run("runs", name, lists.offsets, lists.list_ids, lists.item_ids, scores, ranks, None)


def checked_judgements(qrels: Any, name: str) -> Judgements:
    """Return judgements of a dictionary; raises DataError at the first label that is no number."""
    _check_mapping(qrels, name, "label")
    if not any(qrels.values()):
        raise DataError(f"{name}: no judgement")
    return mapped_judgements(qrels, name)


def _check_mapping(nested: Any, name: str, what: str) -> None:
    """Raise DataError at the first value that is no finite number, or document that is there twice."""
    if not isinstance(nested, Mapping) or not all(isinstance(own, Mapping) for own in nested.values()):
        raise DataError(f"{name}: expected {{query: {{document: {what}}}}}")
    for query, own in nested.items():
        seen: set[str] = set()
        for document, value in own.items():
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool | complex)
            if not number or not math.isfinite(value):
                text = f"query {str(query)!r}, document {str(document)!r}: found {what} {value!r}"
                raise DataError(f"{name}: {text}, expected a finite number")
            if str(document) in seen:
                raise DataError(f"{name}: query {str(query)!r} has the document {str(document)!r} twice")
            seen.add(str(document))
