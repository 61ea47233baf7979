"""Formats: their base class, which one a path has, and reading and writing by name."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataNote, FormatError
from rerank.core.files.read import opening_once, plain_suffix, read_head, shown
from rerank.core.registry import Registry
from rerank.data.lists import CandidateLists
from rerank.data.missing import check_complete, with_zeros
from rerank.data.reading import FITTED, Missing, Reading
from rerank.data.reading import ReadOptions as ReadOptions  # formats import it from here
from rerank.data.selection import selected
from rerank.data.store import restore
from rerank.data.store_reader import MANIFEST, META
from rerank.formats.oddities import note_oddities

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream

# What a set may have that a file could lose; run_scores belong to first_best.
_OTHERS = ("offsets", "run_scores", "source", "selection", "has_missing")
# Columns that users know by other names.
WORDS = {
    "first_best": "first-stage order",
    "rows": "order of lines",
    "structures": "further trees",
    "traces": "structures",
    "natives": "native structures",
    "fields": "fields of texts",
}
COLUMNS = [f.name for f in fields(CandidateLists) if f.name not in _OTHERS]
LARGE = 1 << 23  # bytes of a file from which on it is read in blocks, see formats.streaming
# Instead of ``Format._read``: reads the next block of a file.
NEXT_BLOCK: ContextVar[Any] = ContextVar("next block", default=None)


class Format(ABC):
    """A file format of candidate lists.

    Register a subclass with ``FORMATS.register(name, *aliases)``. It implements ``_read``, and ``_write`` or
    ``_write_stream``;
    ``read`` and ``write`` do what all formats share.

    Attributes
    ----------
    name, summary : for lists of formats; a line each.
    suffixes : of files whose name tells the format.
    honours : the read options that the format uses; any other one that is set is an error.
    holds : the columns of CandidateLists that a file keeps; ``write`` reports those it leaves out. Empty for
        a format that is only read.
    ranked_by_line : whether the first-best ranking is the order of the lines, so that no other can be kept.
    reads_references : whether it attaches the references itself, since it needs them to read the lists.
    of_runs : whether a file is a run: what one system retrieved.
    as_pairs : whether a file holds pairs of items instead of lists.
    score_feature : the name of the only feature, if a file holds no features but the first stage's scores.
    refines : the name of a format whose files these look like too; content that is recognised decides.
    signs : bytes of which one is in the head of each file that ``recognises`` accepts; () = it accepts none.
    columns : the number of fields, between blanks and tabs, of the first line of such files; None = any.
    refuses_missing : whether a missing value is an error unless ``missing`` accepts it.
    leaves_out_zeros : whether a value that a line leaves out is 0, unless ``missing`` makes it missing.
    joins : the read options by which ``join`` adds columns to lists of any format.
    folder : what a folder of this format is called in messages, "" if it has none.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    honours: ClassVar[frozenset[str]] = frozenset()
    holds: ClassVar[frozenset[str]] = frozenset()
    ranked_by_line: ClassVar[bool] = False
    reads_references: ClassVar[bool] = False
    of_runs: ClassVar[bool] = False
    as_pairs: ClassVar[bool] = False
    score_feature: ClassVar[str | None] = None
    refines: ClassVar[str | None] = None
    signs: ClassVar[tuple[bytes, ...]] = ()
    columns: ClassVar[int | None] = None
    refuses_missing: ClassVar[bool] = False
    leaves_out_zeros: ClassVar[bool] = False
    joins: ClassVar[tuple[str, ...]] = ()
    folder: ClassVar[str] = ""

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Return whether content that starts with ``head`` (without byte order mark) is of this format."""
        return False

    @classmethod
    def recognises_folder(cls, path: str) -> bool:
        """Return whether a folder is of this format."""
        return False

    @classmethod
    def join(cls, lists: CandidateLists, options: ReadOptions) -> CandidateLists:
        """Return the lists with the columns that options of ``joins`` name; raises RerankError."""
        return lists

    @abstractmethod
    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        """Read ``path`` as ``read`` says; ``refs`` and ``distinct`` are applied afterwards."""

    def _write(self, lists: CandidateLists, path: str) -> None:
        """Write ``lists`` as ``write`` says, without reporting what is left out."""
        raise NotImplementedError(f"{type(self).__name__} has neither _write nor _write_stream")

    def _write_stream(self, stream: ListStream, path: str) -> None:
        """Write lists block by block; a format that does not override this gets all lists at once."""
        for lists in stream:
            self._write(lists, path)

    @classmethod
    def writes_blocks(cls) -> bool:
        """Return whether the format writes lists block by block."""
        return cls._write_stream is not Format._write_stream

    @opening_once
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
        checked = options.missing == "error"
        with progress.step(f"reading {os.path.basename(shown(path))}"):
            read = NEXT_BLOCK.get() or type(self)._read
            lists = read(self, path, options.with_settings(missing="nan") if checked else options)
        if checked:
            check_complete(lists)
        if options.missing == "zero":
            lists = with_zeros(lists)
        if options.distinct:
            from rerank.formats.texts import drop_duplicates

            lists = drop_duplicates(lists)
        for name in options.refs:
            if os.path.exists(path) and os.path.exists(name) and os.path.samefile(path, name):
                raise ConfigError(f"{name}: is the file of the lists, expected their references")
        if options.refs and not self.reads_references:
            from rerank.formats.texts import attach_references

            lists = attach_references(lists, options.refs)
        if options.query_column or options.queries or options.collection:
            from rerank.formats.collection import with_texts

            lists = with_texts(lists, options)
        if options.vectors or options.query_vectors:
            from rerank.formats.vector_files import with_vectors

            lists = with_vectors(lists, options)
        changed = options.changed()
        for name in FORMATS.names():
            if not set(FORMATS.fact(name, "joins")).isdisjoint(changed):
                lists = FORMATS.get(name).join(lists, options)
        if self.name != "store":  # of which they were reported before it was written
            note_oddities(lists)
        return lists

    def write(self, lists: CandidateLists, path: str) -> None:
        """Write ``lists`` to ``path`` ("-" = standard output), atomically, and warn about columns left out.

        Raises
        ------
        DataError
            If reading the file back would not give the same values in the columns that the format holds.
        """
        from rerank.formats.list_stream import ListStream

        self.write_stream(ListStream.of(lists), path)

    def write_stream(self, stream: ListStream, path: str) -> None:
        """Write lists as ``write`` does, block by block if the format ``writes_blocks``."""
        left: set[str] = set()

        def watch(lists: CandidateLists) -> None:
            left.update(name for name in COLUMNS if _has(lists, name) and not self.keeps(lists, name))

        self._write_stream(stream.watched(watch), path)
        if left:
            lost = ", ".join(WORDS.get(name, name.replace("_", " ")) for name in COLUMNS if name in left)
            warnings.warn(f"{path}: {self.name} holds no {lost}; left out", DataNote, stacklevel=2)

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
            if name not in self.honours and not (name == "text_column" and options.collection):
                raise ConfigError(f"format {self.name} cannot honour {name}={getattr(options, name)!r}")
        if options.missing in FITTED:
            text = "is fitted by 'rerank train', and the model keeps it; expected error, nan or zero here"
            raise ConfigError(f"missing={options.missing} {text}")
        if options.layout == "sparse" and options.missing not in (None, "zero"):
            why = "absent values of sparse rows are 0, none is missing"
            raise ConfigError(f"layout='sparse': {why}; leave it out, or missing (--layout, --missing)")
        if options.layout == "sparse" and options.dtype == "float32":
            raise ConfigError("layout='sparse' cannot honour dtype='float32': sparse features are float64")


def _has(lists: CandidateLists, column: str) -> bool:
    """Return whether the lists have anything in a column that a file could lose."""
    if column == "features":
        return lists.n_features > 0
    if column == "rows":
        return lists.rows is not None and bool(np.any(np.diff(lists.rows) < 0))
    if column == "feature_names":
        return lists.names() != [str(j + 1) for j in range(lists.n_features)]
    value = getattr(lists, column)
    return value is not None and len(value) > 0


def _reorders(lists: CandidateLists) -> bool:
    """Return whether ``first_best`` ranks a list in another order than that of its items."""
    if lists.first_best is None:
        return False
    rises = np.diff(lists.first_best) > 0
    rises[lists.offsets[1:-1] - 1] = False
    return bool(np.any(rises))


FORMATS: Registry[type[Format]] = Registry(
    "format",
    "rerank.formats",
    "rerank.extensions",
    facts=("suffixes", "refines", "signs", "columns", "joins", "folder"),
    base=lambda: Format,
)

# Suffixes that tell little: content that clearly is of another format counts for more.
_VAGUE_SUFFIXES = (".txt", ".dat", ".tsv", ".json")


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
    by_suffix = next((name for name in names if suffix and suffix in FORMATS.fact(name, "suffixes")), None)
    content = head.removeprefix(b"\xef\xbb\xbf")
    vague = suffix in _VAGUE_SUFFIXES or (suffix == ".run" and content.lstrip().startswith(b"{"))
    if by_suffix is not None and not vague:
        refining = [name for name in names if FORMATS.fact(name, "refines") == by_suffix]
        found = recognising(content, refining)
        return (found[0], "content") if len(found) == 1 else (by_suffix, "suffix")
    found = recognising(content, names)
    refined = {FORMATS.fact(name, "refines") for name in found}
    found = [name for name in found if name not in refined]
    if by_suffix is not None and (len(found) != 1 or found[0] == by_suffix):
        return by_suffix, "suffix"
    if len(found) == 1:
        return found[0], "content"
    for name, kind in _of_others():
        if suffix in kind.suffixes or kind.recognises(content):
            return name, "content"
    if not content:
        raise FormatError(shown(path), None, "nothing in it", "lists")
    known = ", ".join(name for name in names if FORMATS.fact(name, "refines") is None)
    raise ConfigError(f"{shown(path)}: unknown format; name it by --format (known: {known})")


def _of_others() -> Iterator[tuple[str, type[Format]]]:
    """The formats of other distributions, without those that cannot be loaded."""
    for name in FORMATS.offers():
        with suppress(ConfigError):
            yield name, FORMATS.get(name)


def recognising(head: bytes, names: Iterable[str]) -> list[str]:
    """Return those of some formats that recognise content; formats whose signs it lacks are not imported.

    head : the first bytes of the content, without byte order mark.
    names : of the formats.
    """
    first = next((line for line in head.split(b"\n") if line.strip()), b"")
    n_columns = len([field for field in first.rstrip(b" \t\r").replace(b"\t", b" ").split(b" ") if field])

    def may_be(name: str) -> bool:
        columns = FORMATS.fact(name, "columns")
        return columns in (None, n_columns) and any(sign in head for sign in FORMATS.fact(name, "signs"))

    return [name for name in names if may_be(name) and FORMATS.get(name).recognises(head)]


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
    changes : fields of ``rerank.data.reading.Reading`` by name, such as ``refs="dev.ref"`` or
        ``first_best="input"``.

    Returns
    -------
    CandidateLists

    Raises
    ------
    RerankError
        In one line: a fault of the file, an unknown option or one that the format does not honour.
    """
    given = options.get_params() if options is not None else {}
    if format is not None:
        given["format"] = format
    return load_for(path, Reading(**{**given, **changes}), None)


