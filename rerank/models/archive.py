"""The file of a model: a zip archive, as numpy's npz, of ``meta.json`` and one .npy member for each array.

Reading trusts nothing: what an array must be is known before any of it is inflated.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from rerank.core.errors import FormatError, RerankError
from rerank.core.files.archives import VARIABLE
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

    Parameters
    ----------
    content
        The whole file.
    path
        Its name, for messages.
    expected
        What it should be, for messages.
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
