"""The cache of rankers: a folder with a file for each list that a model has adapted to."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from rerank.core.errors import DataError, DataNote, RerankError, os_error
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.records import read_json
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.adapter import Adapted
from rerank.extensions.transductive.cache_entries import (
    By,
    CacheIndex,
    Owner,
    described,
    digest_of_list,
    joined,
    read_entry,
    write_entry,
)
from rerank.models.base import Model

_OWNER, _INDEX, _RANKERS = "cache.json", "index", "rankers"
_DIGEST = re.compile(r"[0-9a-f]{32}")
_MOST_MODELS = 1024  # rankers of neighbours that stay in memory


@dataclass(eq=False)
class RankerCache:
    """Rankers of lists in a folder.

    A ranker is used again for the list that it was made for, as the digest of its features says. With
    ``nearest``, no ranker is made for other lists, and nothing is written: they are ranked by the rankers of
    the lists that are most like them. Which rankers there are is settled when the cache is opened, so that
    neither the order of lists nor the number of workers matters.

    Parameters
    ----------
    folder
        Where the files are.
    owner
        The model.
    n_features
        How many features it has.
    nearest
        The number of neighbours; None = rankers are made for new lists, and stored.
    by
        How lists are compared, see ``Descriptors.distances``.
    """

    folder: str
    owner: Owner
    n_features: int
    nearest: int | None = None
    by: By = "list-kernel"
    known: frozenset[str] = frozenset()
    index: CacheIndex | None = None
    _models: dict[str, Model] = field(default_factory=dict)

    @classmethod
    def open(
        cls, folder: str, model: str, n_features: int, nearest: int | None = None, by: By = "list-kernel"
    ) -> RankerCache:
        """Return the cache in a folder, which is made if rankers will be.

        Parameters
        ----------
        folder, n_features, nearest, by
            As for the class.
        model
            The digest of the model.

        Raises
        ------
        DataError, RerankError
            If the folder is no cache, that of another model, cannot be written, or holds fewer rankers than
            the neighbours that are asked for.
        """
        cache = cls(folder, Owner(model=model), n_features, nearest, by)
        if nearest is None:
            cache._make()
        cache._check_owner()
        cache.known = frozenset(cache._stored())
        if nearest is not None:
            index = cache._indexed()
            places = np.flatnonzero(index.ranked)
            if len(places) < nearest:
                found = f"{count(len(places), 'ranker')}, expected {nearest} or more"
                raise DataError(f"{folder}: found {found}; predict without --cache-nearest stores some")
            lists = tuple(index.lists[i] for i in places)
            cache.index = CacheIndex(
                lists, index.ranked[places], joined([index.of.part(int(i)) for i in places])
            )
        return cache

    def adapted(self, one: CandidateLists, make: Callable[[], Adapted]) -> Adapted:
        """Return the ranker of a single list: its own if there is one, a new one, or its neighbours'.

        Parameters
        ----------
        one
            The list, as ``Adapter.adapt`` gets it.
        make
            Makes its ranker.
        """
        digest = digest_of_list(one)
        origin = "made"
        if digest in self.known:
            found = self._read(digest)
            if found is not None:
                return replace(found, origin="reused")
            origin = "made again"
        if self.nearest is not None:
            return self._of_neighbours(one, self.nearest)
        new = make()
        _check_plain(self._path(digest))
        write_entry(self._path(digest), self.owner, digest, new, described(one))
        return replace(new, origin=origin)

    def finish(self) -> None:
        """Write the index of all rankers, so that the cache opens quickly; not if none is made."""
        if self.nearest is None:
            self._indexed().write(os.path.join(self.folder, _INDEX), self.owner)

    def __getstate__(self) -> dict[str, object]:
        """Return what goes to other processes: rankers are read there."""
        return self.__dict__ | {"_models": {}}

    def _of_neighbours(self, one: CandidateLists, k: int) -> Adapted:
        """The mean of the scores of the nearest rankers, ties by the digest of their lists."""
        assert self.index is not None
        distances = self.index.of.distances(described(one), self.by, self.n_features)
        scores, names, far = [], [], []
        for i in np.argsort(distances, kind="stable").tolist():
            model = self._model(self.index.lists[i])
            if model is not None:
                scores.append(model.score_prepared(one))
                names.append(f"{self.index.lists[i][:8]} {distances[i]:.4f}")
                far.append(float(distances[i]))
            if len(scores) == k:
                break
        else:
            raise DataError(f"{self.folder}: found {count(len(scores), 'ranker')} that can be read, not {k}")
        total = scores[0] if k == 1 else np.mean([standardised(own) for own in scores], axis=0)
        figures = {"neighbours": float(k), "distance": float(np.mean(far))}
        return Adapted(None, "", figures, scores=total, origin=f"nearest {', '.join(names)}")

    def _model(self, digest: str) -> Model | None:
        """The ranker of a stored list, None if its file is damaged."""
        if digest not in self._models:
            found = self._read(digest)
            if found is None or found.model is None:
                return None
            if len(self._models) >= _MOST_MODELS:
                del self._models[next(iter(self._models))]
            self._models[digest] = found.model
        return self._models[digest]

    def _read(self, digest: str) -> Adapted | None:
        """The entry of a list; None, with a note, if it is damaged."""
        try:
            return read_entry(self._path(digest), self.owner, digest, self.n_features)[0]
        except RerankError as error:
            done = "the ranker is made again" if self.nearest is None else "it is left out"
            warnings.warn(f"{error}; {done}", DataNote, stacklevel=2)
            return None

    def _indexed(self) -> CacheIndex:
        """The index of the stored rankers; those that it lacks are read one by one."""
        parts = {}
        path = os.path.join(self.folder, _INDEX)
        if os.path.exists(path):
            try:
                old = CacheIndex.read(path, self.owner, self.n_features)
                parts = {name: (old.ranked[i], old.of.part(i)) for i, name in enumerate(old.lists)}
            except RerankError as error:
                warnings.warn(f"{error}; the rankers are read one by one", DataNote, stacklevel=3)
        found = {}
        for name in self._stored():
            if name not in parts:
                try:
                    entry, of = read_entry(self._path(name), self.owner, name, self.n_features)
                except RerankError:  # reported if it is used
                    continue
                parts[name] = np.uint8(entry.model is not None), of
            found[name] = parts[name]
        ranked = np.array([one for one, _ in found.values()], dtype=np.uint8)
        return CacheIndex(tuple(found), ranked, joined([of for _, of in found.values()]))

    def _stored(self) -> list[str]:
        """The digests of the lists that have a file, rising; links, which may lead anywhere, are none."""
        try:
            with os.scandir(os.path.join(self.folder, _RANKERS)) as found:
                files = [one.name for one in found if one.is_file(follow_symlinks=False)]
        except OSError as error:
            raise os_error(self.folder, error) from None
        return sorted(filter(_DIGEST.fullmatch, files))

    def _path(self, digest: str) -> str:
        return os.path.join(self.folder, _RANKERS, digest)

    def _make(self) -> None:
        """Make the folder; raises DataError if it holds anything else."""
        path = os.path.join(self.folder, _OWNER)
        if os.path.exists(path):
            return
        try:
            os.makedirs(self.folder, exist_ok=True)
            if not set(os.listdir(self.folder)) <= {_RANKERS, _OWNER}:
                raise DataError(
                    f"{self.folder}: found other files, expected an empty folder or a cache of rankers"
                )
            os.makedirs(os.path.join(self.folder, _RANKERS), exist_ok=True)
        except OSError as error:
            raise os_error(self.folder, error) from None
        with atomic_write(path) as file:
            file.write(self.owner.text())

    def _check_owner(self) -> None:
        """Raise DataError if the cache is not that of the model."""
        path = os.path.join(self.folder, _OWNER)
        for name in (_OWNER, _INDEX, _RANKERS):
            _check_plain(os.path.join(self.folder, name))
        if not os.path.isfile(path):
            raise DataError(f"{self.folder}: found no {_OWNER}, expected a folder that predict --cache made")
        try:
            found = Owner.from_json(read_json(bytes(read_bytes(path))))
        except (ValueError, DataError) as error:
            raise DataError(f"{shown(path)}: found something else than a cache's owner ({error})") from None
        if found.model != self.owner.model:
            raise DataError(f"{self.folder}: found rankers of another model, expected those of this one")
        if found != self.owner:
            text = f"found rankers made by rerank {found.rerank}, expected {self.owner.rerank}"
            raise DataError(f"{self.folder}: {text}; use another folder")


def _check_plain(path: str) -> None:
    """Raise DataError if a path in a cache, which a stranger may have made, is a link, a device or a pipe."""
    if os.path.islink(path) or (os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))):
        raise DataError(
            f"{shown(path)}: found a link or a special file, expected a file of a cache of rankers"
        )


def standardised(scores: Floats) -> Floats:
    """Return the scores of a list with mean 0 and standard deviation 1, or 0 if all are equal."""
    size = float(np.abs(scores).max())
    if size == 0 or scores.min() == scores.max():
        return np.zeros_like(scores)
    apart = scores / size
    apart = apart - apart.mean()
    result: Floats = apart / np.sqrt(np.mean(apart * apart))
    return result
