"""``rerank pairs``: how many pairs each relation gives."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.options import reads
from rerank.cli.output_format import As, write
from rerank.data.reading import Reading


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
            help="Only these: learner settings such as 'pairs=split split_top=5'. Repeatable.",
        ),
    ] = None,
    quantise: Annotated[
        list[str] | None,
        typer.Option(
            "--quantise",
            metavar="HOW",
            help="Also with quantised labels: best, above=T, model=FILE, top=P%, kmeans=K, list-kmeans=K. "
            "Repeatable.",
        ),
    ] = None,
    as_: As = "text",
    *,
    reading: Reading,
) -> None:
    """Count the pairs that pair relations give, with the labels as they are and quantised.

    \b
    rerank pairs train.txt -r pairs=ordinal -r 'pairs=all label_gap=1' --quantise top=30%
    """
    from rerank.models.pair_counts import count_pairs

    schemes = count_pairs(data, relation or [], quantise or [], reading=reading)
    write(as_, schemes.lines, lambda: [scheme.row() for scheme in schemes], schemes.sheets)
