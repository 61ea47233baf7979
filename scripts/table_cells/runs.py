"""Cells: records on disk, each made by a process of its own, and run only if its file is not there."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rerank.files import write_lines
from rerank.models.base import Model


def run_cells(commands: Mapping[Path, Sequence[str]], jobs: int) -> None:
    """Run the Python commands whose files are not there, ``jobs`` at once.

    Parameters
    ----------
    commands : the arguments of Python by the file that they write.
    jobs : processes at once.
    """
    with ThreadPoolExecutor(jobs) as pool:
        for out, command in commands.items():
            pool.submit(_run_cell, out, command)


def _run_cell(out: Path, command: Sequence[str]) -> None:
    """Run one command unless its file is there; the last line of an error is printed."""
    if out.is_file():
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.splitlines() or ["no message"])[-1]
        print(f"{out}: {reason}", file=sys.stderr, flush=True)


def write_cell(out: str, record: Mapping[str, Any]) -> None:
    """Write a record and the peak memory of this process as one line of JSON, or nothing."""
    memory = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    write_lines(out, [json.dumps({**record, "memory_mb": memory})])


def facts(model: Model) -> dict[str, Any]:
    """Return what was chosen while a model was trained: rounds, settings, the base score's factor."""
    training = model.training
    found: dict[str, Any] = {"rounds": getattr(training.rounds, "kept", None)}
    if training.choice is not None:
        cell = training.choice.cells[training.choice.chosen - 1]
        found |= {"settings": dict(cell.settings), "chosen_by": cell.value}
    if training.tune_base is not None:
        found["base_factor"] = training.tune_base.factor
    return found
