"""The folder of an experiment's results: what was compared, and a record, scores and times of each cell.

It holds ``experiment.json``, ``data/*.store`` (the parts of each fold), ``cells/KEY/`` (``record.json``,
``scores.npy`` and, if asked for, ``model``), ``failed/KEY.log`` and ``timings/KEY.json``. Everything but the
times and the logs has the same bytes whenever it is made, by any number of processes.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from rerank.core.errors import DataError, FormatError, os_error
from rerank.core.files.folders import named_lock_held
from rerank.core.files.read import read_bytes
from rerank.core.records import Number, Record, read_json
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.store import read_store
from rerank.experiments.adaptation import AdaptationRecord
from rerank.metrics.base import parse_all
from rerank.models.training import Value

EXPERIMENT = "experiment.json"
RECORD, SCORES, MODEL = "record.json", "scores.npy", "model"
DATA, CELLS, FAILED, TIMINGS = "data", "cells", "failed", "timings"

R = TypeVar("R", bound=Record)
State = Literal["done", "running", "failed", "missing"]


class Cell(Record):
    """One fit: a row on a fold, with a seed and a share of the training lists.

    Attributes
    ----------
    number : its place in the table of cells, from 1.
    key : digits that change with everything that decides its result.
    row, fold : their names.
    seed : None if nothing is drawn.
    share : of the training lists, in percent.
    """

    number: int
    key: str
    row: str
    fold: str
    seed: int | None
    share: int


class ExperimentRecord(Record):
    """Record of an experiment: ``experiment.json``.

    Attributes
    ----------
    name : of the experiment.
    metrics : as typed.
    baseline : a row, ``first_best``, or None.
    rows, folds, shares : in the order of the configuration; shares in percent.
    tests : the store of each fold's test lists, a name in ``data``.
    config : the settings as they were resolved.
    cells : all of them.
    """

    name: str
    metrics: tuple[str, ...]
    baseline: str | None
    rows: tuple[str, ...]
    folds: tuple[str, ...]
    shares: tuple[int, ...]
    tests: dict[str, str]
    config: dict[str, Any]
    cells: tuple[Cell, ...]


class PartRecord(Record):
    """The lists of one part: digests of the files' bytes, the fingerprint of what was read, and sizes."""

    files: tuple[str, ...]
    fingerprint: str
    lists: int
    items: int


class ChosenRecord(Record):
    """The settings chosen from a grid, on what, and their value there."""

    on: str
    metric: str
    settings: dict[str, Value]
    value: Number[float]


class ValueRecord(Record):
    """A metric of the test lists: its value, its signature, and the value of each list (NaN = not judged)."""

    value: Number[float]
    signature: str
    per_list: tuple[Number[float], ...]


class CellRecord(Record):
    """One cell: what was trained on what, what was chosen, and the metrics of the test lists.

    Attributes
    ----------
    key : of the cell.
    learner, settings : as they were resolved; what a grid chose is in ``choice``.
    scaling, base_scale, select, grid : of the configuration.
    seed, share : of the cell.
    train, dev, test : the parts; ``train`` is the share that was used.
    versions : of this package, its source, numpy, scipy and Python.
    choice : settings chosen from the grid.
    rounds : the round that was kept.
    curve : the learning curve, a row for each round.
    weights : the largest standardised weights by feature, see ``rerank importance weights``.
    notes : warnings about data and settings.
    scores : SHA-256 of the scores.
    values : by metric.
    adaptation : of a transductive model, None of others and in records of earlier versions.
    """

    key: str
    learner: str
    settings: dict[str, Any]
    scaling: str
    base_scale: float | str
    select: dict[str, Any]
    grid: dict[str, Any]
    seed: int | None
    share: int
    train: PartRecord
    dev: PartRecord | None
    test: PartRecord
    versions: dict[str, str]
    choice: ChosenRecord | None
    rounds: int | None
    curve: tuple[dict[str, Number[float]], ...]
    weights: dict[str, float]
    notes: tuple[str, ...]
    scores: str
    values: dict[str, ValueRecord]
    adaptation: AdaptationRecord | None = None

    def has(self, metrics: Iterable[str]) -> bool:
        """Return whether it has the value of each metric."""
        return all(metric.name in self.values for metric in parse_all(metrics).values())


