"""Typed records that are saved as JSON: checked when they are made and again when they are read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar

from rerank.core.errors import DataError
from rerank.core.settings import NULL_IS_NAN, Declared, Field, checked

T = TypeVar("T")
_DEEPEST = 16

# A number that may be NaN, such as a metric without a value. JSON has no NaN: there it is null.
Number = Annotated[T, NULL_IS_NAN]


class Record(Declared):
    """Facts that cannot be changed. Fields that have a default and are None are left out of the JSON.

    Attributes
    ----------
    told_by : str
        In a union of records, JSON with this key is one of this class; "" = any.
    """

    told_by: ClassVar[str] = ""
    finite: ClassVar[bool] = False

    def __init__(self, /, **given: Any) -> None:
        faults = self._fill(given)
        if faults:
            raise DataError(_short(faults[0]))
        self.check_values()

    @classmethod
    def is_kind_of(cls, value: Any) -> bool:
        """Return whether a value, a record or JSON, is that of this class in a union of records."""
        if isinstance(value, Record):
            return isinstance(value, cls)
        return not cls.told_by or (isinstance(value, Mapping) and cls.told_by in value)

    def with_fields(self, **changes: Any) -> Self:
        """Return a copy with other values of some fields, which are taken as they are."""
        return self._with(changes)

    def as_dict(self) -> dict[str, Any]:
        """Return the values by field, as they are."""
        return {name: getattr(self, name) for name in self.fields}

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON, in the order of the fields."""
        return {
            field.key or name: _plain(getattr(self, name))
            for name, field in self.fields.items()
            if getattr(self, name) is not None or field.required
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the record that ``as_json`` gave ``value``.

        Raises
        ------
        DataError
            If a field is missing, unknown or of the wrong type.
        """
        found, faults = checked("", _as_tuples(value), cls, {}, strict=True)
        if faults:
            raise DataError(_short(faults[0]))
        record: Self = found
        return record


def fact(default: Any = ..., **usage: Any) -> Any:
    """Return a field of a record that has limits, or another name in JSON (``key``); see ``setting``."""
    return Field(default, **usage)


def _short(line: str) -> str:
    from textwrap import shorten

    return shorten(line, 200)


def read_json(text: bytes) -> Any:
    """Return the JSON value of a file that may come from a stranger.

    Text that is not UTF-8 becomes surrogates, which the same error handler writes again.

    Raises
    ------
    ValueError
        If it is not JSON, is nested too deeply, names a key twice in one object, has a number outside
        64-bit integers or float64, or text that no file can hold.
    """
    try:
        value = json.loads(
            text.decode("utf-8", "surrogateescape"),
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_finite,
            object_pairs_hook=_object,
        )
        _check_depth(value)
        json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except RecursionError:
        raise ValueError("values that are nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half of a character") from None
    return value


def _check_depth(value: Any) -> None:
    """Raise RecursionError if lists and objects are nested deeper than records are."""
    level = [value]
    for _ in range(_DEEPEST):
        inner = (item.values() if isinstance(item, dict) else item for item in level if _is_nested(item))
        level = [value for values in inner for value in values if _is_nested(value)]
    if level:
        raise RecursionError


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _whole(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**64:
        raise ValueError(f"number {digits[:20]}... is too large")
    return int(digits)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"number {number[:40]} is not finite")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice in one object")
    return found


def _as_tuples(value: Any) -> Any:
    """JSON with its lists as tuples, which records hold."""
    if isinstance(value, dict):
        return {key: _as_tuples(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return tuple([_as_tuples(inner) if _is_nested(inner) else inner for inner in value])
    return value


def _plain(value: Any) -> Any:
    """A field as JSON has it."""
    if isinstance(value, Record):
        return value.as_json()
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
