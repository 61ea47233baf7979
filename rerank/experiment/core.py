"""Joins the steps: files to lists, lists to a model, a model to scores, scores to numbers.

The only file that sees every room. The command line and the public Python functions are thin over it.
"""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from rerank.config import TrainConfig, learner_settings
from rerank.data.judge import Metric
from rerank.data.labels import parse_quantiser
from rerank.data.lists import CandidateLists
from rerank.data.scores import read_scores
from rerank.data.types import Floats
from rerank.errors import ConfigError, DataNote
from rerank.evaluation import evaluate as evaluation
from rerank.evaluation.compare import Comparisons, compare_all
from rerank.evaluation.evaluate import Evaluation
from rerank.experiment.derive import labelled, with_quantised
from rerank.experiment.fitting import Margin, Runs, fit_seeds, prepare
from rerank.files import write_lines
from rerank.formats import ReadOptions, load
from rerank.learners.base import LEARNERS, Learner
from rerank.models.base import Model
from rerank.models.training import RestartsRecord
from rerank.models.weights import NamedWeights, load_weights
from rerank.parallel import using
from rerank.report.training import seed_lines, training_lines

READ_OPTIONS = {field.name for field in dataclasses.fields(ReadOptions)}


@dataclass
class TrainResult:
    """A fitted model and what there is to say about the fit."""

    model: Model
    metric: str | None
    lists: CandidateLists
    seconds: dict[str, float] = field(default_factory=dict)
    runs: Runs | None = None

    def summary(self) -> list[str]:
        """Lines for a person: what was learnt from what."""
        lines = training_lines(self.model, self.lists, self.metric)
        seeds = self.model.training.seeds
        return lines if seeds is None else [*lines, *seed_lines(seeds)]


def make_learner(name: str, settings: Mapping[str, Any], where: str | None = None) -> Learner:
    """The learner called ``name`` with these settings; raises ConfigError that names key and value."""
    return LEARNERS.get(name).checked(settings, where or f"learner {name}")


def fit(
    learner: Learner,
    lists: CandidateLists,
    *,
    dev: CandidateLists | None = None,
    metric: str | Metric | None = None,
    scaling: str = "none",
    keep_margin: Margin = None,
    initial: NamedWeights | None = None,
) -> Model:
    """Scale, bring the dev columns in line, prepare judges, fit; the model holds its scaling and keep margin.

    ``initial`` are weights of the raw features to start from. Raises ConfigError where dev lists are given
    without a metric, and whatever the parts raise.
    """
    return prepare(lists, dev, metric, scaling, initial).fit(learner, keep_margin)


def learner_of(config: TrainConfig) -> Learner:
    """The learner of a configuration, with the run's seed and keep."""
    name = str(config.learner["name"])
    return make_learner(name, learner_settings(config, LEARNERS.get(name).model_fields))


def train_from(config: TrainConfig) -> TrainResult:
    """Trains as a configuration says; raises ConfigError where it names no training lists."""
    learner = learner_of(config)
    if config.data.train is None:
        raise ConfigError("data.train: found none, expected a file of training lists (--data FILE)")
    started = time.perf_counter()
    data, train_path = config.data, config.data.train
    if data.init is not None and not learner.accepts_initial:
        raise ConfigError(f"learner {learner.name} accepts no initial weights (--init, data.init)")
    quantiser = None if data.quantise is None else parse_quantiser(data.quantise)
    lists = _load(config, train_path, refs=data.refs, merge=data.merge)
    if quantiser is not None:
        lists = with_quantised(lists, quantiser)
    dev = None
    if data.dev is not None:
        _note_same_file("dev", data.dev, "train", train_path)
        _note_same_file("dev", data.dev, "test", data.test)
        dev = _load(config, data.dev, refs=data.dev_refs)
    loaded = time.perf_counter()
    metric, margin = config.select.metric, config.select.keep_margin
    initial = None if data.init is None else load_weights(data.init)
    prepared = prepare(lists, dev, metric, config.scaling, initial)
    keep_margin: Margin = None if margin == "none" else margin
    runs = None
    with using(config.jobs):
        if config.seeds > 1:
            runs = fit_seeds(prepared, learner, config.seeds, keep_margin)
        model = prepared.fit(learner, keep_margin) if runs is None else runs.model
    if quantiser is not None:
        for one in (model,) if runs is None else runs.models.values():
            one.training.data = one.training.data.model_copy(update={"quantise": str(quantiser)})
    seconds = {"load": loaded - started, "fit": time.perf_counter() - loaded}
    return TrainResult(model, metric, lists, seconds, runs)


def default_metrics(lists: CandidateLists) -> tuple[str, ...]:
    """What to judge by where no metric is named, for lists without labels PARSEVAL with gold trees and BLEU
    with references, else measures of ranking.
    """
    if lists.labels is None and (lists.gold is not None or "PARSEVAL" in lists.counts):
        return ("PARSEVAL",)
    if lists.labels is None and (lists.references or "BLEU" in lists.counts):
        return ("BLEU",)
    return ("AP", "RR", "nDCG@10")