@opening_once
def load_for(
    path: str | os.PathLike[str],
    reading: Reading,
    missing: Missing | None,
    if_refused: bool = False,
    fill: bool = True,
) -> CandidateLists:
    """Read lists with another default of the option ``missing``, for formats that have it.

    Parameters
    ----------
    path : as for ``load``, whose errors these are.
    reading : without ``missing`` of its own.
    missing : how absent values are read; None = as ``reading`` says. One run lacks nothing.
    if_refused : only of formats that would refuse them.
    fill : whether ``zero`` fills them; else they stay missing where the format tells them from 0.
    """
    path = os.fspath(path)
    if path != "-" and not os.path.exists(path):
        restore(path)
    format = FORMATS.get(reading.format or format_of(path))()
    lacks = format.refuses_missing or (not if_refused and (reading.merge or not format.of_runs))
    if missing is not None and "missing" in format.honours and lacks:
        reading = reading.with_settings(missing=missing)
    one_run = format.of_runs and not reading.merge
    if not (fill or format.leaves_out_zeros or one_run) and reading.missing == "zero":
        reading = reading.with_settings(missing="nan")
    lists = format.read(path, reading)
    if reading.first_best is not None:  # before features are selected: this one need not be among them
        lists = lists.with_first_best(reading.first_best)
    return selected(lists, reading.features)


