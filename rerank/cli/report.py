"""``rerank report``: the numbers of what ``rerank run`` has written."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import OUTPUTS, TESTS, Verb, verb
from rerank.core.settings import setting


class Report(Verb):
    """Options of ``rerank report``."""

    judges: ClassVar = ("missing_lists",)

    folders: tuple[str, ...] = setting(
        ...,
        "folders written by 'rerank run'; several are several data sets, for ranks",
        argument=True,
        metavar="DIR",
    )
    all_pairs: bool = setting(False, "test every two rows", group=TESTS)
    form: str = setting(
        "text", "format of the report", flags=("--as",), metavar="text|json|csv|markdown|latex"
    )
    out: str = setting("-", "file to write", flags=("--out", "-o"), metavar="FILE")
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

    report_files(given.folders, given.form, **given.others("folders", "form"), **given.judging)
