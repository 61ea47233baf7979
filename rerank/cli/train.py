"""``rerank train``: lists in, a model out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rerank.cli import completing, groups
from rerank.cli.common import inform, verb
from rerank.cli.options import configures
from rerank.training.options import TrainOptions

Config = Annotated[
    str | None,
    typer.Argument(metavar="CONFIG", help="A YAML file, - is standard input; options override it."),
]
LearnerName = Annotated[
    str | None,
    typer.Option(
        "--learner",
        "-l",
        autocompletion=completing.completion("learners"),
        metavar="NAME",
        help="See 'rerank list learners'.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="A setting of the learner, or a key of the YAML file. Repeatable.",
    ),
]


@verb
@configures(TrainOptions)
def train(
    config: Config = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="MODEL", help="Model file to write.")
    ] = None,
    learner: LearnerName = None,
    set_: Set = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="KEY=V1,V2,...",
            help="Values of a setting to choose from with --choose: of the learner, scaling or base_scale. "
            "Repeatable.",
            rich_help_panel=groups.CHOICE,
        ),
    ] = None,
    grid_out: Annotated[
        str | None,
        typer.Option(
            "--grid-out",
            metavar="FILE",
            help="Write the cells of the grid (TSV).",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option(
            "--curve",
            metavar="FILE",
            help="Write the learning curve or the restarts (TSV); times go to timing.NAME next to it.",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Keep the state of the training here every 30 seconds and at Ctrl-C; the same command goes "
            "on from it, to the same model.",
        ),
    ] = None,
    *,
    given: dict[str, Any],
) -> None:
    """Train a model on lists with judged candidates.

    \b
    rerank train --data train.txt --dev vali.txt --metric AP --keep best --out model
    """
    from rerank.core.errors import ConfigError
    from rerank.training.config import grid_of, read_config
    from rerank.training.train import train_files

    base = given if learner is None else {**given, "learner.name": learner}
    base |= {f"grid.{key}": values for key, values in grid_of(grid or []).items()}
    settings = read_config(config, set_ or [], base)
    if not out:
        raise ConfigError("no model file to write: give --out MODEL")
    for line in train_files(settings, out, curve, grid_out, checkpoint).summary():
        inform(line)
