"""``rerank report``: the numbers of what ``rerank run`` has written."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rerank.cli import completing, groups
from rerank.cli.common import verb
from rerank.cli.options import judges


@verb
@judges("missing_lists")
def report(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR", help="Folders written by 'rerank run'; several are several data sets, for ranks."
        ),
    ],
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Test every two rows.", rich_help_panel=groups.TESTS)
    ] = False,
    form: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="text|json|csv|markdown|latex",
            autocompletion=completing.choices("text|json|csv|markdown|latex"),
            help="The form of the report.",
        ),
    ] = "text",
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where it is written.")] = "-",
    per_list: Annotated[
        str | None,
        typer.Option(
            "--per-list",
            metavar="FILE",
            help="Write the values of each list (TSV).",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="PAGE",
            help="Write a page with tables, figures and lists as well.",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    adaptation: Annotated[
        str | None,
        typer.Option(
            "--adaptation",
            metavar="FILE",
            help="Write what transductive rows did to the test lists of each cell (TSV).",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    choices: Annotated[
        bool,
        typer.Option(
            "--choices",
            help="Show the settings that each cell chose from its grid.",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = False,
    costs: Annotated[
        bool,
        typer.Option(
            "--costs",
            help="Show times and memory, which differ from run to run.",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Report values, intervals, paired tests and ranks of experiments; nothing is trained.

    \b
    rerank report runs/ohsumed --html page.html
    """
    from rerank.experiments.reporting import report_files

    report_files(
        folders,
        form,
        out=out,
        per_list=per_list,
        html=html,
        adaptation=adaptation,
        choices=choices,
        costs=costs,
        all_pairs=all_pairs,
        **settings,
    )
