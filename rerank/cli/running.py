"""``rerank run``: learners compared on folds, seeds and shares of the training lists; can be resumed."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import groups
from rerank.cli.common import EXIT_NO, ClusterAddress, Jobs, inform, say, verb


@verb
def run(
    config: Annotated[
        str,
        typer.Argument(metavar="CONFIG", help="A YAML file with learners:."),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of the results. [runs/NAME]"),
    ] = None,
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    models: Annotated[
        bool, typer.Option("--models", help="Keep the model of each cell.", rich_help_panel=groups.RUNNING)
    ] = False,
    task: Annotated[
        int | None,
        typer.Option(
            "--task",
            metavar="I",
            help="Only the cell with this number, from 1.",
            rich_help_panel=groups.RUNNING,
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Only every N-th cell, from the I-th on.",
            rich_help_panel=groups.RUNNING,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print what would be done and what it would cost.",
            rich_help_panel=groups.RUNNING,
        ),
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="Print the table of cells (TSV).", rich_help_panel=groups.RUNNING)
    ] = False,
    status: Annotated[
        bool,
        typer.Option(
            "--status",
            help="Print how far it is; exit code 1 unless all cells are done.",
            rich_help_panel=groups.RUNNING,
        ),
    ] = False,
) -> None:
    """Train and judge the rows of an experiment; what is there already is not done again.

    \b
    rerank run configs/ohsumed.yaml --out runs/ohsumed --jobs 2
    """
    from rerank.core.errors import ConfigError
    from rerank.experiments.overview import Overview
    from rerank.experiments.run import run as run_experiment

    asked = [
        name for name, given in (("--dry-run", dry_run), ("--list", list_), ("--status", status)) if given
    ]
    if len(asked) > 1:
        raise ConfigError(f"{asked[0]} and {asked[1]}: give one of both")
    if asked:
        idle = {"--jobs": jobs is not None, "--cluster": cluster is not None, "--models": models}
        for name in idle:
            if idle[name]:
                raise ConfigError(f"{name}: not used with {asked[0]}, which trains nothing")
        overview = Overview(config, out, task, shard)
        from rerank.core.errors import printable

        people = overview.dry_run if dry_run else overview.progress
        shown = overview.listed() if list_ else map(printable, people())
        for line in shown:
            print(line)
        if status and not overview.is_done:
            raise typer.Exit(EXIT_NO)
        return
    summary = run_experiment(config, out, jobs=jobs, cluster=cluster, models=models, task=task, shard=shard)
    for cell, error in summary.failed:
        say(f"cell {cell.number} failed ({cell.row}, fold {cell.fold}): {error}")
    for line in summary.lines():
        inform(line)
    if summary.failed:
        raise typer.Exit(EXIT_NO)
