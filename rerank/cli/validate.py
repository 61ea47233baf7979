"""``rerank validate``: what a file holds, or what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import EXIT_NO, verb
from rerank.cli.options import reads
from rerank.reading import Reading


@verb
@reads
def validate(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists to check; - is standard input.")],
    *,
    reading: Reading,
) -> None:
    """Report what a file holds: lists, items, features, labels, oddities. Exit 1 if it has faults.

    \b
    rerank validate train.txt
    """
    from rerank.errors import FormatError
    from rerank.experiment import validate_file

    try:
        contents = validate_file(data, reading=reading)
    except FormatError as error:
        print(f"fault  {error}")
        raise typer.Exit(EXIT_NO) from None
    for line in contents.lines():
        print(line)
    if contents.faults:
        raise typer.Exit(EXIT_NO)
