"""The ``rerank`` command: the verbs, and usage errors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from rerank.cli.frame import COMPLETING, DEBUG
from rerank.cli.messages import QUIET
from rerank.cli.parser import NO_HELP, Command, Group, command_of

# By name: the module and what it has, a verb or a group of verbs; and its line of help.
VERBS = {
    "train": ("train.train", "Train a model on lists with judged candidates."),
    "predict": ("predict.predict", "Score lists with a model."),
    "eval": (
        "evaluate.evaluate",
        "Evaluate systems on judged lists against first-best, random and oracle, with significance.",
    ),
    "compare": (
        "evaluate.compare",
        "Test every two systems: bootstrap, randomisation, Wilcoxon, t, McNemar, Holm's correction.",
    ),
    "run": (
        "experiments.run",
        "Train and judge the rows of an experiment; finished cells are not run again.",
    ),
    "report": (
        "experiments.report",
        "Report values, intervals, paired tests and ranks of experiments; nothing is trained.",
    ),
    "show": (
        "models.show",
        "Print a model: learner, settings, training data, weights by name, fragments of trees.",
    ),
    "validate": ("lists.validate", "Report what a file holds: lists, items, features, labels, warnings."),
    "pairs": ("lists.pairs", "Count the pairs of pair relations, with labels as they are and quantised."),
    "convert": (
        "convert.convert",
        "Write lists in another format; a store (NAME.store) opens at once and keeps every column.",
    ),
    "append": ("lists.append", "Add named features from numbers that other programs wrote."),
    "split": ("lists.split", "Draw parts or folds of the lists; every list is whole in one part."),
    "fuse": ("fuse.fuse", "Fuse the runs of several systems into one, and judge it."),
    "ensemble": ("ensemble.ensemble", "Sum standardised scores of saved models into one model."),
    "rate": ("comparisons.rate", "Rank systems by comparisons: Bradley-Terry, Davidson, Plackett-Luce."),
    "label": ("lists.label", "Make labels from references, gold trees, native structures or comparisons."),
    "similarity": (
        "similarity.similarity",
        "Compare every list, or item, with every other: a Gram matrix, the nearest ones, a map.",
    ),
    "selective": (
        "selective.selective",
        "Use a system only on the lists on which it can be trusted, and the baseline elsewhere.",
    ),
    "calibrate": (
        "selective.calibrate",
        "Fit the probability that a model's choice is right, which predict --as table then prints.",
    ),
    "budget": (
        "selective.budget",
        "Choose lists for a costly second stage, and measure the gain by share of its cost.",
    ),
    "weigh-lists": (
        "similarity.weigh_lists",
        "Weigh training lists by how much they look like the lists to be ranked "
        "(KLIEP with a kernel on lists).",
    ),
    "list": (
        "help.list_",
        "List learners, metrics, formats, scalings or kernels; with a name, the settings of one.",
    ),
    "doctor": (
        "doctor.doctor",
        "Report versions, extras, threads, memory and a cluster, for bug reports; exit 1 if one fails.",
    ),
    "help": ("help.help_", "Read the manual; without a TOPIC, list its pages."),
    "features": ("features.GROUP", "Make or select features."),
    "importance": ("importance.GROUP", "Measure importance of features: weights, permutations, ablation."),
    "export": (
        "models.export_",
        "Write a model for another program: code, SQL, or the format of a server or library.",
    ),
    "import": ("models.import_", "Make a model from one that another program has trained."),
}


class _Verbs(Mapping[str, Any]):
    """The commands by name; each is imported when it is asked for.

    While the shell completes a line, verbs that are not in it have their names alone.
    """

    def __getitem__(self, name: str) -> Any:
        if name not in VERBS:
            raise KeyError(name)
        words = " ".join(os.environ.get(key, "") for key in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")).split()
        if COMPLETING in os.environ and name not in words:
            return Command(name)
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


@cache
def _made(name: str) -> Any:
    """The parser of a verb, made once: that takes longer than most verbs on small files."""
    module, _, attribute = VERBS[name][0].partition(".")
    return command_of(name, getattr(import_module(f"rerank.cli.{module}"), attribute))


class Root(Group):
    """The group of all verbs, which are imported when they are asked for."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Verbs()  # type: ignore[assignment]  # no verb is added to it

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs with their lines of help, without importing them."""
        room = formatter.width - 6 - max(map(len, VERBS))
        rows = [
            (name, Command(name, help=text).get_short_help_str(room)) for name, (_, text) in VERBS.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    help="N-best reranking and learning to rank: learn to put the best candidate first.",
    epilog="Exit codes: 0 done, 1 check failed (validate) or a run failed (run), 2 wrong usage or input, "
    "70 internal error, 130 Ctrl-C, 141 closed pipe.",
    name="rerank",
    cls=Root,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 120,
        "default_map": {"install_completion": False, "show_completion": False, **NO_HELP},
    },
)


def _version(value: bool) -> None:
    if value:
        from rerank.cli.doctor import version_line

        print(version_line())
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
            help="Print errors only: no notes, progress or summary; also after a verb.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            envvar="RERANK_DEBUG",
            help="Print the traceback of an internal error.",
        ),
    ] = False,
) -> None:
    """N-best reranking and learning to rank: learn to put the best candidate first."""
    QUIET.set(quiet)
    DEBUG.set(debug)


@cache
def command() -> Any:
    """Return the parser of the command line, made once."""
    return get_command(app)
