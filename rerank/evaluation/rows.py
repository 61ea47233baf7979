"""What the rows of an experiment chose, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rerank.evaluation.results import Results


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

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "value": None if self.value != self.value else self.value}


def choices_of(results: Results) -> list[Choice]:
    """Return the choices of all cells that made one, in the order of rows, shares, folds and seeds."""
    return [
        Choice(row, share, part.name, outcome.seed, outcome.chosen, outcome.dev, outcome.rounds)
        for row, shares in results.systems.items()
        for share, folds in sorted(shares.items())
        for part, seeds in zip(results.parts, folds, strict=True)
        for outcome in seeds
        if outcome.chosen or outcome.rounds is not None
    ]


@dataclass(frozen=True)
class Cost:
    """What the cells of a row cost at the share that rows are compared at.

    Attributes
    ----------
    row : str
    cells : int
    cpu, fit, seconds : float
        Sums over the cells: seconds of the processor, seconds of training with all choices, seconds in all.
    peak_mb : float
        The largest memory of a cell.
    """

    row: str
    cells: int
    cpu: float
    fit: float
    seconds: float
    peak_mb: float
