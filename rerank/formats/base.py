"""What a format is, how one is chosen for a path, and the options for reading."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from rerank.data.columns.forests import check_strip
from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError, DataNote
from rerank.files import plain_suffix, read_head, shown
from rerank.formats.texts import attach_references, drop_duplicates
from rerank.registry import Registry

_CHOICES = {
    "missing": ("zero", "nan"),
    "layout": ("auto", "dense", "sparse"),
    "dtype": ("float64", "float32"),
}


@dataclass(frozen=True)
class ReadOptions:
    """How to read, whatever the format; one that cannot honour an option refuses it.

    strict : refuse what is else taken with a note (lists whose lines stand apart).
    missing : "zero" or "nan", the value of features that a line leaves out.
    zero_based : whether feature indices count from 0.
    feature_names : path of a file of names: one a line in the order of the columns, or "index<TAB>name".
    layout : "auto" (by density), "dense" or "sparse".
    dtype : "float64" or "float32", of dense features.
    threads : how many read side by side; 0 = the cores at hand, 4 at most. No result depends on it.
    refs : paths of files of references, one reference a line; several files are several references.
    distinct : of the items of a list that have the same text, keep the first.
    merge : paths of further files of the same format, whose lists are joined to those of equal id.
    n_best : items of each list, where the file does not say it; 0 = as many as fit the references.
    list_column, label_column, id_column, text_column : names of the column (or JSON key) that says the list,
        the label, the item's id, its text; None = the names that the format knows.
    qrels : path of TREC judgements ("query 0 document label" a line) that become labels.
    ids : path of ids of lists, one a line.
    strip : what is left out of trees: "traces", "functions" (tags) or both; see ``TreeReader``.

    ``refs``, ``merge`` and ``strip`` take one as well as several. Raises ConfigError for a value that is none
    of these.
    """

    strict: bool = False
    missing: str = "zero"
    zero_based: bool = False
    feature_names: str | None = None
    layout: str = "auto"
    dtype: str = "float64"
    threads: int = 0
    refs: tuple[str, ...] = ()
    distinct: bool = False
    merge: tuple[str, ...] = ()
    n_best: int = 0
    list_column: str | None = None
    label_column: str | None = None
    id_column: str | None = None
    text_column: str | None = None
    qrels: str | None = None
    ids: str | None = None
    strip: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("refs", "merge", "strip"):
            object.__setattr__(self, name, _paths(getattr(self, name)))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name}: got {getattr(self, name)!r}, expected {' or '.join(choices)}")
        check_strip(self.strip)
        if self.threads < 0:
            raise ConfigError(f"threads: got {self.threads}, expected 0 (as many as fit) or more")
        if self.n_best < 0:
            raise ConfigError(f"n_best: got {self.n_best}, expected 0 (not given) or more")

    def changed(self) -> list[str]:
        """Names of the options that are not at their default, but for ``threads``."""
        return [f.name for f in fields(self) if f.name != "threads" and getattr(self, f.name) != f.default]

    def n_threads(self) -> int:
        """``threads``, or the cores this process may use, 4 at most."""
        if self.threads:
            return self.threads
        if hasattr(os, "sched_getaffinity"):
            return min(4, len(os.sched_getaffinity(0)))
        return min(4, os.cpu_count() or 1)


Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def _paths(given: Paths) -> tuple[str, ...]:
    """One path or several, as a tuple."""
    if isinstance(given, str | os.PathLike):
        return (os.fspath(given),)
    return tuple(os.fspath(path) for path in given)


# What a set may have that a file could lose.
COLUMNS = [f.name for f in fields(CandidateLists) if f.name not in ("offsets", "source", "has_missing")]


class Format(ABC):
    """A file format of candidate lists.

    Register a subclass with ``FORMATS.register(name, *aliases)``. It implements ``_read`` and ``_write``;
    ``read`` and ``write`` do what all formats share.

    Attributes
    ----------
    name, summary : for lists of formats; a line each.
    suffixes : of files whose name tells the format.
    honours : the read options that the format uses; any other one that is set is an error.
    holds : the columns of CandidateLists that a file keeps; ``write`` reports those it leaves out. Empty for
        a format that is only read.
    ranked_by_line : whether the first-best ranking is the order of the lines, so that no other can be kept.
    score_feature : the name of the only feature, if a file holds no features but the first stage's scores.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    honours: ClassVar[frozenset[str]] = frozenset()
    holds: ClassVar[frozenset[str]] = frozenset()
    ranked_by_line: ClassVar[bool] = False
    score_feature: ClassVar[str | None] = None

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Return whether content that starts with ``head`` (without byte order mark) is of this format."""
        return False

    @abstractmethod
    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        """Read ``path`` as ``read`` says; ``refs`` and ``distinct`` are applied afterwards."""

    @abstractmethod
    def _write(self, lists: CandidateLists, path: str) -> None:
        """Write ``lists`` as ``write`` says, without reporting what is left out."""

    def read(self, path: str, options: ReadOptions) -> CandidateLists:
        """Read the lists of a file.

        Parameters
        ----------
        path : "-" is standard input.
        options : how to read; see ReadOptions.

        Raises
        ------
        FormatError
            At the first fault of the file.
        ConfigError
            If an option is set that the format does not use, or options exclude each other.

        Oddities of the file that are no faults are reported by ``warnings.warn(..., DataNote)``.
        """
        self.check_options(options)
        lists = self._read(path, options)
        if options.distinct:
            lists = drop_duplicates(lists)
        return attach_references(lists, options.refs)

    def write(self, lists: CandidateLists, path: str) -> None:
        """Write ``lists`` to ``path`` ("-" = standard output), atomically, and warn about columns left out.

        Raises
        ------
        DataError
            If reading the file back would not give the same values in the columns that the format holds.
        """
        self._write(lists, path)
        left = [name for name in COLUMNS if _has(lists, name) and not self.keeps(lists, name)]
        if left:
            warnings.warn(f"{path}: {self.name} holds no {', '.join(left)}; left out", DataNote, stacklevel=2)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        """Return whether writing ``lists`` keeps a column; override if that depends on its values."""
        if column == "first_best" and self.ranked_by_line:
            return not _reorders(lists)
        if column == "feature_names" and self.score_feature is not None:
            return lists.names() == [self.score_feature]
        if column == "features" and self.score_feature is not None:
            scores = lists.base_scores
            return lists.n_features == 1 and np.array_equal(lists.features.column(0), scores)  # type: ignore[arg-type]
        return column in self.holds

    def check_options(self, options: ReadOptions) -> None:
        """Raise ConfigError if this format does not use an option that is set, or two exclude each other."""
        for name in options.changed():
            if name not in self.honours:
                raise ConfigError(f"format {self.name} cannot honour {name}={getattr(options, name)!r}")
        if options.layout == "sparse" and options.missing == "nan":
            raise ConfigError("layout='sparse' cannot hold missing='nan': absent values of sparse rows are 0")
        if options.layout == "sparse" and options.dtype == "float32":
            raise ConfigError("layout='sparse' cannot honour dtype='float32': sparse features are float64")


def _has(lists: CandidateLists, column: str) -> bool:
    """Whether the lists have anything in a column that a file could lose."""
    if column == "features":
        return lists.n_features > 0
    if column == "rows":
        return lists.rows is not None and bool(np.any(np.diff(lists.rows) < 0))
    if column == "feature_names":
        return lists.names() != [str(j + 1) for j in range(lists.n_features)]
    value = getattr(lists, column)
    return value is not None and len(value) > 0


def _reorders(lists: CandidateLists) -> bool:
    """Whether ``first_best`` ranks a list in another order than that of its items."""
    if lists.first_best is None:
        return False
    rises = np.diff(lists.first_best) > 0
    rises[lists.offsets[1:-1] - 1] = False
    return bool(np.any(rises))


FORMATS: Registry[type[Format]] = Registry("format", "rerank.formats")

# Suffixes that tell little: content that clearly is of another format counts for more.
_VAGUE_SUFFIXES = (".txt", ".dat")


def detect(path: str, head: bytes) -> tuple[str, str]:
    """Return the format of a file and whether its "suffix" or its "content" tells it.

    Parameters
    ----------
    path : "-" is standard input.
    head : the first bytes of the content.

    Raises
    ------
    ConfigError
        If neither tells; it names the formats.
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
    raise ConfigError(f"{shown(path)}: unknown format; name it by --format (known: {', '.join(names)})")


