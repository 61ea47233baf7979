"""Folds and splits by list: no list, and no group of lists with one key, is divided.

Everything follows from the seed: lists are ordered by the raw 64-bit draws of PCG64, a stream that numpy
guarantees to keep, so that a split is the same with every version.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.system import added
from rerank.core.text import number
from rerank.core.types import Index, NDArray
from rerank.data.lists import CandidateLists

Key = Sequence[Hashable] | NDArray[np.generic]


class Fold(NamedTuple):
    """Increasing numbers of lists: ``test`` is this fold's part, ``train`` all the others."""

    train: Index
    test: Index


def folds(lists: CandidateLists | int, k: int, seed: int = 0, *, key: Key | None = None) -> list[Fold]:
    """Return ``k`` folds: each list is in the test part of exactly one.

    Raises ConfigError if ``k`` or ``seed`` is out of range; DataError if there are fewer lists (or keys) than
    folds.

    lists : the lists, or their number.
    k : the number of folds, 2 or more.
    seed : a whole number from 0.
    key : a value for each list: lists with equal keys stay together. The largest groups are placed first,
        each in the fold that is smallest so far. Without keys the sizes differ by at most one.
    """
    if k < 2:
        raise ConfigError(f"{k} folds: at least 2 are needed")
    n, groups = _groups(lists, key)
    n_groups = int(groups.max()) + 1
    if n_groups < k:
        raise DataError(f"{k} folds of {n_groups} {'lists' if key is None else 'keys'}: too few")
    fold_of = _deal(groups, [n / k] * k, seed)
    every = np.arange(n, dtype=np.int64)
    return [Fold(every[fold_of != f], every[fold_of == f]) for f in range(k)]


def split(
    lists: CandidateLists | int, fractions: Sequence[float], seed: int = 0, *, key: Key | None = None
) -> list[Index]:
    """Return parts of the lists by ``fractions``, as increasing numbers of lists.

    Parameters
    ----------
    lists
        The lists, or their number.
    fractions
        The share of each part, above 0; if they sum to less than 1 the other lists are in no part.
    seed
        A whole number from 0.
    key
        A value for each list: lists with equal keys stay together. The largest groups are placed first,
        each in the part that lacks most so far. Without keys a part is off its share by less than one list.

    Raises
    ------
    ConfigError
        If a fraction is outside (0, 1], their sum above 1, or the seed out of range.
    DataError
        If a part gets no list.
    """
    total = added(fractions)
    if len(fractions) == 0 or not all(0 < f <= 1 for f in fractions) or total > 1 + 1e-9:
        raise ConfigError(f"fractions {list(fractions)}: each must be above 0 and their sum at most 1")
    n, groups = _groups(lists, key)
    shares = [f * n for f in fractions]
    part_of = _deal(groups, [*shares, max(0.0, n - added(shares))], seed)
    parts = [np.flatnonzero(part_of == p).astype(np.int64) for p in range(len(fractions))]
    for part, fraction in zip(parts, fractions, strict=True):
        if len(part) == 0:
            what = "lists" if key is None else f"lists with {int(groups.max()) + 1} keys"
            raise DataError(f"a fraction of {fraction:g} of {n} {what} contains no list")
    return parts


def parts_of(lists: CandidateLists, parts: Sequence[str], seed: int) -> Iterator[tuple[str, CandidateLists]]:
    """Yield (name, lists) of every part NAME=SHARE, drawn by list.

    Raises ConfigError if a part is malformed or given twice, or the shares sum to more than 1; DataError if a
    part gets no list.

    lists : the lists to divide.
    parts : texts ``NAME=SHARE``, such as "dev=0.1".
    seed : a whole number from 0.
    """
    shares = shares_of(parts)
    chosen = split(lists, list(shares.values()), seed)
    for name, index in zip(shares, chosen, strict=True):
        yield name, lists.subset(index)


def shares_of(parts: Sequence[str]) -> dict[str, float]:
    """Return the share of each part by name; raise ConfigError for one that is malformed or given twice."""
    shares: dict[str, float] = {}
    for text in parts:
        name, equals, share = text.partition("=")
        value = number(share) or 0.0
        if not name or not equals or not 0 < value <= 1 or os.path.basename(name) != name or name in shares:
            raise ConfigError(f"--part {text}: expected NAME=SHARE, each name once, a share of 0 to 1")
        shares[name] = value
    return shares


def folds_of(lists: CandidateLists, n_folds: int, seed: int) -> Iterator[tuple[str, CandidateLists]]:
    """Yield (name, lists) of each of ``fold_names``; raise ConfigError as ``folds``."""
    parts = (part for fold in folds(lists, n_folds, seed) for part in fold)
    for name, part in zip(fold_names(n_folds), parts, strict=True):
        yield name, lists.subset(part)


def fold_names(n_folds: int) -> Iterator[str]:
    """Yield fold1/train, fold1/test, fold2/train, ..."""
    for i in range(1, n_folds + 1):
        yield f"fold{i}/train"
        yield f"fold{i}/test"


def _groups(lists: CandidateLists | int, key: Key | None) -> tuple[int, Index]:
    """The number of lists, and for each the number of its group."""
    n = lists.n_lists if isinstance(lists, CandidateLists) else lists
    if n < 1:
        raise DataError(f"no lists to divide: {n}")
    if key is None:
        return n, np.arange(n, dtype=np.int64)
    if len(key) != n:
        raise DataError(f"key has {len(key)} entries, expected one for each of {n} lists")
    numbers: dict[Hashable, int] = {}
    return n, np.fromiter((numbers.setdefault(value, len(numbers)) for value in key), np.int64, n)


def _deal(groups: Index, shares: Sequence[float], seed: int) -> Index:
    """The part of each list, int64 (n_lists); ``shares`` are the wanted sizes, which sum to n_lists."""
    sizes = np.bincount(groups)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"seed {seed!r}: expected a whole number from 0")
    order = np.argsort(np.random.PCG64(int(seed)).random_raw(len(sizes)), kind="stable")
    if sizes.max() == 1:
        # Cut the shuffled lists at the rounded sums of the shares: exact up to one list.
        cuts = np.floor(np.cumsum(shares)[:-1] + 0.5).astype(np.int64)
        part_of_group = np.empty(len(sizes), dtype=np.int64)
        part_of_group[order] = np.searchsorted(cuts, np.arange(len(sizes)), side="right")
        return part_of_group[groups]
    part_of_group = np.empty(len(sizes), dtype=np.int64)
    lacking = np.array(shares, dtype=np.float64)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        part = int(np.argmax(lacking))
        part_of_group[group] = part
        lacking[part] -= sizes[group]
    return part_of_group[groups]
