"""Words of messages."""

from __future__ import annotations

from collections.abc import Sequence


def count(n: int, noun: str, plural: str | None = None) -> str:
    """The number with its noun, such as 1 list, 2 lists; ``plural`` where an s does not do."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def some(names: Sequence[str], most: int = 3) -> str:
    """The first names, with "..." where there are more."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
