"""A set of lists as a directory of .npy files and a meta.json, memory-mapped when it is opened.

``meta.json`` records the version of the format, the sizes, and the dtype and shape of every array. String
columns are two arrays each, ``NAME.bytes`` and ``NAME.offsets``. The same lists give the same bytes.
A store is written next to its destination and moved there whole, see rerank/core/files/write.py.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rerank.core.errors import DataNote, FormatError, RerankError
from rerank.core.files.write import StagedOutput, recover, staged
from rerank.core.system import sync
from rerank.core.types import AnyArray
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
]


def write_store(lists: CandidateLists, path: StrPath) -> None:
    """Write ``lists`` as the directory ``path``; a store that is there already is replaced.

    Readers that have the old one open keep it. Raises FormatError if ``path`` exists and is not a store,
    or contains a file that is not the store's own, and OSError if the place cannot be written.
    """
    place = os.path.realpath(path)
    restore(place)
    check_place(place)
    arrays = dict(arrays_of(lists))
    with staged(place, folder=True) as part:
        for name, array in arrays.items():
            with _new_file(part, f"{name}.npy") as file:
                values = np.ascontiguousarray(array)
                header = np.lib.format.header_data_from_array_1_0(values)
                np.lib.format.write_array_header_1_0(file, header)
                # Not ndarray.tofile, whose errors do not give the reason.
                file.write(values.reshape(-1).view(np.uint8).data)
        with _new_file(part, META) as file:
            file.write(_meta_text(lists, arrays).encode("ascii"))


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


@contextmanager
def _new_file(part: StagedOutput, name: str) -> Iterator[BinaryIO]:
    """A file of a store that is being prepared; on the disk when the block ends."""
    with open(os.path.join(part.path, name), "xb") as file:
        yield file
        file.flush()
        sync(file.fileno())


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


def _meta_text(lists: CandidateLists, arrays: dict[str, AnyArray]) -> str:
    several = {
        name: _keys(column, getattr(lists, name)) if column.by_name else len(getattr(lists, name))
        for name, column in declared(CandidateLists).items()
        if column.several
    }
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "n_lists": lists.n_lists,
        "n_items": lists.n_items,
        "n_features": lists.n_features,
        **several,
        **({"selection": lists.selection} if lists.selection else {}),
        "arrays": {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in arrays.items()},
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
