"""``rerank run``: learners compared on folds, seeds and shares of the training lists; can be resumed."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import EXIT_NO, say, verb


@verb
def run(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML file with learners:.")],
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of the results. [runs/NAME]"),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", help="Worker processes; 0 = one per core.")
    ] = 1,
    models: Annotated[bool, typer.Option("--models", help="Keep the model of each cell.")] = False,
) -> None:
    """Train and judge the rows of an experiment; what is there already is not done again.

    \b
    rerank run configs/ohsumed.yaml --out runs/ohsumed --jobs 2
    """
    from rerank.experiment import run as run_experiment

    summary = run_experiment(config, out, jobs=jobs, models=models)
    for cell, error in summary.failed:
        say(f"cell {cell.number} failed ({cell.row}, fold {cell.fold}): {error}")
    for line in summary.lines():
        say(line)
    if summary.failed:
        raise typer.Exit(EXIT_NO)
