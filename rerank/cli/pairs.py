"""``rerank pairs``: how many pairs each relation gives."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import options
from rerank.cli.common import verb


@verb
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
    format: options.Format = None,
    missing: options.Missing = "zero",
    zero_based: options.ZeroBased = False,
    strict: options.Strict = False,
) -> None:
    """Say how many pairs each pair relation gives: choose one by it.

    rerank pairs train.txt -r pairs=ordinal -r 'pairs=all label_gap=1'
    """
    import sys

    from rerank.formats import load
    from rerank.report import pair_counts, record

    chosen = [pair_counts.parse_relation(text) for text in relation or []]
    lists = load(data, format, missing=missing, zero_based=zero_based, strict=strict)
    relations = chosen or pair_counts.standard_relations(lists)
    if json:
        keys = ("relation", "pairs", "lists", "mean", "most")
        rows = [dict(zip(keys, row, strict=True)) for row in pair_counts.pair_rows(lists, relations)]
        sys.stdout.write(record.to_json(rows))
    else:
        print("\n".join(pair_counts.pair_lines(lists, relations)))
