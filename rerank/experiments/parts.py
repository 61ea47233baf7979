"""The parts of folds as stores: read once, named by what they are made of, memory-mapped by every worker."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from rerank import _version
from rerank.core.errors import ConfigError, DataError, RerankError, os_error
from rerank.core.files.folders import named_lock
from rerank.core.files.read import read_head
from rerank.data.folds import folds
from rerank.data.lists import CandidateLists
from rerank.data.overlap import copy_groups
from rerank.data.reading import DataSection, Reading, paths_of
from rerank.data.store import read_store, write_store
from rerank.experiments.config import ExperimentConfig
from rerank.experiments.folder import DATA
from rerank.formats.base import detect, format_of_folder
from rerank.metrics.base import keep_statistics, prepare_all
from rerank.training.train import load_part

_NOT_RESULTS = ("cli", "report", "docs")  # folders of this package that decide no result
_SOURCES = (".py", ".pyx", ".pxd")
_OF_MACHINE = ("features", "threads")  # features are selected when a row is trained


@dataclass(frozen=True)
class Stored:
    """A store: its name, and the digests of the files that it is made of."""

    name: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Making:
    """Order to make stores: one part is read, and written whole or cut into folds.

    Attributes
    ----------
    data : its training part is what is read.
    names : of the stores, one for each fold, or one.
    seed : of the folds.
    judged : whether the metrics must be able to judge these lists.
    """

    data: DataSection
    names: tuple[str, ...]
    seed: int = 0
    judged: bool = False

    def is_made(self, folder: str) -> bool:
        """Return whether all stores are there."""
        return all(os.path.isdir(os.path.join(folder, DATA, name)) for name in self.names)


@dataclass(frozen=True)
class FoldParts:
    """The stores of one fold; its training lists may be several."""

    train: tuple[Stored, ...]
    dev: Stored | None
    test: Stored


@dataclass
class Parts:
    """The stores of all folds, and how they are made."""

    folds: dict[str, FoldParts] = field(default_factory=dict)
    makings: dict[str, Making] = field(default_factory=dict)

    def of(self, fold: str) -> list[Making]:
        """Return how the stores of one fold are made."""
        parts = self.folds[fold]
        needed = [*parts.train, parts.test, *([] if parts.dev is None else [parts.dev])]
        return list(dict.fromkeys(self.makings[stored.name] for stored in needed))


def digest_of(value: Any, length: int = 16) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a value as canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:length]


def digest_of_file(path: str) -> str:
    """Return the SHA-256 of a file's bytes, or of all files of a store; computed once if it does not change.

    Raises RerankError if it cannot be read.
    """
    try:
        if os.path.isdir(path):
            names = sorted(os.listdir(path))
            return digest_of([(name, digest_of_file(os.path.join(path, name))) for name in names], 64)
        found = os.stat(path)
        return _digest(path, found.st_ino, found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise os_error(path, error) from None


@cache
def _digest(path: str, *_: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def code_digest() -> str:
    """Return digits that change with the source of this package that decides results, and its version.

    Kernels of an installed package come without source: there the compiled ones count.
    """
    root = Path(_version.__file__).parent
    digest = hashlib.sha256(_version.__version__.encode())
    for path in sorted(root.rglob("*")):
        inner = path.relative_to(root)
        if inner.parts[0] in _NOT_RESULTS or "__pycache__" in inner.parts:
            continue
        kernel = path.suffix == ".so" and not path.with_name(path.name.split(".")[0] + ".pyx").exists()
        if path.suffix in _SOURCES or kernel:
            digest.update(str(inner).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def parts_of(config: ExperimentConfig) -> Parts:
    """Return the stores of every fold; all input files are read for their digests.

    Raises RerankError if a file cannot be read.
    """
    found = Parts()
    if config.drawn is not None:
        _draw(config, config.drawn, found)
        return found
    for fold in config.fold_names:
        data = config.data.training(fold)
        train = _stored(data, found)
        dev = _stored(_as_train(data), found) if data.dev else None
        test = _stored(config.data.judging(fold), found, judged=True)
        for key, stored in (("train", train), ("dev", dev)):
            if stored is not None and set(test.files) & set(stored.files):
                raise ConfigError(f"{config.path}: data.test: the same file as data.{key}, fold {fold}")
        same = next((other for other, one in found.folds.items() if one.test == test), None)
        if same is not None:
            raise ConfigError(f"{config.path}: folds: {same!r} and {fold!r} have the same test lists")
        found.folds[fold] = FoldParts((train,), dev, test)
    return found


def _as_train(data: DataSection) -> DataSection:
    """The development part as the training part of a section of its own."""
    return DataSection(**data.reading("dev").get_params(), train=data.dev, label=data.label)


def _stored(data: DataSection, parts: Parts, judged: bool = False) -> Stored:
    """The store of one part, which joins those to be made."""
    content, files = _content(data)
    (name,) = _names(content)
    known = parts.makings.get(name)
    judged = judged or (known is not None and known.judged)
    parts.makings[name] = Making(data, (name,), judged=judged)
    return Stored(name, files)


def _draw(config: ExperimentConfig, k: int, parts: Parts) -> None:
    """Stores of K folds of the training lists."""
    data = config.data.training(config.fold_names[0])
    content, files = _content(data)
    names = _names(content, k, config.seed)
    making = Making(data, names, config.seed, judged=True)
    parts.makings |= dict.fromkeys(names, making)
    stored = [Stored(name, files) for name in names]
    for at, fold in enumerate(config.fold_names):
        dev = (at + 1) % k if config.has_dev else None
        train = tuple(one for other, one in enumerate(stored) if other not in (at, dev))
        parts.folds[fold] = FoldParts(train, None if dev is None else stored[dev], stored[at])


def _names(content: Any, k: int = 1, seed: int = 0) -> tuple[str, ...]:
    """The names of the stores of a training part, whole or cut into K folds."""
    parts = [content] if k == 1 else [[content, k, seed, at] for at in range(k)]
    return tuple(f"{digest_of(part)}.store" for part in parts)


def _content(data: DataSection) -> tuple[Any, tuple[str, ...]]:
    """Return a key of the lists of a training part, and the digests of its files."""
    reading = data.reading("train")
    options = reading.get_params()
    paths = {name: _digests(options.pop(name)) for name in paths_of(Reading)}
    if reading.residue_files():
        options["residues"] = _digests(reading.residue_files())
    plain = {name: value for name, value in options.items() if name not in _OF_MACHINE}
    plain["format"] = [reading.format or _format_of(path) for path in data.train]  # names may tell it
    files = _digests(data.train)
    content = {"files": files, "paths": paths, "reading": plain, "label": data.label, "code": code_digest()}
    return content, tuple(files)


def _format_of(path: str) -> str:
    return format_of_folder(path) if os.path.isdir(path) else detect(path, read_head(path))[0]


def _digests(given: str | Sequence[str] | None) -> list[str]:
    paths = [given] if isinstance(given, str) else given or ()
    return [digest_of_file(path) for path in paths]


def make_stores(folder: str, making: Making, metrics: Sequence[str]) -> None:
    """Write the stores that are not there.

    Parameters
    ----------
    folder : of the experiment.
    making : what is read.
    metrics : which must be able to judge them, if they are test lists.

    Raises
    ------
    RerankError
        If the files cannot be read, are too few for the folds, or cannot be judged.
    """
    with named_lock(folder, making.names[0], wait=True):
        if making.is_made(folder):
            return
        lists = load_part(making.data, "train")
        if _names(_content(making.data)[0], len(making.names), making.seed) != making.names:
            raise RerankError(f"{lists.source}: changed while it was read; run again")
        if making.judged:
            lists = keep_statistics(lists, metrics)
            prepare_all(lists, metrics)
        for name, part in zip(making.names, _cut(lists, making), strict=True):
            place = os.path.join(folder, DATA, name)
            if not os.path.isdir(place):
                _write(part, place)


def check_judged(store: str, name: str, metrics: Sequence[str]) -> None:
    """Raise DataError, about test lists of this name, if metrics cannot judge the lists of a store."""
    try:
        prepare_all(read_store(store), metrics)
    except DataError as error:
        raise DataError(str(error).replace(store, name)) from None


def _write(lists: CandidateLists, place: str) -> None:
    try:
        write_store(lists, place)
    except OSError as error:
        raise os_error(place, error) from None


def _cut(lists: CandidateLists, making: Making) -> Iterable[CandidateLists]:
    """The lists, or those of each fold: copies of a list, and lists with one id, are in one fold."""
    k = len(making.names)
    if k == 1:
        return (lists,)
    groups = _groups(lists)
    found = folds(lists, k, making.seed, key=groups if len(set(groups)) < lists.n_lists else None)
    return (lists.subset(fold.test) for fold in found)


def _groups(lists: CandidateLists) -> list[int]:
    """A number for each list, equal for copies and for lists with one id."""
    root = list(range(lists.n_lists))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    first: dict[Hashable, int] = {}
    for i, copy in enumerate(copy_groups(lists)):
        own: list[Hashable] = [("copy", copy)]
        if lists.list_ids is not None:
            own.append(("id", lists.list_ids[i]))
        for key in own:
            a, b = find(i), find(first.setdefault(key, i))
            root[max(a, b)] = min(a, b)
    return [find(i) for i in range(lists.n_lists)]
