"""Descriptors for nearest-list search (principal axes, feature histograms), and the files of the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rerank._version import __version__
from rerank.core.errors import DataError
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.records import Record
from rerank.core.types import AnyArray, Floats, Index, Ints
from rerank.data.columns.offsets import are_bounds, offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.npy import ArrayForm
from rerank.extensions.transductive.adapter import Adapted
from rerank.models.archive import ModelArchive, archive_of
from rerank.models.base import Model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.similarity.axes import PreparedAxes, PrincipalAxes, axes_of, values_of

By = Literal["list-kernel", "histogram"]
_COMPONENTS = 5  # axes of a list, as many as the list kernel compares
_LEVELS = (np.arange(16) + 0.5) / 16

_LIST_KERNEL = 0  # the kind of rerank.similarity.axes.ListKernel
FORMS = {
    "columns": ArrayForm("<i4", (None,)),
    "axes": ArrayForm("<f8", (None, _COMPONENTS)),
    "above": ArrayForm("<f8", (None, len(_LEVELS))),
    "eigenvalues": ArrayForm("<f8", (None, _COMPONENTS)),
    "bounds": ArrayForm("<i8", (None,)),
}
_RANKER, _FIGURES = "ranker", "figures"
_RANKED = {"ranked": ArrayForm("|u1", (None,))}


@dataclass(frozen=True, eq=False)
class Descriptors:
    """Descriptions of lists, one after the other.

    Attributes
    ----------
    bounds : int64 (n_lists + 1)
        The rows of each list in the next three.
    columns : int32 (n), rising within a list
        The features that vary within it.
    axes : float64 (n, 5)
        Its first principal axes, unit vectors of these columns; 0 for those that it does not have.
    above : float64 (n, 16)
        The share of its items above 1/32, 3/32, ..., 31/32, when the feature is scaled to [0, 1] in the list.
        It is 0 for features that are constant.
    eigenvalues : float64 (n_lists, 5)
        Of the axes, as shares of the variance.
    """

    bounds: Index
    columns: Ints
    axes: Floats
    above: Floats
    eigenvalues: Floats

    @property
    def n(self) -> int:
        """The number of lists."""
        return len(self.bounds) - 1

    def __getstate__(self) -> dict[str, Any]:
        """Return what goes to other processes: a kernel's form of the axes is made there."""
        return {name: getattr(self, name) for name in FORMS}

    def arrays(self) -> dict[str, AnyArray]:
        """Return the arrays to save."""
        return self.__getstate__()

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, AnyArray], n_features: int) -> Descriptors:
        """Return what ``arrays`` returned, each as in ``FORMS``; raise DataError if they do not fit."""
        found = cls(**{name: arrays[name] for name in FORMS})
        n = len(found.columns)
        if not are_bounds(found.bounds, n) or len(found.eigenvalues) != found.n:
            raise DataError("bounds of lists that do not fit the other arrays")
        if len(found.axes) != n or len(found.above) != n:
            raise DataError(f"{len(found.axes)} and {len(found.above)} rows for {n} columns")
        starts = np.zeros(n + 1, dtype=bool)
        starts[found.bounds] = True
        rising = (np.diff(found.columns, prepend=-1) > 0) | starts[:n]
        if not rising.all() or (n and (found.columns.min() < 0 or found.columns.max() >= n_features)):
            raise DataError("columns that are not rising, or that the model does not have")
        for name in ("axes", "above", "eigenvalues"):
            values = arrays[name]
            if not (np.abs(values) <= 1 + 1e-6).all() or (name != "axes" and (values < 0).any()):
                raise DataError(f"{name} outside their range")
        return found

    def part(self, i: int) -> Descriptors:
        """Return the description of list ``i`` alone."""
        rows = slice(int(self.bounds[i]), int(self.bounds[i + 1]))
        bounds = np.array([0, rows.stop - rows.start], dtype=np.int64)
        values = (self.columns[rows], self.axes[rows], self.above[rows], self.eigenvalues[i : i + 1])
        return Descriptors(bounds, *values)

    def distances(self, one: Descriptors, by: By, n_features: int) -> Floats:
        """Return how far each list is from that of ``one``, float64 (n_lists), from 0 to 1.

        By "list-kernel" that is 1 minus the list kernel, by "histogram" the mean over all features of the
        mean difference between two cumulative distributions.
        """
        if by == "list-kernel":
            out = np.zeros((1, self.n))
            one._prepared(n_features).fill(self._prepared(n_features), 0, 1, out)
            return _tidy(1.0 - out[0])
        mine = np.zeros((n_features, len(_LEVELS)))
        mine[one.columns] = one.above
        # Features that are constant in a stored list add what the one list has of them.
        apart = mine[self.columns]
        np.abs(np.subtract(apart, self.above, out=apart), out=apart)
        more = apart.sum(axis=1) - mine.sum(axis=1)[self.columns]
        total = one.above.sum() + np.bincount(self._of, more, minlength=self.n)
        return _tidy(total / (len(_LEVELS) * n_features))

    @cached_property
    def _of(self) -> Index:
        """The list of each row."""
        return np.repeat(np.arange(self.n), np.diff(self.bounds))

    def _prepared(self, n_features: int) -> PreparedAxes:
        """The axes as the list kernel takes them."""
        if "_axes" not in self.__dict__:
            counts = np.count_nonzero(self.eigenvalues, axis=1).astype(np.int64)
            tied = np.zeros(self.n, dtype=bool)
            found = PrincipalAxes(self.bounds, self.columns, self.axes, self.eigenvalues, counts, tied)
            self.__dict__["_axes"] = PreparedAxes(found, _LIST_KERNEL, n_features)
        prepared: PreparedAxes = self.__dict__["_axes"]
        return prepared


