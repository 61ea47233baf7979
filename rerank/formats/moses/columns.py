"""From the names in a Moses N-best file to columns of features.

A name with one value is a column of that name; one with several is Name_0, Name_1, ...; numbers without
a name are columns without names. Marian's WordScores, one number a word, are WordScores_sum and
WordScores_mean, 0 where there is no word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.data.types import Index
from rerank.errors import FormatError
from rerank.formats.moses.source import UNNAMED, WORD_SCORES, Lines, Part, Vocabulary


@dataclass
class Columns:
    """first : int64 (n_names), the first column of each name; feature_names None = numbers alone."""

    first: Index
    feature_names: list[str] | None
    width: int


def columns_of(parts: Sequence[Part], lines: Lines, vocabulary: Vocabulary) -> Columns:
    """Columns in order of the names' first appearance, word scores first.

    Raises FormatError where numbers without names stand beside names or are not equally many, or where
    two names make one column.
    """
    n = len(vocabulary.names)
    seen = np.flatnonzero(vocabulary.stats[:n, 0])
    first = np.zeros(n, dtype=np.int64)
    if UNNAMED in seen:
        _check_unnamed(parts, lines, vocabulary, seen)
        return Columns(first, None, int(vocabulary.stats[UNNAMED, 1]))
    names: list[str] = []
    strings = vocabulary.names.strings()
    for i in seen.tolist():
        name = strings[i].decode("utf-8", "surrogateescape")
        values = int(vocabulary.stats[i, 1])
        first[i] = len(names)
        if i == WORD_SCORES:
            names += [f"{name}_sum", f"{name}_mean"]
        else:
            names += [name] if values == 1 else [f"{name}_{k}" for k in range(values)]
    if len(set(names)) < len(names):
        _raise_twice(parts, vocabulary, names, first, seen)
    return Columns(first, names, len(names))


def place_of(parts: Sequence[Part], row: int) -> tuple[str, int]:
    """File and line of a row of all that is read."""
    part = next(part for part in parts if row < part.rows.stop)
    return part.path, row - part.rows.start + part.lines_before + 1


def _check_unnamed(parts: Sequence[Part], lines: Lines, vocabulary: Vocabulary, seen: Index) -> None:
    start = int(vocabulary.stats[UNNAMED, 2])
    path, line = place_of(parts, start)
    others = vocabulary.stats[seen[seen != UNNAMED], 2]
    if len(others):
        named = int(others.min())
        if named < start:
            raise FormatError(path, line, "a number without a name", "name= value, as before")
        path, line = place_of(parts, named)
        raise FormatError(path, line, "a feature with a name", "numbers alone, as before")
    width = vocabulary.stats[UNNAMED, 1]
    wrong = lines.counts != width
    if np.any(wrong):
        path, line = place_of(parts, int(np.argmax(wrong)))
        raise FormatError(path, line, "no features", f"{width}, as in other lines")


def _raise_twice(
    parts: Sequence[Part], vocabulary: Vocabulary, names: list[str], first: Index, seen: Index
) -> None:
    before: set[str] = set()
    twice = next(k for k, name in enumerate(names) if name in before or before.add(name))  # type: ignore[func-returns-value]
    i = seen[np.searchsorted(first[seen], twice, side="right") - 1]
    path, line = place_of(parts, int(vocabulary.stats[i, 2]))
    raise FormatError(path, line, f"a second feature {names[twice]!r}", "columns of different names")
