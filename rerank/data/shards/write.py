"""Writing a sharded store in one pass over lists, so that a killed conversion continues where it was.

Finished shards wait in a hidden folder next to the target, ``.NAME.shards``, with a record of what they are
made of. When the last one is there, they are moved into a new folder with the manifest, which then takes the
place of the target in one step: readers see the old store or the new one, and never shards of both.
"""

from __future__ import annotations

import contextvars
import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import numpy as np
from msgspec import Struct, field

from rerank.core.errors import DataError, DataNote, FormatError, RerankError
from rerank.core.files.write import atomic_write, staged
from rerank.core.system import delete, lock, sync
from rerank.core.text import count
from rerank.core.types import Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.schema import present
from rerank.data.columns.strings import StringColumn, first_again, hashes_of
from rerank.data.joining import joined, joined_column
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.shards.hashing import KnownIds
from rerank.data.shards.manifest import (
    FORMAT,
    ROWS,
    VERSION,
    Manifest,
    Shard,
    content_of,
    fingerprint_of,
    is_sharded,
    open_shard,
    order_hash,
    read_manifest,
)
from rerank.data.shards.read import without_features
from rerank.data.shards.stack import Form, stack, widened
from rerank.data.store import check_place, write_store_blocks
from rerank.data.store_reader import MANIFEST, StrPath

SHARD_BYTES = 128_000_000
_RECORD = "progress.json"
_OTHER_BYTES = 8  # of an item in a column that is no text
_KINDS = {"trees", "traces"}  # of columns whose parts share symbols or numbers


class _Progress(Struct):
    """Record of the finished shards, from which a killed conversion continues."""

    key: str
    size: int
    columns: tuple[str, ...] = ()
    absent: str = "0"
    shards: list[Shard] = field(default_factory=list)


def write_shards(
    blocks: Iterable[CandidateLists],
    path: StrPath,
    size_bytes: int = SHARD_BYTES,
    *,
    key: str | None = None,
    absent: float = 0.0,
) -> Manifest:
    """Write lists, block by block, as the sharded store ``path``; a sharded store that is there is replaced.

    No list is divided. Where shards end depends on the lists and ``size_bytes``, not on the blocks. At most
    one shard and one block are in memory.

    Parameters
    ----------
    blocks
        All lists in order, from the first one also if a conversion continues. Blocks have the same columns;
        a block may know more features than those before it, after the same first ones.
        Their ``rows`` count from the first row of the block.
    path
        The folder.
    size_bytes
        Of the arrays of a shard; a longer list is a shard of its own.
    key
        What the lists are made of, see ``key_of``. Shards that a killed conversion with the same key and
        sizes left are kept, and its lists are passed over. None = nothing is kept.
    absent
        Value (0 or NaN) in dense rows of features that only later blocks know.

    Returns
    -------
    Manifest
        What was written.

    Raises
    ------
    DataError
        If there is no list, a list id occurs twice (with both places), or blocks do not fit together.
    FormatError
        If ``path`` exists and is no sharded store, or contains a file that is not its own.
    RerankError
        If it cannot be written, or another process is writing it.
    """
    place = os.path.realpath(path)
    check_shards_place(place)
    with _work_folder(path, place) as folder:
        progress = _resumed(folder, key or "", size_bytes, absent)
        writer = _Writer(folder, progress)
        for block in blocks:
            writer.add(block)
        return writer.finish(place)


def key_of(paths: Iterable[str], settings: object) -> str | None:
    """Return what tells whether a conversion has the same inputs; None for pipes, which cannot be read again.

    paths : the files that are read.
    settings : how they are read; its text is used.
    """
    digest = hashlib.sha256(repr(settings).encode("utf-8", "surrogateescape"))
    for path in paths:
        if not os.path.isfile(path):
            return None
        status = os.stat(path)
        digest.update(repr((os.path.realpath(path), status.st_size, status.st_mtime_ns)).encode())
    return digest.hexdigest()


def check_shards_place(path: StrPath) -> None:
    """Raise FormatError if what is at ``path`` is neither a store nor a sharded one with its own files."""
    place = os.path.realpath(path)
    if not is_sharded(place):
        check_place(place)
        return
    foreign = sorted(
        set(os.listdir(place)) - {MANIFEST, ROWS, *(one.name for one in read_manifest(place).shards)}
    )
    if foreign:
        raise FormatError(
            place, None, f"{foreign[0]!r} inside the sharded store", "only its own files if it is replaced"
        )


@contextmanager
def _work_folder(path: StrPath, place: str) -> Iterator[str]:
    """The hidden folder of finished shards, locked; it stays if the block raises."""
    folder = os.path.join(os.path.dirname(place), f".{os.path.basename(place)[:200]}.shards")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise RerankError(f"{path}: {os.strerror(error.errno or 0)}") from None
    held = lock(folder)
    if held is None:
        raise RerankError(f"{path}: another process is writing it")
    try:
        yield folder
    except BaseException:
        if not os.path.exists(os.path.join(folder, _RECORD)):
            delete(folder)
        raise
    finally:
        os.close(held)
    delete(folder)


