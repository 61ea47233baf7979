"""Reports of what ``rerank run`` has written, and of results in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rerank.core.errors import ConfigError
from rerank.core.files.streams import write_lines
from rerank.core.tables.data import tsv
from rerank.core.tables.text import show
from rerank.core.text import some
from rerank.evaluation.ranks import LEAST_SETS, LEAST_SYSTEMS, Ranks, ranks_of
from rerank.evaluation.results import Results
from rerank.evaluation.rows import Cost
from rerank.evaluation.significance import SEED
from rerank.evaluation.summary import Summary, summarise
from rerank.experiments.folder import EXPERIMENT, RunFolder, read_run
from rerank.experiments.results import ADAPTATION, adaptation_of, costs_of, results_of
from rerank.formats.sources import all_or_none, check_outputs
from rerank.report.page import check_page, write_page
from rerank.report.reports import PER_LIST, Report, check_report_form


def read_report(
    folders: Any,
    *,
    metrics: Sequence[str] | None = None,
    baseline: str | None = None,
    all_pairs: bool = False,
    costs: bool = False,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
) -> Report:
    """Return the numbers of folders that ``rerank run`` has written; nothing is trained.

    Parameters
    ----------
    folders : a folder or what ``read_run`` returns, or several of them, which are several data sets.
    metrics : names; None = those of the experiment.
    baseline : the row that others are tested against, or first-best; None = that of the experiment, or
        first-best if the test lists have an order.
    all_pairs : test every two rows instead.
    costs : add the times of the cells.
    samples, level, seed : of the bootstrap.

    Returns
    -------
    Report
        ``print`` shows it as ``rerank report`` does; ``as_json()`` gives what ``--as json`` prints.

    Raises
    ------
    RerankError
        If no row is complete, a name is unknown, or a folder is damaged.
    """
    if all_pairs and baseline is not None:
        raise ConfigError("--all-pairs tests every two rows: found a baseline as well")
    given = [folders] if isinstance(folders, str | os.PathLike | RunFolder) else list(folders)
    if not given:
        raise ConfigError("found no results, expected a folder that 'rerank run' has written")
    runs = [one if isinstance(one, RunFolder) else read_run(one) for one in given]
    _check_apart(runs)
    results = _named(
        runs,
        [results_of(run, metrics, baseline, samples=samples, level=level, seed=seed) for run in runs],
    )
    summaries = tuple(summarise(one, all_pairs=all_pairs) for one in results)
    ranks, notes = _ranks(summaries)
    return Report(
        results,
        summaries,
        ranks,
        _costs(runs, summaries) if costs else None,
        (*_same_lists(results), *_other_settings(runs, summaries), *notes),
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
            write_page(found.results, html, all_pairs=bool(options.get("all_pairs")))
        if out != "-" or form != "text":
            write_lines(out, [found.text(form, choices=choices).removesuffix("\n")])
    if out == "-" and form == "text":
        show(found.parts(choices=choices), sys.stdout)
    return found


def _adaptation(folders: Sequence[str], results: Sequence[Results]) -> list[tuple[Any, ...]]:
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


def _named(runs: Sequence[RunFolder], results: Sequence[Results]) -> tuple[Results, ...]:
    """The results, called by their folders if two experiments have one name."""
    names = [one.name for one in results]
    return tuple(
        one if names.count(one.name) == 1 else replace(one, name=run.path)
        for run, one in zip(runs, results, strict=True)
    )


def _costs(runs: Sequence[RunFolder], summaries: Sequence[Summary]) -> tuple[list[Cost], ...]:
    pairs = zip(runs, summaries, strict=True)
    return tuple(costs_of(run, summary.rows, summary.share) for run, summary in pairs)


def _same_lists(results: Sequence[Results]) -> list[str]:
    """A note if two experiments have the same test lists: as sets they are one."""
    seen: dict[str, str] = {}
    for one in results:
        for part in one.parts:
            earlier = seen.setdefault(part.lists.fingerprint(), one.name)
            if earlier != one.name:
                return [f"{earlier} and {one.name} share test lists, so that they are not independent sets"]
    return []


def _other_settings(runs: Sequence[RunFolder], summaries: Sequence[Summary]) -> list[str]:
    """Notes if rows of one name were trained in other ways, by what the configurations say."""
    notes = []
    odd = []
    for row in dict.fromkeys(row for one in summaries for row in one.rows):
        entries = [run.config.config["learners"][row] or {} for run in runs if row in run.config.rows]
        odd += [row] if any(entry != entries[0] for entry in entries) else []
    if odd:
        notes.append(f"rows with other settings in another set: {some(odd, 6)}")
    if len({one.share for one in summaries}) > 1:
        shares = ", ".join(f"{one.name} {one.share} %" for one in summaries)
        notes.append(f"sets are compared at other shares of the training lists: {shares}")
    return notes


def _ranks(summaries: Sequence[Summary]) -> tuple[dict[str, Ranks], list[str]]:
    """Ranks by metrics that all sets have, of rows that all sets have, and notes on what is left out."""
    if len(summaries) < LEAST_SETS:
        return {}, []
    common = [row for row in summaries[0].rows if all(row in summary.rows for summary in summaries)]
    others = list(dict.fromkeys(row for one in summaries for row in one.rows if row not in common))
    notes = [f"ranks leave out rows that are not in every set: {some(others, 6)}"] if others else []
    if len(common) < LEAST_SYSTEMS:
        return {}, [f"no ranks: {len(common)} rows are in every set, expected {LEAST_SYSTEMS} or more"]
    found = {}
    for metric, first in summaries[0].metrics.items():
        tables = [
            next((own for own in one.metrics.values() if own.info.name == first.info.name), None)
            for one in summaries
        ]
        values = {
            one.name: {row: table.rows[row][one.share].value for row in common}
            for one, table in zip(summaries, tables, strict=True)
            if table is not None
        }
        if len(values) < len(summaries):
            notes.append(f"no ranks by {metric}: not every set is judged by it")
        elif any(value != value for of_set in values.values() for value in of_set.values()):
            notes.append(f"no ranks by {metric}: a row has no value")
        else:
            found[metric] = ranks_of(values, first.info.better)
    return found, notes
