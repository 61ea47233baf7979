"""A set of lists as a directory of .npy files and a meta.json, memory-mapped when it is opened.

``meta.json`` records the version of the format, the sizes, and the dtype and shape of every array. String
columns are two arrays each, ``NAME.bytes`` and ``NAME.offsets``. The same lists give the same bytes.
A store is written next to its destination and moved there whole, see rerank/core/files/write.py.
"""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rerank.core.errors import DataError, DataNote, FormatError, NeedsWholeError, RerankError
from rerank.core.files.write import StagedOutput, recover, staged
from rerank.core.system import sync
from rerank.core.types import AnyArray
from rerank.data.columns.forests import Forest
from rerank.data.columns.schema import Column, declared
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.store_reader import FORMAT, META, VERSION, StrPath, entries, is_store, read_meta, read_store

__all__ = [
    "arrays_of",
    "check_place",
    "is_store",
    "read_store",
    "restore",
    "write_store",
    "write_store_blocks",
]


_HEADER = 128  # bytes of the header of an array
_AT_ONCE = 1 << 16  # values that are written at once


def write_store(lists: CandidateLists, path: StrPath) -> None:
    """Write ``lists`` as the directory ``path``; a store that is there already is replaced.

    Readers that have the old one open keep it. Raises FormatError if ``path`` exists and is not a store,
    or contains a file that is not the store's own, and OSError if the place cannot be written.
    """
    write_store_blocks([lists], path)


def write_store_blocks(blocks: Iterable[CandidateLists], path: StrPath) -> None:
    """Write lists as ``write_store`` does, block by block; memory holds a block and the names of features.

    Blocks have the same columns and features of one layout; their ``rows`` are those of the only block.
    """
    place = os.path.realpath(path)
    restore(place)
    check_place(place)
    with staged(place, folder=True) as part, ExitStack() as stack:
        writer = _Writer(part, stack)
        for lists in blocks:
            writer.add(lists)
        writer.finish()


class _Array:
    """An array in a file that grows by rows; its header is written at the end."""

    def __init__(self, file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.file, self.dtype, self.shape, self.n = file, dtype, shape, 0
        self.file.write(self._header())

    def add(self, array: AnyArray) -> None:
        """Write further rows."""
        if array.dtype != self.dtype or array.shape[1:] != self.shape:
            found = f"{array.dtype} of {array.shape[1:]} beside {self.dtype} of {self.shape}"
            raise NeedsWholeError(self.file.name, None, found, "one type of numbers")
        values = np.ascontiguousarray(array)
        # Not ndarray.tofile, whose errors do not give the reason.
        self.file.write(values.reshape(-1).view(np.uint8).data)
        self.n += len(values)

    def finish(self) -> dict[str, Any]:
        """Write the header and return what it says."""
        self.file.seek(0)
        self.file.write(self._header())
        return {"dtype": self.dtype.str, "shape": [self.n, *self.shape]}

    def _header(self) -> bytes:
        """The header; it has one length for any number of rows."""
        form = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.n, *self.shape)}
        found = io.BytesIO()
        np.lib.format.write_array_header_1_0(found, form)
        if len(found.getvalue()) != _HEADER:
            raise ValueError(f"a header of {len(found.getvalue())} bytes, expected {_HEADER}")
        return found.getvalue()


class _Writer:
    """A store that is being prepared."""

    def __init__(self, part: StagedOutput, stack: ExitStack) -> None:
        self.part, self.stack = part, stack
        self.arrays: dict[str, _Array] = {}
        self.ends: dict[str, int] = {}  # the last bound of each array of bounds
        self.symbols: dict[str, dict[str, int]] = {}  # of the trees of each column
        self.first: CandidateLists | None = None
        self.n_lists = self.n_items = 0

    def add(self, lists: CandidateLists) -> None:
        """Write some lists."""
        self._add_bounds("offsets", lists.offsets)
        self._add_features(lists.features.arrays())
        for name, column in declared(CandidateLists).items():
            if column.per == "feature" and self.first is not None:
                continue
            for key, values in _stored(name, column, getattr(lists, name)):
                if isinstance(values, np.ndarray):
                    self._add(key, values)
                    continue
                if isinstance(values, Forest):
                    values = self._renumbered(key, values)
                for part, array in values.arrays().items():
                    if part.startswith("vocabulary."):
                        continue
                    add = self._add_bounds if part == "offsets" else self._add
                    add(f"{key}.{part}".rstrip("."), array)
        self.first = self.first or lists
        self.n_lists += lists.n_lists
        self.n_items += lists.n_items

    def finish(self) -> None:
        """Write what is known at the end."""
        if self.first is None:
            raise DataError(f"{self.part.target}: no lists to write")
        for key, numbers in self.symbols.items():
            for part, array in StringColumn.from_strings(numbers).arrays().items():
                self._add(f"{key}.vocabulary.{part}", array)
        arrays = {}
        for name, one in self.arrays.items():
            arrays[name] = one.finish()
            one.file.flush()
            sync(one.file.fileno())
        with open(os.path.join(self.part.path, META), "xb") as file:
            file.write(_meta_text(self.first, self.n_lists, self.n_items, arrays).encode("ascii"))
            file.flush()
            sync(file.fileno())

    def _add(self, name: str, values: AnyArray) -> None:
        if name not in self.arrays:
            path = os.path.join(self.part.path, f"{name}.npy")
            file = self.stack.enter_context(open(path, "xb"))  # noqa: SIM115
            self.arrays[name] = _Array(file, values.dtype, values.shape[1:])
        self.arrays[name].add(values)

    def _add_bounds(self, name: str, bounds: AnyArray) -> None:
        """Add bounds (n + 1) after those before."""
        end = self.ends.get(name)
        self._add(name, bounds if end is None else bounds[1:] + end)
        self.ends[name] = int(bounds[-1]) + (end or 0)

    def _add_features(self, arrays: Mapping[str, AnyArray | None]) -> None:
        for name, values in arrays.items():
            if name == "indptr" and values is not None:
                self._add_bounds(name, values)
            elif name == "data":
                self._add_data(values, self.arrays["indices"].n)
            elif values is not None and (name != "features.places" or self.first is None):
                self._add(name, values)

    def _add_data(self, values: AnyArray | None, n: int) -> None:
        """Add the values of compressed rows, of which there are ``n`` now; None = all are 1."""
        if values is None and "data" not in self.arrays:
            return
        done = self.arrays["data"].n if "data" in self.arrays else 0
        for left in range(n - done - (0 if values is None else len(values)), 0, -_AT_ONCE):
            self._add("data", np.ones(min(left, _AT_ONCE)))
        if values is not None:
            self._add("data", values)

    def _renumbered(self, key: str, forest: Forest) -> Forest:
        """Trees whose symbols are numbered through all blocks."""
        known = self.symbols.setdefault(key, {})
        codes = [known.setdefault(symbol, len(known)) for symbol in forest.vocabulary]
        if codes == list(range(len(codes))):
            return forest
        return replace(forest, symbols=np.array(codes, dtype=np.int32)[forest.symbols], check=False)


