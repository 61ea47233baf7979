"""``rerank validate``: what a file holds, or what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import EXIT_NO, verb
from rerank.cli.options import reads
from rerank.cli.output_format import As, write
from rerank.data.reading import Reading


@verb
@reads
def validate(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists to check; - is standard input.")],
    as_: As = "text",
    *,
    reading: Reading,
) -> None:
    """Report what a file holds: lists, items, features, labels, oddities. Exit 1 if it has faults.

    \b
    rerank validate train.txt
    """
    from rerank.core.errors import FormatError
    from rerank.data.describe import Contents
    from rerank.formats.sources import validate as validate_data

    try:
        contents = validate_data(data, reading=reading)
        lines = contents.lines()
    except FormatError as error:
        contents, lines = Contents([], [], [str(error)]), [f"fault  {error}"]
    write(as_, lambda: lines, contents.as_json, contents.sheets)
    if contents.faults:
        raise typer.Exit(EXIT_NO)
