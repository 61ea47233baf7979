"""Command-line options that are generated from declared settings, so that flags and YAML keys agree."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer

from rerank.cli.completing import completion_of
from rerank.core.settings import Field, Settings
from rerank.data.reading import Reading
from rerank.evaluation.judging import Judging

F = TypeVar("F", bound=Callable[..., Any])


def reads(function: F) -> F:
    """Add the options of reading to a command, which gets them as one ``reading: Reading``."""
    return _with_options(function, Reading, "reading", lambda given: Reading(**given))


def configures(owner: type[Settings]) -> Callable[[F], F]:
    """Add an option for each setting of ``owner`` to a command, which gets ``given: dict[str, Any]``.

    The keys of ``given`` are dotted for settings of sections; what was not typed is not in it.
    """
    return lambda function: _with_options(function, owner, "given", lambda given: given)


def judges(*without: str) -> Callable[[F], F]:
    """Add the options of judging to a command, which gets ``settings: dict[str, Any]`` of those typed.

    There are no options for settings ``without``, nor for scores that a system lacks, which are for reading.
    """
    return lambda function: _with_options(
        function, Judging, "settings", lambda given: given, (*without, "missing")
    )


def _with_options(
    function: F,
    owner: type[Settings],
    name: str,
    make: Callable[[dict[str, Any]], Any],
    without: tuple[str, ...] = (),
) -> F:
    """``function`` with an option for each setting; what was typed goes through ``make`` to ``name``.

    Options that the function has already stay its own, as ``--match`` of 'rerank features qa' does.
    """
    signature = inspect.signature(function, eval_str=True)
    own_names = {*signature.parameters, *without}
    options = [one for one in options_of(owner).items() if one[1].name not in own_names]
    added = dict(sorted(options, key=lambda option: option[1].name in Reading.settings))
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
        if parameter.name != name
    ]

    # One wrapper takes the options of all classes of settings.
    inner, taken = getattr(function, "_taken", (function, {}))
    taken = {**taken, name: (added, make)}

    @functools.wraps(function)
    def command(**arguments: Any) -> Any:
        for name, (options, make) in taken.items():
            typed = {key: arguments.pop(parameter.name) for key, parameter in options.items()}
            arguments[name] = make({key: value for key, value in typed.items() if value not in (None, [])})
        return inner(**arguments)

    parameters = [*own, *added.values()]
    command._taken = inner, taken  # type: ignore[attr-defined]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    del command.__wrapped__  # the new signature is the one to show
    return command  # type: ignore[return-value]


def options_of(owner: type[Settings], section: str = "") -> dict[str, inspect.Parameter]:
    """Return a command-line option for each setting of ``owner`` and of its sections, by dotted key.

    A setting of keys and values, such as those of a learner, has none.
    """
    found: dict[str, inspect.Parameter] = {}
    own_first = dict.fromkeys(name for base in owner.__mro__ for name in getattr(base, "__annotations__", ()))
    for name in filter(owner.settings.__contains__, own_first):
        field = owner.settings[name]
        kind = field.kind
        if isinstance(kind, type) and issubclass(kind, Settings):
            found |= options_of(kind, f"{section}{name}.")
        elif get_origin(kind) is not dict:
            found[f"{section}{name}"] = inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=_annotation(name, field, _group(owner, name)),
            )
    return found


def _group(owner: type[Settings], name: str) -> str:
    """The heading of a setting: its own, or that of the class that declares it."""
    own = owner.settings[name].group
    declaring = next(base for base in owner.__mro__ if name in inspect.get_annotations(base))
    heading: str = declaring.help_group if own is None else own  # type: ignore[attr-defined]
    return heading


def _annotation(name: str, field: Field, group: str) -> Any:
    """The type and flags of an option; None = not typed. Values are checked where they are used."""
    kinds = _alternatives(field.kind)
    flags = field.flags
    text = f"{field.help.removesuffix('.')}."
    text = text[0].upper() + text[1:]
    if bool in kinds:
        return Annotated[bool | None, typer.Option(*flags, help=text, rich_help_panel=group)]
    choices = [str(choice) for kind in kinds for choice in _choices(kind)]
    more: dict[str, Any] = {"rich_help_panel": group, "autocompletion": completion_of(name, choices)}
    metavar = field.metavar or "|".join(choices)
    metavar = metavar or ("N" if int in kinds else "FILE" if field.path else "NAME")
    if any(get_origin(kind) is tuple for kind in kinds):
        option = typer.Option(*flags, metavar=metavar, help=f"{text} Repeatable.", **more)
        return Annotated[list[str] | None, option]
    parser = _whole if int in kinds else str
    shown = f"{text} [{field.default}]" if field.default not in (None, "", "none") else text
    return Annotated[Any, typer.Option(*flags, metavar=metavar, help=shown, parser=parser, **more)]


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The types that an annotation allows, except None."""
    union = get_origin(annotation) in (Union, UnionType)
    return tuple(kind for kind in (get_args(annotation) if union else (annotation,)) if kind is not NoneType)


def _choices(kind: Any) -> tuple[Any, ...]:
    """The values of a Literal, or of a tuple of one."""
    if get_origin(kind) is tuple:
        return _choices(get_args(kind)[0])
    return get_args(kind) if get_origin(kind) is Literal else ()


def _whole(text: str) -> int | str:
    """A whole number; other text stays as it is for the settings to refuse."""
    return int(text) if re.fullmatch("-?[0-9]{1,4300}", text) else text
