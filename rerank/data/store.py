"""A set of lists as a directory of .npy files and a meta.json, memory-mapped when it is opened.

``meta.json`` records the version of the format, the sizes, and the dtype and shape of every array. String
columns are two arrays each, ``NAME.bytes`` and ``NAME.offsets``. The same lists give the same bytes.
A store is written next to its destination and moved there whole.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from rerank.data.columns.schema import Column, declared
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.store_reader import FORMAT, META, VERSION, StrPath, entries, is_store, read_meta, read_store
from rerank.data.types import AnyArray
from rerank.errors import ConfigError, FormatError
from rerank.files import os_error

__all__ = [
    "arrays_of",
    "check_place",
    "is_store",
    "move_store",
    "placed_together",
    "read_store",
    "write_store",
]


def write_store(lists: CandidateLists, path: StrPath) -> None:
    """Write ``lists`` as the directory ``path``; a store that is there already is replaced.

    Readers that have the old one open keep it. Raises FormatError if ``path`` exists and is not a store,
    or contains a file that is not the store's own, and OSError if the place cannot be written.
    """
    place = Path(os.path.realpath(path))
    check_place(place)
    arrays = dict(arrays_of(lists))
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
    """Raise FormatError if ``write_store`` would refuse to replace what is at ``path``."""
    place = Path(os.path.realpath(path))
    if os.path.lexists(place):
        _check_replaceable(place)


def move_store(store: StrPath, path: StrPath) -> None:
    """Move a store to ``path`` on the same file system; a store that is there is replaced."""
    check_place(path)
    _move(Path(store), Path(os.path.realpath(path)))


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
        yield from ((f"{name}.{k}", values[key]) for k, key in enumerate(sorted(values)))
    elif column.several:
        yield from ((f"{name}.{k}", one) for k, one in enumerate(values))
    elif values is not None:
        yield name, StringColumn.from_strings(values) if column.kind == "names" else values


def _meta_text(lists: CandidateLists, arrays: dict[str, AnyArray]) -> str:
    several = {name: getattr(lists, name) for name, c in declared(CandidateLists).items() if c.several}
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "n_lists": lists.n_lists,
        "n_items": lists.n_items,
        "n_features": lists.n_features,
        **{name: sorted(v) if isinstance(v, Mapping) else len(v) for name, v in several.items()},
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


def _move(part: Path, place: Path) -> None:
    """Put ``part`` at ``place``; the old store is deleted once the new one is there."""
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


@contextmanager
def placed_together(folder: str) -> Iterator[str]:
    """Yield a folder whose stores and files move to ``folder`` when the block ends, none if it raises.

    ``folder`` is made if it does not exist. Raises RerankError if it cannot be made or a file not written.
    """
    if not folder:
        raise ConfigError("out: found no name, expected that of a folder")
    there = os.path.isdir(folder)
    stage = os.path.join(folder, f".{secrets.token_hex(6)}.part")
    try:
        os.makedirs(stage)
    except OSError as error:
        raise os_error(folder, error) from None
    try:
        yield stage
        # Files first: only they can be refused here, stores were checked before.
        for name in sorted(os.listdir(stage), key=lambda name: (name.endswith(".store"), name)):
            source, target = os.path.join(stage, name), os.path.join(folder, name)
            if os.path.isdir(source):
                move_store(source, target)
            else:
                os.replace(source, target)
    except OSError as error:  # a full disk, a folder in a file's place
        raise os_error(folder, error) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if not there:
            with suppress(OSError):  # files placed in it stay
                os.rmdir(folder)
