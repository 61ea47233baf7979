"""The numbers of a text beside what was found again, as a table and as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from reproduce.printed import Regenerated
from rerank.core.errors import printable, visible
from rerank.core.tables.text import lined_up, show
from rerank.core.text import count

_LONGEST = 70  # of a command


def print_reproduction(rows: Sequence[Regenerated], stream: TextIO) -> None:
    """Write a row for each number and for each command with an output, then what is wrong with them."""
    heads = ("step", "what", "printed", "found", "")
    show([lined_up(heads, [_cells(row) for row in rows], left=5)], stream)
    reasons = [f"{row.step}: {row.missing}" for row in rows if ": " in (row.missing or "")]
    stream.write("\n" * bool(reasons) + "".join(f"{printable(line)}\n" for line in dict.fromkeys(reasons)))
    for row in rows:
        if _is_output(row) and row.verdict == "differs":
            stream.write(f"\n{visible(row.text)}\n" + "".join(f"{line}\n" for line in _difference(row)))
    bad = sum(not row.good for row in rows)
    verbs = "differs or is missing" if bad < 2 else "differ or are missing"
    entries = count(len(rows), "entry", "entries")
    stream.write(f"\n{entries}: {bad or 'none'} {verbs}, {sum(row.excused for row in rows)} not run\n")


def as_json(rows: Sequence[Regenerated]) -> dict[str, Any]:
    """Return plain values, for ``rerank.core.tables.data.to_json``."""
    return {"good": all(row.good for row in rows), "numbers": [row.as_json() for row in rows]}


def _is_output(row: Regenerated) -> bool:
    return "\n" in row.printed


def _cells(row: Regenerated) -> tuple[str, ...]:
    verdict = row.verdict.partition(": ")[0]  # reasons stand below
    if row.quotients:
        verdict = "measured, × " + " and ".join(f"{quotient:.2f}" for quotient in row.quotients)
    if not _is_output(row):
        return (row.step, row.text, row.printed, row.found or "-", verdict)
    texts = (row.printed, row.found)
    sizes = ("-" if text is None else count(len(text.splitlines()), "line") for text in texts)
    command = row.text if len(row.text) <= _LONGEST else f"{row.text[: _LONGEST - 3]}..."
    return (row.step, command, *sizes, verdict)


def _difference(row: Regenerated) -> Iterator[str]:
    """Lines of the text, with -, and lines that were found, with +."""
    assert row.found is not None
    old, new = ([line.rstrip() for line in text.splitlines()] for text in (row.printed, row.found))
    return (printable(line) for line in difflib.ndiff(old, new) if line[0] in "-+")
