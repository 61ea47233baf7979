"""Running an experiment: the cells that are missing, in any number of processes, in any order."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from rerank.core import progress
from rerank.core.errors import ConfigError, DataNote, Interrupted, os_error
from rerank.core.files.write import write_lines
from rerank.core.text import count
from rerank.core.workers import parallel
from rerank.experiments.config import ExperimentConfig
from rerank.experiments.folder import (
    CELLS,
    DATA,
    EXPERIMENT,
    FAILED,
    MODEL,
    TIMINGS,
    Cell,
    ExperimentRecord,
    RunFolder,
    read_record,
)
from rerank.experiments.parts import check_judged, make_stores
from rerank.experiments.planning import Plan, chosen, planned
from rerank.experiments.work import Ended, do, write_record
from rerank.formats.sources import check_outputs


@dataclass
class RunSummary:
    """Summary of a run.

    Attributes
    ----------
    folder : of the results.
    trained, judged, there : cells that were trained, only judged again, or there already.
    failed : cells that failed, with their error.
    """

    folder: RunFolder
    trained: list[Cell] = field(default_factory=list)
    judged: list[Cell] = field(default_factory=list)
    there: list[Cell] = field(default_factory=list)
    failed: list[tuple[Cell, str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return lines for a person: how many cells were done, were there and failed; rows without seeds."""
        counts = [f"{count(len(self.trained), 'cell')} trained"]
        counts += [f"{len(self.judged)} judged again"] * bool(self.judged)
        counts += [f"{len(self.there)} there already"] * bool(self.there)
        counts += [f"{len(self.failed)} failed"] * bool(self.failed)
        seeds = Counter(cell.row for cell in self.folder.cells if cell.share == 100)
        once = [row for row, n in seeds.items() if n < max(seeds.values())]
        notes = [f"draws nothing, trained once in each fold: {', '.join(once)}"] * bool(once)
        return [f"{self.folder.path}: {', '.join(counts)}", *notes]


def run(
    config: str | os.PathLike[str] | ExperimentConfig,
    out: str | os.PathLike[str] | None = None,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    models: bool = False,
    task: int | None = None,
    shard: str | None = None,
) -> RunSummary:
    """Train and judge the cells of an experiment that are not in its folder yet.

    It may be killed at any time and begun again, and several processes may share the work: a cell is done
    once. Models choose settings and rounds without the test lists, which are opened when a model is complete.

    Parameters
    ----------
    config : a YAML file, or what ``read_experiment`` returns.
    out : the folder of results; None = ``runs/NAME``.
    jobs, cluster : worker processes, or those of a cluster, which see the folder of results under the same
        path; see ``core.workers.parallel.using``. They change no result.
    models : keep the model of each cell.
    task : do only the cell with this number, from 1.
    shard : "I/N" does only every N-th cell, beginning with the I-th.

    Returns
    -------
    RunSummary

    Raises
    ------
    RerankError
        If the configuration or an input file is wrong, which is found before anything is trained. What goes
        wrong in a cell is its entry in ``failed``.
    """
    plan, folder = planned(config, out)
    cells = chosen(folder.cells, task, shard)
    _note_config(plan)
    prepare_folder(plan, folder)
    summary = RunSummary(folder)
    todo: dict[str, Cell] = {}
    for cell in cells:
        if _is_there(folder, cell, models):
            _enter(folder, cell, Ended("there"), summary)
        else:
            todo.setdefault(cell.key, cell)
    try:
        with parallel.using(jobs, cluster):
            _make_stores(plan, folder, list(todo.values()))
            _do(plan, folder, list(todo.values()), models, summary)
    except KeyboardInterrupt:
        kept = sum(_is_there(folder, cell, models) for cell in cells)
        text = f"{kept} of {count(len(cells), 'cell')} kept in {folder.path}; the same command continues"
        raise Interrupted(text) from None
    return summary


def prepare_folder(plan: Plan, folder: RunFolder) -> None:
    """Make the folder and write ``experiment.json``; ConfigError if the folder is something else."""
    check_outputs({"--out": folder.file(EXPERIMENT)} if os.path.isdir(folder.path) else {}, plan.inputs())
    there = read_record(folder.file(EXPERIMENT), ExperimentRecord)
    if there is None and not _is_free(folder.path):
        raise ConfigError(f"--out {folder.path}: is no folder of 'rerank run', expected another place")
    if there is not None and there.name != plan.record.name:
        names = f"the experiment {there.name!r}, expected {plan.record.name!r}"
        raise ConfigError(
            f"--out {folder.path}: holds {names}; choose another folder (or set name: in CONFIG)"
        )
    try:
        for name in (DATA, CELLS, FAILED, TIMINGS):
            os.makedirs(folder.file(name), exist_ok=True)
    except OSError as error:
        raise os_error(folder.path, error) from None
    check_outputs({"--out": folder.file(EXPERIMENT)}, plan.inputs())
    if there != plan.record:
        write_record(folder.file(EXPERIMENT), plan.record)


