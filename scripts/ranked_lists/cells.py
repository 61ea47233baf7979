"""One cell of an experiment: a row on one fold, as a record of its scores, its choices and its costs.

    python scripts/ranked_lists/cells.py TASK OUT

TASK is JSON, made by ``task_of``. A cell is a process of its own, so that its memory is measured.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from table_cells.runs import facts, write_cell

import rerank
from ranked_lists.experiment import train_config
from ranked_lists.peers import run_peer
from rerank import CandidateLists, FitError
from rerank.config import TrainConfig
from rerank.experiment import learner_of
from rerank.experiment.choosing import OF_SETUP
from rerank.experiment.plans import fit_by
from rerank.experiment.training import plan_of
from rerank.learners.base import LEARNERS
from rerank.models.base import Model

Lists = tuple[CandidateLists, CandidateLists, CandidateLists]


def task_of(files: Sequence[str], reading: Mapping[str, Any], **what: Any) -> dict[str, Any]:
    """Return a task: ``config=`` a training run, or ``peer=`` a name with its ``grid`` and ``metric``."""
    return {"files": list(files), "reading": dict(reading), **what}


def cell_path(folder: Path, row: str, fold: int | str, task: Mapping[str, Any]) -> Path:
    """Return the file of a cell: its name changes with the task, the bytes of its input and the release."""
    digests = [_digest(path, os.stat(path).st_mtime_ns) for path in task["files"]]
    known = json.dumps([task, digests, rerank.__version__], sort_keys=True)
    key = hashlib.sha256(known.encode()).hexdigest()[:12]
    return folder / row.replace("/", "-") / f"{fold}-{key}.json"


@cache
def _digest(path: str, changed: int) -> str:
    """The hash of a file's bytes, computed once until the file is ``changed``."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_lists(task: Mapping[str, Any]) -> Lists:
    """Return the training, dev and test lists; missing values are NaN only if the row accepts them."""
    reading = dict(task["reading"])
    if "config" in task and not LEARNERS.get(task["config"]["learner"]["name"]).accepts_nan:
        reading.pop("missing", None)
    train, dev, test = (rerank.load(path, **reading) for path in task["files"])
    return train, dev, test


def run_learner(config: TrainConfig, lists: Lists) -> dict[str, Any]:
    """Return the scores of the test lists, what was chosen, and the CPU seconds with and without choosing.

    Raises
    ------
    FitError
        If a second fit with the settings that were chosen gives other scores.
    """
    train, dev, test = lists
    plan, learner = plan_of(config), learner_of(config)
    started = time.process_time()
    model = fit_by(plan, learner, train, dev).model
    whole = time.process_time() - started
    seconds = whole
    scores = model.score(test)
    if plan.choose != "none":
        again, seconds = _fitted_again(config, facts(model)["settings"], lists)
        if not np.array_equal(again.score(test), scores):
            raise FitError(f"learner {learner.name}: a second fit with the chosen settings differs")
    return {"scores": scores.tolist(), "seconds": seconds, "with_choosing": whole, **facts(model)}


def _fitted_again(config: TrainConfig, chosen: Mapping[str, Any], lists: Lists) -> tuple[Model, float]:
    """The model of the chosen settings alone, and its CPU seconds."""
    own = {key: value for key, value in chosen.items() if key not in OF_SETUP}
    learner = learner_of(config.model_copy(update={"learner": config.learner | own}))
    setup = {key: chosen[key] for key in OF_SETUP if key in chosen}
    plan = replace(plan_of(config), choose="none", grid={}, **setup)
    started = time.process_time()
    model = fit_by(plan, learner, lists[0], lists[1]).model
    return model, time.process_time() - started


def run(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a task."""
    lists = read_lists(task)
    if "config" in task:
        return run_learner(train_config(task["config"]), lists)
    return run_peer(task["peer"], task["grid"], task["metric"], lists)


def main() -> None:
    text, out = sys.argv[1:]
    task = json.loads(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = run(task)
    write_cell(out, record)


if __name__ == "__main__":
    main()