def _tidy(distances: Floats) -> Floats:
    """Distances without rounding, so that those of equal lists are 0 and ties are ties."""
    tidy: Floats = np.abs(np.round(distances, 12))
    return tidy


def described(one: CandidateLists) -> Descriptors:
    """Return the description of a single list; a missing feature counts as its mean in the list."""
    columns, X = values_of(one, 0)
    if one.has_missing:
        known = ~np.isnan(X)
        means = np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        X = np.where(known, X, means)
    values = np.ascontiguousarray(X, dtype=one.features.dtype)
    found = axes_of(CandidateLists(np.array([0, len(X)]), Dense(values)), 0, _COMPONENTS)
    kept, m = X[:, found.columns], len(found.eigenvalues)
    axes, eigenvalues = np.zeros((len(found.columns), _COMPONENTS)), np.zeros((1, _COMPONENTS))
    if m:
        axes[:, :m] = found.vectors.T
        eigenvalues[0, :m] = found.eigenvalues / found.total
    low, high = 0.5 * kept.min(axis=0), 0.5 * kept.max(axis=0)  # a difference of halves never overflows
    share = (0.5 * kept - low) / (high - low)
    above = (share[:, :, None] > _LEVELS).mean(axis=0)
    bounds = np.array([0, len(found.columns)], dtype=np.int64)
    return Descriptors(bounds, columns[found.columns], axes, above, eigenvalues)


def joined(parts: Sequence[Descriptors]) -> Descriptors:
    """Return the descriptions of all lists of ``parts``."""
    lengths = [np.diff(part.bounds) for part in parts]
    empty = np.empty(0, dtype=np.int64)

    def all_of(name: str, width: int) -> AnyArray:
        return np.concatenate([np.empty((0, width)), *(getattr(part, name) for part in parts)])

    return Descriptors(
        offsets_of(np.concatenate([empty, *lengths])),
        np.concatenate([empty, *(part.columns for part in parts)]).astype(np.int32),
        all_of("axes", _COMPONENTS),
        all_of("above", len(_LEVELS)),
        all_of("eigenvalues", _COMPONENTS),
    )


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

    ``method`` is its method with the settings of rankers, as text. The keep margin and the weight of the base
    score come after the rankers.
    """
    scaling, filling = model.scaling, model.imputation
    names: list[Any] = [method, model.feature_names, None if scaling is None else scaling.to_meta()]
    arrays = {name: array for name, array in model.arrays().items() if name != "method"}
    if scaling is not None:
        arrays |= {f"scaling.{name}": array for name, array in scaling.arrays().items()}
    if filling is not None:
        names.append(filling.to_meta())
        arrays |= {f"missing.{name}": array for name, array in filling.arrays().items()}
    return _digest(json.dumps(names, ensure_ascii=True, sort_keys=True).encode(), arrays)


def digest_of_list(one: CandidateLists) -> str:
    """Return a hash of a single list's features, their layout and its base scores, as hexadecimal digits."""
    return _digest(b"", {**one.features.arrays(), "base_scores": one.base_scores})


def _digest(first: bytes, arrays: Mapping[str, AnyArray | None]) -> str:
    """A hash of bytes, and of the names, forms and values of arrays."""
    digest = hashlib.blake2b(first, digest_size=16)
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


class CacheIndex:
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
    def read(cls, path: str, owner: Owner, n_features: int) -> CacheIndex:
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
