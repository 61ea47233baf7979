"""The ``rerank`` command: the verbs, and usage errors."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from rerank._version import __version__
from rerank.cli import crash
from rerank.cli.common import EXIT_INTERRUPTED, EXIT_PIPE, EXIT_USAGE, Commands, output_error, say
from rerank.cli.hints import usage_text
from rerank.cli.messages import set_quiet

app = Commands(
    "N-best reranking and learning to rank: learn to put the best candidate first.",
    epilog="Exit codes: 0 done, 1 the answer is no, 2 wrong usage or input, 70 internal error, 130 Ctrl-C, "
    "141 closed pipe.",
    name="rerank",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


COMPLETING = "_RERANK_COMPLETE"  # set by the scripts that --install-completion writes


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


VERBS = {  # by name: the module and what it has, a verb or a group of verbs
    "train": "train.train",
    "predict": "predict.predict",
    "eval": "evaluate.evaluate",
    "compare": "compare.compare",
    "run": "running.run",
    "report": "report.report",
    "show": "show.show",
    "validate": "validate.validate",
    "pairs": "pairs.pairs",
    "convert": "convert.convert",
    "append": "append.append",
    "split": "split.split",
    "label": "label.label",
    "features": "features.app",
    "importance": "importance.app",
    "similarity": "similarity.similarity",
    "weigh-lists": "weigh_lists.weigh_lists",
    "weights": "weights.app",
    "list": "listing.list_",
    "help": "help.help_",
}


def _add_verbs() -> None:
    """Add all verbs; while the shell completes a line, those that are not in it have their names alone.

    To import all of them takes longer than a user waits after pressing the tab key.
    """
    words = " ".join(os.environ.get(name, "") for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")).split()
    for name, place in VERBS.items():
        if COMPLETING in os.environ and name not in words:
            app.command(name)(lambda: None)
            continue
        module, _, attribute = place.partition(".")
        found = getattr(import_module(f"rerank.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.add(name)(found)


_add_verbs()


@cache
def _command() -> Any:
    """The parser of all verbs, made once: that takes longer than most verbs on small files."""
    return get_command(app)


def run() -> int:
    """Run the command line of this process; return the exit code."""
    try:
        code: Any = _command()(prog_name="rerank", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        return EXIT_INTERRUPTED
    except SystemExit as error:
        if error.code == 0 or COMPLETING in os.environ:  # what the shell asked has been printed
            return int(error.code or 0)
        return EXIT_PIPE  # typer exits if the pipe that reads its help is closed
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
        say(f"{usage_text(error)} (see {command} --help)")
        return EXIT_USAGE
    return code if isinstance(code, int) else 0
