"""``rerank run`` and ``rerank report``: learners compared on folds, seeds and shares of lists."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import EXIT_NO, OUTPUTS, RUNNING, TESTS, Output, Verb, Workers, inform, verb
from rerank.cli.messages import say
from rerank.core.errors import ConfigError, printable
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
    """Train and judge the rows of an experiment; finished cells are not run again.

    \b
    rerank run configs/ohsumed.yaml --out runs/ohsumed --jobs 2
    """
    from rerank.experiments.overview import Overview
    from rerank.experiments.run import run as run_experiment

    modes = {"--dry-run": given.dry_run, "--list": given.list_, "--status": given.status}
    asked = [name for name, wanted in modes.items() if wanted]
    if len(asked) > 1:
        raise ConfigError(f"{asked[0]} and {asked[1]}: give one of both")
    if asked:
        for name in sorted(given.settings_given & {"jobs", "cluster", "models"}):
            raise ConfigError(f"--{name}: not used with {asked[0]}, which trains nothing")
        overview = Overview(given.config, given.out, given.task, given.shard)
        people = overview.dry_run if given.dry_run else overview.progress
        shown = overview.listed() if given.list_ else map(printable, people())
        for line in shown:
            print(line)
        return EXIT_NO if given.status and not overview.is_done else 0
    summary = run_experiment(**given.others("dry_run", "list_", "status"))
    for cell, error in summary.failed:
        say(f"cell {cell.number} failed ({cell.row}, fold {cell.fold}): {error}")
    for line in summary.lines():
        inform(line)
    return EXIT_NO if summary.failed else 0


class Report(Output, Verb):
    """Options of ``rerank report``."""

    judges: ClassVar = ("missing_lists",)

    folders: tuple[str, ...] = setting(
        ...,
        "folders written by 'rerank run'; several are several data sets, for ranks",
        argument=True,
        metavar="DIR",
    )
    all_pairs: bool = setting(False, "test every two rows", group=TESTS)
    per_list: str | None = setting(None, "write the values of each list (TSV)", metavar="FILE", group=OUTPUTS)
    html: str | None = setting(
        None, "write a page with tables, figures and lists as well", metavar="PAGE", group=OUTPUTS
    )
    adaptation: str | None = setting(
        None,
        "write a report on the test lists of transductive rows (TSV)",
        metavar="FILE",
        group=OUTPUTS,
    )
    choices: bool = setting(False, "show the settings that each cell chose from its grid", group=OUTPUTS)
    costs: bool = setting(False, "show times and memory, which differ from run to run", group=OUTPUTS)


@verb(Report)
def report(given: Report) -> None:
    """Report values, intervals, paired tests and ranks of experiments; nothing is trained.

    \b
    rerank report runs/ohsumed --html page.html
    """
    from rerank.experiments.reporting import report_files

    report_files(given.folders, given.as_, **given.others("folders", "as_"), **given.judging)
