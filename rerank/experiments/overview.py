"""Overview of an experiment, planned or done: the table of cells, costs and progress."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import get_args

from rerank.core.tables.data import tsv
from rerank.core.tables.text import drawn, lined_up
from rerank.core.text import count
from rerank.data.store_reader import is_store, read_meta
from rerank.experiments.config import ExperimentConfig
from rerank.experiments.folder import DATA, Cell, State
from rerank.experiments.planning import chosen, planned
from rerank.training.options import TrainOptions
from rerank.training.steps.tune_base import FOLDS

_STATES = get_args(State)
_HEADS = ("number", "key", "row", "fold", "seed", "share", "state")


@dataclass(frozen=True)
class Cost:
    """Expected cost of the missing cells of a row.

    Attributes
    ----------
    row : its name.
    cells, missing : how many cells it has, and how many are not done.
    fits : fits of the learner in each cell, with those of grids and of folds.
    seconds : of a cell, the mean of those that are done; None if that is unknown.
    """

    row: str
    cells: int
    missing: int
    fits: int
    seconds: float | None


class Overview:
    """The cells of an experiment as lines for people and programs.

    Parameters
    ----------
    config, out, task, shard : as for ``rerank.run``; nothing is written.
    """

    def __init__(
        self,
        config: str | ExperimentConfig,
        out: str | None = None,
        task: int | None = None,
        shard: str | None = None,
    ) -> None:
        self.plan, self.folder = planned(config, out)
        self.cells = chosen(self.folder.cells, task, shard)
        self.states = {cell.number: self.folder.state(cell) for cell in self.cells}

    @property
    def is_done(self) -> bool:
        """Return whether all cells are done."""
        return all(state == "done" for state in self.states.values())

    def listed(self) -> Iterator[str]:
        """Yield the table of cells, separated by tabs, with a line of heads."""
        rows = (
            (cell.number, cell.key, cell.row, cell.fold, cell.seed, cell.share, self.states[cell.number])
            for cell in self.cells
        )
        return tsv(_HEADS, rows)

    def progress(self) -> list[str]:
        """Return how many cells of each row are done, and the errors of those that failed."""
        rows = []
        for row, cells in self._by_row().items():
            counts = Counter(self.states[cell.number] for cell in cells)
            rows.append((row, *(str(counts[state]) for state in _STATES)))
        found = Counter(self.states.values())
        lines = drawn(lined_up(("", *_STATES), rows))
        for cell in self.cells:
            if self.states[cell.number] == "failed":
                what = f"cell {cell.number} failed ({cell.row}, fold {cell.fold})"
                lines.append(f"{what}: {self.folder.log(cell)}")
        done = f"{found['done']} of {count(len(self.cells), 'cell')} done"
        others = [f"{found[state]} {state}" for state in _STATES[1:] if found[state]]
        return [*lines, f"{self.folder.path}: {', '.join([done, *others])}"]

    def costs(self) -> list[Cost]:
        """Return the cost of each row."""
        found = []
        for row, cells in self._by_row().items():
            times = [time.seconds for cell in cells if (time := self.folder.timing(cell)) is not None]
            missing = sum(self.states[cell.number] != "done" for cell in cells)
            fits = fits_of(self.plan.work(self.folder, cells[0]).config)
            mean = sum(times) / len(times) if times else None
            found.append(Cost(row, len(cells), missing, fits, mean))
        return found

    def dry_run(self) -> list[str]:
        """Return what a run would do: cells and fits by row, what is known of their times, and the total."""
        costs = self.costs()
        rows = [
            (
                cost.row,
                str(cost.cells),
                str(cost.missing),
                str(cost.fits),
                "?" if cost.seconds is None else f"{cost.seconds:.2f}",
            )
            for cost in costs
        ]
        missing, fits = sum(cost.missing for cost in costs), sum(cost.missing * cost.fits for cost in costs)
        known = [cost for cost in costs if cost.seconds is not None or not cost.missing]
        seconds = sum(cost.missing * (cost.seconds or 0.0) for cost in known)
        lines = drawn(lined_up(("", "cells", "missing", "fits each", "s each"), rows))
        lines += [f"training lists: {self._sizes()}"]
        what = f"{count(missing, 'cell')} to do, {count(fits, 'fit')}"
        unknown = count(len(costs) - len(known), "row")
        took = f"about {seconds:.1f} s" if len(known) == len(costs) else f"no times of {unknown} yet"
        took = f"{seconds:.1f} s and {took}" if seconds and len(known) < len(costs) else took
        return [*lines, f"{self.folder.path}: {what}, {took}"]

    def _by_row(self) -> dict[str, list[Cell]]:
        found: dict[str, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.row, []).append(cell)
        return found

    def _sizes(self) -> str:
        """The numbers of training lists and items of the folds, as far as they were read."""
        sizes = []
        for fold in dict.fromkeys(cell.fold for cell in self.cells):
            paths = [self.folder.file(DATA, one.name) for one in self.plan.parts.folds[fold].train]
            if all(map(is_store, filter(os.path.isdir, paths))) and all(map(os.path.isdir, paths)):
                metas = [read_meta(path) for path in paths]
                sizes.append([sum(meta[key] for meta in metas) for key in ("n_lists", "n_items")])
        if not sizes:
            return "not read yet"
        lists, items = zip(*sizes, strict=True)
        return f"{_range(lists)} per fold, {_range(items)} items"


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def fits_of(config: TrainOptions) -> int:
    """Return how often a learner is fitted by a configuration, what it tries by itself aside."""
    select = config.select
    cells = prod(len(values) for values in config.grid.values())
    k = FOLDS if select.folds is None else select.folds
    chosen_on = {"none": 0, "dev": cells, "cv": cells * k}[select.by]
    return 1 + chosen_on + (k if select.tune_base == "folds" and select.by != "cv" else 0)