def _note_same_file(part: str, path: str, other: str, other_path: str | None) -> None:
    if other_path is not None and path != "-" and os.path.realpath(path) == os.path.realpath(other_path):
        warnings.warn(f"{part} and {other} are the same file, {path}", DataNote, stacklevel=3)


def _load(config: TrainConfig, path: str, **own: Any) -> CandidateLists:
    """The lists of one part; ``own`` are read options of this part alone."""
    data = config.data
    options = {name: getattr(data, name) for name in type(data).model_fields if name in READ_OPTIONS}
    lists = load(path, data.format, **{**options, "merge": (), **own})
    bare = lists.labels is None and not lists.references and not lists.counts
    if data.refs and bare and lists.texts is not None:  # or the metric would ask for --refs, which is given
        raise ConfigError(f"{lists.source}: no references of the dev lists; give them with --dev-refs FILE")
    if data.first_best is not None:
        lists = lists.with_first_best(data.first_best)
    return lists if data.label is None else labelled(lists, data.label)


def save_models(result: TrainResult, path: str) -> None:
    """Writes the model, or with {seed} in the path that of every run."""
    if result.runs is None or "{seed}" not in path:
        result.model.save(path)
        return
    for seed, model in result.runs.models.items():
        model.save(path.replace("{seed}", str(seed)))


def write_curve(result: TrainResult, path: str) -> None:
    """The learning curve as TSV, a row a round or restart, and the seconds in ``timing.NAME`` beside it."""
    model, rounds = result.model, result.model.training.rounds
    restarts = rounds.restarts if isinstance(rounds, RestartsRecord) else ()
    curve = model.curve or [restart.as_json() for restart in restarts]
    if not curve:
        raise ConfigError(
            f"--curve: learner {model.training.learner!r} has no rounds or restarts, so no curve"
        )
    columns = list(curve[0])
    rows = ["\t".join(columns), *("\t".join(_cell(row[name]) for name in columns) for row in curve)]
    write_lines(path, rows)
    if path != "-":
        folder, name = os.path.split(path)
        timing = ["step\tseconds", *(f"{step}\t{value:.3f}" for step, value in result.seconds.items())]
        write_lines(os.path.join(folder, f"timing.{name}"), timing)


def _cell(value: float | None) -> str:
    if value is None:
        return "nan"
    return str(int(value)) if isinstance(value, int) or float(value).is_integer() else repr(float(value))


def evaluate_files(
    lists: CandidateLists,
    paths: Sequence[str],
    metrics: Sequence[str],
    *,
    baseline: str | None = None,
    **options: Any,
) -> Evaluation:
    """Judges score files on ``lists``; a system's name is its path as typed, the baseline's among them.

    ``options`` are those of rerank.evaluation.evaluate.evaluate.
    """
    names = list(paths)
    if baseline is not None and baseline not in names:
        names.insert(0, baseline)
    return evaluation.evaluate(lists, _read_systems(names, lists), metrics, baseline=baseline, **options)


def compare_files(
    lists: CandidateLists, paths: Sequence[str], metrics: Sequence[str], **options: Any
) -> Comparisons:
    """Tests every two score files; ``options`` are those of rerank.evaluation.compare.compare_all."""
    return compare_all(lists, _read_systems(paths, lists), metrics, **options)


def _read_systems(paths: Sequence[str], lists: CandidateLists) -> dict[str, Floats]:
    """Scores by path as typed; raises ConfigError at a path that is given twice."""
    for i, path in enumerate(paths):
        if path in paths[:i]:
            raise ConfigError(f"score file {path} is given twice")
    return {path: read_scores(path, lists) for path in paths}


# The public Python functions, as rerank.load, rerank.train, ...


def train(
    lists: CandidateLists,
    learner: str = "perceptron",
    dev: CandidateLists | None = None,
    metric: str | None = None,
    scaling: str | None = None,
    keep_margin: Margin = None,
    **settings: Any,
) -> Model:
    """A model of ``lists`` (CandidateLists with labels).

    ``learner`` is a name of ``rerank list learners`` and ``settings`` are its own; ``metric`` is
    watched on ``dev`` after each round, and ``keep="best"`` keeps the best round by it; ``scaling`` is
    fitted on ``lists`` and becomes part of the model; ``keep_margin`` is how far another item must lead the
    first-best to take its place, "auto" tunes it on ``dev``. Raises ConfigError, DataError or FitError.
    """
    made = make_learner(learner, settings)
    return fit(made, lists, dev=dev, metric=metric, scaling=scaling or "none", keep_margin=keep_margin)


def evaluate(lists: CandidateLists, scores: npt.ArrayLike, metrics: Sequence[str]) -> dict[str, float]:
    """Metrics of ``scores`` (n_items, larger first) by the names given: 0 to 1 for IR measures.

    Ties and lists without a relevant item count as in ``rerank eval``. Raises ConfigError for an
    unknown metric, DataError where labels are absent or a score is NaN.
    """
    return evaluation.values(lists, scores, metrics)
