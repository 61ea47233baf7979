"""The results of a folder in memory, checked against its records."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.evaluation.bootstrap import judged_by_any
from rerank.evaluation.evaluate import FIRST_BEST
from rerank.evaluation.results import Outcome, Results, TestPart
from rerank.evaluation.rows import Cost
from rerank.evaluation.significance import SEED
from rerank.experiment.notes import note_systems
from rerank.experiments.config import SPELLING
from rerank.experiments.folder import Cell, CellRecord, RunFolder, TimingRecord, read_run
from rerank.metrics.base import parse_all

ADAPTATION = ("set", "row", "fold", "seed", "share", "diagnostic", "value")


def results_of(
    folder: RunFolder | str | os.PathLike[str],
    metrics: Sequence[str] | None = None,
    baseline: str | None = None,
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
) -> Results:
    """Return the results in a folder of ``rerank run``; scores are judged anew, nothing is trained.

    Rows of which cells are missing are left out with a note.

    Parameters
    ----------
    folder : RunFolder or path
    metrics : sequence of str, optional
        By default those of the experiment.
    baseline : str, optional
        A row or first-best; by default that of the experiment, or first-best if the test lists have an order.
    samples, level, seed
        Of the bootstrap.

    Raises
    ------
    ConfigError
        If a metric or the baseline is unknown.
    DataError
        If no row is complete, or records, scores and test lists do not belong together.
    """
    run = folder if isinstance(folder, RunFolder) else read_run(folder)
    records, notes = _complete(run)
    chosen = tuple(run.config.metrics if metrics is None else parse_all(metrics))
    parts = _parts(run, chosen)
    prints = {part.name: part.lists.fingerprint() for part in parts}
    systems: dict[str, dict[int, tuple[tuple[Outcome, ...], ...]]] = {}
    for row, cells in records.items():
        for cell, record in cells:
            _check(run, cell, record, prints[cell.fold])
        systems[row] = {
            share: tuple(_of_fold(run, cells, share, part) for part in parts) for share in run.config.shares
        }
    against, why = _baseline(run, baseline, records, parts)
    return Results(
        run.config.name,
        parts,
        systems,
        baseline=against,
        samples=samples,
        level=level,
        seed=seed,
        notes=(*notes, *why, *_tuned(records, chosen), *_cell_notes(records), *_odd(parts, systems)),
    )


def costs_of(folder: RunFolder | str | os.PathLike[str], rows: Sequence[str], share: int) -> list[Cost]:
    """Return what rows cost at a share, without those whose times are not all there.

    Parameters
    ----------
    folder : RunFolder or path
    rows : sequence of str
    share : int
        In percent.
    """
    run = folder if isinstance(folder, RunFolder) else read_run(folder)
    found = []
    for row in rows:
        cells = [cell for cell in run.cells if (cell.row, cell.share) == (row, share)]
        timings = [run.timing(cell) for cell in cells]
        known: list[TimingRecord] = [timing for timing in timings if timing is not None]
        if len(known) == len(timings):
            cpu, fit, seconds = (sum(getattr(one, key) for one in known) for key in ("cpu", "fit", "seconds"))
            found.append(Cost(row, len(known), cpu, fit, seconds, max(one.peak_mb for one in known)))
    return found


def adaptation_of(folder: RunFolder | str | os.PathLike[str], name: str) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each number of how each cell adapted to its test lists: those of ``ADAPTATION``.

    Parameters
    ----------
    folder : RunFolder or path
    name : str
        What the rows call the set.
    """
    run = folder if isinstance(folder, RunFolder) else read_run(folder)
    for cell in run.cells:
        record = run.record(cell)
        if record is not None and record.adaptation is not None:
            for fact, value in record.adaptation.facts():
                yield name, cell.row, cell.fold, cell.seed, cell.share, fact, value


def _parts(run: RunFolder, metrics: Sequence[str]) -> tuple[TestPart, ...]:
    """The test lists of each fold; DataError with the folder if a metric cannot judge them."""
    parts = []
    for fold in run.config.folds:
        lists = run.test(fold)
        try:
            parts.append(TestPart.of(fold, lists, metrics))
        except DataError as error:
            why = str(error).removeprefix(f"{lists.source}: ").partition(";")[0]
            raise DataError(f"{run.path}: test lists of fold {fold}: {why}") from None
    return tuple(parts)


Records = Mapping[str, Sequence[tuple[Cell, CellRecord]]]


