"""Sets of lists from several files as one set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.types import Index
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import Ragged, offsets_of
from rerank.data.columns.schema import declared
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import Traces
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features

_SHOWN = 3


def joined(parts: Sequence[CandidateLists]) -> CandidateLists:
    """Return the lists of several sets as one, in the order given, with their ids.

    Features are matched by name, or by index if no set has other names. A feature that a set lacks is 0; that
    is reported if the features are dense. Raises DataError if two sets share a list id, only one of them has
    a column, such as labels, or only one of them names its features.
    """
    if len(parts) == 1:
        return parts[0]
    _check_ids(parts)
    names, features = _features(parts)
    starts = offsets_of([part.n_items for part in parts])
    columns: dict[str, Any] = {}
    for name, column in declared(CandidateLists).items():
        values = [getattr(part, name) for part in parts]
        if name == "feature_names":
            columns[name] = names
        elif name == "rows":
            columns[name] = _rows(values, starts)
        elif column.several:
            columns[name] = _several(name, parts, values)
        else:
            _check_present(name, parts, values)
            columns[name] = None if values[0] is None else joined_column(values)
    offsets = offsets_of(np.concatenate([part.lengths for part in parts]))
    return CandidateLists(
        offsets,
        features,
        **columns,
        source=" + ".join(part.source for part in parts),
        selection=",".join(dict.fromkeys(part.selection for part in parts if part.selection)),
    )


def _check_ids(parts: Sequence[CandidateLists]) -> None:
    """Raise DataError if a list id is in two sets."""
    seen: dict[str, str] = {}
    for part in parts:
        ids = part.list_ids or ()
        for name in ids:
            if name in seen:
                raise DataError(f"list {name!r} is in both {seen[name]} and {part.source}")
        seen |= dict.fromkeys(ids, part.source)


def _check_present(name: str, parts: Sequence[CandidateLists], values: Sequence[Any]) -> None:
    """Raise DataError if some sets have a column and others have not."""
    there = [value is not None for value in values]
    if any(there) and not all(there):
        _disagree(name, parts[there.index(False)], parts[there.index(True)])


def _disagree(name: str, lacking: CandidateLists, having: CandidateLists) -> None:
    plain = name.replace("_", " ")
    raise DataError(f"{lacking.source}: found no {plain}, expected some as in {having.source}")


def _several(name: str, parts: Sequence[CandidateLists], values: Sequence[Any]) -> Any:
    """The columns of one field: a mapping, or a tuple."""
    least = min(range(len(parts)), key=lambda k: len(values[k]))
    most = max(range(len(parts)), key=lambda k: len(values[k]))
    if len(values[least]) < len(values[most]):
        _disagree(name, parts[least], parts[most])
    if not isinstance(values[0], Mapping):
        return tuple(joined_column(columns) for columns in zip(*values, strict=True))
    for k, value in enumerate(values):
        if value.keys() != values[0].keys():
            _disagree(f"{name} of {sorted(values[0].keys() - value.keys())[0]}", parts[k], parts[0])
    return {key: joined_column([value[key] for value in values]) for key in values[0]}


def _rows(values: Sequence[Index | None], starts: Index) -> Index | None:
    """The caller's rows, counted through all sets."""
    if all(value is None for value in values):
        return None
    sizes = np.diff(starts)
    own = [np.arange(n) if value is None else value for value, n in zip(values, sizes, strict=True)]
    return np.concatenate([rows + start for rows, start in zip(own, starts[:-1], strict=True)])


def joined_column(values: Sequence[Any]) -> Any:
    """One column of all sets."""
    first = values[0]
    if isinstance(first, np.ndarray):
        if len({value.shape[1:] for value in values}) > 1:
            raise DataError("counts of the same metric have different widths")
        return np.concatenate(values)
    if isinstance(first, Traces):
        return type(first).joined(values)
    offsets = offsets_of(np.concatenate([np.diff(value.offsets) for value in values]))
    if isinstance(first, StringColumn):
        return StringColumn(np.concatenate([value.data for value in values]), offsets)
    if isinstance(first, Ragged):
        return Ragged(np.concatenate([value.values for value in values]), offsets)
    return joined_forest(values)


def joined_forest(forests: Sequence[Forest]) -> Forest:
    """Return the trees of one or more forests, one after the other."""
    numbers: dict[str, int] = {}
    symbols = []
    for forest in forests:
        codes = [numbers.setdefault(symbol, len(numbers)) for symbol in forest.vocabulary]
        symbols.append(np.array(codes, dtype=np.int32)[forest.symbols])
    offsets = offsets_of(np.concatenate([forest.lengths() for forest in forests]))
    sizes = np.concatenate([forest.sizes for forest in forests])
    return Forest(offsets, np.concatenate(symbols), sizes, StringColumn.from_strings(numbers))


def _features(parts: Sequence[CandidateLists]) -> tuple[list[str] | None, Features]:
    """Names and features of all sets, in the columns of all of them."""
    named = [part for part in parts if part.n_features]
    indices = _indices(named)
    if indices is not None:
        names = [str(j + 1) for j in indices.tolist()]
        return names, stacked([part.with_columns(names).features for part in parts])
    _check_present("feature_names", named, [part.feature_names for part in named])
    if not named or named[0].feature_names is None:
        width = max(part.n_features for part in parts)
        return None, stacked([part.features.widened(width) for part in parts])
    names = list(dict.fromkeys(name for part in named for name in part.names()))
    for part in named:
        lacking = sorted(set(names).difference(part.names()), key=names.index)
        if lacking and part.features.layout != "sparse":
            some = ", ".join(lacking[:_SHOWN]) + ", ..." * (len(lacking) > _SHOWN)
            text = f"{part.source}: no feature {some}, which other files have; read as 0"
            warnings.warn(text, DataNote, stacklevel=4)
    return names, stacked([part.with_columns(names).features for part in parts])


def stacked(parts: Sequence[Features]) -> Features:
    """Return all rows in one layout, see ``data.shards.stack``."""
    from rerank.data.shards.stack import Form, stack

    return stack(parts, [Form.of(part) for part in parts], parts[0].n_features)


def _indices(parts: Sequence[CandidateLists]) -> Index | None:
    """The columns of all sets, from 0, if all names are indices and some sets have columns far apart."""
    columns = [part.columns() for part in parts]
    numbers = [some.numbers for some in columns if some.numbers is not None and not some.from_0]
    if len(numbers) < len(parts) or all(some.names is None for some in columns):
        return None
    return np.unique(np.concatenate(numbers))
