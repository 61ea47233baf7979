"""What verbs share: options that are given once, exit codes, messages on standard error, failed writes."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from rerank.cli import groups
from rerank.cli.hints import file_hint, verb_hint
from rerank.cli.messages import inform as inform
from rerank.cli.messages import interruption, set_quiet, showing
from rerank.cli.messages import say as say
from rerank.cli.typed import quick
from rerank.core.errors import RerankError
from rerank.core.files.read import inputs_opened_once
from rerank.core.progress import Tracker, step
from rerank.core.tables.data import guarding

F = TypeVar("F", bound=Callable[..., Any])

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Workers, 1 unless given; 0 = one per core.",
        rich_help_panel=groups.RUNNING,
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="tcp://HOST:PORT",
        help="Workers of a Dask cluster, in place of --jobs; see 'rerank help configuration'.",
        rich_help_panel=groups.RUNNING,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print errors only: no notes, progress or summary.",
        rich_help_panel=groups.RUNNING,
    ),
]
Guard = Annotated[
    bool,
    typer.Option(
        "--guard-cells",
        envvar="RERANK_GUARD_CELLS",
        help="CSV and TSV for spreadsheet programs: an apostrophe before what they would take for a formula.",
        rich_help_panel=groups.OUTPUTS,
    ),
]
_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_WRITING = {"as_", "form", "out", "folder"}  # parameters of verbs that may write CSV or TSV

EXIT_NO = 1
EXIT_USAGE = 2
EXIT_CRASH = 70
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141


class Command(TyperCommand):
    """A command that refuses an option given twice if it takes one value: the last would win silently."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, that of --help included."""
        return quick(super().get_params(ctx))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return what completes a word, without explanations: rich, which sets them, is slow to start."""
        items: list[Any] = super().shell_complete(ctx, incomplete)
        for item in items:
            item.help = None
        return items

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options under the headings of their groups."""
        sections: dict[str, list[tuple[int, tuple[str, str]]]] = {"Arguments": []}
        sections |= {name or "Options": [] for name in groups.ORDER}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                of = groups.group_of(param) if isinstance(param, TyperOption) else "Arguments"
                name = record[0].partition(" <")[0]  # arguments have their type in brackets
                sections[of or "Options"].append((groups.place_of(param.opts), (name, record[1])))
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


class Group(TyperGroup):
    """A group of commands that knows the names of other tools' commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, that of --help included."""
        return quick(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is asked for; an unknown one is wrong usage."""
        if args and ctx.parent is None and self.get_command(ctx, args[0]) is None:
            hint = verb_hint(args[0])
            if hint is not None:
                ctx.fail(f"no verb {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)


class Commands(typer.Typer):
    """A group of commands with the settings that all groups share."""

    def __init__(self, help: str, cls: type[Group] = Group, **settings: Any) -> None:
        super().__init__(cls=cls, help=help, no_args_is_help=True, rich_markup_mode=None, **settings)

    def add(self, name: str) -> Callable[[F], F]:
        """Return a decorator that adds a command."""
        return self.command(name, cls=Command)


def output_error(error: OSError) -> int:
    """Report why writing to standard output failed, unless a pipe was closed; return the exit code.

    Buffered output is discarded: a second error at exit would be noise. An error that names a file or has no
    number is not about standard output and is raised again.
    """
    from rerank.core.errors import os_error
    from rerank.core.files.write import STDOUT

    if error.errno is None or error.filename is not None:
        raise error
    closed = isinstance(error, BrokenPipeError)
    if not closed:
        say(str(os_error(STDOUT, error)))
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_PIPE if closed else EXIT_USAGE


def verb(function: F) -> F:
    """Decorate a command: --quiet, one line for an error, no traceback, the right exit code."""

    name = function.__name__.strip("_").replace("_", "-")

    @functools.wraps(function)
    def command(*args: Any, quiet: bool = False, guard_cells: bool = False, **kwargs: Any) -> Any:
        if quiet:
            set_quiet(True)
        tracker = Tracker()
        try:
            with inputs_opened_once(), showing() as tracker, step(name), guarding(guard_cells):
                function(*args, **kwargs)
            sys.stdout.flush()
        except RerankError as error:
            say(f"{error}{file_hint(function.__name__, kwargs)}")
            raise typer.Exit(EXIT_USAGE) from None
        except OSError as error:  # files have errors of their own: this one is about standard output
            raise typer.Exit(output_error(error)) from None
        except MemoryError as error:
            say(": ".join(filter(None, ("out of memory", str(error)))))
            raise typer.Exit(EXIT_USAGE) from None
        except KeyboardInterrupt as end:
            say(interruption(tracker, str(end)))
            raise typer.Exit(EXIT_INTERRUPTED) from None

    signature = inspect.signature(function, eval_str=True)
    shared = {"guard_cells": Guard, "quiet": Quiet}
    if _WRITING.isdisjoint(signature.parameters):
        del shared["guard_cells"]
    parameters = [
        *signature.parameters.values(),
        *(inspect.Parameter(name, _BY_NAME, default=False, annotation=kind) for name, kind in shared.items()),
    ]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    del command.__wrapped__  # the new signature is the one to show
    return command  # type: ignore[return-value]