def format_of(path: str) -> str:
    """Return the name of the format of ``path``: for folders see ``format_of_folder``, for files ``detect``.

    Warns if the content tells it.
    """
    if path != "-" and os.path.isdir(path):
        return format_of_folder(path)
    name, by = detect(path, read_head(path))
    if by == "content":
        warnings.warn(f"{shown(path)}: read as {name} (by content)", DataNote, stacklevel=2)
    return name


def format_of_folder(path: str) -> str:
    """Return the format of a folder: a store, sharded or not, or one that recognises it, or FormatError."""
    if any(os.path.exists(os.path.join(path, name)) for name in (META, MANIFEST)):
        return "store"
    known = {name: what for name in FORMATS.names() if (what := FORMATS.fact(name, "folder"))}
    for name in known:
        if FORMATS.get(name).recognises_folder(path):
            return name
    raise FormatError(path, None, f"no {META}", ", or ".join(["a store", *known.values()]))


def save(lists: CandidateLists, path: str, format: str | None = None) -> None:
    """Write lists to a file, which appears whole or not at all.

    Parameters
    ----------
    lists : CandidateLists
    path : the file, "-" = standard output.
    format : name of the format; None = by suffix, see ``format_for``.

    Raises
    ------
    RerankError
        If the format cannot hold the lists, the suffix is unknown, or the file cannot be written.
    """
    FORMATS.get(format or format_for(path))().write(lists, path)


def format_for(path: str) -> str:
    """Return the format in which a path is written, by its suffix; ``.store`` and a final / mean a store.

    Raises ConfigError if no format has the suffix.
    """
    if path.endswith("/"):
        return "store"
    suffix = plain_suffix(path)
    for name in FORMATS.names():
        if suffix and suffix in (*FORMATS.fact(name, "suffixes"), f".{name}"):
            return name
    for name, kind in _of_others():
        if suffix and suffix in (*kind.suffixes, f".{name}"):
            return name
    known = ", ".join(name for name in FORMATS.names() if FORMATS.get(name).holds)
    raise ConfigError(f"{path}: the name does not determine a format; choose one with --to (known: {known})")