def load(
    path: str | os.PathLike[str],
    format: str | None = None,
    options: ReadOptions | None = None,
    *,
    refs: Paths | None = None,
    **changes: Any,
) -> CandidateLists:
    """Read lists from a file, or from a folder, which is a store.

    Parameters
    ----------
    format : its name or an alias; None finds it by the suffix, or by the content, which is reported.
    options : how to read; see ReadOptions.
    refs : paths of files of references, one or several.
    changes : other fields of ReadOptions by name.

    Raises
    ------
    RerankError
        If the file cannot be read, with a message of one line.
    """
    path = os.fspath(path)
    if refs is not None:
        changes["refs"] = refs
    known = [f.name for f in fields(ReadOptions)]
    for name in changes:
        if name not in known:
            raise ConfigError(f"unknown read option {name!r}; known: {', '.join(known)}")
    chosen = replace(options or ReadOptions(), **changes)
    return FORMATS.get(format or format_of(path))().read(path, chosen)


def format_of(path: str) -> str:
    """Return the name of the format of ``path``: a folder is a store, for files see ``detect``.

    Warns if the content tells it.
    """
    if path != "-" and os.path.isdir(path):
        return "store"
    name, by = detect(path, read_head(path))
    if by == "content":
        warnings.warn(f"{shown(path)}: read as {name} (by content)", DataNote, stacklevel=2)
    return name
