"""Numbers in texts that users type, numbers and lists of names in messages."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from rerank.core.errors import LONGEST_QUOTE, cut

# Its parts give nothing back, so that a text of many digits that is no number takes linear time.
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


def number(text: str) -> float | None:
    """Return the finite decimal number that the whole of ``text`` spells, as the readers of files do.

    None for anything else that Python takes for a number: 1_000, inf, nan, 1e999, digits of other scripts.
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 list, 2 lists; ``plural`` if adding an s is wrong."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, followed by "..." if there are more; of a name at most 60 characters."""
    return ", ".join([*(cut(name, LONGEST_QUOTE) for name in names[:most]), *["..."] * (len(names) > most)])


_RANGE = re.compile(r"([0-9]{1,10})-([0-9]{1,10})")


class Pattern(Struct, frozen=True):
    """One item: what features it means, and whether it excludes them."""

    text: str
    excluded: bool

    @property
    def range(self) -> tuple[int, int] | None:
        """The first and the last number of a range, None if it has another form."""
        return (int(found[1]), int(found[2])) if (found := _RANGE.fullmatch(self.text)) else None


def short_names(sources: Sequence[str]) -> list[str]:
    """Return names of files without their folders, or with them if two files have the same name."""
    short = [os.path.basename(name) for name in sources]
    return short if len(set(short)) == len(short) else list(sources)


def patterns_of(texts: Iterable[str]) -> tuple[Pattern, ...]:
    """Return the items of texts, which are separated by commas and excluded by a leading hyphen.

    Raises
    ------
    ValueError
        If an item is empty, or a range falls.
    """
    found = []
    for text in texts:
        for part in text.split(","):
            item = part.strip()
            pattern = Pattern(item.removeprefix("-"), item.startswith("-"))
            if not pattern.text:
                raise ValueError(f"found {text!r}, expected names, ranges and globs separated by commas")
            bounds = pattern.range
            if bounds is not None and bounds[0] > bounds[1]:
                raise ValueError(f"found the range {pattern.text!r}, expected the smaller number first")
            found.append(pattern)
    return tuple(found)
