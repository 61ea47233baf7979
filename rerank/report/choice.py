"""The cells that settings were chosen from, as lines for people and as rows of a file."""

from __future__ import annotations

from rerank.core.settings import value_text
from rerank.core.tables.data import tsv
from rerank.core.text import count
from rerank.models.training import CellRecord, ChoiceRecord, Training
from rerank.report.training import number

_MOST = 12


def choice_lines(training: Training) -> list[str]:
    """Return which cell was chosen, on what, and the best cells; nothing if there was no choice."""
    choice = training.choice
    if choice is None:
        return []
    on = "dev" if choice.folds is None else f"out-of-fold scores of {choice.folds} folds"
    values = [choice.first_best, *(cell.value for cell in choice.cells)]
    first = choice.first_best
    best = "" if first is None else f", first-best {number(first, *values)}"
    lines = [f"chosen on {on} from {count(len(choice.cells), 'cell')}, by {choice.metric}{best}:"]
    order = _best_first(choice)
    for i in order[:_MOST]:
        lines.append(f"  {number(choice.cells[i].value, *values)}  {_cell(choice.cells[i], training.unit)}")
    if len(order) > _MOST:
        lines.append(f"  ... and {len(order) - _MOST} more (--grid-out)")
    return lines


def _best_first(choice: ChoiceRecord) -> list[int]:
    """The chosen cell, then the others as they are."""
    chosen = choice.chosen - 1
    return [chosen, *(i for i in range(len(choice.cells)) if i != chosen)]


def _cell(cell: CellRecord, unit: str) -> str:
    parts = [f"{key}={value_text(value)}" for key, value in cell.settings.items()]
    if cell.rounds is not None:
        parts.append(count(cell.rounds, unit))
    if cell.factor is not None:
        parts.append(f"base score times {cell.factor:.4g}")
    if cell.added is not None:
        parts.append(f"base score plus {cell.added:.4g}")
    return " ".join(parts)


def cell_rows(training: Training) -> list[str]:
    """Return lines of TSV, a row for each cell: settings, rounds, change of the base score, metric.

    The first row has the names of the columns; ``chosen`` is 1 for the cell that became the model.
    """
    choice = training.choice
    assert choice is not None  # the caller has chosen
    keys = list(choice.cells[0].settings)
    rows = (
        [
            *(value_text(cell.settings[key]) for key in keys),
            *(cell.rounds, cell.factor, cell.added, cell.value, int(i == choice.chosen)),
        ]
        for i, cell in enumerate(choice.cells, 1)
    )
    return list(tsv([*keys, "rounds", "base_factor", "base_added", choice.metric, "chosen"], rows))