def check_place(path: StrPath) -> None:
    """Raise FormatError if ``write_store`` would refuse to replace what is at ``path``."""
    place = Path(os.path.realpath(path))
    if os.path.lexists(place):
        _check_replaceable(place)


def restore(path: StrPath) -> None:
    """Put back a store that a killed process was replacing at ``path``, with a note.

    Raises RerankError if there is such a store and it cannot be renamed.
    """
    place = os.path.realpath(path)
    try:
        old = recover(place, _is_whole)
    except OSError as error:
        raise RerankError(
            f"{path}: an interrupted replacement left the store as {error.filename}: rename it"
        ) from None
    if old is not None:
        text = f"{path}: restored from {os.path.basename(old)}, which an interrupted replacement had left"
        warnings.warn(text, DataNote, stacklevel=3)


def _is_whole(path: str) -> bool:
    """Return whether a store can be read."""
    try:
        read_store(path)
    except (FormatError, OSError):
        return False
    return True


def arrays_of(lists: CandidateLists) -> Iterator[tuple[str, AnyArray]]:
    """Yield every array of the set under the name of its file."""
    yield "offsets", lists.offsets
    for name, array in lists.features.arrays().items():
        if array is not None:
            yield name, array
    for name, column in declared(CandidateLists).items():
        for key, values in _stored(name, column, getattr(lists, name)):
            if isinstance(values, np.ndarray):
                yield key, values
            else:
                yield from ((f"{key}.{part}".rstrip("."), array) for part, array in values.arrays().items())


def _stored(name: str, column: Column, values: Any) -> Iterator[tuple[str, Any]]:
    """The columns of one field under their names in the store; none if it is empty."""
    if isinstance(values, Mapping):
        yield from ((f"{name}.{k}", values[key]) for k, key in enumerate(_keys(column, values)))
    elif column.several:
        yield from ((f"{name}.{k}", one) for k, one in enumerate(values))
    elif values is not None:
        yield name, StringColumn.from_strings(values) if column.kind == "names" else values


def _keys(column: Column, values: Mapping[str, Any]) -> list[str]:
    """The names of a field's columns: metrics have no order, trees keep theirs."""
    return sorted(values) if column.kind == "statistics" else list(values)


def _meta_text(lists: CandidateLists, n_lists: int, n_items: int, arrays: dict[str, Any]) -> str:
    several = {
        name: _keys(column, getattr(lists, name)) if column.by_name else len(getattr(lists, name))
        for name, column in declared(CandidateLists).items()
        if column.several
    }
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "n_lists": n_lists,
        "n_items": n_items,
        "n_features": lists.n_features,
        **several,
        **({"selection": lists.selection} if lists.selection else {}),
        "arrays": arrays,
    }
    return json.dumps(meta, indent=1, sort_keys=True) + "\n"


def _check_replaceable(place: Path) -> None:
    """Refuse to delete what is not a store, or a file that is not the store's own."""
    if not is_store(place):
        kind = "a directory" if place.is_dir() else "a file"
        raise FormatError(str(place), None, f"{kind} that is not a store", "a store to replace, or nothing")
    known = {META, *(f"{name}.npy" for name in entries(read_meta(place), "arrays", dict))}
    foreign = sorted(set(os.listdir(place)) - known)
    if foreign:
        raise FormatError(
            str(place), None, f"{foreign[0]!r} inside the store", "only its own files if it is to be replaced"
        )
