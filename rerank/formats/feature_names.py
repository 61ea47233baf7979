"""Files of feature names: one per line in the order of the columns, or "index<TAB>name"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rerank.errors import DataError, FormatError
from rerank.files import read_bytes, shown
from rerank.formats.common import quoted

_LARGEST_INDEX = 100_000_000  # every column up to the largest index gets a name too
_INDEX_AND_NAME = re.compile(r"([0-9]{1,18})\t")


def read_feature_names(path: str, first: int = 1) -> list[str]:
    """Return the names of the columns that a file of names gives.

    Parameters
    ----------
    path : lines are names in the order of the columns, or, if the first one has that form, "index<TAB>name".
    first : the index of column 0.

    Returns
    -------
    Names by column. Columns that an "index<TAB>name" file does not mention are named by their index.

    Raises
    ------
    FormatError
        At the first line that has no name, or one that occurred earlier.
    """
    source = shown(path)
    try:
        text = bytes(read_bytes(path)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(source, None, "bytes that are not UTF-8", "feature names") from None
    lines = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
    if lines == [""]:
        raise FormatError(source, None, "an empty file", "one feature name per line")
    names: dict[int, str] = {}
    lines_of: dict[str, int] = {}
    indexed = _INDEX_AND_NAME.match(lines[0]) is not None
    for number, line in enumerate(lines, start=1):
        column, name = _column_and_name(source, number, line, first) if indexed else (number - 1, line)
        name = name.strip()
        if not name:
            raise FormatError(source, number, "an empty name", "a feature name")
        if column in names:
            raise FormatError(source, number, f"index {column + first} again", "each index once")
        if name in lines_of:
            found = f"{name!r} again (line {lines_of[name]})"
            raise FormatError(source, number, found, "each feature name once")
        names[column] = name
        lines_of[name] = number
    return _by_column(source, names, first)


def check_names(names: Sequence[str] | None, path: str | None, n_features: int, source: str) -> None:
    """Raise DataError if a file of names (``path``) has fewer names than ``source`` has features."""
    if names is not None and len(names) < n_features:
        raise DataError(f"{path}: found {len(names)} feature names, expected {n_features}, as {source} has")


def _column_and_name(path: str, number: int, line: str, first: int) -> tuple[int, str]:
    match = _INDEX_AND_NAME.match(line)
    if match is None:
        raise FormatError(path, number, quoted(line), "index<TAB>name, as on line 1")
    index = int(match[1])
    if not first <= index <= _LARGEST_INDEX:
        raise FormatError(path, number, f"index {index}", f"an index from {first} to {_LARGEST_INDEX}")
    return index - first, line[match.end() :]


def _by_column(path: str, names: dict[int, str], first: int) -> list[str]:
    """All names; those of columns without one are their indices."""
    known = set(names.values())
    out = [names.get(column, str(column + first)) for column in range(max(names) + 1)]
    for column, name in enumerate(out):
        if column not in names and name in known:
            raise DataError(f"{path}: feature {name} has no name, and another one is named {name!r}")
    return out
