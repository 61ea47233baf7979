"""Sets of lists from several files brought together to be compared: their names, and what is compared."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.data.columns.schema import TREE
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.report.similarity import short_names
from rerank.similarity.base import Kernel
from rerank.similarity.expression import ItemKernel


def check_different(names: Sequence[str]) -> None:
    """Raise ConfigError if a file is given twice."""
    again = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if again is not None:
        raise ConfigError(f"{again} is given twice; the lists of one file are compared with each other")


def sources_of(sets: Sequence[CandidateLists]) -> list[str]:
    """Return the names of the sets, numbered if two have the same, as sets that no file was read for."""
    names = [one.source for one in sets]
    return [f"{name} {k}" for k, name in enumerate(names, 1)] if len(set(names)) < len(names) else names


def ids_of(lists: CandidateLists, items: bool) -> list[str]:
    """Return the ids of lists, or of items: the list's, and the item's or its number in the list."""
    named = [lists.list_id(i) for i in range(lists.n_lists)]
    if not items:
        return named
    list_of = lists.list_index.tolist()
    places = np.arange(lists.n_items) - lists.offsets[:-1][list_of] + 1
    own = map(str, places.tolist()) if lists.item_ids is None else lists.item_ids
    return [f"{named[i]}/{item}" for i, item in zip(list_of, own, strict=True)]


def names_of(ids: Sequence[list[str]], sources: list[str]) -> list[str]:
    """Return the ids of all sets, each after the name of its file if two files share an id."""
    seen: set[str] = set()
    for some in ids:
        if not seen.isdisjoint(some):
            shown = short_names(sources)
            return [f"{name}:{one}" for name, some in zip(shown, ids, strict=True) for one in some]
        seen.update(some)
    return [one for some in ids for one in some]


def only_compared(lists: CandidateLists, kernel: Kernel | ItemKernel) -> CandidateLists:
    """Return the lists with only what the kernel compares; raise DataError if they lack its trees."""
    trees = {} if isinstance(kernel, Kernel) else {name: lists.forest(name) for name in kernel.trees()}
    own = trees.pop(TREE, None)
    by_features = isinstance(kernel, Kernel) or kernel.compares("features")
    return CandidateLists(
        lists.offsets,
        lists.features if by_features else Dense(np.empty((lists.n_items, 0))),
        feature_names=lists.feature_names if by_features else None,
        trees=own,
        structures=trees,
        source=lists.source,
        selection=lists.selection,
    )


def together(sets: Sequence[CandidateLists]) -> CandidateLists:
    """Return what is compared of all sets as one set of lists.

    Raises DataError if two neighbouring sets have no feature in common.
    """
    for a, b in pairwise(sets):
        common = set(a.names()).intersection(b.names())
        if a.n_features and b.n_features and not common:
            raise DataError(f"{b.source}: found no feature of {a.source}, expected some in common")
        widths = (a.n_features, b.n_features)
        if a.feature_names is None and b.feature_names is None and widths[0] != widths[1]:
            text = f"{a.source} has {widths[0]} features, {b.source} {widths[1]}; absent ones are 0"
            if isinstance(a.features, Dense) or isinstance(b.features, Dense):
                warnings.warn(text, DataNote, stacklevel=4)
    return joined(sets)
