"""Running an experiment: the cells that are missing, in any number of processes, in any order."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

from rerank import parallel
from rerank.errors import ConfigError, DataNote, RerankError
from rerank.experiment.outputs import check_outputs
from rerank.experiment.running.config import ExperimentConfig, read_experiment
from rerank.experiment.running.folder import (
    CELLS,
    DATA,
    EXPERIMENT,
    FAILED,
    TIMINGS,
    Cell,
    ExperimentRecord,
    RunFolder,
    read_record,
)
from rerank.experiment.running.parts import make_stores
from rerank.experiment.running.planning import Plan, open_folder, plan_of
from rerank.experiment.running.work import Ended, do, write_record
from rerank.files import write_lines
from rerank.text import count


@dataclass
class RunSummary:
    """What a run did.

    Attributes
    ----------
    folder : of the results.
    trained, judged, there : cells that were trained, only judged anew, or there already.
    failed : cells that failed, with their error.
    """

    folder: RunFolder
    trained: list[Cell] = field(default_factory=list)
    judged: list[Cell] = field(default_factory=list)
    there: list[Cell] = field(default_factory=list)
    failed: list[tuple[Cell, str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return a line for a person: how many cells were done, were there, and failed."""
        counts = [f"{count(len(self.trained), 'cell')} trained"]
        sizes = {
            "judged again": len(self.judged),
            "there already": len(self.there),
            "failed": len(self.failed),
        }
        counts += [f"{n} {what}" for what, n in sizes.items() if n]
        return [f"{self.folder.path}: {', '.join(counts)}"]


def run(
    config: str | os.PathLike[str] | ExperimentConfig,
    out: str | os.PathLike[str] | None = None,
    *,
    jobs: int = 1,
    models: bool = False,
) -> RunSummary:
    """Train and judge the cells of an experiment that are not in its folder yet.

    Parameters
    ----------
    config : a YAML file, or what ``read_experiment`` returns.
    out : the folder of results; None = ``runs/NAME``.
    jobs : worker processes; 0 = one per core. They change no result.
    models : keep the model of each cell.

    Returns
    -------
    RunSummary

    Raises
    ------
    RerankError
        If the configuration or an input file is wrong, which is found before anything is trained. What goes
        wrong in a cell is its entry in ``failed``.
    """
    experiment = config if isinstance(config, ExperimentConfig) else read_experiment(os.fspath(config))
    plan = plan_of(experiment)
    path = os.fspath(out) if out is not None else os.path.join("runs", experiment.name)
    folder = open_folder(plan, path)
    summary = RunSummary(folder)
    with parallel.using(jobs):
        prepare_folder(plan, folder)
        cells = list(folder.cells)
        _make_stores(plan, folder, cells)
        _do(plan, folder, cells, models, summary)
    return summary


def prepare_folder(plan: Plan, folder: RunFolder) -> None:
    """Make the folder and write ``experiment.json``; ConfigError if the folder is something else."""
    data = plan.config.data
    inputs = [path for fold in plan.config.fold_names for path in data.training(fold).files()]
    inputs += [path for fold in plan.config.fold_names for path in data.judging(fold).files()]
    there = read_record(folder.file(EXPERIMENT), ExperimentRecord)
    if there is None and not _is_free(folder.path):
        raise ConfigError(f"--out {folder.path}: is no folder of 'rerank run', expected another place")
    if there is not None and there.name != plan.record.name:
        names = f"the experiment {there.name!r}, found {plan.record.name!r}"
        raise ConfigError(
            f"--out {folder.path}: holds {names}; expected another folder, or name: in the file"
        )
    try:
        for name in (DATA, CELLS, FAILED, TIMINGS):
            os.makedirs(folder.file(name), exist_ok=True)
    except OSError as error:
        raise RerankError(f"{folder.path}: {(error.strerror or str(error)).lower()}") from None
    check_outputs({"--out": folder.file(EXPERIMENT)}, inputs)
    if there != plan.record:
        write_record(folder.file(EXPERIMENT), plan.record)


def _is_free(path: str) -> bool:
    """Whether a path is nothing, an empty folder, or one in which a run has just begun."""
    if not os.path.isdir(path):
        return not os.path.lexists(path)
    begun = {DATA, CELLS, FAILED, TIMINGS}
    return all(
        name[0] == "." or (name in begun and not os.listdir(os.path.join(path, name)))
        for name in os.listdir(path)
    )


def _make_stores(plan: Plan, folder: RunFolder, cells: Sequence[Cell]) -> None:
    """Make the stores of the folds of these cells."""
    makings = dict.fromkeys(making for cell in cells for making in plan.parts.of(cell.fold))
    tasks = [(folder.path, making, plan.config.metrics) for making in makings]
    for notes in parallel.each(make_stores, tasks):
        for note in notes:
            warnings.warn(note, DataNote, stacklevel=3)


def _do(plan: Plan, folder: RunFolder, cells: Sequence[Cell], models: bool, summary: RunSummary) -> None:
    """Do the cells, and note how they ended."""
    tasks = [(plan.work(folder, cell, models),) for cell in cells]
    for cell, ended in zip(cells, parallel.each(do, tasks), strict=True):
        _note(folder, cell, ended, summary)


def _note(folder: RunFolder, cell: Cell, ended: Ended, summary: RunSummary) -> None:
    if ended.status == "failed":
        write_lines(folder.log(cell), [f"error: {ended.error}", "", *ended.trace.splitlines()])
        summary.failed.append((cell, ended.error))
        return
    if os.path.exists(folder.log(cell)):
        os.unlink(folder.log(cell))
    {"trained": summary.trained, "judged": summary.judged, "there": summary.there}[ended.status].append(cell)
