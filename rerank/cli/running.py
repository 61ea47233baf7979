"""``rerank run``: learners compared on folds, seeds and shares of the training lists; can be resumed."""

from __future__ import annotations

from rerank.cli.frame import EXIT_NO, RUNNING, Verb, Workers, inform, verb
from rerank.cli.messages import say
from rerank.core.settings import setting


class Run(Workers, Verb):
    """Options of ``rerank run``."""

    config: str = setting(..., "a YAML file with learners:", argument=True, metavar="CONFIG")
    out: str | None = setting(
        None, "folder of the results. [runs/NAME]", flags=("--out", "-o"), metavar="DIR"
    )
    models: bool = setting(False, "keep the model of each cell", group=RUNNING)
    task: int | None = setting(None, "only the cell with this number, from 1", metavar="I", group=RUNNING)
    shard: str | None = setting(None, "only every N-th cell, from the I-th on", metavar="I/N", group=RUNNING)
    dry_run: bool = setting(False, "print the plan and its estimated cost, and stop", group=RUNNING)
    list_: bool = setting(False, "print the table of cells (TSV)", group=RUNNING, key="list")
    status: bool = setting(False, "print the progress; exit code 1 unless all cells are done", group=RUNNING)


@verb(Run)
def run(given: Run) -> int:
    """Train and judge the rows of an experiment; what is there already is not done again.

    \b
    rerank run configs/ohsumed.yaml --out runs/ohsumed --jobs 2
    """
    from rerank.core.errors import ConfigError
    from rerank.experiments.overview import Overview
    from rerank.experiments.run import run as run_experiment

    asked = [
        name
        for name, given in (("--dry-run", given.dry_run), ("--list", given.list_), ("--status", given.status))
        if given
    ]
    if len(asked) > 1:
        raise ConfigError(f"{asked[0]} and {asked[1]}: give one of both")
    if asked:
        idle = {
            "--jobs": given.jobs is not None,
            "--cluster": given.cluster is not None,
            "--models": given.models,
        }
        for name in idle:
            if idle[name]:
                raise ConfigError(f"{name}: not used with {asked[0]}, which trains nothing")
        overview = Overview(given.config, given.out, given.task, given.shard)
        from rerank.core.errors import printable

        people = overview.dry_run if given.dry_run else overview.progress
        shown = overview.listed() if given.list_ else map(printable, people())
        for line in shown:
            print(line)
        if given.status and not overview.is_done:
            return EXIT_NO
        return 0
    summary = run_experiment(**given.others("dry_run", "list_", "status"))
    for cell, error in summary.failed:
        say(f"cell {cell.number} failed ({cell.row}, fold {cell.fold}): {error}")
    for line in summary.lines():
        inform(line)
    return EXIT_NO if summary.failed else 0
