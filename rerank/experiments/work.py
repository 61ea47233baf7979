"""The work of one cell: train on the training and development lists alone, then judge on the test lists."""

from __future__ import annotations

import os
import platform
import time
import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy

from rerank._version import __version__
from rerank.core.errors import DataNote, RerankError, os_error
from rerank.core.files.folders import named_lock
from rerank.core.files.write import atomic_write, staged
from rerank.core.records import Record
from rerank.core.system import peak, reset_peak, sync
from rerank.core.tables.data import to_json
from rerank.core.types import Floats
from rerank.core.workers.pool import Note, capture_warnings
from rerank.data.folds import split
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.overlap import note_shared
from rerank.data.selection import selected
from rerank.data.store import read_store
from rerank.experiments.adaptation import AdaptationRecord, adaptation_record
from rerank.experiments.folder import (
    CELLS,
    MODEL,
    RECORD,
    SCORES,
    TIMINGS,
    CellRecord,
    ChosenRecord,
    PartRecord,
    TimingRecord,
    ValueRecord,
    digest_of_scores,
    read_record,
    read_scores_file,
)
from rerank.experiments.parts import code_digest
from rerank.learners.base import Learner
from rerank.metrics.base import parse_all, prepare_all
from rerank.metrics.judges import checked_scores, statistics
from rerank.models.base import Model
from rerank.models.importance import LINEAR, standardised_weights
from rerank.training.options import TrainOptions
from rerank.training.pipeline import pipeline_of
from rerank.training.select import select
from rerank.training.train import read_inputs

_MOST_WEIGHTS = 50

Status = Literal["trained", "judged", "there", "busy", "failed"]


