"""The ``rerank`` command: the verbs, and usage errors."""

from __future__ import annotations

import sys
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from rerank._version import __version__
from rerank.cli import (
    append,
    compare,
    convert,
    crash,
    evaluate,
    features,
    help,
    importance,
    label,
    listing,
    pairs,
    predict,
    report,
    running,
    show,
    similarity,
    split,
    train,
    validate,
    weigh_lists,
    weights,
)
from rerank.cli.common import EXIT_INTERRUPTED, EXIT_PIPE, EXIT_USAGE, Commands, output_error, say
from rerank.cli.messages import set_quiet

app = Commands(
    "N-best reranking and learning to rank: learn to put the best candidate first.",
    epilog="Exit codes: 0 done, 1 the answer is no, 2 wrong usage or input, 70 internal error, 130 Ctrl-C, "
    "141 closed pipe.",
    name="rerank",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        print(f"rerank {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            callback=set_quiet,
            is_eager=True,
            help="Print errors only: no notes, progress or summary; also after a verb.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            callback=crash.set_debug,
            is_eager=True,
            envvar="RERANK_DEBUG",
            help="Print the traceback of an internal error.",
        ),
    ] = False,
) -> None:
    """N-best reranking and learning to rank: learn to put the best candidate first."""


app.add("train")(train.train)
app.add("predict")(predict.predict)
app.add("eval")(evaluate.evaluate)
app.add("compare")(compare.compare)
app.add("run")(running.run)
app.add("report")(report.report)
app.add("show")(show.show)
app.add("validate")(validate.validate)
app.add("pairs")(pairs.pairs)
app.add("convert")(convert.convert)
app.add("append")(append.append)
app.add("split")(split.split)
app.add("label")(label.label)
app.add_typer(features.app, name="features")
app.add_typer(importance.app, name="importance")
app.add("similarity")(similarity.similarity)
app.add("weigh-lists")(weigh_lists.weigh_lists)
app.add_typer(weights.app, name="weights")
app.add("list")(listing.list_)
app.add("help")(help.help_)


@cache
def _command() -> Any:
    """The parser of all verbs, made once: that takes longer than most verbs on small files."""
    return get_command(app)


def run() -> int:
    """Run the command line of this process; return the exit code."""
    try:
        code: Any = _command()(standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        return EXIT_INTERRUPTED
    except SystemExit:  # typer exits if the pipe that reads its help is closed
        return EXIT_PIPE
    except OSError as error:  # of help and --version; verbs report their own
        return output_error(error)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return EXIT_USAGE
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "rerank"
        say(f"{' '.join(error.format_message().split())} (see {command} --help)")
        return EXIT_USAGE
    return code if isinstance(code, int) else 0
