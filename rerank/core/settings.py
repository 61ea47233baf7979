"""Settings that are at once keyword arguments, YAML keys and command-line options.

A class of settings declares fields with defaults, ranges and a line of help; everything that checks,
lists or explains settings reads that declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self, get_args

import pydantic
from pydantic import BaseModel, ConfigDict, ValidationError

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean

# What was expected, by pydantic's type of fault; {names} come from the fault's context.
_EXPECTED = {
    "greater_than_equal": "{ge:g} or more",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "{le:g} or less",
    "less_than": "less than {lt:g}",
    "finite_number": "a finite number",
    "literal_error": "{expected}",
    "string_type": "text",
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type"), "keys and values"),
}


class Settings(BaseModel):
    """Checked, immutable settings; a wrong one raises ConfigError with its key, what was found and expected.

    The word 'none' means None if the setting accepts None and is not text.
    """

    help_group: ClassVar[str] = ""  # the heading of its options in --help
    renamed: ClassVar[
        Mapping[str, str]
    ] = {}  # former names of settings; using one is an error that names the new

    # Most classes that a run imports are not used in it: what checks values is built when it is needed.
    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False, defer_build=True
    )

    def __init__(self, /, **settings: Any) -> None:
        given = {name: self._meant(name, value) for name, value in settings.items()}
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise ConfigError("; ".join(explain(error, type(self)))) from None

    @classmethod
    def checked(cls, values: Mapping[str, Any], where: str) -> Self:
        """Return the settings in ``values``.

        Parameters
        ----------
        values
            Settings by name.
        where
            How errors begin: a file, an option.

        Raises
        ------
        ConfigError
            If a setting is unknown or out of range.
        """
        try:
            return cls(**values)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None

    @classmethod
    def _meant(cls, name: str, value: Any) -> Any:
        """The value, None for the word none if the setting accepts it; raises ConfigError for 1_000."""
        field = cls.model_fields.get(name)
        types = () if field is None else get_args(field.annotation) or (field.annotation,)
        if not isinstance(value, str) or str in types:
            return value
        if ("_" in value or not value.isascii()) and {int, float} & set(types):  # pydantic takes them
            raise ConfigError(f"{name}: found {value!r}, expected a number")
        return None if value == "none" and type(None) in types else value

    def get_params(self) -> dict[str, Any]:
        """Return every setting by name, as scikit-learn's estimators do."""
        return {name: getattr(self, name) for name in type(self).model_fields}


def explain(error: ValidationError, owner: type[BaseModel]) -> list[str]:
    """Return one line for each fault of a pydantic error: path of the key, found, expected."""
    lines = []
    for fault in error.errors(include_url=False):
        parts = [part for part in fault["loc"] if not _is_branch(part)]
        if parts and isinstance(parts[-1], int):  # the place of a value in a list
            parts.pop()
        path = ".".join(map(str, parts))
        if fault["type"] == "extra_forbidden":
            inner, last = _owner_at(owner, fault["loc"][:-1]), str(fault["loc"][-1])
            former = inner.renamed if issubclass(inner, Settings) else {}
            hint = f"it is now {former[last]!r}" if last in former else did_you_mean(last, inner.model_fields)
            lines.append(f"unknown setting {path!r}; {hint}")
        elif fault["type"] == "value_error":
            lines.append(str(fault["ctx"]["error"]))
        else:
            lines.append(f"{path}: found {_found(fault['input'])}, expected {_expected(fault)}")
    return list(dict.fromkeys(lines))


def _found(value: Any) -> str:
    """A value as it can be typed."""
    if value is None or isinstance(value, bool):
        return value_text(value)
    return repr(list(value) if isinstance(value, tuple) else value)


def _expected(fault: Mapping[str, Any]) -> str:
    """What was expected, in our words."""
    known = _EXPECTED.get(fault["type"])
    if known is None:
        message: str = fault["msg"]
        return message[0].lower() + message[1:]
    return known.format_map(fault.get("ctx", {}))


def _is_branch(part: int | str) -> bool:
    """Whether pydantic means an alternative of a union, which is not a key that users know."""
    return isinstance(part, str) and (part in ("int", "float", "str", "bool") or "[" in part)


def _owner_at(owner: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    for part in path:
        field = owner.model_fields.get(str(part))
        inner = field.annotation if field else None
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            owner = inner
    return owner


@dataclass(frozen=True)
class Usage:
    """How a setting appears outside Python; see ``setting``."""

    metavar: str | None = None
    flags: tuple[str, ...] = ()
    path: bool = False
    per_part: bool = False
    group: str | None = None


def setting(
    default: Any,
    help: str,
    *,
    metavar: str | None = None,
    flags: tuple[str, ...] = (),
    path: bool = False,
    per_part: bool = False,
    group: str | None = None,
    **limits: Any,
) -> Any:
    """Return a field of a Settings class.

    Parameters
    ----------
    default : the value if none is given.
    help : one line, in lower case and without a full stop, for ``--help`` and ``rerank list``.
    metavar : how help names a value; None = by the type (the choices of a Literal, N, FILE, NAME).
    flags : the command line's spellings, () = the name with hyphens.
    path : whether it names files: relative ones in a YAML file are relative to that file.
    per_part : whether it belongs to one file, so that each part of a configuration has its own.
    group : the heading of ``--help``; None = that of the class (``help_group``).
    limits : of pydantic, such as ge=0.
    """
    usage = asdict(Usage(metavar, flags, path, per_part, group))
    return pydantic.Field(default=default, description=help, json_schema_extra=usage, **limits)


def usage_of(field: pydantic.fields.FieldInfo) -> Usage:
    """Return how a field made by ``setting`` appears outside Python."""
    extra: Any = field.json_schema_extra
    return Usage(**extra) if isinstance(extra, dict) else Usage()


def flags_of(name: str, field: pydantic.fields.FieldInfo) -> tuple[str, ...]:
    """Return the command line's spellings of a setting."""
    return usage_of(field).flags or (f"--{name.replace('_', '-')}",)


def describe(owner: type[Settings]) -> list[tuple[str, str, str, str]]:
    """Return (name, type or choices, default, help) of each setting, in the order of declaration."""
    rows = []
    for name, field in owner.model_fields.items():
        rows.append((name, _type_text(field), value_text(field.default), field.description or ""))
    return rows


def _type_text(field: pydantic.fields.FieldInfo) -> str:
    text = str(field.annotation) if not isinstance(field.annotation, type) else field.annotation.__name__
    text = text.replace("dict[str, float]", "{name: number}").replace("dict[str, typing.Any]", "{key: value}")
    text = text.replace("tuple[float, ...]", "numbers")
    for noise in ("typing.", "Union[", "Literal[", "]", "'"):
        text = text.replace(noise, "")
    text = text.replace(" | ", ", ").replace(", ", " | ").replace("NoneType", "none").replace("None", "none")
    limits = [
        f"{sign} {getattr(limit, name):g}"
        for limit in field.metadata
        for name, sign in (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))
        if getattr(limit, name, None) is not None
    ]
    name, alternative, none = text.partition(" | none")
    return " ".join([name, *limits]) + alternative + none


def value_text(value: Any) -> str:
    """Return a value of a setting as help and tables print it."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
