"""What verbs share: options that are given once, exit codes, messages on standard error, failed writes."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperOption

from rerank.cli.messages import inform as inform
from rerank.cli.messages import interruption, set_quiet, showing
from rerank.cli.messages import say as say
from rerank.errors import RerankError
from rerank.progress import Tracker, step

F = TypeVar("F", bound=Callable[..., Any])

Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", help="Workers, 1 unless given; 0 = one per core."),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="tcp://HOST:PORT",
        help="Workers of a Dask cluster, in place of --jobs; see 'rerank help configuration'.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors only: no notes, progress or summary.")
]

EXIT_NO = 1
EXIT_USAGE = 2
EXIT_CRASH = 70
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141


class Command(TyperCommand):
    """A command that refuses an option given twice if it takes one value: the last would win silently."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments after the check."""
        *_, given = self.make_parser(ctx).parse_args(args=list(args))
        for param in dict.fromkeys(given):
            single = isinstance(param, TyperOption) and not (param.multiple or param.is_flag)
            if single and given.count(param) > 1:
                ctx.fail(f"{param.opts[0]} is given twice, expected once")
        return super().parse_args(ctx, args)


class Commands(typer.Typer):
    """A group of commands with the settings that all groups share."""

    def __init__(self, help: str, **settings: Any) -> None:
        super().__init__(help=help, no_args_is_help=True, rich_markup_mode=None, **settings)

    def add(self, name: str) -> Callable[[F], F]:
        """Return a decorator that adds a command."""
        return self.command(name, cls=Command)


def output_error(error: OSError) -> int:
    """Report why writing to standard output failed, unless a pipe was closed; return the exit code.

    Buffered output is discarded: a second error at exit would be noise. An error that names a file or has no
    number is not about standard output and is raised again.
    """
    from rerank.files import STDOUT, os_error

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
    def command(*args: Any, quiet: bool = False, **kwargs: Any) -> Any:
        if quiet:
            set_quiet(True)
        tracker = Tracker()
        try:
            with showing() as tracker, step(name):
                function(*args, **kwargs)
            sys.stdout.flush()
        except RerankError as error:
            say(str(error))
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
    option = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    parameters = [*signature.parameters.values(), option]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    del command.__wrapped__  # the new signature is the one to show
    return command  # type: ignore[return-value]
