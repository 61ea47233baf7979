"""The feature that is the first stage's score, as it is or in other units."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense

# Residuals relative to the root mean square of a column's deviations from its means of lists. Scores that
# were printed with few digits still pass.
_TYPICAL = 1e-3  # root mean square of the residuals
_LARGEST = 1e-2  # of any item
# Items of the sample in which columns are looked for, before they are compared in all lists.
_SAMPLE_LISTS, _SAMPLE_ITEMS = 64, 8


class BaseColumn(Struct, frozen=True):
    """A feature that is ``factor`` times the base score plus a constant for each list."""

    index: int
    factor: float


def base_column(lists: CandidateLists) -> BaseColumn | None:
    """Return the feature that is the base score of the first stage, up to a factor and constants of lists.

    All items are compared: the residuals' root mean square is at most a thousandth, and each of them at most
    a hundredth, of the root mean square of the feature's deviations from its means of lists. If several
    features fit, the first one is returned.

    Parameters
    ----------
    lists : lists with features of any layout.

    Returns
    -------
    BaseColumn or None
        None if no feature fits, or if the base scores are absent, NaN for some item, or equal within every
        list.
    """
    base = lists.base_scores
    if base is None or not np.isfinite(base).all() or lists.n_features == 0:
        return None
    starts = lists.offsets[:-1]
    spread = np.maximum.reduceat(base, starts) > np.minimum.reduceat(base, starts)
    if not spread.any():
        return None
    items, offsets = _sample(base, lists.offsets, np.flatnonzero(spread))
    sample = lists.features.take(items)
    # A value that is not stored is 0, which about one of a list's items can have.
    n, d = sample.n_items, sample.n_features
    stored = n if isinstance(sample, Dense) else np.bincount(sample.compressed().indices, minlength=d)
    for j in np.flatnonzero(np.broadcast_to(2 * stored >= n, d)).tolist():
        if _factor(base[items], sample.column(j), offsets) is not None:
            factor = _factor(base, lists.features.column(j), lists.offsets)
            if factor is not None:
                return BaseColumn(j, factor)
    return None


def base_scores_of(lists: CandidateLists, what: str) -> Floats:
    """Return the base scores, float64 (n_items), which ``what`` needs.

    Raises DataError if the lists have none, or one of them is not a number.
    """
    base = lists.base_scores
    if base is None:
        raise DataError(f"{lists.source}: no first-stage scores; {what} needs them")
    if not np.isfinite(base).all():
        item = int(np.argmin(np.isfinite(base)))
        found = f"the first-stage score of {lists.place_of(item)} is {base[item]:g}"
        raise DataError(f"{lists.source}: {found}; {what} needs a number for each item")
    return base


def _sample(base: Floats, offsets: Index, lists: Index) -> tuple[Index, Index]:
    """Some items with different base scores of some of the ``lists``, and the offsets of their lists."""
    chosen = lists[np.unique(np.linspace(0, len(lists) - 1, _SAMPLE_LISTS).astype(np.int64))]
    items = []
    for i in chosen.tolist():
        _, first = np.unique(base[offsets[i] : offsets[i + 1]], return_index=True)
        some = first[np.unique(np.linspace(0, len(first) - 1, _SAMPLE_ITEMS).astype(np.int64))]
        items.append(offsets[i] + np.sort(some))
    return np.concatenate(items).astype(np.int64), offsets_of([len(some) for some in items])


def _factor(base: Floats, column: Floats, offsets: Index) -> float | None:
    """c if a column (n_items) is c * base plus constants of lists, else None."""
    if not np.isfinite(column).all():
        return None
    x, of_x = _deviations(column, offsets)
    b, of_b = _deviations(base, offsets)
    square = float(np.einsum("i,i->", b, b))
    size = float(np.sqrt(np.mean(x**2)))
    if square == 0 or size == 0:
        return None
    factor = float(np.einsum("i,i->", x, b)) / square
    residual = np.abs(x - factor * b)
    if not (np.sqrt(np.mean(residual**2)) <= _TYPICAL * size and residual.max() <= _LARGEST * size):
        return None
    with np.errstate(over="ignore", under="ignore"):
        found = float(np.ldexp(factor, of_x - of_b))
    return found if found != 0 and np.isfinite(found) else None


def _deviations(values: Floats, offsets: Index) -> tuple[Floats, int]:
    """Values (n_items) minus their means of lists, divided by a power of two; and its exponent.

    The largest is about 1, so that squares do not overflow. The division rounds nothing.
    """
    small, first = _shrunk(values)
    means = np.add.reduceat(small, offsets[:-1]) / np.diff(offsets)
    centred, second = _shrunk(small - np.repeat(means, np.diff(offsets)))
    return centred, first + second


def _shrunk(values: Floats) -> tuple[Floats, int]:
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent
