"""How each kind of result is shown in notebooks and at prompts, and what its data frame holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rerank.core.tables.data import columns_of
from rerank.core.tables.sheet import Column, Row, Sheet
from rerank.core.tables.text import sheet_lines
from rerank.evaluation.compare import Comparisons
from rerank.evaluation.evaluate import Evaluation
from rerank.evaluation.list_table import ListTable
from rerank.evaluation.metric_values import Values
from rerank.report.comparisons import comparison_sheet, comparison_text
from rerank.report.list_table import list_sheet
from rerank.report.tables import evaluation_sheet, table_text, value_text

_MOST_ITEMS = 10  # of lists in a notebook
_MOST_FEATURES = 8
_MOST_ROWS = 50  # weights in a notebook


@dataclass(frozen=True)
class View:
    """How results of one kind are shown.

    Attributes
    ----------
    sheets : callable
        Returns tables for notebooks; the first one has all values for a data frame, unless ``columns`` is
        given.
    lines : callable
        Returns lines of aligned text.
    columns : callable, optional
        Returns the columns of the data frame by name.
    """

    sheets: Callable[[Any], Sequence[Sheet]]
    lines: Callable[[Any], Iterable[str]]
    columns: Callable[[Any], Mapping[str, Any]] | None = None


def _values_sheets(found: Values) -> list[Sheet]:
    digits = [found.digits.get(name, 4) for name in found]
    rows = tuple(
        Row((name, (value, places))) for (name, value), places in zip(found.items(), digits, strict=True)
    )
    columns = (
        Column("metric", ("metric",), left=True),
        Column("value", ("value", "digits"), lambda cell: value_text(cell[0], cell[1])),
    )
    return [Sheet(columns, rows, signatures=tuple(found.signatures.values()))]


def _values_columns(found: Values) -> dict[str, Any]:
    return {
        "metric": list(found),
        "value": list(found.values()),
        "signature": [found.signatures.get(name) for name in found],
    }


_VIEWS: dict[type, View] = {
    Evaluation: View(lambda found: [evaluation_sheet(found)], lambda found: [table_text(found)]),
    ListTable: View(
        lambda found: [list_sheet(found)],
        lambda found: sheet_lines(list_sheet(found)),
        lambda found: columns_of(found.records()),
    ),
    Comparisons: View(lambda found: [comparison_sheet(found)], lambda found: [comparison_text(found)]),
    Values: View(
        _values_sheets, lambda found: [f"{name} {value!r}" for name, value in found.items()], _values_columns
    ),
}


def view_of(kind: type) -> View:
    """Return how results of a kind are shown."""
    return next(_VIEWS[one] for one in kind.__mro__ if one in _VIEWS)
