"""Columns of CandidateLists: one declaration drives checking, taking and storing them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError
from rerank.core.types import Index
from rerank.data.arrays import is_masked
from rerank.data.columns.strings import utf8

Kind = Literal["numbers", "positions", "statistics", "reals", "strings", "names", "trees", "ragged", "traces"]

Per = Literal["item", "list", "feature"]

TREE = "tree"  # the name of the column ``trees`` among the named ones

# Kinds that are plain arrays: dtypes and number of dimensions. The others are objects that have `take`.
ARRAYS: dict[str, tuple[tuple[np.dtype[Any], ...], int]] = {
    "numbers": ((np.dtype(np.float64),), 1),
    "positions": ((np.dtype(np.int64),), 1),
    "statistics": ((np.dtype(np.float64), np.dtype(np.int32)), 2),
    "reals": ((np.dtype(np.float64), np.dtype(np.float32)), 2),
}


class Column(Struct, frozen=True):
    """Declaration of one column.

    Attributes
    ----------
    kind : "numbers" (float64), "positions" (int64), "statistics" (float64 or int32, k per entry) and
        "reals" (float64 or float32, k per entry) are arrays, "strings" a StringColumn, "trees" a Forest,
        "ragged" a Ragged, "traces" Traces, "names" a sequence of str.
    per : what the column has one entry for: "item", "list" or "feature".
    several : whether the field holds a tuple or a mapping (by name) of such columns.
    """

    kind: Kind
    per: Per
    several: bool = False

    @property
    def by_name(self) -> bool:
        """Return whether the field holds a mapping."""
        return self.several and self.per == "item"

    def check(self, name: str, values: Any, length: int) -> None:
        """Raise DataError if ``values`` are not as declared, or not ``length`` entries."""
        if len(values) != length:
            raise DataError(f"{name} has {len(values)} entries, expected {length}")
        if self.kind == "names":
            utf8("".join(values))
        if self.kind not in ARRAYS:
            return
        dtypes, ndim = ARRAYS[self.kind]
        if is_masked(values):
            raise DataError(f"{name} is a masked array, expected a plain one")
        if values.dtype not in dtypes or values.ndim != ndim or not values.flags.c_contiguous:
            dimensions = f"{ndim} dimension{'s' * (ndim > 1)}"
            types = " or ".join(map(str, dtypes))
            raise DataError(f"{name} must be a contiguous {types} array of {dimensions}")
        if values.dtype.kind == "f" and np.any(np.isinf(values)):
            raise DataError(f"{name} holds an infinite value")


def column(per: Per, kind: Kind, *, several: bool = False) -> dict[str, Column]:
    """Return the field metadata of a column with one entry for each item, list or feature."""
    return {"column": Column(kind, per, several)}


def declared(owner: type) -> Mapping[str, Column]:
    """Return the columns that a dataclass declares by field metadata, by the name of the field."""
    return {field.name: field.metadata["column"] for field in fields(owner) if "column" in field.metadata}


def present(owner: Any) -> Iterator[tuple[str, Column, Any]]:
    """Yield name, declaration and values of each column that is not None, such as "counts[BLEU]"."""
    for name, column in declared(type(owner)).items():
        values = getattr(owner, name)
        if column.several:
            pairs = values.items() if isinstance(values, Mapping) else enumerate(values)
            yield from ((f"{name}[{key}]", column, one) for key, one in pairs)
        elif values is not None:
            yield name, column, values


def taken(owner: Any, places: Mapping[str, Index | None]) -> dict[str, Any]:
    """Return every column, by name, taken at the places given for "item" and "list"; None = at all."""

    def take(values: Any, which: Index) -> Any:
        return values[which] if isinstance(values, np.ndarray) else values.take(which)

    out: dict[str, Any] = {}
    for name, column in declared(type(owner)).items():
        values, which = getattr(owner, name), places.get(column.per)
        if which is None or values is None:
            out[name] = values
        elif isinstance(values, Mapping):
            out[name] = {key: take(one, which) for key, one in values.items()}
        else:
            out[name] = tuple(take(one, which) for one in values) if column.several else take(values, which)
    return out


TREE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
MAX_ITEMS = 2**31 - 1  # kernels number items in 32 bits


def check_lists(lists: Any) -> None:
    """Raise DataError at the first column of CandidateLists that does not fit the others."""
    offsets = lists.offsets
    if offsets.ndim != 1 or offsets.dtype != np.int64 or len(offsets) < 2 or offsets[0] != 0:
        raise DataError("offsets must be int64, start at 0 and bound one list at least")
    Column("positions", "list").check("offsets", offsets, len(offsets))
    if lists.features.n_items > MAX_ITEMS:
        raise DataError(f"{lists.features.n_items:,} items, expected at most {MAX_ITEMS:,}")
    empty = offsets[1:] <= offsets[:-1]
    if np.any(empty):
        raise DataError(f"list {np.argmax(empty)} is empty")
    if offsets[-1] != lists.features.n_items:
        raise DataError(f"the lists hold {offsets[-1]} items, the features {lists.features.n_items}")
    lengths = {"item": lists.n_items, "list": lists.n_lists, "feature": lists.n_features}
    names = lists.feature_names
    if names is not None and len(names) != lists.n_features:
        raise DataError(f"{len(names)} feature names for {lists.n_features} features")
    utf8(lists.selection)
    for name, column, values in present(lists):
        column.check(name, values, lengths[column.per])
    for name in lists.structures:
        if name == TREE or not TREE_NAME.fullmatch(name):
            expected = f"a letter or _, then letters, digits, _ and - (not {TREE!r})"
            raise DataError(f"structures: found the name {name!r}, expected {expected}")
    if lists.first_best is not None and np.any(np.isnan(lists.first_best)):
        raise DataError("first_best holds NaN, which has no place in an order")
    if lists.rows is not None and not np.array_equal(np.sort(lists.rows), np.arange(lists.n_items)):
        raise DataError(f"rows is not a permutation of 0..{lists.n_items - 1}")
