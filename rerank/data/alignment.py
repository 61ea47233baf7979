"""Lists brought to the columns of a model or of other lists, with what does not match reported."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.text import count, some
from rerank.core.types import Index
from rerank.data.categories import categorical_columns, column_of, of_categories
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.names import Columns, Match, match


def aligned(
    lists: CandidateLists,
    names: Sequence[str],
    whose: str = "the model",
    *,
    selection: str = "",
    fill: float = 0.0,
    strict: bool = False,
) -> CandidateLists:
    """Return the lists with the feature columns ``names``; absent ones are ``fill``, others are dropped.

    Columns are matched by name, or by position if only one side has names and neither side was selected from
    other columns. A DataNote in one line reports matching by position, features that ``whose`` does not know,
    and features of ``whose`` that dense lists do not have; sparse ones leave out what does not occur, and
    lists with other values of a categorical column have none of this one (see data.categories). Raises
    DataError if the lists have no feature in common with ``names``, or ``strict`` and there is something to
    report.

    lists : lists as they were read.
    names : the columns to bring them to.
    whose : what these are the columns of, for messages.
    selection : how those were selected from other columns, "" if they were not.
    fill : what absent columns of dense lists are: 0, or NaN.
    strict : raise an error instead of a note.
    """
    mine, theirs = lists.columns(), Columns(names, len(names), selection)
    if not names or (mine.names is None and mine.n == theirs.n and theirs.unnamed):
        return lists.with_columns(names)
    found = match(mine, theirs)
    unknown = np.flatnonzero(~found.known)
    unknown = np.intersect1d(unknown, lists.features.occurring()) if len(unknown) else unknown
    absent = _absent(lists, mine, theirs, found)
    asked = [*theirs.at(absent), *mine.at(unknown)]
    categorical = categorical_columns(lists.features, lists.names(), asked) if asked else set()
    if categorical:  # no item has this category
        absent = absent[[column_of(name) not in categorical for name in theirs.at(absent)]]
    expected = f"expected those of {whose} ({some(theirs.at(np.arange(min(theirs.n, 4))))})"
    if mine.n == 0:
        raise DataError(f"{lists.source}: found no features, {expected}")
    if len(unknown) and not np.any(found.known[lists.features.occurring()]):
        raise DataError(f"{lists.source}: found features {some(mine.at(unknown[:4]))}, {expected}")
    fill_in = np.isnan(fill) and isinstance(lists.features, Dense)
    new = mine.at(unknown[:4])
    for i, j in enumerate(unknown[:4].tolist()):
        if column_of(new[i]) in categorical:
            new[i] += f": {count(int(lists.features.column(j).sum()), 'item')}"
    remarks = _remarks(mine, theirs, found, len(unknown), new, absent, whose)
    if remarks:
        if strict:
            raise DataError(f"{lists.source}: {'; '.join(remarks)}")
        if len(unknown):
            remarks[-1 if not len(absent) else -2] += ", ignored"
        if len(absent):
            remarks[-1] += f"{of_categories(theirs.at(absent))}, taken as {'missing' if fill_in else 0}"
        warnings.warn(f"{lists.source}: {'; '.join(remarks)}", DataNote, stacklevel=3)
    ready = lists.with_columns_at(found.places, names)
    if not (fill_in and len(absent)):
        return ready
    values = ready.features.to_dense()  # a copy already
    values[:, absent] = np.nan
    return ready.with_features(Dense(values), ready.names())


def _absent(lists: CandidateLists, mine: Columns, theirs: Columns, found: Match) -> Index:
    """The columns of ``theirs`` to report as absent from the lists; see ``aligned``."""
    listed, chosen = isinstance(lists.features, Dense), mine.selection or theirs.selection
    if not listed and np.all(found.known) and mine.selection == theirs.selection:
        return np.empty(0, dtype=np.int64)
    numbered = mine.numbers is not None and theirs.numbers is not None
    if numbered and not chosen and not (mine.unnamed and theirs.unnamed):
        return np.empty(0, dtype=np.int64)  # far apart: sparse by nature
    there = np.zeros(theirs.n, dtype=bool)
    there[found.places[found.places >= 0]] = True
    return np.flatnonzero(~there)


def _remarks(
    mine: Columns,
    theirs: Columns,
    found: Match,
    n_unknown: int,
    unknown: Sequence[str],
    absent: Index,
    whose: str,
) -> list[str]:
    """Return remarks: matching by position, features that ``whose`` does not know, those that are absent."""
    remarks = []
    if found.by_position:
        named = "the data names" if theirs.unnamed else f"{whose} names"
        numbers = "" if mine.n == theirs.n else f", {mine.n} to {theirs.n}"
        remarks.append(f"features are matched by position{numbers}, as only {named} them")
    if n_unknown:
        do = "do" if whose.endswith("lists") else "does"
        remarks.append(f"{count(n_unknown, 'feature')} that {whose} {do} not know ({some(unknown)})")
    if len(absent):
        what = f"{len(absent)} of {count(theirs.n, 'feature')} of {whose}"
        remarks.append(f"{what} {'is' if len(absent) == 1 else 'are'} absent ({some(theirs.at(absent[:4]))})")
    return remarks
