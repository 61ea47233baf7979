"""The report of one experiment or of several, in every form: values and tests, choices, costs and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from rerank.core.errors import ConfigError
from rerank.core.settings import value_text as value_of
from rerank.core.tables.data import csv_text, to_json
from rerank.core.tables.display import Display, check_form, tables_text
from rerank.core.tables.table import Column, Row, Table, p_text, value_text
from rerank.core.tables.text import WIDTH, Part, drawn, lined_up, table_drawings
from rerank.core.text import some
from rerank.evaluation import tables
from rerank.evaluation.judged import Judged
from rerank.evaluation.ranks import Ranks
from rerank.evaluation.results import Results, plain
from rerank.models.describe_training import number

PER_LIST = ("set", "fold", "list", "system", "metric", "value")


@dataclass(frozen=True)
class Choice:
    """The settings that a cell chose from its grid, their value where it chose, and the round it kept."""

    row: str
    share: int
    fold: str
    seed: int | None
    settings: Mapping[str, Any]
    value: float | None
    rounds: int | None


def choices_of(results: Results) -> list[Choice]:
    """Return the choices of all cells that made one, in the order of rows, shares, folds and seeds."""
    return [
        Choice(row, fraction, part.name, run.seed, run.chosen, run.dev, run.rounds)
        for row, fractions in results.runs.items()
        for fraction, folds in sorted(fractions.items())
        for part, seeds in zip(results.parts, folds, strict=True)
        for run in seeds
        if run.chosen or run.rounds is not None
    ]


@dataclass(frozen=True)
class Cost:
    """Cost of the cells of a row at the share that rows are compared at.

    Attributes
    ----------
    row : str
    cells : int
    cpu, fit, seconds : float
        Sums over the cells: seconds of the processor, seconds of training with all choices, seconds in all.
    peak_mb : float or None
        The largest memory of a cell; None if the system does not tell it.
    """

    row: str
    cells: int
    cpu: float
    fit: float
    seconds: float
    peak_mb: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Report(Display):
    """The numbers of experiments; ``print`` shows them as ``rerank report`` does.

    Attributes
    ----------
    results : tuple of Judged
        One for each experiment.
    ranks : mapping of str to Ranks
        By metric as typed, if there are several experiments with three common rows or more.
    costs : tuple of sequences of Cost, optional
        For each experiment, if asked for; they differ from run to run.
    notes : tuple of str
        On the experiments together.
    """

    results: tuple[Judged, ...]
    ranks: Mapping[str, Ranks] = field(default_factory=dict)
    costs: tuple[Sequence[Cost], ...] | None = None
    notes: tuple[str, ...] = ()

    def plot(self, metric: str | None = None, *, kind: str | None = None, ax: Any = None) -> Any:
        """Draw the only set as ``Judged.plot`` does, or average ranks over several sets (kind "ranks")."""
        if kind != "ranks" and len(self.results) == 1:
            return self.results[0].plot(metric, kind=kind, ax=ax)
        from rerank.evaluation.plots import plot_ranks

        return plot_ranks(self.ranks, metric, kind, ax)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON; None replaces absent values and NaN."""
        sets = []
        for i, results in enumerate(self.results):
            choices = [asdict(choice) for choice in choices_of(results)]
            for choice in choices:
                choice["value"] = plain(choice["value"])
            one = results.as_json() | {"choices": choices}
            if self.costs is not None:
                one["costs"] = [asdict(cost) for cost in self.costs[i]]
            sets.append(one)
        ranks = {name: ranks.as_json() for name, ranks in self.ranks.items()}
        return {"sets": sets, "ranks": ranks, "notes": list(self.notes)}

    def text(self, form: str = "text", *, choices: bool = False) -> str:
        """Return the report as text, JSON, CSV, Markdown or LaTeX, ending in a newline.

        Parameters
        ----------
        form : {"text", "json", "csv", "markdown", "latex"}
        choices : bool
            Whether text has the settings that were chosen from grids; JSON always has them.

        Raises
        ------
        ConfigError
            If the form is unknown, or cannot show what was asked for.
        """
        check_report_form(form, choices=choices, costs=self.costs is not None)
        match form:
            case "json":
                return to_json(self.as_json())
            case "csv":
                found = (values for results in self.results for values in tables.records(results))
                return csv_text(tables.KEYS, found)
            case "markdown" | "latex":
                notes = [f"note: {text}" for text in self.notes]
                tests = form == "markdown" or any(results.all_pairs for results in self.results)
                return tables_text(self.tables(tests=tests), form, notes)
        return "".join(f"{line}\n" for part in self.parts(choices=choices) for line in drawn(part))

    def tables(self, *, tests: bool = True) -> list[Table]:
        """Return tables of values, of tests if asked for, and of ranks."""
        tables = [table for results in self.results for table in results.tables(tests=tests)]
        return tables + [rank_table(metric, ranks) for metric, ranks in self.ranks.items()]

    def parts(self, *, choices: bool = False) -> list[Part]:
        """Return tables, paragraphs and notes, with empty lines between them, for ``table.show``."""
        blocks: list[list[Part]] = []
        for i, results in enumerate(self.results):
            blocks.append(results.shown())
            if choices:
                blocks.append(_choice_parts(choices_of(results)))
            if self.costs is not None:
                blocks.append(_cost_parts(self.costs[i], results))
        for metric, ranks in self.ranks.items():
            table = rank_table(metric, ranks)
            blocks.append([table.title, *table_drawings(table, WIDTH)[0], *table.notes])
        blocks.append([f"note: {text}" for text in self.notes])
        return [part for block in blocks if block for part in (*block, "")][:-1]

    def lines(self) -> list[str]:
        """Return the report as the command line prints it."""
        return [line for part in self.parts() for line in drawn(part)]

    def per_list(self) -> Iterator[tuple[str, str, str, str, str, float]]:
        """Yield rows (set, fold, list id, row, metric, value), without lists that do not count."""
        for results in self.results:
            keys = results.list_keys()
            for row in results.runs:
                for metric in results.metrics:
                    values = results.list_values(row, metric).tolist()
                    for (fold, list_id), value in zip(keys, values, strict=True):
                        if value == value:
                            yield results.name, fold, list_id, row, metric, value


