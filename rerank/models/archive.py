"""The files of models and checkpoints: zip archives, as numpy's npz, of ``meta.json`` and .npy members.

Reading trusts nothing: what an array must be is known before any of it is inflated.

A checkpoint has states of loops, and a fingerprint of the training that they belong to. In its ``meta.json``
an array is a range of one of the members, one for each type of array. A hash shows a file that was changed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from rerank.core.checkpoints import State
from rerank.core.errors import FormatError, RerankError
from rerank.core.files.archives import VARIABLE
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.memory import require, size_given
from rerank.core.records import read_json
from rerank.core.types import AnyArray
from rerank.data.npy import ArrayForm, read_header

META = "meta.json"
EXPECTED = "a model file written by rerank"

_MOST_MEMBERS = 64
_ENTRY = b"PK\x01\x02"  # how an entry of the directory at an archive's end begins
_ENCRYPTED = 1
_BLOCK = 1 << 20
# What may be inflated, in bytes: as much as is always allowed, and how many times the compressed size.
_FREE = 1 << 26
_META_RATIO = 100  # names of features differ, so that text never gets that much smaller
_ARRAY_RATIO = 256  # our level of compression makes zeros 229 times smaller
_FREE_PACKED = 1 << 16  # of an archive within an archive, which would inflate a second time
_PACKED_RATIO = 4
_OBJECTS = 12  # bytes of Python objects for each byte of JSON, at most


def archive_of(meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> io.BytesIO:
    """Return the file of ``meta`` and ``arrays``; the same ones give the same bytes."""
    whole = io.BytesIO()  # zip archives are written with seeks, which pipes and compressors cannot do
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        text = json.dumps(meta, ensure_ascii=False, indent=1, allow_nan=False)
        _add(archive, META, text.encode("utf-8", "surrogateescape"))
        for name in sorted(arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            _add(archive, f"{name}.npy", member.getvalue())
    return whole


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Adds a member dated 1980, so that the same model gives the same bytes."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content, compresslevel=1)


class ModelArchive:
    """Reads a model file; every fault is a FormatError that names the file and the member.

    - ``content``: the whole file.
    - ``path``: its name, for messages.
    - ``expected``: what it should be, for messages.
    """

    def __init__(self, content: bytes, path: str, expected: str = EXPECTED) -> None:
        self.path = path
        self.expected = expected
        with self._faults(None):
            if not content.startswith(b"PK"):
                raise ValueError
            if content.count(_ENTRY) > _MOST_MEMBERS:  # before zipfile makes an object of each
                raise ValueError(f"more than {_MOST_MEMBERS} members")
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            if info.filename in self._members:
                raise self.fault(info.filename, "the name twice")
            if info.flag_bits & _ENCRYPTED:
                raise self.fault(info.filename, "encrypted data")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self.fault(info.filename, f"compression {info.compress_type}")
            self._members[info.filename] = info

    def fault(self, member: str | None, found: str) -> FormatError:
        """Return the error for what was found in a member, or in the archive itself (None)."""
        text = found.replace("\n", " ")
        where = self.path if member is None else f"{self.path}: {ascii(member)[1:-1][:80]}"
        return FormatError(where, None, text if len(text) <= 200 else f"{text[:197]}...", self.expected)

    @contextmanager
    def _faults(self, member: str | None) -> Iterator[None]:
        """Turn whatever reading raises into a fault of ``member``."""
        try:
            yield
        except (RerankError, MemoryError):
            raise
        except Exception as error:  # zipfile and zlib have many, none of which the file may choose
            damaged = "something else, or a damaged file" if member is None else "damaged data"
            detail = f" ({error})" if str(error) and not isinstance(error, zipfile.BadZipFile) else ""
            raise self.fault(member, f"{damaged}{detail}") from None

    def meta(self) -> Any:
        """Return the JSON of meta.json, checked as by ``read_json``."""
        info = self._members.get(META)
        if info is None:
            raise self.fault(None, f"an archive without {META}")
        self._check_size(info, _FREE, _META_RATIO)
        require(_OBJECTS * info.file_size, f"{META} of {self.path}")
        with self._faults(META), self._zip.open(info) as stream:
            text = stream.read(info.file_size)
            if len(text) < info.file_size:
                raise ValueError("cut off")
            return read_json(text)

    def _check_size(self, info: zipfile.ZipInfo, free: int, ratio: int) -> None:
        """Raise FormatError if a member inflates to too much for its size."""
        if info.file_size > max(free + ratio * info.compress_size, size_given(VARIABLE) or 0):
            found = f"{info.compress_size} bytes that inflate to {info.file_size}"
            raise self.fault(info.filename, f"{found} ({VARIABLE} allows more)")

    def has(self, name: str) -> bool:
        """Return whether there is an array of this name."""
        return f"{name}.npy" in self._members

    def arrays(self, wanted: Mapping[str, ArrayForm]) -> dict[str, AnyArray]:
        """Return the arrays that ``wanted`` describes, by name; raise FormatError if there are others."""
        expected = {META, *(f"{name}.npy" for name in wanted)}
        for member in self._members:
            if member not in expected:
                raise self.fault(member, "a member that is not this model's")
        return {name: self._array(f"{name}.npy", member) for name, member in wanted.items()}

    def _array(self, name: str, wanted: ArrayForm) -> AnyArray:
        """One array: its header first, then as many bytes as that says."""
        info = self._members.get(name)
        if info is None:
            raise self.fault(None, f"a damaged model (no array {name.removesuffix('.npy')!r})")
        with self._faults(name), self._zip.open(info) as stream:
            header = read_header(stream)
            if not wanted.fits(header.dtype, header.shape):
                raise self.fault(name, f"{header}, but the model's other parts need {wanted}")
            if info.file_size != stream.tell() + header.n_bytes:
                raise self.fault(name, f"{info.file_size} bytes, but its header says {header}")
            free, ratio = (_FREE_PACKED, _PACKED_RATIO) if wanted.packed else (_FREE, _ARRAY_RATIO)
            if None in wanted.shape:
                self._check_size(info, free, ratio)
            require(header.n_bytes, f"{name} of {self.path}")
            array = np.empty(header.shape, dtype=header.dtype)
            _fill(stream.read, array)
            return array


def _fill(read: Callable[[int], bytes], array: AnyArray) -> None:
    """Read the bytes of an array, and make sure that none follow: only then is their checksum compared."""
    room = array.reshape(-1).data.cast("B") if array.size else memoryview(b"")
    at = 0
    while at < len(room) and (block := read(min(_BLOCK, len(room) - at))):
        room[at : at + len(block)] = block
        at += len(block)
    if at < len(room) or read(1):
        raise ValueError("cut off, or data after the array")


_FORMAT = "rerank checkpoint 1"
_TYPES = ("<f8", "<i8", "<i4", "|u1", "|i1")
_PLAIN = (bool, str, type(None))
_EXACT = 2**53  # larger whole numbers are text


def write_checkpoint(path: str, fingerprint: Mapping[str, str], states: Mapping[str, State]) -> None:
    """Write the states of a training with this fingerprint, atomically."""
    arrays: dict[str, list[AnyArray]] = {name: [] for name in _TYPES}
    lengths = dict.fromkeys(_TYPES, 0)

    def put(array: AnyArray) -> list[Any]:
        name = array.dtype.str
        place = [name, lengths[name], list(array.shape)]
        arrays[name].append(array.reshape(-1))
        lengths[name] += array.size
        return place

    packed = {name: _packed(state, put) for name, state in states.items()}
    members = {_member(name): np.concatenate(parts) for name, parts in arrays.items() if parts}
    meta = {"format": _FORMAT, "fingerprint": dict(fingerprint), "states": packed}
    whole = archive_of({"digest": _digest(meta, members), **meta}, members)
    with atomic_write(path) as file:
        file.write(whole.getbuffer())


def read_checkpoint(path: str) -> tuple[dict[str, str], dict[str, State]]:
    """Return the fingerprint and the states that were written.

    Raises FormatError if the file is no checkpoint, or not as it was written.
    """
    archive = ModelArchive(bytes(read_bytes(path)), shown(path), "a checkpoint written by rerank train")
    meta = archive.meta()
    try:
        if meta["format"] != _FORMAT:
            raise ValueError
        forms = {_member(name): ArrayForm(name, (None,)) for name in _TYPES if archive.has(_member(name))}
        members = archive.arrays(forms)
        digest = meta.pop("digest")
        if digest != _digest(meta, members):
            raise ValueError
        states = {name: _unpacked(state, members) for name, state in meta["states"].items()}
        return {str(key): str(value) for key, value in meta["fingerprint"].items()}, states
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        raise archive.fault(None, "something else, or a damaged file") from None


def _member(name: str) -> str:
    return f"array.{name[1:]}"


def _digest(meta: Mapping[str, Any], members: Mapping[str, AnyArray]) -> str:
    digest = hashlib.blake2b(json.dumps(meta, sort_keys=True).encode(), digest_size=16)
    for name in sorted(members):
        digest.update(np.ascontiguousarray(members[name]).data)
    return digest.hexdigest()


def _packed(value: Any, put: Any) -> Any:
    """A value as JSON: lists, and what JSON lacks, are lists that begin with their kind."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {key: _packed(inner, put) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return ["array", *put(value)]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(_packed(inner, put) for inner in value)]
    if isinstance(value, _PLAIN) or (isinstance(value, int) and abs(value) < _EXACT):
        return value
    if isinstance(value, int):
        return ["int", str(value)]
    return value if math.isfinite(value) else ["float", repr(value)]


def _unpacked(value: Any, members: Mapping[str, AnyArray]) -> Any:
    """Return the argument of ``_packed``."""
    if isinstance(value, dict):
        return {key: _unpacked(inner, members) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == "array":
        name, start, shape = rest
        return members[_member(name)][start : start + math.prod(shape)].reshape(shape).copy()
    if kind in ("int", "float"):
        return {"int": int, "float": float}[kind](rest[0])
    return {"list": list, "tuple": tuple}[kind](_unpacked(inner, members) for inner in rest)
