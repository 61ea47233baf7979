"""``rerank pairs``: how many pairs each relation gives."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.options import Reading, reads


@verb
@reads
def pairs(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Judged lists; - is standard input.")],
    relation: Annotated[
        list[str] | None,
        typer.Option(
            "--relation",
            "-r",
            metavar="SETTINGS",
            help="Only these: learner settings such as 'pairs=split split_top=5'; may be repeated.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON in place of the table.")] = False,
    *,
    reading: Reading,
) -> None:
    """Say how many pairs each pair relation gives: choose one by it.

    \b
    rerank pairs train.txt -r pairs=ordinal -r 'pairs=all label_gap=1'
    """
    import sys

    from rerank.report import pair_counts, record

    chosen = [pair_counts.parse_relation(text) for text in relation or []]
    lists = reading.load(data)
    relations = chosen or pair_counts.standard_relations(lists)
    if json:
        keys = ("relation", "pairs", "lists", "mean", "most")
        rows = [dict(zip(keys, row, strict=True)) for row in pair_counts.pair_rows(lists, relations)]
        sys.stdout.write(record.to_json(rows))
    else:
        print("\n".join(pair_counts.pair_lines(lists, relations)))
