"""The manifest of a sharded store, and the check of its shards against it; nothing in it is trusted."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from rerank.core.errors import FormatError
from rerank.core.memory import require
from rerank.core.types import AnyArray, Index
from rerank.data.lists import CandidateLists
from rerank.data.npy import row_blocks
from rerank.data.shards.stack import Form
from rerank.data.store import arrays_of
from rerank.data.store_reader import MANIFEST, META, StrPath, read_store

ROWS = "rows.bin"  # int64 (n_items), little-endian
FORMAT = "rerank-shards"
VERSION = 1
_NAME = re.compile(r"[0-9]{5,9}\.store")


class Shard(Struct, frozen=True):
    """One store of a sharded store.

    Attributes
    ----------
    name : of its folder.
    lists : how many it has.
    form : of its features.
    fingerprint : a hash of its meta.json and of the sizes of its files.
    content : a hash of all its arrays.
    """

    name: str
    lists: int
    form: Form
    fingerprint: str
    content: str


class Manifest(Struct, frozen=True):
    """The parts of a sharded store.

    Attributes
    ----------
    columns : the columns that every shard has.
    absent : what dense rows have for features that only later shards know, "0" or "nan".
    shards : in the order of the lists.
    order : a hash of the caller's rows of all items, which are in ``rows.bin``; "" = the order of the items.
    """

    format: str
    version: int
    columns: tuple[str, ...]
    absent: str
    shards: tuple[Shard, ...]
    order: str = ""

    @property
    def n_lists(self) -> int:
        """The number of lists of all shards."""
        return sum(shard.lists for shard in self.shards)

    @property
    def n_items(self) -> int:
        """The number of items of all shards."""
        return sum(shard.form.items for shard in self.shards)

    @property
    def width(self) -> int:
        """The number of features: those of the widest shard."""
        return max(shard.form.width for shard in self.shards)

    @property
    def fill(self) -> float:
        """Return the value, in dense rows, of features that their shard does not know."""
        return np.nan if self.absent == "nan" else 0.0


def is_sharded(path: StrPath) -> bool:
    """Return whether ``path`` is a folder with a manifest and no store's meta.json, of any version."""
    return os.path.isfile(os.path.join(path, MANIFEST)) and not os.path.exists(os.path.join(path, META))


def read_manifest(path: StrPath) -> Manifest:
    """Return the manifest of a sharded store.

    Raises
    ------
    FormatError
        If it is missing, has another version, or names something that is not a shard.
    """
    file = os.path.join(path, MANIFEST)
    try:
        with open(file, "rb") as stream:
            text = stream.read()
    except FileNotFoundError:
        raise FormatError(os.fspath(path), None, f"no {MANIFEST}", "a sharded store") from None
    try:
        head = msgspec.json.decode(text)
        if isinstance(head, dict) and head.get("format") == FORMAT and head.get("version") != VERSION:
            raise FormatError(file, None, f"version {head.get('version')!r}"[:80], f"version {VERSION}")
        manifest = msgspec.json.decode(text, type=Manifest)
    except msgspec.MsgspecError as error:
        raise FormatError(file, None, str(error), "the manifest of a sharded store") from None
    sizes = [n for one in manifest.shards for n in (one.lists, one.form.items, one.form.values)]
    names = [shard.name for shard in manifest.shards]
    known = all(map(_NAME.fullmatch, names)) and len(set(names)) == len(names) > 0
    if manifest.format != FORMAT or min(sizes, default=0) < 0 or not known:
        raise FormatError(file, None, "other contents", "the manifest of a sharded store")
    return manifest


def fingerprint_of(place: StrPath) -> str:
    """Return a hash of a store's meta.json and of the names and sizes of its files; OSError without one."""
    digest = hashlib.blake2b(Path(place, META).read_bytes(), digest_size=16)
    with os.scandir(place) as files:
        sizes = sorted((entry.name, entry.stat().st_size) for entry in files)
    digest.update(repr(sizes).encode())
    return digest.hexdigest()


def content_of(lists: CandidateLists, features: Sequence[AnyArray] = ()) -> str:
    """Return a hash of all arrays of some lists as a store has them.

    lists : their dense features may be a stand-in of the same shape and type.
    features : its rows, in parts (n, n_features), if it is one.
    """
    digest = hashlib.sha256()
    for name, array in arrays_of(lists):
        digest.update(f"{name} {array.dtype.str} {array.shape}\0".encode())
        for part in features if features and name == "features" else [array]:
            values = np.ascontiguousarray(part)
            for rows in row_blocks(values):
                digest.update(values[rows].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def order_hash(rows: Index) -> str:
    """Return a hash of the caller's rows."""
    return hashlib.sha256(np.ascontiguousarray(rows, dtype="<i8").data).hexdigest()


def read_order(path: StrPath, manifest: Manifest) -> Index | None:
    """Return the caller's rows of all items of a sharded store; None if they are in the order of the items.

    Raises FormatError if the file of rows is missing or another one.
    """
    if not manifest.order:
        return None
    file = os.path.join(path, ROWS)
    require(8 * manifest.n_items, f"the order of {manifest.n_items:,} rows")
    try:
        rows = np.fromfile(file, dtype="<i8")
    except FileNotFoundError:
        rows = np.empty(0, dtype="<i8")
    if len(rows) != manifest.n_items or order_hash(rows) != manifest.order:
        raise FormatError(file, None, "no file, or other contents", f"the rows that {MANIFEST} has")
    return rows


def manifest_hash(path: StrPath) -> str:
    """Return a hash of all that the shards of a sharded store contain; errors are those of its manifest."""
    return hashlib.blake2b(msgspec.json.encode(read_manifest(path)), digest_size=16).hexdigest()


def check_shard(path: StrPath, manifest: Manifest, k: int) -> tuple[str, str]:
    """Compare shard ``k`` with its fingerprint; return its place, and what messages expect there.

    Raises FormatError if it is missing or changed.
    """
    shard = manifest.shards[k]
    place = os.path.join(path, shard.name)
    expected = f"shard {k + 1} of {len(manifest.shards)} as {MANIFEST} has it"
    try:
        same = fingerprint_of(place) == shard.fingerprint
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError(place, None, "no store", expected) from None
    if not same:
        raise FormatError(place, None, "other files, or files of other sizes", expected)
    return place, expected


def open_shard(path: StrPath, manifest: Manifest, k: int, *, whole: bool = False) -> CandidateLists:
    """Return the lists of shard ``k`` (from 0), mapped.

    Parameters
    ----------
    path, manifest : of the sharded store.
    k : the number of the shard.
    whole : whether every byte of its arrays is checked.

    Raises
    ------
    FormatError
        If the shard is missing, not as the manifest says, or no sound store; it names the shard.
    """
    shard = manifest.shards[k]
    place, expected = check_shard(path, manifest, k)
    lists = read_store(place)
    if lists.n_lists != shard.lists or Form.of(lists.features) != shard.form:
        raise FormatError(place, None, "other lists or features", expected)
    if whole and content_of(lists) != shard.content:
        raise FormatError(place, None, "other contents", expected)
    return lists
