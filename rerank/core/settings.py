"""Settings that are at once keyword arguments, YAML keys and command-line options.

A class of settings declares fields with defaults, ranges and a line of help; everything that checks,
lists or explains settings reads that declaration. msgspec checks single values; what is here adds the rules
of the command line (numbers as text, the word none), ranges, and a line for every fault instead of the first.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean

NULL_IS_NAN = "null is NaN"  # marks a number that may be NaN; JSON has none, there it is null
# Sign, what is expected, and whether a value is that.
_LIMITS: dict[str, tuple[str, str, Callable[[Any, Any], bool]]] = {
    "ge": (">=", "{:g} or more", lambda value, limit: value >= limit),
    "gt": (">", "more than {:g}", lambda value, limit: value > limit),
    "le": ("<=", "{:g} or less", lambda value, limit: value <= limit),
    "lt": ("<", "less than {:g}", lambda value, limit: value < limit),
    "max_length": ("", "a length of {:d} or less", lambda value, limit: len(value) <= limit),
}
_TRUTH = {"yes": True, "on": True, "no": False, "off": False}  # beside true and false
_EXPECTED = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_SECTION = "keys and values"


class Field:
    """A declared value: its type, default and limits, and how it appears outside Python; see ``setting``."""

    name: str
    owner: type[Declared]
    annotation: Any

    def __init__(
        self,
        default: Any = ...,
        help: str = "",
        *,
        metavar: str | None = None,
        flags: tuple[str, ...] = (),
        path: bool = False,
        per_part: bool = False,
        group: str | None = None,
        parse: Callable[[Any], Any] | None = None,
        key: str = "",
        argument: bool = False,
        envvar: str | None = None,
        **limits: Any,
    ) -> None:
        self.default, self.help, self.metavar, self.group = default, help, metavar, group
        self.path, self.per_part, self.key, self.limits = path, per_part, key, limits
        self.argument, self.envvar = argument, envvar
        self._flags, self._parse = flags, parse
        self.required = default is ...
        self._kind: Any = None

    @property
    def flags(self) -> tuple[str, ...]:
        """The command line's spellings."""
        return self._flags or (f"--{(self.key or self.name).replace('_', '-')}",)

    @property
    def kind(self) -> Any:
        """The type of the value; it is evaluated when it is first used, as most classes of a run are not."""
        if self._kind is None:
            holder: Any = SimpleNamespace(__annotations__={self.name: self.annotation})
            names = vars(sys.modules[self.owner.__module__])
            kind = get_type_hints(holder, names, dict(vars(self.owner)), include_extras=True)[self.name]
            if get_origin(kind) is Annotated and callable(get_args(kind)[1]):
                kind, parse = get_args(kind)
                self._parse = self._parse or parse
            self._kind = kind
        return self._kind

    def read(self, path: str, value: Any, strict: bool = False) -> tuple[Any, list[str]]:
        """Return a value as the type has it, and a line for each fault, which begins with ``path``."""
        kind = self.kind
        if isinstance(value, str) and not strict:
            kinds = alternatives(kind)
            if str in kinds:
                pass
            elif ("_" in value or not value.isascii()) and (int in kinds or float in kinds):
                return value, [f"{path}: found {value!r}, expected a number"]
            elif value == "none" and NoneType in kinds:
                value = None
        if self._parse is not None:
            try:
                value = self._parse(value)
            except ValueError as error:
                return value, [str(error)]
        return checked(path, value, kind, self.limits, strict)


# The fields that each class declares itself.
_OWN: dict[type, dict[str, Field]] = {}


