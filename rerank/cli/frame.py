"""Shared parts of all verbs: options and outputs, exit codes, messages, and errors in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from contextvars import ContextVar
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

import typer

from rerank._version import __version__
from rerank.cli.hints import file_hint, usage_text
from rerank.cli.messages import QUIET, end_log, interruption, say, showing, start_log
from rerank.cli.messages import inform as inform
from rerank.core.errors import RerankError, visible
from rerank.core.files.read import inputs_opened_once
from rerank.core.progress import Tracker, step
from rerank.core.settings import Settings, setting
from rerank.core.tables.data import guarding

if TYPE_CHECKING:
    from rerank.core.tables.table import Table
    from rerank.data.reading import Reading

EXIT_NO = 1
EXIT_USAGE = 2
EXIT_CRASH = 70
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141

# Headings of ``--help``, which has them in this order; options that declare none are under "Options".
FIRST, LISTS, CHOICE, TESTS = "", "Training lists", "Choice and tuning", "Tests"
OUTPUTS, RUNNING, READING = "Further outputs", "Running", "Reading"
ORDER = (FIRST, LISTS, CHOICE, TESTS, OUTPUTS, RUNNING, READING)

COMPLETING = "_RERANK_COMPLETE"  # set by the scripts that --install-completion writes
DEBUG: ContextVar[bool] = ContextVar("debug", default=False)  # whether tracebacks are printed

V = TypeVar("V", bound="Verb")


class Verb(Settings):
    """The arguments and options of a verb: those declared, and those of the settings that it takes.

    Attributes
    ----------
    reads : bool
        Whether it has the options of reading, which it gets as ``reading``.
    configures : type of Settings, optional
        Settings whose options it has; it gets what was typed as ``typed``, by dotted key.
    judges : tuple of str, optional
        If not None, it has the options of judging, except for these; it gets what was typed as ``judging``.
    """

    reads: ClassVar[bool] = False
    configures: ClassVar[type[Settings] | None] = None
    judges: ClassVar[tuple[str, ...] | None] = None
    reading: ClassVar[Reading]
    typed: ClassVar[dict[str, Any]]
    judging: ClassVar[dict[str, Any]]

    quiet: bool = setting(
        False, "print errors only: no notes, progress or summary", flags=("--quiet", "-q"), group=RUNNING
    )
    progress: Literal["auto", "lines", "none"] = setting(
        "auto", "bars on a terminal and a line every minute elsewhere, always lines, or none", group=RUNNING
    )
    log: str | None = setting(
        None, "append notes, progress and errors to a file, with times", metavar="FILE", group=RUNNING
    )

    def others(self, *taken: str) -> dict[str, Any]:
        """Return the settings but ``taken`` and those of every verb, and how files are read."""
        left = {key: getattr(self, key) for key in self.settings if key not in (*taken, *Verb.settings)}
        return left | ({"reading": self.reading} if self.reads else {})


class Printed(Settings):
    """The form of what is printed."""

    as_: Literal["text", "json", "csv", "markdown", "latex"] = setting(
        "text",
        "form of the output: for people, for programs (json, csv), for papers (markdown, latex)",
        key="as",
    )


class Output(Printed):
    """Option to print to standard output or to a file."""

    out: str = setting("-", "file to write; - is standard output", flags=("--out", "-o"), metavar="FILE")

    def check_out(self, *inputs: str) -> None:
        """Check the file before long work: it is none of the inputs, or of those of reading."""
        from rerank.formats.sources import check_outputs

        read = [*inputs, *(vars(self)["reading"].files() if getattr(self, "reads", False) else ())]
        check_outputs({} if self.out in ("-", None) else {"--out": self.out}, read)


class Jobs(Settings):
    """Workers of this machine."""

    jobs: int | None = setting(
        None,
        "workers, 1 unless given; 0 = one per core",
        flags=("--jobs", "-j"),
        metavar="N",
        group=RUNNING,
    )


class Workers(Jobs):
    """Workers of this machine or of a cluster."""

    cluster: str | None = setting(
        None,
        "workers of a Dask cluster, instead of --jobs; see 'rerank help configuration'",
        metavar="tcp://HOST:PORT",
        group=RUNNING,
    )


class Writes(Settings):
    """Lists that are written, and their format."""

    out: str = setting(..., "file to write; - is standard output", flags=("--out", "-o"), metavar="OUT")
    to: str | None = setting(
        None, "format to write; default: by the name of OUT", flags=("--to", "-t"), metavar="NAME"
    )


class Guarded(Settings):
    """Format of CSV and TSV; every verb with an output has this option."""

    guard_cells: bool = setting(
        False,
        "CSV and TSV for spreadsheet programs: an apostrophe before what they would take for a formula",
        group=OUTPUTS,
        envvar="RERANK_GUARD_CELLS",
    )


class VerbGroup(NamedTuple):
    """Verbs that are given after one name."""

    help: str
    verbs: dict[str, Callable[[Any], int | None]]


# What a verb does -> its options.
OPTIONS: dict[Callable[..., Any], type[Verb]] = {}


def verb(
    options: type[V],
) -> Callable[[Callable[[V], int | None]], Callable[[V], int | None]]:
    """Return a decorator that declares what a verb does, and its options.

    The function returns the exit code, None = 0. Its docstring is the help of the verb.
    """

    def declare(function: Callable[[V], int | None]) -> Callable[[V], int | None]:
        OPTIONS[function] = options
        return function

    return declare


def run(
    function: Callable[[Any], int | None], places: Mapping[str, tuple[str, str]], /, **values: Any
) -> int:
    """Run a verb: --quiet, one line for an error, no traceback; return the exit code.

    Parameters
    ----------
    function : what the verb does.
    places : for each option the part of the settings that it is in, the verb's own ("own") or those of
        "reading", "typed" and "judging", and its key there.
    values : what was typed, by option.
    """
    typed: dict[str, dict[str, Any]] = {"own": {}, "typed": {}, "judging": {}, "reading": {}}
    for name, (part, key) in places.items():
        if values[name] not in (None, [], ()):
            typed[part][key] = values[name]
    own, options = typed["own"], OPTIONS[function]
    if own.get("quiet"):
        QUIET.set(True)
    tracker, code = Tracker(), EXIT_CRASH
    try:
        if "log" in own:
            start_log(own["log"], f"rerank {__version__}: {' '.join(sys.argv[1:])}")
        with (
            inputs_opened_once(),
            showing(own.get("progress")) as tracker,
            step(function.__name__.strip("_").replace("_", "-")),
            guarding() if own.pop("guard_cells", False) else nullcontext(),
        ):
            given = options(**own)
            vars(given).update(typed)
            if options.reads:
                from rerank.data.reading import Reading

                vars(given)["reading"] = Reading(**typed["reading"])
            code = function(given) or 0
        sys.stdout.flush()
    except RerankError as error:
        known = dict.fromkeys(options.settings) | {**typed["typed"], **own}
        say(f"{error}{file_hint(function.__name__, known)}")
        code = EXIT_USAGE
    except OSError as error:  # files have errors of their own: this one is about standard output
        code = output_error(error)
    except MemoryError as error:
        say(": ".join(filter(None, ("out of memory", str(error)))))
        code = EXIT_USAGE
    except KeyboardInterrupt as end:
        say(interruption(tracker, str(end)))
        code = EXIT_INTERRUPTED
    finally:
        if "log" in own:
            end_log(code)
    return code


def output_error(error: OSError) -> int:
    """Report why writing to standard output failed, unless a pipe was closed; return the exit code.

    Buffered output is discarded: a second error at exit would be noise. An error that names a file or has no
    number is not about standard output and is raised again.
    """
    from rerank.core.errors import os_error
    from rerank.core.files.write import STDOUT, is_closed_pipe

    if error.errno is None or error.filename is not None:
        raise error
    closed = is_closed_pipe(error)
    if not closed:
        say(str(os_error(STDOUT, error)))
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_PIPE if closed else EXIT_USAGE


def code_of(error: BaseException) -> int | None:
    """Report an error of usage or of standard output and return the exit code; None for any other error."""
    if isinstance(error, typer.Abort | KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if isinstance(error, SystemExit):
        if error.code == 0 or COMPLETING in os.environ:  # what the shell asked has been printed
            return int(error.code or 0)
        return EXIT_PIPE  # typer exits if the pipe that reads its help is closed
    if isinstance(error, OSError) and error.errno is not None and error.filename is None:
        return output_error(error)  # of help and --version; verbs report their own
    if not hasattr(error, "format_message"):
        return None
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message())
        return EXIT_USAGE
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "rerank"
    say(f"{usage_text(error)} (see {command} --help)")
    return EXIT_USAGE


def write(
    form: str,
    text: Callable[[], Sequence[str] | None],
    record: Callable[[], Any],
    tables: Callable[[], Sequence[Table]],
    *,
    data: Callable[[], Table] | None = None,
    notes: Sequence[str] = (),
    out: str = "-",
) -> None:
    """Print a result in a form.

    Parameters
    ----------
    form : str
    text : callable
        Returns lines, or prints them and returns None.
    record : callable
        Returns plain values for JSON.
    tables : callable
        Returns the tables for Markdown and LaTeX.
    data : callable, optional
        Returns the table for CSV, by default the first of ``tables``.
    notes : sequence of str
        On all tables.
    out : str
        The file; "-" = standard output.
    """
    if form == "text" and out == "-":
        sys.stdout.writelines(f"{visible(line)}\n" for line in text() or ())
        return
    from rerank.core.files.write import write_lines

    if form == "text":
        with redirect_stdout(StringIO()) as printed:
            lines = [f"{visible(line)}\n" for line in text() or ()]
        write_lines(out, [(printed.getvalue() + "".join(lines)).removesuffix("\n")])
        return
    from rerank.core.tables.data import to_json
    from rerank.core.tables.display import tables_text

    if form == "json":
        content = to_json(record())
    else:
        parts = [data()] if form == "csv" and data is not None else tables()
        content = tables_text(parts, form, notes)
    write_lines(out, [content.removesuffix("\n")])
