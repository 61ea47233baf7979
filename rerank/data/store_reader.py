"""The reader of stores, see rerank/data/store.py; it trusts no file."""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.folders import Folder
from rerank.core.memory import require
from rerank.core.types import AnyArray
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import Ragged, fresh_array
from rerank.data.columns.schema import ARRAYS, Column, declared
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import Traces
from rerank.data.lists import CandidateLists
from rerank.data.matrix import MAX_FEATURES, Dense, Features, Mixed, Sparse
from rerank.data.npy import Header, read_header, release

FORMAT = "rerank-store"
VERSION = 1
META = "meta.json"
MANIFEST = "manifest.json"  # of a sharded store
StrPath = str | os.PathLike[str]

# How often a store is opened that is replaced while it is read.
TRIES = 10
# Bounds, indices and places are copied before they are checked, so that no change of the file can lead a
# kernel out of its arrays. Only 4-byte ones (indices, nodes of trees) of more bytes stay mapped.
COPIED = 1 << 28
_LATER = ("structures", "fields")  # what stores of earlier releases lack
_LONGEST_META = 1 << 24
_NAME_BYTES = 64  # of a short string as an object, its place in a list included


def read_store(path: StrPath) -> CandidateLists:
    """Return the lists stored in the directory ``path``; values and text are mapped read-only, not copied.

    The directory is opened once: a store that is replaced during reading gives its old content or the new.

    Raises FormatError for a directory that is not a store, for another version, and for arrays that are
    missing, cut off, of another dtype or shape, or do not fit each other.
    """
    for left in reversed(range(TRIES)):
        with Folder(path) as folder:
            try:
                lists = _Reader(folder).lists()
            except FormatError:
                if not (left and folder.is_replaced()):
                    raise
            else:
                if folder.is_held or not folder.is_replaced():
                    return lists
    raise FormatError(str(path), None, "a store that is replaced all the time", "one that stays")


def is_store(path: StrPath) -> bool:
    """Return whether ``path`` is a directory whose meta.json names it a store, of any version."""
    try:
        return read_meta(path).get("format") == FORMAT
    except (FormatError, OSError):
        return False


def read_meta(path: StrPath) -> dict[str, Any]:
    """Return the object in meta.json; raise FormatError if there is none."""
    with Folder(path) as folder:
        return _meta(folder)


def _meta(folder: Folder) -> dict[str, Any]:
    """The object in meta.json of an open directory."""
    file = str(folder.path / META)
    try:
        with folder.open(META) as handle:
            text = handle.read(_LONGEST_META + 1)
    except FileNotFoundError:
        raise FormatError(str(folder.path), None, f"no {META}", "a store") from None
    if len(text) > _LONGEST_META:
        raise FormatError(file, None, f"more than {_LONGEST_META} bytes", "a store's meta")
    try:
        meta = json.loads(text.decode("ascii"))
    except (ValueError, RecursionError) as error:  # also UnicodeDecodeError, JSONDecodeError
        raise FormatError(file, getattr(error, "lineno", None), "no JSON", "a store's meta") from None
    if not isinstance(meta, dict):
        raise FormatError(file, None, f"a JSON {type(meta).__name__}", "an object")
    return meta


def entries(meta: dict[str, Any], key: str, kind: type) -> Any:
    """Return an entry of meta.json if it is of ``kind``, else an empty one."""
    value = meta.get(key)
    return value if isinstance(value, kind) else kind()


