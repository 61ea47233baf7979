"""What verbs share: exit codes, messages on standard error, failed writes."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from rerank.errors import DataNote, RerankError

F = TypeVar("F", bound=Callable[..., Any])

EXIT_NO = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141


def say(text: str) -> None:
    """Print one line on standard error."""
    print(f"rerank: {text}", file=sys.stderr)


def output_error(error: OSError) -> int:
    """Report why writing to standard output failed, unless a pipe was closed; return the exit code.

    Buffered output is discarded: a second error at exit would be noise.
    """
    from rerank.files import STDOUT, os_error

    closed = isinstance(error, BrokenPipeError)
    if not closed:
        say(str(os_error(STDOUT, error)))
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_PIPE if closed else EXIT_USAGE


def verb(function: F) -> F:
    """Decorate a command: one line for an error, no traceback, the right exit code."""

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", DataNote)
                warnings.showwarning = _show
                function(*args, **kwargs)
            sys.stdout.flush()
        except RerankError as error:
            say(str(error).replace("\n", " "))
            raise typer.Exit(EXIT_USAGE) from None
        except OSError as error:  # files have errors of their own: this one is about standard output
            raise typer.Exit(output_error(error)) from None
        except MemoryError:
            say("out of memory")
            raise typer.Exit(EXIT_USAGE) from None
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_INTERRUPTED) from None

    return command  # type: ignore[return-value]


def _show(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
) -> None:
    if issubclass(category, DataNote):
        say(f"note: {message}")
    else:
        sys.stderr.write(warnings.formatwarning(str(message), category, filename, lineno))
