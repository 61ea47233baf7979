"""Typed records that are saved as JSON: checked when they are made and again when they are read."""

from __future__ import annotations

import math
import textwrap
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo

from rerank.errors import DataError
from rerank.settings import explain

T = TypeVar("T")
_FROM_JSON = "json"


def _nan_of_null(value: Any, info: ValidationInfo) -> Any:
    return math.nan if value is None and info.context == _FROM_JSON else value


# A number that may be NaN, such as a metric without a value. JSON has no NaN: there it is null.
Number = Annotated[T, BeforeValidator(_nan_of_null)]


class Record(BaseModel):
    """Facts that cannot be changed. Fields that have a default and are None are left out of the JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

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
            return cls.model_validate(value, context=_FROM_JSON)
        except ValidationError as error:
            raise DataError(_reason(error, cls)) from None


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
    return None if isinstance(value, float) and not math.isfinite(value) else value