class _Reader:
    """Reads one store; every fault is a FormatError."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.path = folder.path
        self.meta = _meta(folder)
        if self.meta.get("format") != FORMAT:
            raise self.fault(META, f"format {_brief(self.meta.get('format'))}", repr(FORMAT))
        if self.meta.get("version") != VERSION:
            raise self.fault(META, f"version {_brief(self.meta.get('version'))}", f"version {VERSION}")
        self.arrays = entries(self.meta, "arrays", dict)
        self.n_lists, self.n_items = (self.size(key, 2**62) for key in ("n_lists", "n_items"))
        self.n_features = self.size("n_features", MAX_FEATURES)
        self.mapped: list[AnyArray] = []

    def fault(self, file: str, found: str, expected: str) -> FormatError:
        return FormatError(str(self.path / file), None, found, expected)

    def size(self, key: str, most: int) -> int:
        value = self.meta.get(key)
        if type(value) is not int or not 0 <= value <= most:
            raise self.fault(META, f"{key} {_brief(value)}", f"a whole number up to {most}")
        return value

    def array(self, name: str, dtype: str | tuple[str, ...], *shape: int | None) -> AnyArray:
        """One array; ``dtype`` is the type or types it may have, None in ``shape`` any length."""
        file = f"{name}.npy"
        wanted = (dtype,) if isinstance(dtype, str) else dtype
        try:
            with self.folder.open(file) as handle:
                header = read_header(handle)
                size = os.fstat(handle.fileno()).st_size - handle.tell()
                if size != header.n_bytes:
                    raise ValueError(f"{size} bytes of data, but its header says {header.n_bytes}")
                self._check_header(name, header, wanted, shape)
                return self._taken(handle, header, str(self.path / file))
        except FileNotFoundError:
            raise self.fault(file, "no such file", f"the array {name} that {META} names") from None
        except ValueError as error:
            raise self.fault(file, str(error), "a whole .npy file") from None

    def _taken(self, handle: BinaryIO, header: Header, file: str) -> AnyArray:
        """The array that ``handle`` is at: a copy of whole numbers, see COPIED, else mapped read-only."""
        dtype, shape = header.dtype, header.shape
        if header.n_bytes == 0:
            return np.empty(shape, dtype=dtype)
        if dtype.kind != "i" or (dtype.itemsize < 8 and header.n_bytes > COPIED):
            values = np.memmap(handle, dtype=dtype, mode="r", offset=handle.tell(), shape=shape)
            self.mapped.append(values)
            return np.asarray(values)
        require(header.n_bytes, f"the numbers of {file}")
        array = fresh_array(shape, dtype)
        if handle.readinto(array.data.cast("B")) != header.n_bytes:  # type: ignore[attr-defined]
            raise ValueError("less data than when it was opened")
        array.flags.writeable = False
        return array

    def _check_header(
        self, name: str, header: Header, dtypes: tuple[str, ...], shape: tuple[int | None, ...]
    ) -> None:
        file, found = f"{name}.npy", header.shape
        if header.dtype.str not in dtypes:
            raise self.fault(file, f"dtype {header.dtype.str}", f"dtype {' or '.join(dtypes)}")
        if len(shape) != len(found) or any(s not in (None, n) for s, n in zip(shape, found, strict=True)):
            expected = ", ".join("any" if s is None else str(s) for s in shape)
            raise self.fault(file, f"shape {found}", f"shape ({expected})")
        if self.arrays.get(name) != {"dtype": header.dtype.str, "shape": list(found)}:
            raise self.fault(file, str(header), f"as in {META}")

    def strings(self, name: str, length: int | None) -> StringColumn | None:
        if f"{name}.bytes" not in self.arrays and f"{name}.offsets" not in self.arrays:
            return None
        n_offsets = None if length is None else length + 1
        return StringColumn(
            self.array(f"{name}.bytes", "|u1", None), self.array(f"{name}.offsets", "<i8", n_offsets)
        )

    def forest(self, name: str, length: int) -> Forest | None:
        if f"{name}.offsets" not in self.arrays:
            return None
        vocabulary = self.strings(f"{name}.vocabulary", None)
        if vocabulary is None:
            raise self.fault(META, f"no array {name}.vocabulary.bytes", f"the symbols of {name}")
        symbols = self.array(f"{name}.symbols", "<i4", None)
        sizes = self.array(f"{name}.sizes", "<i4", len(symbols))
        return Forest(self.array(f"{name}.offsets", "<i8", length + 1), symbols, sizes, vocabulary)

    def traces(self, name: str, length: int) -> Traces | None:
        if f"{name}.offsets" not in self.arrays:
            return None
        keys = self.array(f"{name}.keys", "<u8", None)
        n = len(keys)
        xyz = self.array(f"{name}.xyz", "<f8", n, 3)
        letters = self.array(f"{name}.residues", "|u1", n)
        return Traces(self.array(f"{name}.offsets", "<i8", length + 1), keys, xyz, letters)

    def features(self) -> Features:
        if "indptr" not in self.arrays:
            return Dense(self.array("features", ("<f8", "<f4"), self.n_items, self.n_features))
        indptr = self.array("indptr", "<i8", self.n_items + 1)
        indices = self.array("indices", "<i4", None)
        data = self.array("data", "<f8", len(indices)) if "data" in self.arrays else None
        rows = Sparse(indptr, indices, data, self.n_features)
        if "features" not in self.arrays:
            return rows
        places = self.array("features.places", "<i4", None)
        return Mixed(self.array("features", "<f8", self.n_items, len(places)), places, rows)

    def column(self, name: str, column: Column) -> Any:
        """The column ``name``, None if it is absent."""
        length = {"item": self.n_items, "list": self.n_lists, "feature": self.n_features}[column.per]
        if column.kind == "trees":
            return self.forest(name, length)
        if column.kind == "traces":
            return self.traces(name, length)
        if column.kind in ("strings", "names"):
            strings = self.strings(name, length)
            if strings is None or column.kind != "names":
                return strings
            require(_NAME_BYTES * len(strings) + len(strings.data), f"{len(strings):,} feature names")
            return list(strings)
        if name not in self.arrays and not column.several:
            return None
        if column.kind == "ragged":
            return Ragged(self.array(name, "<f8", None), self.array(f"{name}.offsets", "<i8", length + 1))
        dtypes, ndim = ARRAYS[column.kind]
        return self.array(name, tuple(dtype.str for dtype in dtypes), *(length, None)[:ndim])

    def field(self, name: str, column: Column) -> Any:
        """Return the value of the field ``name`` of CandidateLists."""
        if not column.several:
            return self.column(name, column)
        keys: Any = self.meta.get(name, [] if name in _LATER else None)
        if column.by_name and (not isinstance(keys, list) or not _are_names(keys)):
            raise self.fault(META, f"{name} {_brief(keys)}", "a list of names")
        n = len(keys) if column.by_name else self.size(name, len(self.arrays))
        values = [self.column(f"{name}.{k}", column) for k in range(n)]
        for k, value in enumerate(values):
            if value is None:
                raise self.fault(META, f"no array {name}.{k}", f"one for each of its {name}")
        return dict(zip(keys, values, strict=True)) if column.by_name else tuple(values)

    def lists(self) -> CandidateLists:
        """The whole set."""
        try:
            offsets = self.array("offsets", "<i8", self.n_lists + 1)
            columns = {name: self.field(name, column) for name, column in declared(CandidateLists).items()}
            selection = entries(self.meta, "selection", str)
            lists = CandidateLists(
                offsets, self.features(), **columns, source=str(self.path), selection=selection
            )
            for values in self.mapped:  # checks have read them
                release(values)
            return lists
        except DataError as error:
            message = str(error).removeprefix(f"{self.path}: ")
            raise FormatError(str(self.path), None, message, "columns that fit each other") from None


def _brief(value: Any) -> str:
    """A value of meta.json in a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _are_names(values: list[Any]) -> bool:
    """Return whether these are different strings that a file can hold."""
    if not all(isinstance(value, str) for value in values):
        return False
    try:
        "".join(values).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return len(set(values)) == len(values)
