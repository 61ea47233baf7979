"""``rerank eval``: metrics of systems, in numbers that can be cited."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rerank.cli.frame import OUTPUTS, TESTS, Printed, Verb, verb, write
from rerank.core.settings import setting


class Evaluate(Printed, Verb):
    """Options of ``rerank evaluate``."""

    reads: ClassVar = True
    judges: ClassVar = ()

    data: str = setting(
        ..., "judged lists, or judgements (qrels); - is standard input", argument=True, metavar="DATA"
    )
    systems: tuple[str, ...] = setting(
        (),
        "score files (a number per item line), runs, tables of scores by ids, DATA:FEATURE, "
        "TABLE:FEATURE, or predicted classes",
        argument=True,
        metavar="SYSTEMS",
    )
    replicas: bool = setting(
        False,
        "the score files are runs of one system with different seeds: report their variance",
        group=TESTS,
    )
    per_list: str | None = setting(None, "write the values of each list (TSV)", metavar="FILE", group=OUTPUTS)
    by_list: bool = setting(
        False,
        "print a row for each list too: its items, its best label, what each system chose, and its "
        "values. CSV has these rows alone",
        group=OUTPUTS,
    )
    html: str | None = setting(
        None,
        "write a page of tables, figures and single lists (needs rerank[report])",
        metavar="FILE",
        group=OUTPUTS,
    )


@verb(Evaluate)
def evaluate(given: Evaluate) -> None:
    """Evaluate systems on judged lists against first-best, random and oracle, with significance.

    \b
    rerank eval test.txt scores.txt --metric AP --metric nDCG@10
    rerank eval qrels.txt a.run b.run --metric AP
    rerank eval test.csv scores.txt test.csv:bm25 --metric AP
    """
    from rerank.experiment.evaluating import evaluate_files

    result = evaluate_files(
        given.data,
        given.systems or [],
        per_list=given.per_list,
        html=given.html,
        reading=given.reading,
        replicas=given.replicas,
        **given.judging,
    )
    notes = [line for line in result.variance_lines() if line]
    if not given.by_list:
        write(given.as_, result.print, result.as_json, result.sheets, notes=notes)
        return
    from rerank.core.tables.text import sheet_lines

    table = result.by_list()
    sheet = replace(table.sheet(), signatures=())  # the evaluation has them

    def text() -> list[str]:
        result.print()
        return ["", *sheet_lines(sheet)]

    write(
        given.as_,
        text,
        lambda: result.as_json() | {"by_list": list(table.records())},
        lambda: [*result.sheets(), sheet],
        data=lambda: table.sheet(totals=False),
        notes=notes,
    )
