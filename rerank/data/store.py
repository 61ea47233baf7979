"""A set of lists as a directory of .npy files and a meta.json, memory-mapped when it is opened.

``meta.json`` says the version of the format, the sizes, and the dtype and shape of every array; string
columns are two arrays each, ``NAME.bytes`` and ``NAME.offsets``. The same lists give the same bytes.
A store is written beside its place and moved there whole.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rerank.data.columns.forests import Forest
from rerank.data.columns.ragged import Ragged
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.types import AnyArray
from rerank.errors import DataError, FormatError

FORMAT = "rerank-store"
VERSION = 1
META = "meta.json"

_HEADER = re.compile(
    rb"\{'descr': '([<>][fiu][248]|[|][iub]1)', 'fortran_order': (False|True), "
    rb"'shape': \(((?:[0-9]{1,18},|(?:[0-9]{1,18}, )*[0-9]{1,18})?)\), \} *\n"
)

StrPath = str | os.PathLike[str]


def write_store(lists: CandidateLists, path: StrPath) -> None:
    """Write ``lists`` as the directory ``path``; a store that is there already is replaced.

    Readers that have the old one open keep it. Raises FormatError where ``path`` exists and is not a
    store, or holds a file of another's, and OSError where the place cannot be written.
    """
    place = Path(os.path.realpath(path))
    check_place(place)
    arrays = dict(_arrays_of(lists))
    part = place.with_name(f".{place.name}.{secrets.token_hex(6)}.part")
    part.mkdir()
    try:
        for name, array in arrays.items():
            np.save(part / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
        (part / META).write_text(_meta_text(lists, arrays), encoding="ascii")
        _move(part, place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_place(path: StrPath) -> None:
    """Raise FormatError where ``write_store`` would refuse to replace what is at ``path``."""
    place = Path(os.path.realpath(path))
    if os.path.lexists(place):
        _check_replaceable(place)


def move_store(store: StrPath, path: StrPath) -> None:
    """Move a store to ``path``, of the same file system, and replace one that is there; see write_store."""
    check_place(path)
    _move(Path(store), Path(os.path.realpath(path)))


def read_store(path: StrPath) -> CandidateLists:
    """The lists stored in the directory ``path``, their arrays mapped read-only, not copied.

    Raises FormatError, of one line, for a directory that is not a store, another version, and arrays
    that are absent, cut off, of another dtype or shape, or do not fit each other.
    """
    return _Reader(Path(path)).lists()


def is_store(path: StrPath) -> bool:
    """Whether ``path`` is a directory whose meta.json says that it is a store, of whatever version."""
    try:
        return _read_meta(Path(path)).get("format") == FORMAT
    except (FormatError, OSError):
        return False


def _arrays_of(lists: CandidateLists) -> Iterator[tuple[str, AnyArray]]:
    """Every array of the set under the name of its file."""
    yield "offsets", lists.offsets
    for name, array in lists.features.arrays().items():
        if array is not None:
            yield name, array
    for name in ("labels", "base_scores", "first_best", "rows"):
        column = getattr(lists, name)
        if column is not None:
            yield name, column
    names = None if lists.feature_names is None else StringColumn.from_strings(lists.feature_names)
    strings: dict[str, StringColumn | None] = {
        "feature_names": names,
        "list_ids": lists.list_ids,
        "item_ids": lists.item_ids,
        "texts": lists.texts,
        **{f"references.{r}": column for r, column in enumerate(lists.references)},
    }
    for name, forest in (("trees", lists.trees), ("gold", lists.gold)):
        if forest is not None:
            yield f"{name}.offsets", forest.offsets
            yield f"{name}.symbols", forest.symbols
            yield f"{name}.sizes", forest.sizes
            strings[f"{name}.vocabulary"] = forest.vocabulary
    for name, text in strings.items():
        if text is not None:
            yield f"{name}.bytes", text.data
            yield f"{name}.offsets", text.offsets
    if lists.unretrieved is not None:
        yield "unretrieved", lists.unretrieved.values
        yield "unretrieved.offsets", lists.unretrieved.offsets
    for k, name in enumerate(sorted(lists.counts)):
        yield f"counts.{k}", lists.counts[name]


def _meta_text(lists: CandidateLists, arrays: dict[str, AnyArray]) -> str:
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "n_lists": lists.n_lists,
        "n_items": lists.n_items,
        "n_features": lists.n_features,
        "references": len(lists.references),
        "counts": sorted(lists.counts),
        "arrays": {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in arrays.items()},
    }
    return json.dumps(meta, indent=1, sort_keys=True) + "\n"


def _check_replaceable(place: Path) -> None:
    """Refuse to delete what is not a store, or what someone else keeps inside one."""
    if not is_store(place):
        kind = "a directory" if place.is_dir() else "a file"
        raise FormatError(str(place), None, f"{kind} that is not a store", "a store to replace, or nothing")
    known = {META, *(f"{name}.npy" for name in _entries(_read_meta(place), "arrays", dict))}
    foreign = sorted(set(os.listdir(place)) - known)
    if foreign:
        raise FormatError(
            str(place), None, f"{foreign[0]!r} inside the store", "only its own files where it is replaced"
        )


def _move(part: Path, place: Path) -> None:
    """Put ``part`` at ``place``; the old store goes only when the new one is there."""
    if not place.exists():
        os.rename(part, place)
        return
    old = part.with_suffix(".old")
    os.rename(place, old)
    try:
        os.rename(part, place)
    except BaseException:
        os.rename(old, place)
        raise
    shutil.rmtree(old)


def _read_meta(path: Path) -> dict[str, Any]:
    """The object in meta.json; raises FormatError where there is none."""
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


def _entries(meta: dict[str, Any], key: str, kind: type) -> Any:
    """An entry of meta.json if it is of ``kind``, else an empty one."""
    value = meta.get(key)
    return value if isinstance(value, kind) else kind()


class _Reader:
    """Reads one store; every fault is a FormatError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.meta = _read_meta(path)
        if self.meta.get("format") != FORMAT:
            raise self.fault(META, f"format {self.meta.get('format')!r}", repr(FORMAT))
        if self.meta.get("version") != VERSION:
            raise self.fault(META, f"version {self.meta.get('version')!r}", f"version {VERSION}")
        self.arrays = _entries(self.meta, "arrays", dict)
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
        """One array, mapped; ``dtype`` is what it may be, None in ``shape`` stands for any length."""
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
            raise self.fault(file, f"{array.dtype.str} of shape {array.shape}", f"what {META} says")
        return array

    def column(self, name: str, dtype: str) -> AnyArray | None:
        return self.array(name, dtype, self.n_items) if name in self.arrays else None

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

    def reference(self, r: int) -> StringColumn:
        column = self.strings(f"references.{r}", self.n_lists)
        if column is None:
            raise self.fault(META, f"no array references.{r}", "one for each of its references")
        return column

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

    def counts(self) -> dict[str, AnyArray]:
        names = self.meta.get("counts")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.fault(META, f"counts {names!r}", "a list of names")
        return {name: self.array(f"counts.{k}", "<f8", self.n_items, None) for k, name in enumerate(names)}

    def unretrieved(self) -> Ragged | None:
        if "unretrieved" not in self.arrays:
            return None
        offsets = self.array("unretrieved.offsets", "<i8", self.n_lists + 1)
        return Ragged(self.array("unretrieved", "<f8", None), offsets)

    def lists(self) -> CandidateLists:
        try:
            names = self.strings("feature_names", self.n_features)
            return CandidateLists(
                self.array("offsets", "<i8", self.n_lists + 1),
                self.features(),
                labels=self.column("labels", "<f8"),
                base_scores=self.column("base_scores", "<f8"),
                first_best=self.column("first_best", "<f8"),
                list_ids=self.strings("list_ids", self.n_lists),
                item_ids=self.strings("item_ids", self.n_items),
                rows=self.column("rows", "<i8"),
                feature_names=None if names is None else list(names),
                texts=self.strings("texts", self.n_items),
                references=tuple(self.reference(r) for r in range(self.size("references"))),
                trees=self.forest("trees", self.n_items),
                gold=self.forest("gold", self.n_lists),
                counts=self.counts(),
                unretrieved=self.unretrieved(),
                source=str(self.path),
            )
        except DataError as error:
            message = str(error).removeprefix(f"{self.path}: ")
            raise FormatError(str(self.path), None, message, "columns that fit each other") from None


def _map(handle: BinaryIO) -> AnyArray:
    """The array of an open .npy file, mapped read-only; ValueError where it is cut off or odd.

    The header is matched as numpy.save writes it (version 1.0), which says more plainly what is wrong
    than numpy's own reader of headers: that one also evaluates and repairs them.
    """
    start = handle.read(10)
    length = int.from_bytes(start[8:], "little")
    header = handle.read(length)
    match = _HEADER.fullmatch(header)
    if start[:8] != b"\x93NUMPY\x01\x00" or len(header) != length or match is None:
        raise ValueError("no header of an array of numbers")
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
        raise ValueError(f"{size} bytes of data where the header says {wanted}")
    if wanted == 0:
        return np.empty(shape, dtype=dtype)
    return np.asarray(np.memmap(handle, dtype=dtype, mode="r", offset=handle.tell(), shape=shape))
