"""Columns of categories as indicator features: ``colour=red`` is 1 where the colour is red, else 0.

A missing value is a category of its own, ``colour=``, so that each row has exactly one indicator of a column.
By this, lists that lack an indicator of the model are known to lack the category, not the feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.text import some
from rerank.core.types import Floats
from rerank.data.matrix import Dense, Features

MOST = 1000  # values of a column; ids and texts have more


def wanted(
    names: str | Sequence[str], columns: Iterable[str], source: str, how: str, taken: Iterable[str] = ()
) -> list[str]:
    """Return those of the columns that ``names`` ask for; ``colour?`` asks for it if it is there.

    ``how`` is what a message calls the option. Raises ConfigError if a column is not there, or is ``taken``:
    has another role.
    """
    names = [names] if isinstance(names, str) else names
    there, found = list(columns), []
    for name in names:
        if name in there:
            found.append(name)
        elif not name.endswith("?"):
            raise ConfigError(f"{source}: no column {name!r} ({how}); {did_you_mean(name, there)}")
        elif name[:-1] in there:
            found.append(name[:-1])
    twice = next((name for name in taken if name in found), None)
    if twice is not None:
        raise ConfigError(f"{source}: column {twice!r} ({how}) has another role, expected one")
    return list(dict.fromkeys(found))


def indicators(columns: Mapping[str, Iterable[object]], source: str) -> dict[str, Floats]:
    """Return the indicator features of columns by name, float64 (n) each; None is a missing value.

    Raises DataError if a column has more than 1,000 values.
    """
    features: dict[str, Floats] = {}
    for name, column in columns.items():
        texts = ["" if value is None else _text(value) for value in column]
        values, places = np.unique(np.array(texts, dtype=object), return_inverse=True)
        if len(values) > MOST:
            found = f"column {name!r} with {len(values):,} values"
            raise DataError(f"{source}: found {found}, expected a category of {MOST:,} values at most")
        for k, value in enumerate(values.tolist()):
            features[f"{name}={value}"] = (places == k).astype(np.float64)
    return features


def _text(value: object) -> str:
    """A value as CSV has it: 1.0 is "1"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def column_of(feature: str) -> str:
    """Return the column of an indicator by its name, "" if it has none."""
    column, mark, _ = feature.partition("=")
    return column if mark else ""


def of_categories(absent: Sequence[str]) -> str:
    """Return the end of a message about absent features: the columns whose indicators they are, if any."""
    names = list(dict.fromkeys(filter(None, map(column_of, absent))))
    return f": {some(names)} not read as categories (--categorical)" if names else ""


def categorical_columns(features: Features, names: Sequence[str], asked: Iterable[str]) -> set[str]:
    """Return the columns whose indicators are among the features: one 1 in each row, else 0.

    ``names`` are those of the features, and ``asked`` the features for whose columns to look.
    """
    of_column: dict[str, list[int]] = {column: [] for column in map(column_of, asked) if column}
    if not of_column or not isinstance(features, Dense):  # sparse lists leave out what does not occur anyway
        return set()
    for j, name in enumerate(names):
        of_column.get(column_of(name), []).append(j)
    found = set()
    for column, places in of_column.items():
        total = np.zeros(features.n_items)
        for j in places if len(places) <= MOST else ():
            values = features.column(j)
            if not np.all((values == 0) | (values == 1)):
                break
            total += values
        else:
            if np.all(total == 1):
                found.add(column)
    return found
