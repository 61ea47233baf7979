"""The parser of the command line, of typer: parameters are made from settings, for the verb that runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import cleandoc
from itertools import chain
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from rerank.cli import frame
from rerank.cli.hints import verb_hint
from rerank.core.index import INDEX
from rerank.core.settings import Field, Settings, alternatives

# Typer would import pydantic to convert None, the default of its own flags: a quarter of the start.
NO_HELP = {"help": False}
# The order of options that are needed first; the others follow as they are declared.
NEEDED = ("--data", "--dev", "--out", "--learner", "--metric")
# What 'rerank list' lists, as kinds of the index, and settings whose values are such names.
LISTED = {
    "learners": ("learner",),
    "metrics": ("metric", "preset of metrics"),
    "formats": ("format",),
    "scalings": ("scaling",),
    "kernels": ("kernel", "kernel of items"),
}
_OF_SETTINGS = {
    "learner": "learners",
    "metric": "metrics",
    "metrics": "metrics",
    "label": "metrics",
    "format": "formats",
    "to": "formats",
    "scaling": "scalings",
    "kernel": "kernels",
}


class _AsTyped:
    """The type of every parameter for typer: what was typed stays text, which the settings check."""

    annotation = str
    is_choice = is_file = is_list = is_tuple = is_datetime = is_ranged = is_path = False
    envvar_list_splitter = None

    def __init__(self, whole: bool) -> None:
        self._whole = whole

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a parameter: a whole number if it is one, and the setting is."""
        whole = self._whole and isinstance(value, str) and re.fullmatch("-?[0-9]{1,4300}", value)
        return int(value) if whole else value


def type_arguments(whole: bool, flag: bool) -> dict[str, Any]:
    """The type of a parameter, in the words of typer before 0.29, whose classes take ``type``, or since."""
    kind = _AsTyped(whole)
    if "type" in (TyperOption.__init__.__kwdefaults__ or ()):
        return {"type": None if flag else lambda value: kind.coerce(value, None, None)}
    return {"type_descriptor": kind}


class _Declared:
    """Shared parts of arguments and options that are made from settings."""

    place: tuple[str, str]  # the part of a verb's settings that it belongs to, and the key there
    type_descriptor: Any

    def get_runtime_param(self) -> Any:
        """Return a converter of values, instead of a model of pydantic, which takes long to make."""
        return self.type_descriptor


class Argument(_Declared, TyperArgument):
    """The argument of a setting."""


class Option(_Declared, TyperOption):
    """The option of a setting."""


def _parameter(field: Field, place: tuple[str, str], group: str) -> Any:
    """The option or argument of a setting; ``place`` is the part of a verb's settings and the key there."""
    kinds = [kind for kind in alternatives(field.kind) if kind is not NoneType]
    choices = [str(choice) for kind in kinds for choice in _choices(kind)]
    flag, several = bool in kinds, any(get_origin(kind) is tuple for kind in kinds)
    usual = "N" if int in kinds else "FILE" if field.path else "NAME"
    metavar = field.metavar or "|".join(choices) or usual
    text = field.help if field.help.endswith("..") else f"{field.help.removesuffix('.')}."
    text = text[:1].upper() + text[1:]
    shared: dict[str, Any] = {
        **type_arguments(int in kinds, flag),
        "required": field.required,
        "envvar": field.envvar,
        "autocompletion": _completing(field, choices or metavar.split("|")),
        "rich_help_panel": group,
    }
    if field.argument:
        shared |= {"nargs": -1 if several else 1, "show_default": False}
        one: Any = Argument(param_decls=[field.name], metavar=metavar, help=text, **shared)
    else:
        if several:
            text += " Repeatable." * ("Repeatable" not in text)
        elif not flag and field.default not in (None, "", "none", "-", ...):
            text = f"{text} [{field.default}]"
        shared |= {"is_flag": True} if flag else {"metavar": metavar, "multiple": several}
        shared["show_envvar"] = field.envvar is not None
        one = Option(param_decls=[field.name, *field.flags], help=text, **shared)
    one.place = place
    return one


def _choices(kind: Any) -> tuple[Any, ...]:
    """The values of a Literal, or of a tuple of one."""
    if get_origin(kind) is tuple:
        return _choices(get_args(kind)[0])
    return get_args(kind) if get_origin(kind) is Literal else ()


def names_of(kind: str) -> list[str]:
    """Return the names of a kind that 'rerank list' lists, without importing them; else none."""
    return sorted(chain.from_iterable(INDEX[one] for one in LISTED.get(kind, ())))


def topics() -> list[str]:
    """Return the pages of the manual."""
    from rerank.cli.help import paths

    return list(paths())


def _completing(field: Field, choices: list[str]) -> Callable[[Any, Any, str], list[str]]:
    """Return the completion of the values of a setting; files and free texts have none."""

    def complete(ctx: Any, args: Any, incomplete: str) -> list[str]:
        if field.name == "topic":
            names = topics()
        elif field.argument and field.name == "name":  # of 'rerank list', after the kind
            names = names_of(str(ctx.params.get("kind")))
        elif field.name in _OF_SETTINGS:
            names = names_of(_OF_SETTINGS[field.name])
        else:
            names = choices if len(choices) > 1 else []
        return [name for name in names if name.startswith(incomplete)]

    return complete