def _is_free(path: str) -> bool:
    """Return whether a path is nothing, an empty folder, or one in which a run has just begun."""
    if not os.path.isdir(path):
        return not os.path.lexists(path)
    begun = {DATA, CELLS, FAILED, TIMINGS}
    return all(
        name[0] == "." or (name in begun and not os.listdir(os.path.join(path, name)))
        for name in os.listdir(path)
    )


def _is_there(folder: RunFolder, cell: Cell, models: bool) -> bool:
    """Return whether the results of a cell are complete."""
    record = folder.record(cell)
    if record is None or (models and not os.path.exists(folder.file(CELLS, cell.key, MODEL))):
        return False
    return record.has(folder.config.metrics)


def _make_stores(plan: Plan, folder: RunFolder, cells: Sequence[Cell]) -> None:
    """Make the stores of the folds of these cells; metrics must be able to judge their test lists."""
    makings = dict.fromkeys(making for cell in cells for making in plan.parts.of(cell.fold))
    tasks = [
        (folder.path, making, plan.config.metrics) for making in makings if not making.is_made(folder.path)
    ]
    parallel.each(make_stores, tasks, step=("preparing folds", "fold"))
    made = [name for _, making, _ in tasks for name in making.names]
    tests = {cell.fold: plan.record.tests[cell.fold] for cell in cells}
    checks = [
        (folder.file(DATA, name), f"{plan.config.path}: test lists of fold {fold}", plan.config.metrics)
        for fold, name in tests.items()
        if name not in made
        # Records are read until a cell has the value of every metric.
        and not any(_is_there(folder, cell, models=False) for cell in folder.cells if cell.fold == fold)
    ]
    parallel.each(check_judged, checks, step=("checking folds", "fold"))


def _do(plan: Plan, folder: RunFolder, cells: Sequence[Cell], models: bool, summary: RunSummary) -> None:
    """Do the cells; those that another process does are waited for at the end."""
    notes: Counter[str] = Counter()
    with progress.step(f"running {plan.config.path}", len(cells), "cell") as advance:
        for wait in (False, True):
            if not cells:
                break
            busy = []
            tasks = [(plan.work(folder, cell, models, wait),) for cell in cells]
            with closing(parallel.as_completed(do, tasks)) as outcomes:
                for number, ended in outcomes:
                    if isinstance(ended, parallel.TaskError):
                        ended = Ended("failed", str(ended.error), ended.traceback)
                    if ended.status == "busy":
                        busy.append(cells[number])
                        continue
                    notes.update(ended.notes)
                    _enter(folder, cells[number], ended, summary)
                    advance()
            cells = busy
    for text, n in notes.items():
        warnings.warn(f"{text} ({count(n, 'cell')})", DataNote, stacklevel=3)


def _enter(folder: RunFolder, cell: Cell, ended: Ended, summary: RunSummary) -> None:
    """Enter how a cell ended into the summary and, if it failed, into its log."""
    log = folder.log(cell)
    if ended.status == "failed":
        summary.failed.append((cell, ended.error))
        what = f"cell {cell.number}: {cell.row}, fold {cell.fold}, seed {cell.seed}, share {cell.share} %"
        write_lines(log, [what, f"error: {ended.error}", *ended.trace.splitlines()])
        return
    if os.path.lexists(log):
        os.unlink(log)
    {"trained": summary.trained, "judged": summary.judged, "there": summary.there}[ended.status].append(cell)


def _note_config(plan: Plan) -> None:
    """Warn about settings that make numbers mean less than they seem to."""
    rows: dict[str, str] = {}
    for cell in plan.record.cells:
        first = rows.setdefault(cell.key, cell.row)
        if first != cell.row:
            rows[cell.key] = cell.row
            text = f"{plan.config.path}: rows {first!r} and {cell.row!r} have the same settings"
            warnings.warn(text, DataNote, stacklevel=3)
    tuned = plan.tuned_metrics()
    if len(plan.record.metrics) == 1 and set(tuned) == set(plan.metric_names()):
        text = f"{tuned[0]} is the metric that settings are chosen by and the only one reported"
        warnings.warn(f"{plan.config.path}: metrics: {text}; a second one shows more", DataNote, stacklevel=3)