def _resumed(folder: str, key: str, size_bytes: int, absent: float) -> _Progress:
    """The record of a killed conversion of the same lists, else a new one; other files are deleted."""
    fresh = _Progress(key, size_bytes, absent="nan" if np.isnan(absent) else "0")
    progress = fresh
    try:
        with open(os.path.join(folder, _RECORD), "rb") as file:
            found = msgspec.json.decode(file.read(), type=_Progress)
    except (FileNotFoundError, msgspec.MsgspecError):
        found = fresh
    if key and (found.key, found.size, found.absent) == (key, size_bytes, fresh.absent):
        progress = found
    for k, shard in enumerate(progress.shards):
        try:
            whole = fingerprint_of(os.path.join(folder, shard.name)) == shard.fingerprint
        except OSError:
            whole = False
        if not whole:
            del progress.shards[k:]
            break
    names = {shard.name for shard in progress.shards}
    for name in os.listdir(folder):
        if name not in names and name != _RECORD:
            delete(os.path.join(folder, name))
    if progress.shards:
        done = f"{count(len(names), 'shard')} of {sum(shard.lists for shard in progress.shards):,} lists"
        warnings.warn(f"an interrupted conversion continues after {done}", DataNote, stacklevel=4)
    return progress


class _Writer:
    """Collects the lists of a shard and writes it."""

    def __init__(self, folder: str, progress: _Progress) -> None:
        self.folder, self.progress = folder, progress
        self.manifest = Manifest(FORMAT, VERSION, progress.columns, progress.absent, tuple(progress.shards))
        self.passed_over = self.seen = self.manifest.n_lists
        self.names: Sequence[str] | None = None
        self.width = 0
        self.pending: list[CandidateLists] = []
        self.pending_bytes = 0
        self.known = KnownIds()
        self.rows: list[tuple[int, Index | None]] = []  # items of each block, and their order if it is given
        for k in range(len(progress.shards)):
            lists = open_shard(folder, self.manifest, k)
            if lists.list_ids is not None:
                self.known.add(hashes_of(lists.list_ids), np.arange(lists.n_lists))
            self.names, self.width = lists.feature_names, lists.n_features

    def add(self, block: CandidateLists) -> None:
        """Add lists; full shards are written."""
        self.rows.append((block.n_items, block.rows))
        block = replace(block, rows=None)
        if self.passed_over:
            n = min(self.passed_over, block.n_lists)
            self.passed_over -= n
            if n == block.n_lists:
                return
            block = block.subset(np.arange(n, block.n_lists))
        self._check(block)
        cost = _bytes_of_lists(block)
        first = 0
        while first < block.n_lists:
            ends = np.cumsum(cost[first:]) + self.pending_bytes
            n = int(np.searchsorted(ends, self.progress.size, side="right"))
            n = n if n or self.pending else 1  # a list that is too long for a shard
            if n:
                whole = first == 0 and n == block.n_lists
                part = block if whole else block.subset(np.arange(first, first + n))
                self.pending.append(part)
                self.pending_bytes = int(ends[n - 1])
                first += n
            if first < block.n_lists:
                self._flush()
        self.seen += block.n_lists

    def finish(self, place: str) -> Manifest:
        """Write the last shard, put all of them at ``place`` and return the manifest."""
        if self.pending:
            self._flush()
        progress = self.progress
        if not progress.shards:
            raise DataError(f"{place}: no lists to write")
        if self.passed_over:
            raise DataError(f"{place}: the input has fewer lists than when its conversion was interrupted")
        rows = self._order()
        order = "" if rows is None else order_hash(rows)
        made = Manifest(FORMAT, VERSION, progress.columns, progress.absent, tuple(progress.shards), order)
        with staged(place, folder=True) as part:
            for shard in made.shards:
                os.rename(os.path.join(self.folder, shard.name), os.path.join(part.path, shard.name))
            if rows is not None:
                with open(os.path.join(part.path, ROWS), "xb") as file:
                    file.write(rows.data)
                    file.flush()
                    sync(file.fileno())
            with open(os.path.join(part.path, MANIFEST), "xb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
                file.flush()
                sync(file.fileno())
        return made

    def _order(self) -> Index | None:
        """The caller's rows of all items, None if they are in the order of the items."""
        if all(rows is None for _, rows in self.rows):
            return None
        starts = offsets_of([n for n, _ in self.rows])
        found = [np.arange(n) if rows is None else rows for n, rows in self.rows]
        return np.concatenate([rows + start for rows, start in zip(found, starts[:-1], strict=True)])

    def _check(self, block: CandidateLists) -> None:
        """Raise DataError if a block has other columns or names, or a list id that was there before."""
        columns = tuple(name for name, column, _ in present(block) if column.kind != "names")
        if not self.progress.shards and not self.pending:
            self.progress.columns = columns
        if columns != self.progress.columns:
            other = sorted({*columns} ^ {*self.progress.columns})[0]
            having = "" if other in columns else " no"
            raise DataError(f"{block.source}: found{having} {other}, unlike in the lists before")
        names, n = block.feature_names, min(block.n_features, self.width)
        if names is not self.names:
            unnamed = (names is None) != (self.names is None)
            if n and (unnamed or (list(names or ())[:n] != list(self.names or ())[:n])):
                raise DataError(f"{block.source}: found other names of features than in the lists before")
        if block.n_features > self.width:
            self.names, self.width = names, block.n_features
        if block.list_ids is None:
            return
        hashes = hashes_of(block.list_ids)
        for i in np.sort(self.known.find(hashes)[0]).tolist():
            found = self._place_of(block.list_ids[i])
            if found is not None:
                self._refuse(block, block.list_ids[i], i, found)
        if (again := first_again(hashes)) is not None:
            self._refuse(block, block.list_ids[again[0]], again[0], f"list {self.seen + again[1] + 1:,}")
        self.known.add(hashes, np.arange(block.n_lists))

    def _refuse(self, block: CandidateLists, name: str, i: int, other: str) -> None:
        again = f"again as list {self.seen + i + 1:,} of {block.source}"
        raise DataError(f"list id {name!r} is at {other} and {again}; expected each id once")

    def _place_of(self, name: str) -> str | None:
        """Return the place of a list id in finished shards, None if none has it."""
        manifest = Manifest(FORMAT, VERSION, (), self.progress.absent, tuple(self.progress.shards))
        start = 0
        for k, shard in enumerate(manifest.shards):
            ids = list(open_shard(self.folder, manifest, k).list_ids or ())
            if name in ids:
                return f"list {start + ids.index(name) + 1:,} (shard {shard.name})"
            start += shard.lists
        for lists in self.pending:
            ids = list(lists.list_ids or ())
            if name in ids:
                return f"list {start + ids.index(name) + 1:,}"
            start += lists.n_lists
        return None

    def _flush(self) -> None:
        """Write the pending lists as a shard."""
        fill = np.nan if self.progress.absent == "nan" else 0.0
        bare = joined([replace(without_features(part), list_ids=None) for part in self.pending])
        if self.pending[0].list_ids is not None:
            bare = replace(bare, list_ids=joined_column([part.list_ids for part in self.pending]))
        parts, self.pending = self.pending, []
        found = [widened(part.features, self.width, fill) for part in parts]
        forms = [Form.of(features) for features in found]
        name = f"{len(self.progress.shards):05}.store"
        place = os.path.join(self.folder, name)
        if (stand_in := _stand_in(forms)) is not None and not _KINDS & _kinds(bare):
            written = [
                part.with_features(features, self.names) for part, features in zip(parts, found, strict=True)
            ]
            rows = [features.to_dense() for features in found]
            lists = bare.with_features(stand_in, self.names)
        else:
            del parts
            lists = bare.with_features(stack(_taken(found), forms, self.width), self.names)
            written, rows = [lists], []
        contextvars.Context().run(write_store_blocks, written, place)  # at once, whatever waits for others
        content = content_of(lists, rows)
        shard = Shard(name, lists.n_lists, Form.of(lists.features), fingerprint_of(place), content)
        self.progress.shards.append(shard)
        self.pending_bytes = 0
        if self.progress.key:
            contextvars.Context().run(self._record)

    def _record(self) -> None:
        with atomic_write(os.path.join(self.folder, _RECORD)) as file:
            file.write(msgspec.json.encode(self.progress))


def _stand_in(forms: Sequence[Form]) -> Dense | None:
    """Dense features of the shape of all parts, one below the other; None if these are not alike."""
    kinds = {(form.layout, form.dtype, form.width) for form in forms}
    if len(kinds) > 1 or forms[0].layout != "dense":
        return None
    shape = sum(form.items for form in forms), forms[0].width
    values = np.empty(shape, dtype=forms[0].dtype)  # whose pages nothing touches
    return Dense(values, missing=any(form.missing for form in forms))


def _kinds(lists: CandidateLists) -> set[str]:
    """The kinds of the columns that some lists have."""
    return {column.kind for _, column, _ in present(lists)}


def _taken(found: list[Features]) -> Iterator[Features]:
    """Yield features that nothing else keeps."""
    while found:
        yield found.pop(0)


def _bytes_of_lists(lists: CandidateLists) -> Index:
    """About what the arrays of each list need, int64 (n_lists), however lists are divided into blocks."""
    features = lists.features
    cost = np.zeros(lists.n_items, dtype=np.int64)
    rows = features.rows if isinstance(features, Mixed) else features
    if isinstance(rows, Sparse):
        cost += 8 + np.diff(rows.indptr) * (4 if rows.data is None else 12)
    if not isinstance(features, Sparse):
        n = len(features.places) if isinstance(features, Mixed) else features.n_features
        cost += n * features.dtype.itemsize
    for _, column, values in present(lists):
        if column.per == "item" and isinstance(values, StringColumn):
            cost += _OTHER_BYTES + values.lengths()
        elif column.per == "item" and column.kind in ("trees", "traces"):
            cost += np.diff(values.offsets) * (8 if column.kind == "trees" else 40)
        elif column.per == "item":
            cost += _OTHER_BYTES * (values.shape[1] if column.kind in ("statistics", "reals") else 1)
    return np.add.reduceat(cost, lists.offsets[:-1])
