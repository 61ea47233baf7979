"""The sets of N-best lists that scripts learn from, and how they print what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import rerank
from rerank import CandidateLists
from rerank.core.types import Floats
from rerank.evaluation.significance import interval
from rerank.metrics.labelling import label


@dataclass(frozen=True)
class Task:
    """A set by the name of its folder, the metric that makes its labels and the one that judges."""

    name: str
    label: str
    metric: str


TASKS = {
    task.name: task
    for task in (
        Task("syscomb-wmt10", "sBLEU", "BLEU"),
        Task("moses-europarl", "sBLEU(lc=1)", "BLEU(lc=1)"),  # its references alone are cased
        Task("asr-pocketsphinx", "WER", "WER"),
    )
}


def load_part(folder: Path, part: str, task: Task) -> CandidateLists:
    """The labelled lists of a part."""
    lists = rerank.load(folder / f"{part}.nbest.gz", format="moses", refs=[str(folder / f"{part}.ref.gz")])
    return label(lists, task.label)


def spread(values: Floats, digits: int = 2) -> str:
    """The 95 % interval of resampled values."""
    found = interval(values, 0.95)
    return "-" if found is None else f"{found[0]:z.{digits}f} to {found[1]:z.{digits}f}"


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Rows aligned, names to the left and what follows to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        right = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        print("  ".join([f"{name:<{widths[0]}}", *right]).rstrip())
