"""Numbers and lists of names in messages."""

from __future__ import annotations

from collections.abc import Sequence


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 list, 2 lists; ``plural`` if adding an s is wrong."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, followed by "..." if there are more."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