def fields_of(owner: type[Settings], section: str = "") -> Iterator[tuple[str, Field]]:
    """Yield the settings of a class and of its sections by dotted key, those of the class itself first.

    A setting of keys and values, such as those of a learner, has no option.
    """
    own_first = dict.fromkeys(name for base in owner.__mro__ for name in getattr(base, "__annotations__", ()))
    for name in filter(owner.settings.__contains__, own_first):
        field = owner.settings[name]
        if isinstance(field.kind, type) and issubclass(field.kind, Settings):
            yield from fields_of(field.kind, f"{section}{name}.")
        elif get_origin(field.kind) is not dict:
            yield f"{section}{name}", field


def parameters_of(options: type[frame.Verb]) -> list[Any]:
    """Return the parameters of a verb, of which its own go before those of the same name elsewhere."""
    parts: dict[str, Any] = {"own": options}
    if options.configures is not None:
        parts["typed"] = options.configures
    if options.judges is not None:
        from rerank.metrics.judging import Judging

        parts["judging"] = Judging
    from rerank.data.reading import Reading

    if options.reads:
        parts["reading"] = Reading
    left_out = {"judging": (*(options.judges or ()), "missing")}
    found, last = dict[str, Any](), dict[str, Any]()
    for part, owner in parts.items():
        for key, field in fields_of(owner):
            name = field.name
            if name not in found and name not in last and name not in left_out.get(part, ()):
                group = field.owner.help_group if field.group is None else field.group  # type: ignore[attr-defined]
                of_reading = part != "own" and name in Reading.settings
                (last if of_reading else found)[name] = _parameter(field, (part, key), group)
    quiet = found.pop("quiet")
    if not {"as_", "form", "out"}.isdisjoint(options.settings):
        guard = frame.Guarded.settings["guard_cells"]
        last["guard_cells"] = _parameter(guard, ("own", "guard_cells"), frame.OUTPUTS)
    return [*found.values(), *last.values(), quiet]


class Command(TyperCommand):
    """A verb. It refuses an option given twice if it takes one value: the last would win silently."""

    renamed: dict[str, str] = {}  # noqa: RUF012  former options, of those that run

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return what completes a word, without explanations: rich, which sets them, is slow to start."""
        items: list[Any] = super().shell_complete(ctx, incomplete)
        for item in items:
            item.help = None
        return items

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options under the headings of their groups."""
        sections: dict[str, list[tuple[int, tuple[str, str]]]] = {"Arguments": []}
        sections |= {name or "Options": [] for name in frame.ORDER}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                name = record[0].partition(" <")[0]  # arguments have their type in brackets
                place = next((NEEDED.index(flag) for flag in param.opts if flag in NEEDED), len(NEEDED))
                sections[group_of(param)].append((place, (name, record[1])))
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl([record for _, record in sorted(rows, key=lambda row: row[0])])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments after the check."""
        *_, given = self.make_parser(ctx).parse_args(args=list(args))
        for param in dict.fromkeys(given):
            single = isinstance(param, TyperOption) and not (param.multiple or param.is_flag)
            if single and given.count(param) > 1:
                ctx.fail(f"{param.opts[0]} is given twice, expected once")
        return super().parse_args(ctx, args)


def group_of(param: Any) -> str:
    """Return the heading of a parameter."""
    if not isinstance(param, TyperOption):
        return "Arguments"
    if param.name == "help":
        return frame.RUNNING
    declared = getattr(param, "rich_help_panel", None)
    return declared if declared and declared in frame.ORDER else "Options"


class Group(TyperGroup):
    """A group of commands that knows the names of other tools' commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command, of ``help VERB`` the verb with --help; an unknown one is wrong usage."""
        if args[:1] == ["help"] and args[1:] and args[1] in self.commands and args[1] not in topics():
            args = [*args[1:], "--help"]
        if args and ctx.parent is None and self.get_command(ctx, args[0]) is None:
            hint = verb_hint(args[0])
            if hint is not None:
                ctx.fail(f"no verb {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)


def command_of(name: str, found: Any) -> Any:
    """Return the parser of a verb, or of a group of verbs with theirs."""
    shared: dict[str, Any] = {"rich_markup_mode": None, "context_settings": {"default_map": NO_HELP}}
    if isinstance(found, frame.VerbGroup):
        commands = {one: command_of(one, function) for one, function in found.verbs.items()}
        return Group(name=name, help=found.help, commands=commands, no_args_is_help=True, **shared)
    options = frame.OPTIONS[found]
    parameters = parameters_of(options)
    made = Command(
        name,
        params=parameters,
        callback=partial(frame.run, found, {param.name: param.place for param in parameters}),
        help=cleandoc(found.__doc__ or ""),
        **shared,
    )
    owners: list[type[Settings]] = [options]
    if options.configures:
        kinds = [field.kind for field in options.configures.settings.values()]
        owners += [options.configures, *(k for k in kinds if isinstance(k, type) and issubclass(k, Settings))]
    made.renamed = {
        _flag(old): next(iter(owner.settings[new].flags), _flag(new))
        for owner in owners
        for old, new in owner.renamed.items()
    }
    return made


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