@dataclass_transform(kw_only_default=True)
class Declared:
    """Values that a class declares as annotated fields. They are given by name, checked, and not changed."""

    fields: ClassVar[Mapping[str, Field]] = {}
    _mutable: ClassVar[tuple[str, ...]] = ()  # fields of whose default each object has a copy
    finite: ClassVar[bool] = True  # whether no number may be infinite or NaN

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = _OWN[cls] = {}
        for name, annotation in inspect.get_annotations(cls).items():
            if name[0] == "_" or "ClassVar" in str(annotation):
                continue
            default = vars(cls).get(name, ...)
            field = own[name] = default if isinstance(default, Field) else Field(default)
            field.name, field.owner, field.annotation = name, cls, annotation
            field.limits.setdefault("finite", cls.finite)
            if not field.required:
                setattr(cls, name, field.default)
            elif default is field:
                delattr(cls, name)
        cls.fields = {
            name: field for base in reversed(cls.__mro__) for name, field in _OWN.get(base, {}).items()
        }
        mutable = [name for name, field in cls.fields.items() if isinstance(field.default, dict | list)]
        cls._mutable = tuple(mutable)

    def _fill(self, given: Mapping[str, Any], prefix: str = "", strict: bool = False) -> list[str]:
        """Take checked values; return a line for each fault, in which names follow ``prefix``."""
        values, faults = vars(self), []
        for name in self._mutable:
            if name not in given:
                values[name] = self.fields[name].default.copy()
        for name, field in self.fields.items():
            key = name if name in given else field.key
            if key in given:
                values[name], wrong = field.read(prefix + (field.key or key), given[key], strict)
                faults += wrong
            elif field.required:
                faults.append(f"{prefix}{field.key or name} is missing")
        known = {*self.fields, *(field.key for field in self.fields.values() if field.key)}
        return faults + [self._unknown(prefix, str(name)) for name in given if name not in known]

    @classmethod
    def _unknown(cls, prefix: str, name: str) -> str:
        """The line about a name that is no field."""
        return f"{prefix}{name} is unknown"

    def check_values(self) -> None:
        """Raise an error, with the whole line, if values do not fit together."""

    def _of_fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.fields)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._of_fields() == other._of_fields())

    def __hash__(self) -> int:
        return hash((type(self), self._of_fields()))

    def __repr__(self) -> str:
        values = [f"{name}={getattr(self, name)!r}" for name in self.fields]
        return f"{type(self).__name__}({', '.join(values)})"

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_":  # others are no values
            raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be changed")
        vars(self)[name] = value

    def _with(self, changes: Mapping[str, Any]) -> Self:
        """A copy with other values, taken as they are."""
        own = {name: value for name, value in vars(self).items() if name in self.fields or name[0] == "_"}
        copied = object.__new__(type(self))
        vars(copied).update(own | dict(changes))
        return copied


class Settings(Declared):
    """Checked, immutable settings; a wrong one raises ConfigError with its key, what was found and expected.

    The word 'none' means None if the setting accepts None and is not text. A class may override
    ``check_values`` for rules between settings.

    Attributes
    ----------
    settings : Mapping
        The declared settings of the class by name.
    settings_given : frozenset of str
        Those that were given to this object.
    """

    settings: ClassVar[Mapping[str, Field]] = {}
    settings_given: ClassVar[frozenset[str]] = frozenset()
    help_group: ClassVar[str] = ""  # the heading of its options in --help
    # Former names of settings; using one is an error that names the new.
    renamed: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.settings = cls.fields

    def __init__(self, /, **given: Any) -> None:
        faults = self._fill(given)
        if faults:
            raise ConfigError("; ".join(dict.fromkeys(faults)))
        self.check_values()

    def _fill(self, given: Mapping[str, Any], prefix: str = "", strict: bool = False) -> list[str]:
        vars(self)["settings_given"] = frozenset(given)
        return super()._fill(given, prefix, strict)

    @classmethod
    def _unknown(cls, prefix: str, name: str) -> str:
        new = cls.renamed.get(name)
        hint = did_you_mean(name, cls.settings) if new is None else f"it is now {new!r}"
        return f"unknown setting {prefix + name!r}; {hint}"

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

    def with_settings(self, **changes: Any) -> Self:
        """Return a copy with other values of some settings, which are taken as they are."""
        copied = self._with(changes)
        vars(copied)["settings_given"] = self.settings_given | changes.keys()
        return copied

    def as_dict(self) -> dict[str, Any]:
        """Return every setting by name, and those of sections as dictionaries too."""
        return {name: v.as_dict() if isinstance(v, Settings) else v for name, v in self.get_params().items()}

    def get_params(self) -> dict[str, Any]:
        """Return every setting by name, as scikit-learn's estimators do."""
        return {name: getattr(self, name) for name in self.settings}