def _complete(run: RunFolder) -> tuple[dict[str, list[tuple[Cell, CellRecord]]], list[str]]:
    """The records of the rows whose cells are all there, and notes on the others."""
    records, notes = {}, []
    for row in run.config.rows:
        cells = [cell for cell in run.cells if cell.row == row]
        there = [(cell, record) for cell in cells if (record := run.record(cell)) is not None]
        if len(there) == len(cells):
            records[row] = there
        else:
            failed = sum(run.state(cell) == "failed" for cell in cells)
            why = f" ({failed} failed)" if failed else ""
            lacking = count(len(cells), "cell")
            notes.append(f"{row}: {len(cells) - len(there)} of {lacking} are missing{why}, left out")
    if not records:
        raise DataError(
            f"{run.path}: no row is complete; 'rerank run' does what is missing: {'; '.join(notes)}"
        )
    return records, notes


def _check(run: RunFolder, cell: Cell, record: CellRecord, fingerprint: str) -> None:
    """Raise DataError if a record is not that of its cell, or was judged on other test lists."""
    own = (cell.key, cell.seed, cell.share)
    if (record.key, record.seed, record.share) != own:
        found = f"key {record.key}, seed {record.seed}, share {record.share}"
        raise DataError(f"{_place(run, cell)}: found a record of {found}; expected {own}")
    if record.test.fingerprint != fingerprint:
        found = f"test lists of fingerprint {record.test.fingerprint}"
        raise DataError(f"{_place(run, cell)}: found {found}, expected {fingerprint} as in the store")


def _place(run: RunFolder, cell: Cell) -> str:
    return f"{run.path}: cell {cell.key} ({cell.row}, fold {cell.fold})"


def _of_fold(
    run: RunFolder, cells: Sequence[tuple[Cell, CellRecord]], share: int, part: TestPart
) -> tuple[Outcome, ...]:
    """The outcome of each seed of a row in a fold."""
    found = []
    for cell, record in cells:
        if (cell.fold, cell.share) != (part.name, share):
            continue
        outcome = Outcome(
            run.scores(cell),
            seed=cell.seed,
            curve=record.curve,
            weights=record.weights,
            chosen={} if record.choice is None else record.choice.settings,
            dev=None if record.choice is None else record.choice.value,
            rounds=record.rounds,
        )
        found.append(outcome)
    return tuple(sorted(found, key=lambda outcome: -1 if outcome.seed is None else outcome.seed))


def _baseline(
    run: RunFolder, asked: str | None, records: Records, parts: Sequence[TestPart]
) -> tuple[str | None, list[str]]:
    """The baseline, and a note if that of the experiment is not there."""
    if asked is not None:
        asked = SPELLING.get(asked, asked)
        if asked in records or asked == FIRST_BEST:
            return asked, []
        if asked in run.config.rows:
            raise ConfigError(f"baseline {asked!r}: not all of its cells are there")
        raise ConfigError(f"unknown baseline {asked!r}; {did_you_mean(asked, [*records, 'first-best'])}")
    known = run.config.baseline
    if known is not None and known != FIRST_BEST and known not in records:
        return None, [f"no tests: the baseline {known} is not complete"]
    return known or (FIRST_BEST if all(part.has_first_best for part in parts) else None), []


def _tuned(records: Records, metrics: Sequence[str]) -> list[str]:
    """A note if settings were chosen by the only metric that is reported."""
    reported = {metric.name for metric in parse_all(metrics).values()}
    tuned = {
        name
        for cells in records.values()
        for _, record in cells
        if (typed := record.select.get("metric")) and (record.choice is not None or record.rounds is not None)
        for name in (metric.name for metric in parse_all([typed]).values())
    }
    if len(reported) == 1 and reported <= tuned:
        only = next(iter(reported))
        return [f"{only} is the only metric reported, and settings were chosen by it"]
    return []


def _cell_notes(records: Records) -> list[str]:
    """The notes of cells, each with the rows that it is about."""
    rows: dict[str, dict[str, None]] = {}
    for row, cells in records.items():
        for _, record in cells:
            for text in record.notes:
                rows.setdefault(text, {})[row] = None
    whole = len(records)
    return [
        f"{text} (all rows)" if len(of) == whole > 1 else f"{text} ({some(list(of))})"
        for text, of in rows.items()
    ]


def _odd(
    parts: Sequence[TestPart], systems: Mapping[str, Mapping[int, Sequence[Sequence[Outcome]]]]
) -> list[str]:
    """Notes on lists, metrics and rankings that cannot show anything, each with its folds unless in all."""
    n_judged = sum(int(np.count_nonzero(judged_by_any(part.judges.values()))) for part in parts)
    folds: dict[str, dict[str, None]] = {}
    for k, part in enumerate(parts):
        scores = {row: shares[max(shares)][k][0].scores for row, shares in systems.items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            note_systems(part.lists, scores, list(part.judges), n_judged)
        for warning in caught:
            text = str(warning.message).removeprefix(f"{part.lists.source}: ")
            folds.setdefault(text, {})[part.name] = None
    every = len(parts)
    return [text if len(of) == every else f"{text} (fold {some(list(of))})" for text, of in folds.items()]
