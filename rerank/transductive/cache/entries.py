"""Files of the cache: the ranker of one list, and the index of all; a stranger may have made them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from rerank._version import __version__
from rerank.core.errors import DataError
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.records import Record
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.models.archive import ModelArchive, archive_of
from rerank.models.base import Model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.transductive.adapter import Adapted
from rerank.transductive.cache.descriptors import FORMS, Descriptors

_RANKER, _FIGURES = "ranker", "figures"
_RANKED = {"ranked": ArrayForm("|u1", (None,))}


class Owner(Record):
    """Whose rankers a cache holds, and the release that made them."""

    model: str
    rerank: str = __version__

    def text(self) -> bytes:
        """Return the content of the cache's file of this name."""
        return json.dumps(self.as_json()).encode() + b"\n"


class _EntryRecord(Record):
    """meta.json of the ranker of a list: why there is none, and the names of the method's figures."""

    owner: Owner
    list: str
    reason: str
    diagnostics: tuple[str, ...]


class _IndexRecord(Record):
    """meta.json of the index: the digests of lists, rising."""

    owner: Owner
    lists: tuple[str, ...]


def digest_of_model(model: Model, method: str) -> str:
    """Return a hash of all that the rankers of a transductive model depend on, as hexadecimal digits.

    Parameters
    ----------
    model
        The model. Its keep margin and the weight of its base score come after the rankers.
    method
        Its method and the settings of rankers, as text.
    """
    digest = hashlib.blake2b(digest_size=16)
    scaling = {} if model.scaling is None else model.scaling.arrays()
    names: list[Any] = [
        method,
        model.feature_names,
        None if model.scaling is None else model.scaling.to_meta(),
    ]
    filling = {} if model.imputation is None else model.imputation.arrays()
    if model.imputation is not None:
        names.append(model.imputation.to_meta())
    digest.update(json.dumps(names, ensure_ascii=True, sort_keys=True).encode())
    own = {name: array for name, array in model.arrays().items() if name != "method"}
    for name, array in sorted(
        {
            **own,
            **{f"scaling.{name}": array for name, array in scaling.items()},
            **{f"missing.{name}": array for name, array in filling.items()},
        }.items()
    ):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def digest_of_list(one: CandidateLists) -> str:
    """Return a hash of a single list's features, their layout and its base scores, as hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    arrays = {**one.features.arrays(), "base_scores": one.base_scores}
    for name, array in sorted(arrays.items()):
        if array is not None:
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def write_entry(path: str, owner: Owner, digest: str, found: Adapted, of: Descriptors) -> None:
    """Write the ranker of a list, or why it has none, whole or not at all."""
    names = tuple(found.diagnostics)
    record = _EntryRecord(owner=owner, list=digest, reason=found.reason, diagnostics=names)
    arrays = of.arrays()
    arrays[_FIGURES] = np.array([found.diagnostics[name] for name in names], dtype=np.float64)
    if found.model is not None:
        arrays[_RANKER] = packed_model(found.model)
    _write(path, record, arrays)


def read_entry(path: str, owner: Owner, digest: str, n_features: int) -> tuple[Adapted, Descriptors]:
    """Return what ``write_entry`` wrote.

    Raises
    ------
    FormatError, DataError, RerankError
        If the file is damaged, or of another list or model.
    """
    archive = ModelArchive(bytes(read_bytes(path)), shown(path))
    record = _EntryRecord.from_json(archive.meta())
    if (record.owner, record.list) != (owner, digest):
        raise DataError(f"{shown(path)}: found the ranker of another list or model")
    forms = FORMS | {_FIGURES: ArrayForm("<f8", (len(record.diagnostics),))}
    forms |= {_RANKER: PACKED} if archive.has(_RANKER) else {}
    arrays = archive.arrays(forms)
    of = Descriptors.of_arrays(arrays, n_features)
    if of.n != 1:
        raise DataError(f"{shown(path)}: found {of.n} lists, expected one")
    model = unpacked_model(arrays[_RANKER], _RANKER) if _RANKER in arrays else None
    if isinstance(model, ClassesModel) or (model is not None and len(model.feature_names) != n_features):
        raise DataError(f"{shown(path)}: found a ranker of other features")
    figures = dict(zip(record.diagnostics, arrays[_FIGURES].tolist(), strict=True))
    return Adapted(model, record.reason, figures), of


class Index:
    """The lists of a cache.

    Attributes
    ----------
    lists
        Their digests, rising.
    ranked : uint8 (n)
        Whether each has a ranker.
    of
        Their descriptions.
    """

    def __init__(self, lists: tuple[str, ...], ranked: np.ndarray, of: Descriptors) -> None:
        self.lists, self.ranked, self.of = lists, ranked, of

    def write(self, path: str, owner: Owner) -> None:
        """Write the index, whole or not at all."""
        _write(path, _IndexRecord(owner=owner, lists=self.lists), {**self.of.arrays(), "ranked": self.ranked})

    @classmethod
    def read(cls, path: str, owner: Owner, n_features: int) -> Index:
        """Return what ``write`` wrote; the errors are those of ``read_entry``."""
        archive = ModelArchive(bytes(read_bytes(path)), shown(path))
        record = _IndexRecord.from_json(archive.meta())
        arrays = archive.arrays(FORMS | _RANKED)
        of = Descriptors.of_arrays(arrays, n_features)
        if record.owner != owner or not len(record.lists) == len(arrays["ranked"]) == of.n:
            raise DataError(f"{shown(path)}: found the index of another cache")
        if list(record.lists) != sorted(set(record.lists)):
            raise DataError(f"{shown(path)}: found lists that are not in order")
        return cls(record.lists, arrays["ranked"], of)


def _write(path: str, record: Record, arrays: dict[str, np.ndarray]) -> None:
    with atomic_write(path) as file:
        file.write(archive_of(record.as_json(), arrays).getbuffer())