def setting(default: Any, help: str, **usage: Any) -> Any:
    """Return a field of a Settings class.

    Parameters
    ----------
    default : the value if none is given; ... = one must be given.
    help : one line, in lower case and without a full stop, for ``--help`` and ``rerank list``.
    metavar : how help names a value; None = by the type (the choices of a Literal, N, FILE, NAME).
    flags : the command line's spellings, () = the name with hyphens.
    path : whether it names files: relative ones in a YAML file are relative to that file.
    per_part : whether it belongs to one file, so that each part of a configuration has its own.
    group : the heading of ``--help``; None = that of the class (``help_group``).
    key : its name outside Python, if that is a keyword there.
    argument : whether it is given without an option.
    envvar : an environment variable that gives it, too.
    parse : changes a given value before its type is checked; ValueError has the whole line.
    ge, gt, le, lt : limits of a number.
    finite : whether it may not be infinite or NaN, which is the default.
    """
    return Field(default, help, **usage)


def checked(
    path: str, value: Any, kind: Any, limits: Mapping[str, Any], strict: bool = False
) -> tuple[Any, list[str]]:
    """Return a value as its type has it, and for each alternative that it is not a line about that.

    Parameters
    ----------
    path : the name of the value in messages.
    value : as it was given.
    kind : the type.
    limits : the range of numbers, see ``setting``.
    strict : whether the value has a type of JSON, of which nothing else is accepted; otherwise a number may
        be text or of numpy, and a whole number may be written as 5.0.
    """
    kinds = alternatives(kind)
    if value is None and NoneType in kinds:
        return None, []
    kinds = tuple(one for one in kinds if one is not NoneType)
    if len(kinds) == 1:
        return _as_one(path, value, kinds[0], limits, strict)
    if isinstance(kinds[0], type) and issubclass(kinds[0], Declared):
        return _as_one(path, value, next(one for one in kinds if one.is_kind_of(value)), limits, strict)
    exact = tuple(one for one in kinds if type(value) is one)
    faults: dict[Any, list[str]] = {}
    for one in exact + kinds:
        if one not in faults:
            found, faults[one] = _as_one(path, value, one, limits, strict)
            if not faults[one]:
                return found, []
    return value, [line for one in kinds for line in faults[one]]


def alternatives(kind: Any) -> tuple[Any, ...]:
    """Return the types that a union allows, or the type itself."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _as_one(
    path: str, value: Any, kind: Any, limits: Mapping[str, Any], strict: bool
) -> tuple[Any, list[str]]:
    """The same of a type that is no union."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Annotated:
        return (math.nan, []) if strict and value is None else checked(path, value, inner[0], limits, strict)
    if origin is Any:
        return value, []
    if origin is Literal:
        for one in inner:
            if isinstance(value, type(one)) and type(value) is not bool and value == one:
                return one, []
        return value, [_fault(path, value, _choice(list(map(repr, inner))))]
    if origin is dict:
        return _as_dict(path, value, inner, limits, strict)
    if origin in (tuple, list):
        return _as_sequence(path, value, origin, inner, limits, strict)
    if origin in _EXPECTED:
        return _as_plain(path, value, origin, limits, strict)
    if isinstance(value, origin):
        return value, []
    if not issubclass(origin, Declared):
        return value, [_fault(path, value, f"a {origin.__name__}")]
    if not isinstance(value, Mapping):
        return value, [_fault(path, value, _SECTION)]
    section = object.__new__(origin)
    faults = section._fill(value, f"{path}." if path else "", strict)
    if not faults:
        section.check_values()
    return section, faults


def _as_dict(
    path: str, value: Any, inner: tuple[Any, ...], limits: Mapping[str, Any], strict: bool
) -> tuple[Any, list[str]]:
    if not isinstance(value, Mapping):
        return value, [_fault(path, value, _SECTION)]
    found, faults = {}, []
    for key, one in value.items():
        named = isinstance(key, str)
        found[key], wrong = checked(f"{path}.{key}" if named else path, one, inner[1], limits, strict)
        faults += wrong if named else [_fault(path, key, "text"), *wrong]
    return found, faults


def _as_sequence(
    path: str, value: Any, origin: type, inner: tuple[Any, ...], limits: Mapping[str, Any], strict: bool
) -> tuple[Any, list[str]]:
    if not isinstance(value, list | tuple):
        value = list(value) if getattr(value, "ndim", 0) == 1 else value  # an array
    several = origin is list or inner[1:] == (...,)
    if not isinstance(value, list | tuple):
        return value, [_fault(path, value, "a list")]
    if not several and len(value) != len(inner):
        return value, [_fault(path, value, f"a list of {len(inner)} values")]
    kinds = [inner[0]] * len(value) if several else inner
    if several and not limits.get("finite") and len(limits) - ("max_length" in limits) == 1:
        plain = _plain_sequence(value, origin, inner[0])
        if plain is not None:
            return plain, _outside(path, plain, limits)
    nested = isinstance(inner[0], type) and issubclass(inner[0], Declared)
    whole, limits = limits, {name: limit for name, limit in limits.items() if name != "max_length"}
    found, faults = [], []
    for i, (one, kind) in enumerate(zip(value, kinds, strict=True)):
        place = f"{path}.{i}" if nested and isinstance(one, Mapping) else path
        new, wrong = checked(place, one, kind, limits, strict)
        found.append(new)
        faults += wrong
    return origin(found), faults or _outside(path, found, whole)


