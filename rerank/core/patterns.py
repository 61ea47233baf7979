"""Items that choose features: a name, a number, a range of numbers or a glob, included or excluded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_RANGE = re.compile(r"([0-9]{1,10})-([0-9]{1,10})")


@dataclass(frozen=True)
class Pattern:
    """One item: what features it means, and whether it excludes them."""

    text: str
    excluded: bool

    @property
    def range(self) -> tuple[int, int] | None:
        """The first and the last number of a range, None if it has another form."""
        found = _RANGE.fullmatch(self.text)
        return None if found is None else (int(found[1]), int(found[2]))


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