@dataclass(frozen=True)
class Share:
    """A share of the training lists, in percent, drawn by a seed; smaller ones are part of larger ones."""

    percent: int
    seed: int

    def of(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists of the share."""
        if self.percent == 100:
            return lists
        (chosen,) = split(lists, [self.percent / 100], self.seed)
        return lists.subset(chosen)


@dataclass(frozen=True)
class TestLists:
    """The test lists of a cell, which are opened only after its model is complete.

    A learner that needs the lists to be ranked reads the same store before that, without labels, texts and
    references (``load_part``).
    """

    store: str
    metrics: tuple[str, ...]
    features: tuple[str, ...] = ()

    def open(self) -> CandidateLists:
        """Return the lists, memory-mapped."""
        return read_store(self.store)


@dataclass(frozen=True)
class Work:
    """A cell to be done.

    Attributes
    ----------
    folder, key : where its results go.
    config : what is trained; its data are the stores of the training and development lists.
    share : of the training lists.
    test : what it is judged on.
    files : digests of the input files of train, dev and test.
    names : what notes call a store, by its path.
    keep_model : whether the model is kept.
    wait : wait for another process that does this cell.
    """

    folder: str
    key: str
    seed: int | None
    config: TrainOptions
    share: Share
    test: TestLists
    files: Mapping[str, tuple[str, ...]]
    names: Mapping[str, str]
    keep_model: bool = False
    wait: bool = False

    def file(self, *parts: str) -> str:
        """Return a path within the folder."""
        return os.path.join(self.folder, *parts)


@dataclass(frozen=True)
class Ended:
    """End of the work on a cell: its status, the error in one line with its traceback, and notes."""

    status: Status
    error: str = ""
    trace: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Trained:
    """A model and what it was trained on."""

    model: Model
    learner: Learner
    lists: CandidateLists
    dev: CandidateLists | None
    seconds: float


def do(work: Work) -> Ended:
    """Do a cell unless it is there, and return how that ended; errors are part of the answer."""
    try:
        with named_lock(work.folder, work.key, wait=work.wait) as mine:
            if not mine:
                return Ended("busy")
            record = read_record(work.file(CELLS, work.key, RECORD), CellRecord)
            if record is None or (work.keep_model and not os.path.exists(work.file(CELLS, work.key, MODEL))):
                return Ended("trained", notes=tuple(_train_and_judge(work)))
            if record.has(work.test.metrics):
                return Ended("there")
            _judge_again(work, record)
            return Ended("judged")
    except RerankError as error:
        return Ended("failed", _renamed([error.args[0]], work.names)[0], traceback.format_exc())
    except OSError as error:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else work.folder
        return Ended("failed", str(os_error(name, error)), traceback.format_exc())
    except Exception as error:
        return Ended("failed", f"{type(error).__name__}: {error}", traceback.format_exc())


def _train_and_judge(work: Work) -> list[str]:
    """Do a cell and return its notes."""
    started, cpu = time.perf_counter(), time.process_time()
    reset_peak()
    with capture_warnings() as heard:
        trained = train(work.config, work.share)
        test = work.test.open()
        judged = judge(trained, test, work.test)
    notes = _renamed(_notes_of(heard), work.names)
    record = _record(work, trained, test, notes, judged)
    timing = TimingRecord(
        seconds=round(time.perf_counter() - started, 4),
        fit=round(trained.seconds, 4),
        cpu=round(time.process_time() - cpu, 4),
        peak_mb=None if (most := peak()) is None else round(most / 2**20, 1),
    )
    write_record(work.file(TIMINGS, f"{work.key}.json"), timing)  # before the cell is there, and so done
    _write_cell(work, record, judged.scores, trained.model)
    return notes


def train(config: TrainOptions, share: Share) -> Trained:
    """Return the model of a configuration: all choices are made on its training and development lists."""
    pipeline = pipeline_of(config)
    lists, dev, side = read_inputs(pipeline, share.of)
    started = time.perf_counter()
    model = select(pipeline, lists, dev, side).model
    return Trained(model, pipeline.learner, lists, dev, time.perf_counter() - started)


@dataclass(frozen=True, eq=False)
class Judged:
    """The scores of the test lists in the order of their rows, the metrics, and how a model adapted."""

    scores: Floats
    values: dict[str, ValueRecord]
    adaptation: AdaptationRecord | None


def judge(trained: Trained, test: CandidateLists, asked: TestLists) -> Judged:
    """Return what a model gives for the test lists."""
    note_shared(trained.lists, test, "training lists")
    if trained.dev is not None:
        note_shared(trained.dev, test, "development lists")
    model = trained.model
    given, adaptation = selected(test, asked.features, lenient=True), None
    if model.adapts:
        found = model.adapt(given)
        scores, adaptation = found.scores, adaptation_record(found, test, asked.metrics)
    else:
        scores = np.asarray(model.score(given), dtype=np.float64)
    return Judged(scores, values_of(test, scores, asked.metrics), adaptation)


def values_of(test: CandidateLists, scores: Floats, metrics: Sequence[str]) -> dict[str, ValueRecord]:
    """Return metrics of scores, by canonical name and in its order."""
    judges = prepare_all(test, parse_all(metrics).values())
    ranked = test.from_input_order(checked_scores(scores, test.n_items, partial=True))
    found = {}
    for judge, per_list in zip(judges, statistics(judges, ranked), strict=True):
        own = np.where(judge.judged, judge.score_from_sums(per_list), np.nan)
        value = corpus_value(judge, per_list)
        found[judge.name] = ValueRecord(value=value, signature=judge.signature, per_list=tuple(own.tolist()))
    return dict(sorted(found.items()))


def _judge_again(work: Work, record: CellRecord) -> None:
    """Add metrics to a record, from the scores that are there."""
    scores = read_scores_file(work.file(CELLS, work.key, SCORES), record)
    values = record.values | values_of(work.test.open(), scores, work.test.metrics)
    changed = record.with_fields(values=dict(sorted(values.items())))
    write_record(work.file(CELLS, work.key, RECORD), changed)


def write_record(path: str, record: Record) -> None:
    """Write a record as JSON, whole or not at all."""
    with atomic_write(path) as file:
        file.write(to_json(record.as_json()).encode("utf-8", "surrogateescape"))


def _record(
    work: Work, trained: Trained, test: CandidateLists, notes: Sequence[str], judged: Judged
) -> CellRecord:
    config, model = work.config, trained.model
    training = model.training
    choice = None
    if training.choice is not None:
        cell = training.choice.cells[training.choice.chosen - 1]
        choice = ChosenRecord(
            on=training.choice.on, metric=training.choice.metric, settings=cell.settings, value=cell.value
        )

    def part(name: str, lists: CandidateLists) -> PartRecord:
        known = training.data.fingerprint if name == "train" else None
        sizes = {"lists": lists.n_lists, "items": lists.n_items}
        return PartRecord(files=work.files[name], fingerprint=known or lists.fingerprint(), **sizes)

    return CellRecord(
        key=work.key,
        learner=trained.learner.name,
        settings=plain(trained.learner.get_params()),
        scaling=model.scaling_name,
        base_scale=config.base_scale,
        select=plain(config.select.get_params()),
        grid=plain(config.grid),
        seed=work.seed,
        share=work.share.percent,
        train=part("train", trained.lists),
        dev=None if trained.dev is None else part("dev", trained.dev),
        test=part("test", test),
        versions=versions(),
        choice=choice,
        rounds=getattr(training.rounds, "kept", None),
        curve=tuple(model.curve),
        weights=_weights(model, trained.lists),
        notes=tuple(notes),
        scores=digest_of_scores(judged.scores),
        values=judged.values,
        adaptation=judged.adaptation,
    )


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    return {
        "rerank": __version__,
        "code": code_digest(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def plain(value: Any) -> Any:
    """Return settings as JSON has them: tuples as lists, numbers that are not finite as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    finite = not isinstance(value, float) or np.isfinite(value)
    return value if isinstance(value, bool | int | float | str | None) and finite else str(value)


def _weights(model: Model, lists: CandidateLists) -> dict[str, float]:
    """The largest standardised weights of a linear model; on ties the first."""
    if not isinstance(model, LINEAR):
        return {}
    found = sorted(standardised_weights(model, lists), key=lambda weight: -abs(weight.standardised))
    return {weight.feature: weight.standardised for weight in found[:_MOST_WEIGHTS]}


def _write_cell(work: Work, record: CellRecord, scores: Floats, model: Model) -> None:
    with staged(os.path.realpath(work.file(CELLS, work.key)), folder=True) as part:
        for name in (SCORES, RECORD):
            with open(os.path.join(part.path, name), "xb") as file:
                if name == SCORES:
                    np.save(file, scores, allow_pickle=False)
                else:
                    file.write(to_json(record.as_json()).encode("utf-8", "surrogateescape"))
                file.flush()
                sync(file.fileno())
        if work.keep_model:
            model.save(os.path.join(part.path, MODEL))


def _notes_of(heard: Iterable[Note]) -> list[str]:
    """Return the texts of the notes among warnings, each once; the other warnings are issued again."""
    for text, category, file, line in heard:
        if not issubclass(category, DataNote):
            warnings.warn_explicit(text, category, file, line)
    return list(dict.fromkeys(text for text, category, *_ in heard if issubclass(category, DataNote)))


def _renamed(notes: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Texts in which stores are called by the part that they hold."""
    found = []
    for note in notes:
        for path in sorted(names, key=len, reverse=True):
            note = note.replace(path, names[path])
        found.append(note)
    return list(dict.fromkeys(found))
