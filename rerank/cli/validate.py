"""``rerank validate``: what a file holds, or what is wrong with it."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import EXIT_NO, Printed, Verb, verb, write
from rerank.core.settings import setting


class Validate(Printed, Verb):
    """Options of ``rerank validate``."""

    reads: ClassVar = True

    data: str = setting(..., "lists to check; - is standard input", argument=True, metavar="DATA")


@verb(Validate)
def validate(given: Validate) -> int:
    """Report what a file holds: lists, items, features, labels, oddities. Exit 1 if it has faults.

    \b
    rerank validate train.txt
    """
    from rerank.core.errors import FormatError
    from rerank.data.describe import Contents
    from rerank.formats.sources import validate as validate_data

    try:
        contents = validate_data(given.data, reading=given.reading)
        lines = contents.lines()
    except FormatError as error:
        contents, lines = Contents([], [], [str(error)]), [f"fault  {error}"]
    write(given.as_, lambda: lines, contents.as_json, contents.tables)
    return EXIT_NO if contents.faults else 0
