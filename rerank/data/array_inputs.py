"""Arrays as other Python tools hold them, as columns of lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.data.arrays import cells, real_array, without_missing
from rerank.data.columns.class_sets import EXPECTED, class_column
from rerank.data.columns.forests import BracketError, Forest
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.schema import TREE
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.structure_inputs import traces_of
from rerank.data.columns.traces import Traces
from rerank.data.columns.tree_inputs import forest_of


def frame_names(X: Any) -> list[str] | None:
    """Return the names of a data frame's columns, None if there are none or they are not strings."""
    columns = list(getattr(X, "column_names", ()) or getattr(X, "columns", ()))  # of Arrow, of others
    return columns if columns and all(isinstance(name, str) for name in columns) else None


def vector(values: Any, name: str, length: int) -> Floats:
    """Return values as float64 (length), NaN for missing ones.

    Raises DataError, with the name, if they are not so many numbers.
    """
    out = np.ascontiguousarray(real_array(values, name), dtype=np.float64)
    if out.shape != (length,):
        raise DataError(f"{name} has shape {out.shape}, expected ({length},)")
    return out


def group_offsets(group: Any, n_items: int, source: str) -> Index:
    """Return offsets from the lengths of lists; raise DataError unless they sum to ``n_items``."""
    lengths = without_missing(group, f"{source}: group")
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or lengths.sum() != n_items:
        raise DataError(f"{source}: group must be whole numbers that sum to {n_items}")
    return offsets_of(lengths)


def list_ids(qid: Any, n_items: int, source: str) -> Sequence[str | bytes]:
    """Return the id of each item's list as text; raise DataError if one is missing."""
    ids = cells(qid) if isinstance(qid, Iterable) else []
    if len(ids) != n_items or any(isinstance(one, list | tuple) for one in ids):
        shape = np.array(ids, dtype=object).shape
        raise DataError(f"{source}: qid has shape {shape}, expected ({n_items},)")
    if None in ids:
        raise DataError(f"{source}: the qid of row {ids.index(None) + 1} is missing")
    return [id_text(value) for value in ids]


def id_text(value: Any) -> str | bytes:
    """Return an id, a class or an answer as text; 1.0 is "1", as frames hold whole numbers beside NaN."""
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else str(float(value))
    return str(value)


def strings(values: Any, name: str, n_items: int, source: str, *, needed: bool = False) -> StringColumn:
    """Return a column of texts; a missing one is "", or an error if they are ``needed``.

    Raises
    ------
    DataError
        If there are not ``n_items`` entries, or one that is needed is missing.
    """
    found = cells(values)
    if len(found) != n_items:
        raise DataError(f"{source}: {name} has {len(found)} entries, expected {n_items}")
    if needed and None in found:
        raise DataError(f"{source}: {name}: the id of row {found.index(None) + 1} is missing")
    return StringColumn.from_strings("" if value is None else id_text(value) for value in found)


def forests(
    trees: Any, structures: Mapping[str, Any], source: str
) -> tuple[Forest | None, dict[str, Forest]]:
    """Return trees and named trees as forests.

    Raises
    ------
    DataError
        With the name and the row, if one is not a tree.
    """
    named = {name: _forest(some, name, source) for name, some in structures.items()}
    return None if trees is None else _forest(trees, TREE, source), named


def _forest(trees: Any, name: str, source: str) -> Forest:
    """The trees of one name."""
    try:
        return forest_of(trees)
    except BracketError as error:
        found = f"{error.found}, expected {error.expected}"
        raise DataError(f"{source}: {name} of row {error.tree + 1}: found {found}") from None
    except DataError as error:
        raise DataError(f"{source}: {name}: {error}") from None


def structures(entries: Any, name: str, source: str) -> Traces | None:
    """Return structures as a column, None if there are none; see ``data.columns.given_traces.traces_of``.

    Raises
    ------
    DataError
        With the name and the row, if one is not a structure.
    """
    try:
        return None if entries is None else traces_of(entries)
    except DataError as error:
        raise DataError(f"{source}: {name}: {error}") from None


def class_texts(classes: Any, n_items: int, source: str) -> StringColumn:
    """Return the classes of each row as text, see ``CandidateLists.from_arrays``.

    Raises
    ------
    DataError
        If there are not ``n_items`` entries, a class is missing or contains a comma within a collection, or
        ``classes`` is an array of several dimensions, such as an indicator matrix.
    """
    if len(getattr(classes, "shape", (0,))) != 1 or not hasattr(classes, "__len__"):
        found = f"shape {classes.shape}" if hasattr(classes, "shape") else type(classes).__name__
        raise DataError(
            f"{source}: classes has {found}, expected one class, or a collection of classes, per row "
            "(of an indicator matrix Y: [numpy.flatnonzero(row) for row in Y])"
        )
    if len(classes) != n_items or isinstance(classes, str | bytes | Mapping):
        raise DataError(f"{source}: classes has {len(classes)} entries, expected {n_items}")

    def fault(row: int, found: str) -> DataError:
        return DataError(f"{source}: row {row + 1}: found {found}, {EXPECTED}")

    return class_column(class_names(classes, "class", source), fault)


def class_names(entries: Iterable[Any], what: str, source: str) -> list[str]:
    """Return classes or collections of classes as text; raise DataError if one is missing or has a comma.

    Collections keep their order, sets are sorted.
    """
    texts = []
    for row, entry in enumerate(cells(entries), 1):
        several = isinstance(entry, Collection) and not isinstance(entry, str | bytes)
        names = [_class_name(one) for one in (cells(entry) if several else [entry])]
        if None in names:
            raise DataError(f"{source}: the {what} of row {row} is missing, expected a name or a number")
        known = [name for name in names if name is not None]
        if several and any("," in name or not name.strip() for name in known):
            raise DataError(f"{source}: a {what} of row {row} is empty or contains a comma: {entry!r}")
        texts.append(",".join(sorted(known) if isinstance(entry, Set) else known))
    return texts


def _class_name(value: Any) -> str | None:
    """A class as text, see ``id_text``, None if it is missing; False and True are the classes 0 and 1."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else str(int(value))
    found = id_text(value)
    return found.decode("utf-8", "surrogateescape") if isinstance(found, bytes) else found
