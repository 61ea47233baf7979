"""What a format is, how one is chosen for a path, and the options of reading."""

from __future__ import annotations

import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError, DataError, DataNote, FormatError
from rerank.files import plain_suffix, read_bytes, read_head, shown
from rerank.reading import Reading
from rerank.reading import ReadOptions as ReadOptions  # formats import it from here
from rerank.registry import Registry


class Format(ABC):
    """A file format of candidate lists. Register a subclass with ``FORMATS.register(name, *aliases)``."""

    name: ClassVar[str]
    summary: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    honours: ClassVar[frozenset[str]] = frozenset()  # the read options that mean something here

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Whether content that starts with ``head`` (no byte order mark) can only be of this format."""
        return False

    @abstractmethod
    def read(self, path: str, options: ReadOptions) -> CandidateLists:
        """The lists of ``path`` ("-" = standard input).

        Raises FormatError at the first fault of the file, ConfigError for an option the format
        cannot honour; says oddities by ``warnings.warn(..., DataNote)``.
        """

    @abstractmethod
    def write(self, lists: CandidateLists, path: str) -> None:
        """Write ``lists`` to ``path`` ("-" = standard output), atomically.

        Raises DataError where the format cannot hold them.
        """

    def check_options(self, options: ReadOptions) -> None:
        """Raise ConfigError if an option is set that this format does not honour."""
        for name in options.changed():
            if name not in self.honours:
                raise ConfigError(f"format {self.name} cannot honour {name}={getattr(options, name)!r}")


FORMATS: Registry[type[Format]] = Registry("format", "rerank.formats")

# Suffixes that say little: content that clearly is of another format counts for more.
_VAGUE_SUFFIXES = (".txt", ".dat")


def detect(path: str, head: bytes) -> tuple[str, str]:
    """The format of ``path`` ("-" = standard input), whose content starts with ``head``.

    Its name, and whether that follows from the "suffix" or the "content". Raises ConfigError with the
    formats there are if neither says.
    """
    suffix = plain_suffix(path)
    names = FORMATS.names()
    by_suffix = next((name for name in names if suffix and suffix in FORMATS.get(name).suffixes), None)
    if by_suffix is not None and suffix not in _VAGUE_SUFFIXES:
        return by_suffix, "suffix"
    content = head.removeprefix(b"\xef\xbb\xbf")
    found = [name for name in names if FORMATS.get(name).recognises(content)]
    if by_suffix is not None and (len(found) != 1 or found[0] == by_suffix):
        return by_suffix, "suffix"
    if len(found) == 1:
        return found[0], "content"
    raise ConfigError(f"{shown(path)}: unknown format; say which by --format (known: {', '.join(names)})")


def load(
    path: str | os.PathLike[str],
    format: str | None = None,
    options: ReadOptions | None = None,
    **changes: Any,
) -> CandidateLists:
    """Read lists from a file.

    Parameters
    ----------
    path : the file, "-" = standard input; a folder is a store.
    format : name of the format; None = by suffix or content. A format found by content is reported in a
        DataNote.
    options : how to read; None = the defaults.
    changes : fields of ``rerank.reading.Reading`` by name, such as ``refs="dev.ref"`` or
        ``first_best="input"``.

    Raises
    ------
    RerankError
        In one line: a fault of the file, an unknown option or one that the format does not honour.
    """
    path = os.fspath(path)
    given = options.get_params() if options is not None else {}
    reading = Reading(**{**given, **({} if format is None else {"format": format}), **changes})
    lists = FORMATS.get(reading.format or format_of(path))().read(path, reading)
    return lists if reading.first_best is None else lists.with_first_best(reading.first_best)


def format_of(path: str) -> str:
    """The name of the format of ``path``: a folder is a store, else see ``detect``.

    One found by content is said in a DataNote.
    """
    if path != "-" and os.path.isdir(path):
        return "store"
    name, by = detect(path, read_head(path))
    if by == "content":
        warnings.warn(f"{shown(path)}: read as {name} (by content)", DataNote, stacklevel=2)
    return name


_LARGEST_NAMED = 100_000_000  # every column below gets a name too
_INDEX_AND_NAME = re.compile(r"([0-9]{1,18})\t")


def read_feature_names(path: str, first: int = 1) -> list[str]:
    """Names by column from a file of names, see ReadOptions; ``first`` is the index of column 0.

    Columns that an "index<TAB>name" file leaves out are named by their index. Raises FormatError.
    """
    try:
        text = bytes(read_bytes(path)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(shown(path), None, "bytes that are not UTF-8", "feature names") from None
    lines = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
    if lines == [""]:
        raise FormatError(shown(path), None, "an empty file", "one feature name a line")
    names: dict[int, str] = {}
    lines_of: dict[str, int] = {}
    indexed = _INDEX_AND_NAME.match(lines[0]) is not None
    for number, line in enumerate(lines, start=1):
        column, name = _column_and_name(shown(path), number, line, first, indexed)
        if not name:
            raise FormatError(shown(path), number, "an empty name", "a feature name")
        if column in names:
            raise FormatError(shown(path), number, f"index {column + first} again", "each index once")
        if name in lines_of:
            raise FormatError(
                shown(path), number, f"{name!r} again (line {lines_of[name]})", "each feature name once"
            )
        names[column] = name
        lines_of[name] = number
    return _filled(shown(path), names, first)


def _column_and_name(path: str, number: int, line: str, first: int, indexed: bool) -> tuple[int, str]:
    if not indexed:
        return number - 1, line.strip()
    match = _INDEX_AND_NAME.match(line)
    if match is None:
        raise FormatError(path, number, repr(line[:40]), "index<TAB>name, as on line 1")
    index = int(match[1])
    if not first <= index <= _LARGEST_NAMED:
        raise FormatError(
            path, number, f"index {match[1][:40]}", f"an index from {first} to {_LARGEST_NAMED}"
        )
    return index - first, line[match.end() :].strip()


def _filled(path: str, names: dict[int, str], first: int) -> list[str]:
    width = max(names) + 1
    taken = set(names.values())
    out = [names.get(column, str(column + first)) for column in range(width)]
    for column, name in enumerate(out):
        if column not in names and name in taken:
            raise DataError(f"{path}: feature {name} has no name, and another one is named {name!r}")
    return out


def fit_names(names: Sequence[str] | None, path: str | None, n_features: int, source: str) -> None:
    """Raise DataError if a file of names (``path``) has fewer than the features of ``source``."""
    if names is not None and len(names) < n_features:
        raise DataError(f"{path}: found {len(names)} feature names, expected {n_features}, as {source} has")
