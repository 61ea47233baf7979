"""Linear assignment: a column for each row of a matrix, no column twice, at the smallest total cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import ArrayLike, Floats, Ints
from rerank.data.arrays import real_array
from rerank.native.similarity import _assignment

_LARGEST = 1e300  # of costs, whose sums along a path must not overflow


@dataclass(frozen=True, eq=False)
class Assignment:
    """The columns of rows, and the proof that no other assignment is better.

    Attributes
    ----------
    columns : int32 (..., n)
        The column of each row, -1 for a row that has none because there are more rows than columns.
    row_duals, column_duals : float64 (..., n) and (..., m)
        cost[i, j] >= row_duals[i] + column_duals[j] up to rounding, with equality if row i has column j; a
        row or column without a partner has a dual of 0. For profits (``maximize``) it is <= instead.
    """

    columns: Ints
    row_duals: Floats
    column_duals: Floats


def assign(costs: ArrayLike, maximize: bool = False) -> Ints:
    """Return the column of each row at the smallest total cost, or at the largest total profit.

    Parameters
    ----------
    costs : (n, m), or (..., n, m) for many matrices of one size
        Any real numbers below 1e300 in magnitude; inf marks a forbidden pair, -inf if ``maximize``.
    maximize : bool
        Whether the total must be largest.

    Returns
    -------
    int32 (n) or (..., n)
        If there are more rows than columns, -1 for the rows without a column. The same matrix always gets
        the same assignment, whatever else is in the batch; which one of equally good ones is not specified.

    Raises
    ------
    DataError
        If a cost is NaN or too large, or every assignment of a matrix contains a forbidden pair.

    References
    ----------
    Jonker, Volgenant: A shortest augmenting path algorithm for dense and sparse linear assignment problems.
    Computing 38, 1987.

    Examples
    --------
    >>> from rerank.similarity import assign
    >>> assign([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]).tolist()
    [1, 0, 2]
    """
    batch, shape = _batch_of(costs, maximize)
    return _assigned(batch, shape, maximize, None)[0].reshape(shape[:-1])


def assign_with_duals(costs: ArrayLike, maximize: bool = False, start: ArrayLike | None = None) -> Assignment:
    """Return what ``assign`` returns, with the duals.

    Parameters
    ----------
    costs, maximize
        As for ``assign``.
    start : (..., n), optional
        Duals of columns to start from, any finite numbers: near those of the solution they save most of the
        work. Only for square matrices.

    Raises
    ------
    DataError
        As ``assign``; also if ``start`` has another shape or is not finite, or matrices are not square.
    """
    batch, shape = _batch_of(costs, maximize)
    n, m = shape[-2:]
    given = None
    if start is not None:
        given = np.array(real_array(start, "start"), dtype=np.float64)
        if n != m or given.shape != (*shape[:-2], m):
            raise DataError(
                f"start: found shape {given.shape} for matrices {shape}, expected a dual of each column of "
                "square matrices"
            )
        if not (np.abs(given) <= _LARGEST).all():
            raise DataError(f"start: found a dual that is not finite or above {_LARGEST:g}")
        given = given.reshape(len(batch), m)
    columns, longer = _assigned(batch, shape, maximize, given)
    paired = columns >= 0
    k, i = np.nonzero(paired)
    j = columns[k, i]
    rows, cols = np.zeros((len(batch), n)), np.zeros((len(batch), m))
    if n > m:
        rows[:] = longer
        cols[k, j] = batch[k, i, j] - rows[k, i]
    else:
        cols[:] = longer
        rows[k, i] = batch[k, i, j] - cols[k, j]
    return Assignment(columns.reshape(shape[:-1]), rows.reshape(shape[:-1]), cols.reshape(*shape[:-2], m))


def _batch_of(costs: ArrayLike, maximize: bool) -> tuple[Floats, tuple[int, ...]]:
    """The checked costs as (b, n, m), and their own shape."""
    values = np.ascontiguousarray(real_array(costs, "costs"), dtype=np.float64)
    if values.ndim < 2:
        raise DataError(f"costs: found {values.ndim} dimensions, expected a matrix or a batch of them")
    return values.reshape(math.prod(values.shape[:-2]), *values.shape[-2:]), values.shape


def _check(values: Floats, maximize: bool) -> None:
    """Raise DataError if a value has no place in an assignment; ``values`` have the caller's shape."""
    low, high = float(values.min()), float(values.max())
    if np.isnan(low):
        at = np.unravel_index(int(np.isnan(values).argmax()), values.shape)
        raise DataError(f"costs: found NaN at {tuple(map(int, at))}")
    forbidden, best = (low, high) if maximize else (high, low)
    unbounded = np.inf if maximize else -np.inf
    if best == unbounded:
        raise DataError(f"costs: found {best:g}, expected finite numbers, or {-best:g} for a forbidden pair")
    if np.isinf(forbidden):
        finite = values[np.isfinite(values)]
        low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    if max(-low, high) > _LARGEST:
        raise DataError(f"costs: found {max(-low, high):g} in magnitude, expected at most {_LARGEST:g}")


def _assigned(
    batch: Floats, shape: tuple[int, ...], maximize: bool, start: Floats | None
) -> tuple[Ints, Floats]:
    """The columns (b, n) and the duals of the longer side (b, max(n, m)).

    Costs are checked by the kernel, matrix by matrix, and all of them here if one is not an ordinary number.
    """
    b, n, m = batch.shape
    columns = np.full((b, n), -1, dtype=np.int32)
    sign = -1.0 if maximize else 1.0
    for limit in (_LARGEST, np.inf):
        duals = np.zeros((b, max(n, m))) if start is None else sign * start
        failed = unchecked = -1
        if batch.size:
            given = (batch, maximize, start is not None, limit)
            failed, unchecked = _assignment.assign(*given, columns, duals)
        if unchecked < 0:
            break
        _check(batch.reshape(shape), maximize)
    if failed >= 0:
        which = f"matrix {failed + 1}: " if b > 1 else ""
        raise DataError(f"costs: {which}every assignment contains a forbidden pair")
    return columns, sign * duals
