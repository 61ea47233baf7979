"""Reports of what ``rerank run`` has written: its results, checked against its records, and their numbers."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.write import write_lines
from rerank.core.registry import did_you_mean
from rerank.core.tables.data import tsv
from rerank.core.tables.text import show
from rerank.core.text import count, some
from rerank.evaluation.judged import Judged, judge
from rerank.evaluation.notes import note_systems
from rerank.evaluation.ranks import LEAST_SETS, LEAST_SYSTEMS, Ranks, ranks_of
from rerank.evaluation.results import FIRST_BEST, Part, Run, Runs
from rerank.evaluation.streaming.rankings import rankings_of
from rerank.experiments.config import SPELLING
from rerank.experiments.folder import EXPERIMENT, Cell, CellRecord, RunFolder, TimingRecord, read_run
from rerank.formats.sources import all_or_none, check_outputs
from rerank.metrics.base import parse_all, prepared_by
from rerank.metrics.judging import Judging
from rerank.report import PER_LIST, Cost, Report, check_report_form
from rerank.report.page import check_page, write_page

ADAPTATION = ("set", "row", "fold", "seed", "share", "diagnostic", "value")


def read_report(
    folders: Any,
    *,
    metrics: Sequence[str] | str | None = None,
    all_pairs: bool = False,
    costs: bool = False,
    **settings: Any,
) -> Report:
    """Return the numbers of folders that ``rerank run`` has written; nothing is trained.

    Parameters
    ----------
    folders : a folder or what ``read_run`` returns, or several of them, which are several data sets.
    metrics : names; None = those of the experiment.
    all_pairs : test every two rows instead.
    costs : add the times of the cells.
    settings : of ``Judging``; the baseline is a row or first-best, by default that of the experiment, or
        first-best if the test lists have an order.

    Returns
    -------
    Report
        ``print`` shows it as ``rerank report`` does; ``as_json()`` gives what ``--as json`` prints.

    Raises
    ------
    RerankError
        If no row is complete, a name is unknown, or a folder is damaged.
    """
    if all_pairs and settings.get("baseline") is not None:
        raise ConfigError("--all-pairs tests every two rows: found a baseline as well")
    given = [folders] if isinstance(folders, str | os.PathLike | RunFolder) else list(folders)
    if not given:
        raise ConfigError("found no results, expected a folder that 'rerank run' has written")
    runs = [one if isinstance(one, RunFolder) else read_run(one) for one in given]
    _check_apart(runs)
    results = _named(runs, [results_of(run, metrics, all_pairs=all_pairs, **settings) for run in runs])
    ranks, notes = _ranks(results)
    return Report(
        results,
        ranks,
        _costs(runs, results) if costs else None,
        (*_same_lists(results), *_other_settings(runs, results), *notes),
    )


def report_files(
    folders: Sequence[str],
    form: str = "text",
    *,
    out: str = "-",
    per_list: str | None = None,
    html: str | None = None,
    adaptation: str | None = None,
    choices: bool = False,
    costs: bool = False,
    **options: Any,
) -> Report:
    """Write a report and return it.

    Parameters
    ----------
    folders : as for ``report``.
    form : "text", "json", "csv", "markdown" or "latex".
    out : the file; "-" = standard output.
    per_list : file for the values of each list (TSV).
    html : file for the page.
    adaptation : file for what transductive rows did to the test lists of each cell (TSV).
    choices : text has the settings that were chosen as well.
    costs, options : as for ``report``.
    """
    check_report_form(form, choices=choices, costs=costs)
    outputs = {"--out": out, "--per-list": per_list, "--html": html, "--adaptation": adaptation}
    check_outputs(
        {option: path for option, path in outputs.items() if path is not None},
        [file for folder in folders for file in (folder, os.path.join(folder, EXPERIMENT))],
    )
    if html is not None:
        check_page(html)
    found = read_report(folders, costs=costs, **options)
    adapted = None if adaptation is None else _adaptation(folders, found.results)
    with all_or_none():
        if adaptation is not None and adapted is not None:
            write_lines(adaptation, tsv(ADAPTATION, adapted))
        if per_list is not None:
            write_lines(per_list, tsv(PER_LIST, found.per_list()))
        if html is not None:
            write_page(found.results, html)
        if out != "-" or form != "text":
            write_lines(out, [found.text(form, choices=choices).removesuffix("\n")])
    if out == "-" and form == "text":
        show(found.parts(choices=choices), sys.stdout)
    return found


def _adaptation(folders: Sequence[str], results: Sequence[Judged]) -> list[tuple[Any, ...]]:
    """The rows of ``--adaptation``; ConfigError if there is none."""
    pairs = zip(folders, results, strict=True)
    rows = [row for folder, one in pairs for row in adaptation_of(folder, one.name)]
    if not rows:
        raise ConfigError("--adaptation: no row has a transductive learner")
    return rows


def _check_apart(runs: Sequence[RunFolder]) -> None:
    """Raise ConfigError if a folder is given twice."""
    seen: dict[str, str] = {}
    for run in runs:
        place = os.path.realpath(run.path)
        if place in seen:
            raise ConfigError(f"{run.path} is the same folder as {seen[place]}; expected each once")
        seen[place] = run.path


def _named(runs: Sequence[RunFolder], results: Sequence[Judged]) -> tuple[Judged, ...]:
    """The results, called by their folders if two experiments have one name."""
    names = [one.name for one in results]
    return tuple(
        one if names.count(one.name) == 1 else replace(one, name=run.path)
        for run, one in zip(runs, results, strict=True)
    )


def _costs(runs: Sequence[RunFolder], results: Sequence[Judged]) -> tuple[list[Cost], ...]:
    pairs = zip(runs, results, strict=True)
    return tuple(costs_of(run, list(one.runs), one.fraction) for run, one in pairs)


def _same_lists(results: Sequence[Judged]) -> list[str]:
    """A note if two experiments have the same test lists: as sets they are one."""
    seen: dict[str, str] = {}
    for one in results:
        for part in one.parts:
            earlier = seen.setdefault(part.lists.fingerprint(), one.name)
            if earlier != one.name:
                return [f"{earlier} and {one.name} share test lists, so that they are not independent sets"]
    return []


def _other_settings(runs: Sequence[RunFolder], results: Sequence[Judged]) -> list[str]:
    """Notes if rows of one name were trained in other ways, by what the configurations say."""
    notes = []
    odd = []
    for row in dict.fromkeys(row for one in results for row in one.runs):
        entries = [run.config.config["learners"][row] or {} for run in runs if row in run.config.rows]
        odd += [row] if any(entry != entries[0] for entry in entries) else []
    if odd:
        notes.append(f"rows with other settings in another set: {some(odd, 6)}")
    if len({one.fraction for one in results}) > 1:
        shares = ", ".join(f"{one.name} {one.fraction} %" for one in results)
        notes.append(f"sets are compared at other shares of the training lists: {shares}")
    return notes


def _ranks(results: Sequence[Judged]) -> tuple[dict[str, Ranks], list[str]]:
    """Ranks by metrics that all sets have, of rows that all sets have, and notes on what is left out."""
    if len(results) < LEAST_SETS:
        return {}, []
    common = [row for row in results[0].runs if all(row in one.runs for one in results)]
    others = list(dict.fromkeys(row for one in results for row in one.runs if row not in common))
    notes = [f"ranks leave out rows that are not in every set: {some(others, 6)}"] if others else []
    if len(common) < LEAST_SYSTEMS:
        return {}, [f"no ranks: {len(common)} rows are in every set, expected {LEAST_SYSTEMS} or more"]
    found = {}
    for name, first in results[0].metrics.items():
        values = {
            one.name: {row: one.metrics[name].rows[row][one.fraction].value for row in common}
            for one in results
            if name in one.metrics
        }
        if len(values) < len(results):
            notes.append(f"no ranks by {first.typed}: not every set is judged by it")
        elif any(value != value for of_set in values.values() for value in of_set.values()):
            notes.append(f"no ranks by {first.typed}: a row has no value")
        else:
            found[first.typed] = ranks_of(values, first.better)
    return found, notes


def results_of(
    folder: RunFolder | str | os.PathLike[str],
    metrics: Sequence[str] | str | None = None,
    *,
    all_pairs: bool = False,
    **settings: Any,
) -> Judged:
    """Return the results in a folder of ``rerank run``; scores are judged again, nothing is trained.

    Rows of which cells are missing are left out with a note.

    Parameters
    ----------
    folder : RunFolder or path
    metrics : sequence of str, optional
        By default those of the experiment.
    all_pairs : bool
        Test every two rows, not each against the baseline.
    settings
        Of ``Judging``: the baseline is a row or first-best, by default that of the experiment, or first-best
        if the test lists have an order.

    Returns
    -------
    Judged

    Raises
    ------
    ConfigError
        If a metric or the baseline is unknown.
    DataError
        If no row is complete, or records, scores and test lists do not belong together.
    """
    run = folder if isinstance(folder, RunFolder) else read_run(folder)
    records, notes = _complete(run)
    judging = Judging.by(run.config.metrics if metrics is None else metrics, **settings)
    parts = _parts(run, judging)
    prints = {part.name: part.lists.fingerprint() for part in parts}
    runs: dict[str, dict[int, tuple[tuple[Run, ...], ...]]] = {}
    for row, cells in records.items():
        for cell, record in cells:
            _check(run, cell, record, prints[cell.fold])
        runs[row] = {
            share: tuple(_of_fold(run, cells, share, part) for part in parts) for share in run.config.shares
        }
    against, why = _baseline(run, judging.baseline, records, parts)
    notes += [*why, *_tuned(records, judging.metrics), *_cell_notes(records), *_odd(parts, runs)]
    return judge(
        parts,
        runs,
        judging.with_settings(baseline=against),
        all_pairs=all_pairs,
        name=run.config.name,
        notes=notes,
        tested=against is not None,
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
            peaks = [one.peak_mb for one in known if one.peak_mb is not None]
            found.append(Cost(row, len(known), cpu, fit, seconds, max(peaks, default=None)))
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


def _parts(run: RunFolder, judging: Judging) -> tuple[Part, ...]:
    """The test lists of each fold; DataError with the folder if a metric cannot judge them."""
    parts = []
    for fold in run.config.folds:
        lists = run.test(fold)
        try:
            parts.append(Part(fold, lists, prepared_by(judging, lists)))
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
    run: RunFolder, cells: Sequence[tuple[Cell, CellRecord]], share: int, part: Part
) -> tuple[Run, ...]:
    """The outcome of each seed of a row in a fold."""
    found = []
    for cell, record in cells:
        if (cell.fold, cell.share) != (part.name, share):
            continue
        outcome = Run(
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
    run: RunFolder, asked: str | None, records: Records, parts: Sequence[Part]
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
    return known or (
        FIRST_BEST if all(first is not None for part in parts for first in part.first_best) else None
    ), []


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
    return [
        f"{text} (all rows)" if len(of) == len(records) > 1 else f"{text} ({some(list(of))})"
        for text, of in rows.items()
    ]


def _odd(parts: Sequence[Part], systems: Runs) -> list[str]:
    """Notes on lists, metrics and rankings that cannot show anything, each with its folds unless in all."""
    n_judged = sum(part.lists.n_lists - part.unjudged for part in parts)
    folds: dict[str, dict[str, None]] = {}
    for k, part in enumerate(parts):
        scores = {row: shares[max(shares)][k][0].scores for row, shares in systems.items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            note_systems(part.lists, rankings_of(part.lists, scores, part.judges), part.judges, n_judged)
        for warning in caught:
            text = str(warning.message).removeprefix(f"{part.lists.source}: ")
            folds.setdefault(text, {})[part.name] = None
    n = len(parts)
    return [text if len(of) == n else f"{text} (fold {some(list(of))})" for text, of in folds.items()]
