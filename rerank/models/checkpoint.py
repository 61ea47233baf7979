"""The file of a checkpoint: states of loops, and a fingerprint of the training that they belong to.

It is an archive as that of a model. ``meta.json`` has the states, in which an array is a range of one of the
members, one for each type of array. A hash of all that follows shows a file that was changed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rerank.core.checkpoints import State
from rerank.core.errors import FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.types import AnyArray
from rerank.data.npy import ArrayForm
from rerank.models.archive import ModelArchive, archive_of

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

    Raises
    ------
    FormatError
        If the file is no checkpoint, or not as it was written.
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
    """What ``_packed`` was given."""
    if isinstance(value, dict):
        return {key: _unpacked(inner, members) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == "array":
        name, start, shape = rest
        flat = members[_member(name)][start : start + math.prod(shape)]
        return flat.reshape(shape).copy()
    if kind in ("int", "float"):
        return {"int": int, "float": float}[kind](rest[0])
    return {"list": list, "tuple": tuple}[kind](_unpacked(inner, members) for inner in rest)
