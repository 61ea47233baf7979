"""``rerank eval``: metrics of systems, in numbers that can be cited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rerank.cli import groups
from rerank.cli.common import verb
from rerank.cli.options import judges, reads
from rerank.cli.output_format import As, write
from rerank.core.errors import ConfigError
from rerank.data.reading import Reading

if TYPE_CHECKING:
    from rerank.evaluation.judged import Judged

Html = Annotated[
    str | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write a page of tables, figures and single lists (needs rerank[report]).",
        rich_help_panel=groups.OUTPUTS,
    ),
]


@contextmanager
def with_page(
    html: str | None, data: str, reading: Reading, systems: Sequence[str], outputs: Mapping[str, str | None]
) -> Iterator[Callable[[Judged], None]]:
    """Check outputs before long work, and place all or none; the block gets what writes the page."""
    from rerank.formats.sources import all_or_none, check_outputs, inputs_of

    paths = {option: path for option, path in {**outputs, "--html": html}.items() if path is not None}
    check_outputs(paths, inputs_of(data, reading, *systems))
    if html is None:
        yield lambda found: None
        return
    from rerank.report.page import check_page, write_page

    check_page(html)
    with all_or_none():
        yield lambda found: write_page(found, html)


@verb
@reads
@judges()
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
    *,
    settings: dict[str, Any],
    reading: Reading,
) -> None:
    """Evaluate systems on judged lists against first-best, random and oracle, with significance.

    \b
    rerank eval test.txt scores.txt --metric AP --metric nDCG@10
    rerank eval qrels.txt a.run b.run --metric AP
    rerank eval test.csv scores.txt test.csv:bm25 --metric AP
    """
    from rerank.evaluation.evaluate import evaluate_files

    if html is not None and replicas:
        raise ConfigError("--html shows each score file as a system of its own; leave out --replicas")
    names = [*(systems or []), *filter(None, [settings.get("baseline")])]
    with with_page(html, data, reading, names, {"--per-list": per_list}) as show:
        result = evaluate_files(
            data, systems or [], per_list=per_list, reading=reading, replicas=replicas, **settings
        )
        show(result)
    notes = [line for line in result.variance_lines() if line]
    if not by_list:
        write(as_, result.print, result.as_json, result.sheets, notes=notes)
        return
    from rerank.core.tables.text import sheet_lines

    table = result.by_list()
    sheet = replace(table.sheet(), signatures=())  # the evaluation has them

    def text() -> list[str]:
        result.print()
        return ["", *sheet_lines(sheet)]

    write(
        as_,
        text,
        lambda: result.as_json() | {"by_list": list(table.records())},
        lambda: [*result.sheets(), sheet],
        data=lambda: table.sheet(totals=False),
        notes=notes,
    )
