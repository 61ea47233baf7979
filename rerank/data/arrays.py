"""Arrays of other Python tools: the one place that knows how each of them marks missing values.

Masked cells of numpy, NA of pandas, null of polars and Arrow, None, NaN and NaT are missing. They become NaN
among numbers, and None among ids and texts.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable
from decimal import Decimal
from numbers import Rational
from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray

_REAL = (bool, int, float, Decimal, Rational, np.bool_, np.integer, np.floating)
_NA = ("NAType", "NaTType")  # of pandas, which is not imported
_WITH_NAN = (float, np.floating, Decimal, np.datetime64, np.timedelta64)


def is_missing(value: Any) -> bool:
    """Return whether a cell is None, NaN, NaT, NA or masked."""
    if isinstance(value, Decimal):
        return value.is_nan()
    return bool(value != value) if isinstance(value, _WITH_NAN) else _is_absent(type(value))


def _is_absent(kind: type) -> bool:
    """Return whether every value of a type is missing."""
    return kind is type(None) or kind.__name__ == "MaskedConstant" or kind.__name__ in _NA


def is_masked(values: Any) -> bool:
    """Return whether values are a masked array; numpy.ma, which takes long to import, is there if one is."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def real_array(values: Any, what: str) -> AnyArray:
    """Return numbers of any shape as float64, or float32 if they are of that type; missing ones are NaN.

    Raises DataError if one is not a real number but a text, a date, a duration or a complex number.

    values : an array or column of numpy, pandas, polars or Arrow, a frame of such columns, or sequences.
    what : the name of the values in messages.
    """
    dtype = getattr(values, "dtype", None)
    if type(values) is np.ndarray and dtype in (np.float64, np.float32):
        found = values
    elif is_masked(values):
        gone = np.ma.getmaskarray(values)
        if values.dtype == object:
            objects = values.data.copy()
            objects[gone] = None
            found = _of_objects(objects, what)
        else:
            found = _real(values.data, what)
            found = np.where(gone, found.dtype.type(np.nan), found) if gone.any() else found
    elif (columns := _columns(values)) is not None:
        parts = [real_array(column, what) for column in columns]
        found = np.column_stack(parts) if parts else np.empty((len(values), 0))
    elif hasattr(dtype, "na_value") and getattr(dtype, "kind", "") in ("b", "i", "u", "f"):
        found = values.to_numpy(dtype=np.float64, na_value=np.nan)  # pandas' Int64, boolean, ...
    else:
        found = _real(values if isinstance(values, np.ndarray) else _stacked(values, what), what)
    return found


def cells(values: Any) -> list[Any]:
    """Return the entries of an array, a column or another iterable as Python objects; missing ones are None.

    Whole numbers stay exact. Rows of an array of several dimensions become nested lists.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        values = list(values)  # tolist makes numbers of nanoseconds
    for name in ("to_pylist", "to_list", "tolist"):  # of Arrow, of pandas and polars, of numpy
        if hasattr(values, name):
            values = getattr(values, name)()
            break
    found = list(values)
    if any(_is_absent(kind) or issubclass(kind, _WITH_NAN) for kind in set(map(type, found))):
        return [None if is_missing(value) else value for value in found]
    return found


def without_missing(values: Any, what: str) -> AnyArray:
    """Return lengths, places, ids or a mask as an array; raise DataError if one is missing."""
    if type(values) is np.ndarray or not isinstance(values, Iterable):
        return np.asarray(values)
    found = cells(values)
    if None in found:
        raise DataError(f"{what}: entry {found.index(None) + 1} is missing")
    return np.asarray(found)


def _stacked(values: Any, what: str) -> AnyArray:
    """A column or sequences as an array; rows that are arrays of other tools keep what is missing in them."""
    if isinstance(values, list | tuple):
        kinds = {kind for kind in set(map(type, values)) if _is_array(kind)}
        if kinds:
            values = [real_array(one, what) if type(one) in kinds else one for one in values]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numpy's, that a masked number becomes NaN
        try:
            return np.asarray(values)
        except (TypeError, ValueError) as error:
            raise DataError(f"{what} must be numbers: {error}") from None


def _is_array(kind: type) -> bool:
    """Return whether values of a type are arrays that may mark missing values: all but plain numpy ones."""
    plain = kind is np.ndarray or issubclass(kind, np.generic) or kind.__name__ == "MaskedConstant"
    return hasattr(kind, "__array__") and not plain


def _columns(values: Any) -> list[Any] | None:
    """The columns of a frame of pandas or polars or of an Arrow table, which numpy would bring to one type.

    None for anything else, and for frames of pandas that have one type, of numpy, already.
    """
    if hasattr(values, "iloc") and getattr(values, "ndim", 1) == 2:
        plain = all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in values.dtypes)
        return None if plain else [values.iloc[:, j] for j in range(values.shape[1])]
    if hasattr(values, "get_columns"):
        return list(values.get_columns())
    return list(values.columns) if hasattr(values, "column_names") else None


def _real(values: AnyArray, what: str) -> AnyArray:
    """A plain array as numbers."""
    if values.dtype == object:
        return _of_objects(values, what)
    if values.dtype.kind not in "biuf":
        found = "texts" if values.dtype.kind in "US" else str(values.dtype)
        raise DataError(f"{what} must be numbers: found {found}, expected real numbers")
    return np.asarray(values, dtype=np.float32 if values.dtype == np.float32 else np.float64)


def _of_objects(values: AnyArray, what: str) -> AnyArray:
    """Numbers among objects; raises DataError at the first that is neither a number nor missing."""
    flat = values.ravel().tolist()
    kinds = set(map(type, flat))
    gone = {kind for kind in kinds if _is_absent(kind)}
    wrong = {one for one in kinds - gone if issubclass(one, np.timedelta64) or not issubclass(one, _REAL)}
    if wrong:
        place = next(place for place, value in enumerate(flat) if type(value) in wrong)
        row = place // max(math.prod(values.shape[1:]), 1) + 1
        nested = hasattr(flat[place], "__len__") and not isinstance(flat[place], str | bytes)
        found = type(flat[place]).__name__ if nested else repr(flat[place])
        raise DataError(f"{what} must be numbers: row {row}: found {found}, expected a real number")
    try:
        numbers = [np.nan if type(value) in gone else float(value) for value in flat]
    except (ValueError, OverflowError) as error:
        raise DataError(f"{what} must be numbers: {error}") from None
    return np.array(numbers, dtype=np.float64).reshape(values.shape)


def is_nested(data: Any) -> bool:
    """Return whether it is a sequence of sequences, one for each list."""
    first = next(iter(data), 0.0)  # data[0] of a pandas Series is the row with the label 0
    return not isinstance(first, str) and np.ndim(first) > 0


def kind_of(value: Any) -> str:
    """A value of the wrong kind for a message."""
    return f"the text {value!r}" if isinstance(value, str) else type(value).__name__
