"""How each kind of result is shown in notebooks and at prompts, and what its data frame holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from rerank.core.tables.sheet import Column, Row, Sheet, plain
from rerank.core.tables.text import facts, sheet_lines
from rerank.core.text import count
from rerank.data.lists import CandidateLists
from rerank.evaluation.importance import Ablation, Permutation, Weights
from rerank.models.base import Model
from rerank.models.predictions import Ranking
from rerank.report.contents import Contents, describe
from rerank.report.importance import ablation_sheet, permutation_sheet, weight_sheet
from rerank.report.list_weights import ListWeights, weighing_facts
from rerank.report.models import model_lines
from rerank.report.pair_counts import PairCounts, pair_sheet
from rerank.report.weight_table import shown_weights

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


def number(value: float | None) -> str:
    """Return a value in six figures, "-" if there is none."""
    return "-" if value is None or value != value else f"{value:.6g}"


def table_of(records: Sequence[Mapping[str, Any]], title: str = "", notes: Sequence[str] = ()) -> Sheet:
    """Return records of the same keys as a table; columns of texts are to the left."""
    keys = list(records[0]) if records else []
    columns = []
    for key in keys:
        of_words = all(isinstance(record[key], str) for record in records)
        columns.append(Column(key, (key,), plain if of_words else _cell, left=of_words))
    rows = tuple(Row(tuple(record[key] for key in keys)) for record in records)
    return Sheet(tuple(columns), rows, title=title, notes=tuple(notes))


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else plain(value)


def _lists_sheets(lists: CandidateLists) -> list[Sheet]:
    """The first items, with their first features."""
    rows: list[dict[str, Any]] = []
    left = max(0, lists.n_features - _MOST_FEATURES)
    for one in lists:
        for item in one[: _MOST_ITEMS - len(rows)]:
            record: dict[str, Any] = {"list": item.list_id, "id": item.id}
            record |= {} if item.text is None else {"text": item.text}
            record |= {} if item.classes is None else {"classes": item.classes}
            if lists.labels is not None:
                record |= {"label": item.label}
            names = [name for name in lists.names()[:_MOST_FEATURES] if name not in record]
            rows.append(record | {name: item.features.get(name, 0.0) for name in names})
        if len(rows) >= _MOST_ITEMS:
            break
    notes = [f"{count(lists.n_lists, 'list')}, {count(lists.n_items, 'item')}"]
    notes += [f"{count(left, 'more feature')}"] * bool(left)
    return [table_of(rows, notes=notes)]


def _model_records(model: Model) -> list[dict[str, Any]]:
    remarks, shown = model.remarks(), shown_weights(model)
    return [
        {"feature": name, "weight": weight, **shown.scale_of(name)}
        | ({"remark": remarks.get(name, "")} if remarks else {})
        for name, weight in shown.rows
    ]


def _model_sheets(model: Model) -> list[Sheet]:
    records, facts = _model_records(model), [line for line in model_lines(model, top=0) if line.strip()]
    more = [f"... and {len(records) - _MOST_ROWS} more"] if len(records) > _MOST_ROWS else []
    return [table_of(records[:_MOST_ROWS], title=repr(model), notes=[*more, *facts])]


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Records as columns."""
    keys = dict.fromkeys(key for record in records for key in record)
    return {key: [record.get(key) for record in records] for key in keys}


def _parts(records: Sequence[Any]) -> list[dict[str, Any]]:
    """Dataclasses as records, their intervals as two values."""
    found = [asdict(one) for one in records]
    for record in found:
        if "ci" in record:
            record["low"], record["high"] = record.pop("ci") or (None, None)
    return found


def _contents_records(found: Contents) -> list[dict[str, str]]:
    rows = [*found.facts, *(("odd", text) for text in found.oddities), *(("fault", t) for t in found.faults)]
    return [{"fact": name, "text": text} for name, text in rows]


def _weight_records(found: ListWeights) -> list[dict[str, Any]]:
    return [
        {"list": name, "weight": weight}
        for name, weight in zip(found.ids, found.weights.tolist(), strict=True)
    ]


def _list_weight_sheets(found: ListWeights) -> list[Sheet]:
    records = _weight_records(found)
    more = [f"... and {len(records) - _MOST_ROWS} more"] if len(records) > _MOST_ROWS else []
    return [table_of(records[:_MOST_ROWS], notes=more)]


def _of(sheet: Callable[[Any], Sheet], records: Callable[[Any], Sequence[Mapping[str, Any]]]) -> View:
    """The view of a result that is one table, whose data frame has all rows."""
    return View(
        lambda found: [sheet(found)],
        lambda found: sheet_lines(sheet(found)),
        lambda found: _columns(records(found)),
    )


_VIEWS: dict[type, View] = {
    CandidateLists: View(_lists_sheets, lambda lists: describe(lists).lines()),
    Model: View(_model_sheets, partial(model_lines, top=_MOST_ROWS), lambda m: _columns(_model_records(m))),
    Contents: View(
        lambda found: [found.sheet()],
        lambda found: found.lines(),
        lambda found: _columns(_contents_records(found)),
    ),
    Weights: _of(weight_sheet, _parts),
    Permutation: _of(permutation_sheet, lambda found: _parts(found.drops)),
    Ablation: _of(ablation_sheet, lambda found: _parts(found.ablated)),
    ListWeights: View(
        _list_weight_sheets,
        lambda found: facts(weighing_facts(found)),
        lambda found: _columns(_weight_records(found)),
    ),
    Ranking: View(
        lambda found: [found.sheet(_MOST_ROWS)],
        lambda found: sheet_lines(found.sheet(_MOST_ROWS)),
        lambda found: _columns(list(found.sheet().records())),
    ),
    PairCounts: View(lambda found: [pair_sheet(found)], lambda found: sheet_lines(pair_sheet(found))),
}


def view_of(kind: type) -> View:
    """Return how results of a kind are shown."""
    return next(_VIEWS[one] for one in kind.__mro__ if one in _VIEWS)