def _plain_sequence(value: Any, origin: type, kind: Any) -> Any:
    """Values of one plain type, of which there may be a million, at once; None if one is wrong."""
    nan = get_origin(kind) is Annotated
    kind = get_args(kind)[0] if nan else kind
    if kind not in _EXPECTED:
        return None
    try:
        found = msgspec.convert(value, tuple[kind | None, ...] if nan else tuple[kind, ...], strict=True)
    except msgspec.ValidationError:
        return None
    return (
        origin([math.nan if one is None else one for one in found])
        if nan and None in found
        else origin(found)
    )


def _as_plain(
    path: str, value: Any, kind: Any, limits: Mapping[str, Any], strict: bool
) -> tuple[Any, list[str]]:
    """The same of true or false, a number or text."""
    plain = value
    if not strict and kind is not str:
        if getattr(value, "shape", None) == ():  # a number of numpy
            plain = value.item()
        if isinstance(plain, str):
            plain = plain.strip().removeprefix("+")
            if "_" in plain or not plain.isascii() or (kind is int and "e" in plain.lower()):
                return value, [_fault(path, value, _EXPECTED[kind])]
            if kind is bool:
                plain = _TRUTH.get(plain.lower(), plain)
            with suppress(ValueError):
                plain = float(plain) if kind is float else plain
        elif isinstance(plain, float) and kind is int and limits.get("finite") and not math.isfinite(plain):
            return value, [_fault(path, value, "a finite number")]
    try:
        found = msgspec.convert(plain, kind, strict=strict or kind is str)
    except msgspec.ValidationError:
        return value, [_fault(path, value, _EXPECTED[kind])]
    return str(found) if kind is str else found, _outside(path, found, limits, value)


def _outside(path: str, found: Any, limits: Mapping[str, Any], value: Any = None) -> list[str]:
    """A line if ``found``, which was given as ``value``, is outside the limits."""
    number = type(found) in (int, float)
    if number and limits.get("finite") and not math.isfinite(found):
        return [_fault(path, value, "a finite number")]
    for name, limit in limits.items():
        if name != "finite" and number == (name != "max_length") and not _LIMITS[name][2](found, limit):
            return [_fault(path, found if value is None else value, _LIMITS[name][1].format(limit))]
    return []


def _fault(path: str, value: Any, expected: str) -> str:
    """The line about a value; it quotes the value as it can be typed."""
    plain = value_text(value) if value is None or isinstance(value, bool) else None
    quoted = plain or repr(list(value) if isinstance(value, tuple) else value)
    return f"{path}: found {quoted}, expected {expected}"


def _choice(names: list[str]) -> str:
    """Names as a choice: 'a', 'b' or 'c'."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def describe(owner: type[Settings]) -> list[tuple[str, str, str, str]]:
    """Return (name, type or choices, default, help) of each setting, in the order of declaration."""
    return [
        (name, _type_text(field), value_text(field.default), field.help)
        for name, field in owner.settings.items()
    ]


def _type_text(field: Field) -> str:
    text = str(field.kind) if not isinstance(field.kind, type) else field.kind.__name__
    text = text.replace("dict[str, float]", "{name: number}").replace("dict[str, typing.Any]", "{key: value}")
    text = text.replace("tuple[float, ...]", "numbers")
    for noise in ("typing.", "Union[", "Literal[", "]", "'"):
        text = text.replace(noise, "")
    text = text.replace(" | ", ", ").replace(", ", " | ").replace("NoneType", "none").replace("None", "none")
    limits = [
        f"{_LIMITS[name][0]} {field.limits[name]:g}"
        for name in ("ge", "gt", "le", "lt")
        if name in field.limits
    ]
    name, alternative, none = text.partition(" | none")
    return " ".join([name, *limits]) + alternative + none


def value_text(value: Any) -> str:
    """Return a value of a setting as help and tables print it."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
