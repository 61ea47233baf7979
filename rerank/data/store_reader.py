"""The reader of stores, see rerank/data/store.py; it trusts no file."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rerank.data.columns.forests import Forest
from rerank.data.columns.ragged import Ragged
from rerank.data.columns.schema import ARRAYS, Column, declared
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.types import AnyArray
from rerank.errors import DataError, FormatError

FORMAT = "rerank-store"
VERSION = 1
META = "meta.json"
StrPath = str | os.PathLike[str]

_HEADER = re.compile(
    rb"\{'descr': '([<>][fiu][248]|[|][iub]1)', 'fortran_order': (False|True), "
    rb"'shape': \(((?:[0-9]{1,18},|(?:[0-9]{1,18}, )*[0-9]{1,18})?)\), \} *\n"
)


def read_store(path: StrPath) -> CandidateLists:
    """Return the lists stored in the directory ``path``; their arrays are mapped read-only, not copied.

    Raises FormatError for a directory that is not a store, for another version, and for arrays that are
    missing, cut off, of another dtype or shape, or do not fit each other.
    """
    return _Reader(Path(path)).lists()


def is_store(path: StrPath) -> bool:
    """Return whether ``path`` is a directory whose meta.json names it a store, of any version."""
    try:
        return read_meta(Path(path)).get("format") == FORMAT
    except (FormatError, OSError):
        return False


def read_meta(path: Path) -> dict[str, Any]:
    """Return the object in meta.json; raise FormatError if there is none."""
    file = path / META
    try:
        meta = json.loads(file.read_text(encoding="ascii"))
    except (FileNotFoundError, NotADirectoryError):
        found = f"no {META}" if path.is_dir() else "a file" if path.exists() else "no such directory"
        raise FormatError(str(path), None, found, "a store") from None
    except (ValueError, RecursionError) as error:  # also UnicodeDecodeError, JSONDecodeError
        raise FormatError(str(file), getattr(error, "lineno", None), "no JSON", "a store's meta") from None
    if not isinstance(meta, dict):
        raise FormatError(str(file), None, f"a JSON {type(meta).__name__}", "an object")
    return meta


def entries(meta: dict[str, Any], key: str, kind: type) -> Any:
    """Return an entry of meta.json if it is of ``kind``, else an empty one."""
    value = meta.get(key)
    return value if isinstance(value, kind) else kind()


class _Reader:
    """Reads one store; every fault is a FormatError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.meta = read_meta(path)
        if self.meta.get("format") != FORMAT:
            raise self.fault(META, f"format {self.meta.get('format')!r}", repr(FORMAT))
        if self.meta.get("version") != VERSION:
            raise self.fault(META, f"version {self.meta.get('version')!r}", f"version {VERSION}")
        self.arrays = entries(self.meta, "arrays", dict)
        sizes = [self.size(key) for key in ("n_lists", "n_items", "n_features")]
        self.n_lists, self.n_items, self.n_features = sizes

    def fault(self, file: str, found: str, expected: str) -> FormatError:
        return FormatError(str(self.path / file), None, found, expected)

    def size(self, key: str) -> int:
        value = self.meta.get(key)
        if type(value) is not int or value < 0:
            raise self.fault(META, f"{key} {value!r}", "a whole number")
        return value

    def array(self, name: str, dtype: str | tuple[str, ...], *shape: int | None) -> AnyArray:
        """One array, mapped; ``dtype`` is the type or types it may have, None in ``shape`` any length."""
        file = f"{name}.npy"
        wanted = (dtype,) if isinstance(dtype, str) else dtype
        try:
            with (self.path / file).open("rb") as handle:
                array = _map(handle)
        except FileNotFoundError:
            raise self.fault(file, "no such file", f"the array {name} that {META} names") from None
        except ValueError as error:
            raise self.fault(file, str(error), "a whole .npy file") from None
        if array.dtype.str not in wanted:
            raise self.fault(file, f"dtype {array.dtype.str}", f"dtype {' or '.join(wanted)}")
        fits = len(shape) == array.ndim and all(
            s in (None, n) for s, n in zip(shape, array.shape, strict=True)
        )
        if not fits:
            expected = ", ".join("any" if s is None else str(s) for s in shape)
            raise self.fault(file, f"shape {array.shape}", f"shape ({expected})")
        if self.arrays.get(name) != {"dtype": array.dtype.str, "shape": list(array.shape)}:
            raise self.fault(file, f"{array.dtype.str} of shape {array.shape}", f"as in {META}")
        return array

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
        if column.kind in ("strings", "names"):
            strings = self.strings(name, length)
            return list(strings) if strings is not None and column.kind == "names" else strings
        if name not in self.arrays and not column.several:
            return None
        if column.kind == "ragged":
            return Ragged(self.array(name, "<f8", None), self.array(f"{name}.offsets", "<i8", length + 1))
        dtype, ndim = ARRAYS[column.kind]
        return self.array(name, np.dtype(dtype).str, *(length, None)[:ndim])

    def field(self, name: str, column: Column) -> Any:
        """What the field ``name`` of CandidateLists holds."""
        if not column.several:
            return self.column(name, column)
        keys = self.meta.get(name)
        if column.kind != "statistics":
            values = [self.column(f"{name}.{k}", column) for k in range(self.size(name))]
            if None in values:
                raise self.fault(META, f"no array {name}.{values.index(None)}", f"one for each of its {name}")
            return tuple(values)
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise self.fault(META, f"{name} {keys!r}", "a list of names")
        return {key: self.column(f"{name}.{k}", column) for k, key in enumerate(keys)}

    def lists(self) -> CandidateLists:
        """The whole set."""
        try:
            offsets = self.array("offsets", "<i8", self.n_lists + 1)
            columns = {name: self.field(name, column) for name, column in declared(CandidateLists).items()}
            return CandidateLists(offsets, self.features(), **columns, source=str(self.path))
        except DataError as error:
            message = str(error).removeprefix(f"{self.path}: ")
            raise FormatError(str(self.path), None, message, "columns that fit each other") from None


def _map(handle: BinaryIO) -> AnyArray:
    """The array of an open .npy file, mapped read-only; ValueError if it is cut off or malformed.

    The header is matched as numpy.save writes it (version 1.0). That gives plainer errors than numpy's own
    reader of headers, which also evaluates and repairs them.
    """
    start = handle.read(10)
    length = int.from_bytes(start[8:], "little")
    header = handle.read(length)
    match = _HEADER.fullmatch(header)
    if start[:8] != b"\x93NUMPY\x01\x00" or len(header) != length or match is None:
        raise ValueError("no header of a numeric array")
    if match[2] != b"False":
        raise ValueError("an array in Fortran order")
    shape = tuple(int(n) for n in match[3].split(b",") if n.strip())
    try:
        dtype = np.dtype(match[1].decode("ascii"))
    except TypeError:
        raise ValueError(f"dtype {match[1].decode('ascii')}") from None
    size = os.fstat(handle.fileno()).st_size - handle.tell()
    wanted = dtype.itemsize * math.prod(shape)
    if size != wanted:
        raise ValueError(f"{size} bytes of data, but its header says {wanted}")
    if wanted == 0:
        return np.empty(shape, dtype=dtype)
    return np.asarray(np.memmap(handle, dtype=dtype, mode="r", offset=handle.tell(), shape=shape))
