"""The report of one experiment or of several, in every form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rerank.core.errors import ConfigError
from rerank.core.tables.data import csv_text, to_json
from rerank.core.tables.display import Display, check_form, sheets_text
from rerank.core.tables.sheet import Sheet
from rerank.core.tables.text import Part, drawn
from rerank.evaluation.ranks import Ranks
from rerank.evaluation.results import Results
from rerank.evaluation.rows import Cost, choices_of
from rerank.evaluation.summary import Summary
from rerank.report import longform, rows, summaries

PER_LIST = ("set", "fold", "list", "system", "metric", "value")


@dataclass(frozen=True, eq=False, repr=False)
class Report(Display):
    """The numbers of experiments; ``print`` shows them as ``rerank report`` does.

    Attributes
    ----------
    results : tuple of Results
        One for each experiment.
    summaries : tuple of Summary
        Their numbers.
    ranks : mapping of str to Ranks
        By metric as typed, if there are several experiments with three common rows or more.
    costs : tuple of sequences of Cost, optional
        For each experiment, if asked for; they differ from run to run.
    notes : tuple of str
        On the experiments together.
    """

    results: tuple[Results, ...]
    summaries: tuple[Summary, ...]
    ranks: Mapping[str, Ranks] = field(default_factory=dict)
    costs: tuple[Sequence[Cost], ...] | None = None
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON; None replaces absent values and NaN."""
        sets = []
        for i, (results, summary) in enumerate(zip(self.results, self.summaries, strict=True)):
            one = summary.as_json() | {"choices": [choice.as_json() for choice in choices_of(results)]}
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
                return csv_text(longform.KEYS, longform.value_records(self.summaries))
            case "markdown" | "latex":
                notes = [f"note: {text}" for text in self.notes]
                tests = form == "markdown" or any(summary.all_pairs for summary in self.summaries)
                return sheets_text(self.sheets(tests=tests), form, notes)
        return "".join(f"{line}\n" for part in self.parts(choices=choices) for line in drawn(part))

    def sheets(self, *, tests: bool = True) -> list[Sheet]:
        """Return tables of values, of tests if asked for, and of ranks."""
        tables = [sheet for one in self.summaries for sheet in summaries.summary_sheets(one, tests=tests)]
        return tables + [rows.rank_sheet(metric, ranks) for metric, ranks in self.ranks.items()]

    def parts(self, *, choices: bool = False) -> list[Part]:
        """Return tables, paragraphs and notes, with empty lines between them, for ``table.show``."""
        blocks: list[list[Part]] = []
        for i, (results, summary) in enumerate(zip(self.results, self.summaries, strict=True)):
            blocks.append(summaries.summary_parts(summary))
            if choices:
                blocks.append(rows.choice_parts(choices_of(results)))
            if self.costs is not None:
                blocks.append(rows.cost_parts(self.costs[i], summary))
        blocks += [rows.rank_parts(metric, ranks) for metric, ranks in self.ranks.items()]
        blocks.append([f"note: {text}" for text in self.notes])
        found = [part for block in blocks if block for part in (*block, "")]
        return found[:-1]

    def lines(self) -> list[str]:
        """Return the report as the command line prints it."""
        return [line for part in self.parts() for line in drawn(part)]

    def per_list(self) -> Iterator[tuple[str, str, str, str, str, float]]:
        """Yield rows (set, fold, list id, row, metric, value), without lists that do not count."""
        for results in self.results:
            keys = results.list_keys()
            for row in results.systems:
                for metric in results.metrics:
                    name = results.judge(metric).name
                    values = results.per_list(row, metric).tolist()
                    for (fold, list_id), value in zip(keys, values, strict=True):
                        if value == value:
                            yield results.name, fold, list_id, row, name, value


def check_report_form(form: str, *, choices: bool, costs: bool) -> None:
    """Raise ConfigError if a form is unknown, or cannot show choices or costs."""
    check_form(form)
    if choices and form != "text":
        why = "JSON always has them" if form == "json" else f"not part of {form}"
        raise ConfigError(f"--choices: {why}")
    if costs and form not in ("text", "json"):
        raise ConfigError(f"--costs: not part of {form}, expected text or json")
