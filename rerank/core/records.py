"""Typed records that are saved as JSON: checked when they are made and again when they are read."""

from __future__ import annotations

import json
import math
import textwrap
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo

from rerank.core.errors import DataError
from rerank.core.settings import explain

T = TypeVar("T")
_FROM_JSON = "json"
_DEEPEST = 16


def _nan_of_null(value: Any, info: ValidationInfo) -> Any:
    return math.nan if value is None and info.context == _FROM_JSON else value


# A number that may be NaN, such as a metric without a value. JSON has no NaN: there it is null.
Number = Annotated[T, BeforeValidator(_nan_of_null)]


class Record(BaseModel):
    """Facts that cannot be changed. Fields that have a default and are None are left out of the JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON, in the order of the fields."""
        return {
            field.serialization_alias or name: _plain(getattr(self, name))
            for name, field in type(self).model_fields.items()
            if getattr(self, name) is not None or field.is_required()
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the record that ``as_json`` gave ``value``.

        Raises
        ------
        DataError
            If a field is missing, unknown or of the wrong type.
        """
        try:
            return cls.model_validate(_as_tuples(value), context=_FROM_JSON, strict=True)
        except ValidationError as error:
            raise DataError(_reason(error, cls)) from None


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


def _reason(error: ValidationError, owner: type[Record]) -> str:
    """The first fault in one line of bounded length."""
    fault = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in fault["loc"] if not str(part).startswith("["))
    if fault["type"] in ("missing", "extra_forbidden"):
        return f"{path} is {'missing' if fault['type'] == 'missing' else 'unknown'}"
    return textwrap.shorten(explain(error, owner)[0], 200)


def _plain(value: Any) -> Any:
    """A field as JSON has it."""
    if isinstance(value, Record):
        return value.as_json()
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _plain(one) if isinstance(one, Record) else one for key, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
