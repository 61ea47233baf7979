"""``rerank eval``: metrics of systems, in numbers that can be cited."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from rerank.cli import completing, groups
from rerank.cli.common import verb
from rerank.cli.options import reads
from rerank.cli.output_format import As, write
from rerank.data.reading import Reading

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        autocompletion=completing.completion("metrics"),
        metavar="METRIC",
        help="AP, nDCG@10, BLEU, WER ... Repeatable.",
    ),
]
Ties = Annotated[
    str | None,
    typer.Option(
        "--ties",
        metavar="trec|expected|input",
        autocompletion=completing.choices("trec|expected|input"),
        help="Ties: as trec_eval (default with item ids), the mean over their orders, or by input order.",
        rich_help_panel=groups.TESTS,
    ),
]
NoRelevant = Annotated[
    str,
    typer.Option(
        "--no-relevant",
        metavar="zero|skip|one",
        autocompletion=completing.choices("zero|skip|one"),
        help="The value of a list without a relevant item.",
        rich_help_panel=groups.TESTS,
    ),
]
MissingLists = Annotated[
    str | None,
    typer.Option(
        "--missing-lists",
        metavar="any|zero|skip",
        help="Judged lists of which a run returned nothing: 0 if another run returned some (any, default), "
        "always 0 (zero, trec_eval -c), or left out for all.",
        autocompletion=completing.choices("any|zero|skip"),
        rich_help_panel=groups.TESTS,
    ),
]
Html = Annotated[
    str | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write a page of tables, figures and single lists (needs rerank[report]).",
        rich_help_panel=groups.OUTPUTS,
    ),
]
Samples = Annotated[
    int,
    typer.Option(
        "--samples", metavar="N", min=1, help="Bootstrap samples of the lists.", rich_help_panel=groups.TESTS
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Seed of the tests.", rich_help_panel=groups.TESTS)
]


@verb
@reads
def evaluate(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Judged lists, or judgements (qrels); - is standard input.")
    ],
    systems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SYSTEMS",
            help="Score files (a number per item line), runs, tables of scores by ids, DATA:FEATURE, "
            "TABLE:FEATURE, or predicted classes.",
        ),
    ] = None,
    metric: Metrics = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", "-b", metavar="SYSTEM", help="The system that the others are tested against."
        ),
    ] = None,
    ties: Ties = None,
    no_relevant: NoRelevant = "zero",
    missing_lists: MissingLists = None,
    replicas: Annotated[
        bool,
        typer.Option(
            "--replicas",
            help="The score files are runs of one system with different seeds: report their variance.",
            rich_help_panel=groups.TESTS,
        ),
    ] = False,
    per_list: Annotated[
        str | None,
        typer.Option(
            "--per-list",
            metavar="FILE",
            help="Write the values of each list (TSV).",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = None,
    by_list: Annotated[
        bool,
        typer.Option(
            "--by-list",
            help="Print a row for each list too: its items, its best label, what each system chose, and its "
            "values. CSV has these rows alone.",
            rich_help_panel=groups.OUTPUTS,
        ),
    ] = False,
    html: Html = None,
    as_: As = "text",
    samples: Samples = 1000,
    seed: Seed = 12345,
    *,
    reading: Reading,
) -> None:
    """Evaluate systems on judged lists against first-best, random and oracle, with significance.

    \b
    rerank eval test.txt scores.txt --metric AP --metric nDCG@10
    rerank eval qrels.txt a.run b.run --metric AP
    rerank eval test.csv scores.txt test.csv:bm25 --metric AP
    """
    from rerank.experiment.evaluating import evaluate_files
    from rerank.report import tables

    result = evaluate_files(
        data,
        systems or [],
        metric,
        baseline=baseline,
        per_list=per_list,
        html=html,
        reading=reading,
        ties=ties,
        no_relevant=no_relevant,
        missing_lists=missing_lists,
        samples=samples,
        seed=seed,
        replicas=replicas,
    )
    notes = list(filter(None, tables.replica_lines(result)))
    if not by_list:
        one = tables.evaluation_sheet
        write(as_, lambda: tables.print_table(result), result.as_json, lambda: [one(result)], notes=notes)
        return
    from rerank.core.tables.text import sheet_lines
    from rerank.report.list_table import list_sheet

    table = result.by_list()
    sheet = replace(list_sheet(table), signatures=())  # the evaluation has them

    def text() -> list[str]:
        tables.print_table(result)
        return ["", *sheet_lines(sheet)]

    write(
        as_,
        text,
        lambda: result.as_json() | {"by_list": list(table.records())},
        lambda: [tables.evaluation_sheet(result), sheet],
        data=lambda: list_sheet(table, totals=False),
        notes=notes,
    )
