"""Sources and targets of functions: files, lists in memory, data frames."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from rerank.core.errors import ConfigError, DataError, os_error
from rerank.core.files.write import check_target, transaction
from rerank.core.text import count
from rerank.data.arrays import cells, is_nested, kind_of
from rerank.data.columns.strings import StringColumn
from rerank.data.frames import is_frame, refuse_other_rows
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.data.store import check_place, restore
from rerank.data.store_reader import MANIFEST
from rerank.formats import load
from rerank.formats.base import FORMATS, format_for, load_for

if TYPE_CHECKING:
    from rerank.data.describe import Contents

Data = str | os.PathLike[str] | CandidateLists | Any  # Any: data frames, which are not imported


def is_path(data: Data) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether data are a file, and not in memory."""
    return isinstance(data, str | os.PathLike)


def read_lists(data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return the lists of a file ("-" = standard input), read according to ``reading``; lists are kept.

    Data frames become lists, see ``CandidateLists.from_frame``.

    Raises
    ------
    RerankError
        If a file or a frame holds no lists, or data are something else.
    """
    if is_path(data):
        return load(data, options=reading)
    if isinstance(data, CandidateLists):
        return data
    if is_frame(data):
        return CandidateLists.from_frame(data)
    expected = "expected CandidateLists (from_arrays and from_frame make them), a path or a data frame"
    raise DataError(f"found {type(data).__name__}, {expected}")


def read_judged(data: Data, reading: Reading | None = None) -> CandidateLists:
    """Return lists as ``read_lists`` does, for use without their features: missing values are no error."""
    reading = reading or Reading()
    if not is_path(data) or reading.missing is not None:
        return read_lists(data, reading)
    return load_for(data, reading, "nan", if_refused=True)


def inputs_of(data: Data, reading: Reading | None = None, *more: str | None) -> list[str]:
    """Return the paths of all files that are read: those of ``data``, of options of reading, and ``more``."""
    own = [os.fspath(data)] if is_path(data) else []
    options = [] if reading is None else reading.files()
    return [*own, *options, *(path for path in more if path is not None)]


def check_inputs(paths: Iterable[str]) -> None:
    """Raise RerankError if a file or store does not exist; an interrupted replacement is completed first."""
    for path in paths:
        if path != "-" and not os.path.exists(path):
            restore(path)
            if not os.path.exists(path):
                raise os_error(path, FileNotFoundError())


def size_of(lists: CandidateLists) -> str:
    """Return the numbers of lists and items in words."""
    return f"{count(lists.n_lists, 'list')}, {count(lists.n_items, 'item')}"


def timing_of(curve: str) -> str:
    """Return the file for the times of a run, next to that of its learning curve."""
    folder, name = os.path.split(curve)
    return os.path.join(folder, f"timing.{name}")


@contextmanager
def all_or_none() -> Iterator[None]:
    """Place everything that the block writes when it ends, and nothing if it raises.

    Raises RerankError if an output cannot be placed.
    """
    try:
        with transaction():
            yield
    except OSError as error:
        if error.filename is None:  # about standard output
            raise
        raise os_error(str(error.filename), error) from None


def checked_format(out: str, to: str | None, data: Data, reading: Reading | None, *more: str) -> str:
    """Check the output of a verb that writes lists before anything is read; return its format.

    Parameters
    ----------
    out : the file to write, "-" = standard output.
    to : name of the format to write; None = by the suffix of ``out``.
    data, reading : the file of lists, or CandidateLists, and how it is read.
    more : further files that are read.

    Raises
    ------
    ConfigError, RerankError
        If the format is unknown, or as for ``check_outputs``.
    """
    format = to or format_for(out)
    FORMATS.get(format)
    check_outputs({"--out": out}, inputs_of(data, reading, *more), store=format == "store")
    return format


def check_outputs(
    outputs: Mapping[str, str | Sequence[str]], inputs: Iterable[str], *, store: bool = False
) -> None:
    """Check outputs before long work: an output never is an input, nor another output.

    Parameters
    ----------
    outputs : path or paths by the option that names them, such as ``{"--out": "model"}``; "-" = standard
        output. The file of ``--curve`` is followed by that of its times.
    inputs : paths of the files and stores that are read; "-" = standard input.
    store : whether stores are written, not files.

    Raises
    ------
    ConfigError, RerankError
        If one cannot be written, or is the same file as an input or as another output, by whatever name
        (link or hard link), lies in a store that is read, or is a folder that contains an input.
    """
    taken: dict[object, str] = {}
    read: list[Path] = []
    for path in inputs:
        taken |= dict.fromkeys(_identities(path, 0), f"{path} is one of the input files")
        read += [] if path == "-" else [Path(os.path.realpath(path))]
    for option, paths in outputs.items():
        for path in [paths] if isinstance(paths, str) else paths:
            for one in (path, timing_of(path)) if option == "--curve" and path != "-" else (path,):
                if store and one != "-" and not os.path.isfile(os.path.join(one, MANIFEST)):
                    check_place(one)  # the writer of a sharded store checks its own
                check_target(one, folder=store)
                _check_other(option, one, taken, read)
                taken |= dict.fromkeys(_identities(one, 1), f"{one} is the output of {option}")


def _check_other(option: str, path: str, taken: Mapping[object, str], read: Iterable[Path]) -> None:
    """Raise ConfigError if an output has a place that is taken, or is within or around an input."""
    for identity in _identities(path, 1):
        if identity in taken:
            raise ConfigError(f"{option}: {taken[identity]}; write to another place")
    if path == "-":
        return
    place = Path(os.path.realpath(path))
    for other in read:
        if place in other.parents:
            raise ConfigError(f"{option}: {path} contains the input {other}; write to another place")
        if other in place.parents and other.is_dir():
            raise ConfigError(f"{option}: {path} is within the input {other}; write to another place")


def _identities(path: str, stream: int) -> list[object]:
    """Return keys that show whether two names are one file: the real path, the device and number.

    Devices and pipes have none, "-" that of the file to which the stream is redirected.
    """
    try:
        status = os.fstat(stream) if path == "-" else os.stat(path)
    except OSError:
        return [] if path == "-" else [os.path.realpath(path)]
    file = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    found: list[object] = [(status.st_dev, status.st_ino), os.path.realpath(path)] if file else []
    return [*found[:1], *(["-"] if stream else [])] if path == "-" else found


def lists_of(
    data: Any, *, group: Any = None, qid: Any = None, refs: Sequence[Any] | None = None
) -> CandidateLists:
    """Return CandidateLists of plain sequences.

    Parameters
    ----------
    data : CandidateLists, which stay as they are; or the labels or the texts of all items: nested, a
        sequence for each list, or flat. Labels are larger for better items, NaN = unjudged.
    group : lengths of the lists, for flat data.
    qid : id of each item's list, for flat data. Without ``group`` and ``qid`` flat data are one list.
    refs : for each list, its reference or a sequence of references, equally many for each list.

    Raises
    ------
    DataError
        If the sequences do not fit together.
    """
    if isinstance(data, CandidateLists):
        if group is not None or qid is not None or refs is not None:
            raise DataError("group, qid and refs are for plain sequences, found CandidateLists")
        return data
    if isinstance(data, str | bytes) or not hasattr(data, "__iter__"):
        expected = "expected the labels or the texts of the items, a sequence for each list or a flat one"
        raise DataError(f"found {kind_of(data)}, {expected}")
    refuse_other_rows(data=data, qid=qid)
    if is_nested(data):
        if group is not None or qid is not None:
            raise DataError("group and qid are for flat sequences, found a sequence of sequences")
        rows = [cells(items) for items in data]
        group, data = [len(row) for row in rows], list(chain.from_iterable(rows))
    values = cells(data)
    if len(values) and not isinstance(values[0], str) and isinstance(values[0], bytes | Mapping):
        raise DataError(f"found {kind_of(values[0])} as the first item, expected a label or a text")
    texts = [value for value in values if isinstance(value, str)]
    if texts and len(texts) < len(values):
        raise DataError("found texts and numbers, expected either the texts or the labels of the items")
    labels = None if texts else values
    lists = CandidateLists.from_arrays(
        np.empty((len(values), 0)), labels, group=group, qid=qid, texts=texts or None
    )
    return lists if refs is None else replace(lists, references=_references(refs, lists))


def _references(refs: Sequence[Any], lists: CandidateLists) -> tuple[StringColumn, ...]:
    """A column of (n_lists) for each reference."""
    if isinstance(refs, str | bytes):
        raise DataError(f"refs: found {kind_of(refs)}, expected a reference, or several, for each list")
    rows = rows_of_references(refs)
    if len(rows) != lists.n_lists:
        raise DataError(f"refs: found references of {len(rows)} lists, expected {lists.n_lists}")
    if len({len(row) for row in rows}) > 1:
        raise DataError("refs: found lists with different numbers of references, expected the same number")
    return tuple(StringColumn.from_strings(column) for column in zip(*rows, strict=True))


def rows_of_references(refs: Any) -> list[tuple[str, ...]]:
    """Return the references of each segment; raise DataError if one is not a text, such as a missing one."""
    rows = [(row,) if isinstance(row, str) else row for row in cells(refs)]
    for place, row in enumerate(rows, 1):
        several = not isinstance(row, bytes) and hasattr(row, "__iter__")
        bad = next((one for one in cells(row) if not isinstance(one, str)), "") if several else row
        if not isinstance(bad, str):
            raise DataError(f"refs: entry {place}: found {kind_of(bad)}, expected a text or several")
    return [tuple(cells(row)) for row in rows]


def as_lists(
    data: Any,
    *,
    group: Any = None,
    qid: Any = None,
    refs: Sequence[Any] | None = None,
    reading: Reading | None = None,
) -> CandidateLists:
    """Return the lists of a file, of a data frame, or of plain sequences.

    Parameters
    ----------
    data : CandidateLists, a path, a data frame (see ``CandidateLists.from_frame``), or the labels or texts of
        all items.
    group, qid, refs : of plain sequences, see ``lists_of``.
    reading : how a file is read.

    Raises
    ------
    RerankError
        If a file cannot be read, or the sequences do not fit together.
    """
    if is_path(data) or is_frame(data):
        if group is not None or qid is not None or refs is not None:
            raise DataError("group, qid and refs are for plain sequences, found a file or a data frame")
        return read_lists(data, reading)
    return lists_of(data, group=group, qid=qid, refs=refs)


def validate(data: Data, *, reading: Reading | None = None) -> Contents:
    """Return what lists hold: counts, labels, warnings, and faults that break other tools.

    Parameters
    ----------
    data : CandidateLists, a file or a data frame.
    reading : how a file is read.

    Returns
    -------
    Contents
        With ``facts``, ``warnings`` and ``faults``.

    Raises
    ------
    RerankError
        If a file or a frame holds no lists; FormatError with the line if the file does not follow its format.

    Examples
    --------
    >>> import rerank
    >>> rerank.validate(rerank.CandidateLists.from_arrays([[1.0], [2.0]], [0, 1], group=[2]))
    lists     1, of 2 to 2 items, median 2
    items     2
    features  1, dense float64
    labels    0 × 1, 1 × 1
    ids       none
    """
    from rerank.data.describe import describe

    if is_path(data) and os.path.isdir(data):
        from rerank.data.shards.read import check_shards

        check_shards(data)
    return describe(read_judged(data, reading))
