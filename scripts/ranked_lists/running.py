"""Cells of an experiment as processes, and their records by row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from table_cells.runs import run_cells

import rerank
from ranked_lists.cells import cell_path, task_of
from ranked_lists.experiment import Experiment, train_config
from ranked_lists.report import Judged, Record, read_records, without_features

Tasks = Mapping[str, Sequence[Mapping[str, Any]]]
_CELL = Path(__file__).with_name("cells.py")


def tasks_of(experiment: Experiment, rows: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the tasks of each row, by fold.

    Raises
    ------
    ConfigError
        If the settings of a row are wrong.
    """
    found = {}
    for row in rows:
        config = experiment.config(row)
        train_config(config)
        found[row] = [
            task_of(experiment.files(fold), experiment.reading(), config=config) for fold in experiment.folds
        ]
    return found


def run_tasks(folder: Path, tasks: Tasks, folds: Sequence[int | str], jobs: int) -> dict[str, list[Record]]:
    """Run the cells that are not there, and return the records of the rows that are complete.

    Parameters
    ----------
    folder : where cells are kept.
    tasks : of each row, by fold.
    folds : their names.
    jobs : cells at once.
    """
    cells = {
        row: [cell_path(folder, row, fold, task) for fold, task in zip(folds, of_row, strict=True)]
        for row, of_row in tasks.items()
    }
    commands = {
        path: [str(_CELL), json.dumps(task), str(path)]
        for row, paths in cells.items()
        for path, task in zip(paths, tasks[row], strict=True)
    }
    run_cells(commands, jobs)
    return read_records(cells)


def judged_by(experiment: Experiment) -> Judged:
    """Return the test lists of all folds, without features, and the metrics that judge them."""
    reading = experiment.reading() | {"missing": "zero"}
    tests = [rerank.load(experiment.files(fold)[2], **reading) for fold in experiment.folds]
    return Judged([without_features(test) for test in tests], experiment.metrics, experiment.baseline)