def check_report_form(form: str, *, choices: bool, costs: bool) -> None:
    """Raise ConfigError if a form is unknown, or cannot show choices or costs."""
    check_form(form)
    if choices and form != "text":
        why = "JSON always has them" if form == "json" else f"not part of {form}"
        raise ConfigError(f"--choices: {why}")
    if costs and form not in ("text", "json"):
        raise ConfigError(f"--costs: not part of {form}, expected text or json")


def _choice_parts(choices: Sequence[Choice]) -> list[Part]:
    """Return what each cell chose from its grid."""
    if not choices:
        return ["nothing was chosen"]
    rows = []
    for choice in choices:
        settings = " ".join(f"{key}={value_of(value)}" for key, value in choice.settings.items())
        facts = [f"{choice.share} %", choice.fold, "" if choice.seed is None else str(choice.seed)]
        rounds = "" if choice.rounds is None else str(choice.rounds)
        value = "" if choice.value is None else number(choice.value, choice.value)
        rows.append((choice.row, *facts, value, rounds, settings))
    heads = ("chosen", "share", "fold", "seed", "value", "rounds", "settings")
    columns = list(zip(heads, *rows, strict=True))
    same = {1: len({row[1] for row in rows}) == 1, 3: not any(row[3] for row in rows)}
    kept = [column for j, column in enumerate(columns) if not same.get(j)]
    heads, *rows = zip(*kept, strict=True)
    return [lined_up(heads, rows, left=len(kept))]


def _cost_parts(costs: Sequence[Cost], results: Results) -> list[Part]:
    """Return what the rows cost, beside the baseline; the numbers differ from run to run."""
    base = next((cost.cpu for cost in costs if cost.row == results.against), 0.0)
    rows = []
    for cost in costs:
        ratio = f"{cost.cpu / base:.2f}" if base else "-"
        times = (f"{cost.cpu:.2f}", ratio, f"{cost.fit:.2f}", f"{cost.seconds:.2f}")
        rows.append((cost.row, str(cost.cells), *times, f"{cost.peak_mb:.0f}" if cost.peak_mb else "-"))
    against = tables.spelled(results.against) if base and results.against is not None else "baseline"
    heads = ("cost", "cells", "CPU s", f"x {against}", "training s", "s", "MB")
    lacking = [row for row in results.runs if row not in {cost.row for cost in costs}]
    return [lined_up(heads, rows), *([f"no times of {some(lacking)}"] if lacking else [])]


def rank_table(metric: str, ranks: Ranks) -> Table:
    """Return the average ranks of systems over several sets, with tests."""
    title = f"{metric}: average ranks over {some(ranks.sets, 6)}"
    columns = (Column("", ("row",), left=True), Column("rank", ("rank",), partial(value_text, digits=3)))
    rows = tuple(Row((name, rank)) for name, rank in ranks.average.items())
    return Table(columns, rows, title=title, notes=tuple(rank_tests(ranks)))


def rank_tests(ranks: Ranks) -> list[str]:
    """Return the tests of average ranks."""
    if ranks.friedman is None:
        return ["all rows are tied on every set"]
    critical = f"critical difference {ranks.critical_difference:.3f} (Nemenyi, {ranks.alpha:g})"
    groups = "; ".join(", ".join(group) for group in ranks.groups)
    return [
        f"Friedman's chi-square {ranks.friedman:.2f}, p {p_text(ranks.p)}; F of Iman and Davenport "
        f"{ranks.iman_davenport:.2f}, p {p_text(ranks.p_f)}",
        f"{critical}: ranks that differ by this or more differ significantly",
        f"groups that do not differ: {groups}" if groups else "all ranks differ significantly",
    ]