class TimingRecord(Record):
    """Costs of a cell: seconds in all, of the fit alone, of the processor; the largest memory, if known."""

    seconds: float
    fit: float
    cpu: float
    peak_mb: float | None


@dataclass(frozen=True)
class RunFolder:
    """The results of an experiment, read when they are asked for.

    Attributes
    ----------
    path : the folder.
    config : what was compared.
    """

    path: str
    config: ExperimentRecord

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, also those that are not there yet."""
        return self.config.cells

    def state(self, cell: Cell) -> State:
        """Return whether a cell is done, is being done, failed the last time, or is missing."""
        if os.path.exists(self.file(CELLS, cell.key, RECORD)):
            return "done"
        if named_lock_held(self.path, cell.key):
            return "running"
        return "failed" if os.path.exists(self.log(cell)) else "missing"

    def record(self, cell: Cell) -> CellRecord | None:
        """Return the record of a cell, None if it is not done; FormatError if the file is damaged."""
        return read_record(self.file(CELLS, cell.key, RECORD), CellRecord)

    def scores(self, cell: Cell) -> Floats:
        """Return the scores of the fold's test lists, float64 (n_items), in the order of their rows.

        Raises
        ------
        RerankError
            If the cell is not done, or the file is damaged or not that of its record.
        """
        path = self.file(CELLS, cell.key, SCORES)
        record = self.record(cell)
        if record is None:
            raise os_error(path, FileNotFoundError())
        return read_scores_file(path, record)

    def test(self, fold: str) -> CandidateLists:
        """Return the test lists of a fold, memory-mapped."""
        return read_store(self.file(DATA, self.config.tests[fold]))

    def timing(self, cell: Cell) -> TimingRecord | None:
        """Return what a cell cost, None if that is unknown."""
        with suppress(FormatError):
            return read_record(self.file(TIMINGS, f"{cell.key}.json"), TimingRecord)
        return None

    def log(self, cell: Cell) -> str:
        """Return the file with the error of a cell that failed."""
        return self.file(FAILED, f"{cell.key}.log")

    def done(self) -> Iterator[Cell]:
        """Yield the cells that are done."""
        return (cell for cell in self.cells if self.state(cell) == "done")

    def file(self, *parts: str) -> str:
        """Return a path within the folder."""
        return os.path.join(self.path, *parts)


def read_run(path: str | os.PathLike[str]) -> RunFolder:
    """Return the results in a folder that ``rerank run`` has written.

    Parameters
    ----------
    path : the folder.

    Returns
    -------
    RunFolder

    Raises
    ------
    FormatError
        If it is none.
    """
    folder = os.fspath(path)
    found = read_record(os.path.join(folder, EXPERIMENT), ExperimentRecord)
    if found is None:
        there = "a folder" if os.path.isdir(folder) else "a file" if os.path.exists(folder) else "nothing"
        raise FormatError(folder, None, f"{there} without {EXPERIMENT}", "a folder written by 'rerank run'")
    return RunFolder(folder, found)


def read_record(path: str, kind: type[R]) -> R | None:
    """Return the record of a JSON file, None if there is no file; FormatError if it is not one."""
    if not os.path.exists(path):
        return None
    try:
        return kind.from_json(read_json(bytes(read_bytes(path))))
    except (ValueError, DataError) as error:
        raise FormatError(path, None, str(error), "a record of 'rerank run'") from None


def digest_of_scores(scores: Floats) -> str:
    """Return the SHA-256 of scores, as a record has it."""
    return hashlib.sha256(np.ascontiguousarray(scores, dtype="<f8").tobytes()).hexdigest()


def read_scores_file(path: str, record: CellRecord) -> Floats:
    """Return the float64 vector of an .npy file; RerankError if there is none, or another than recorded."""
    try:
        scores = np.load(io.BytesIO(read_bytes(path)), allow_pickle=False)
    except ValueError as error:
        raise FormatError(path, None, str(error), "a whole .npy file") from None
    if scores.dtype != np.float64 or scores.ndim != 1:
        raise FormatError(path, None, f"{scores.dtype} of shape {scores.shape}", "a vector of float64")
    if digest_of_scores(scores) != record.scores:
        raise DataError(f"{path}: found other scores than the record has; remove the cell and run again")
    return np.asarray(scores)
