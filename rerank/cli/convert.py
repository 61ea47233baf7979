"""``rerank convert``: lists from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli import completing
from rerank.cli.common import inform, verb
from rerank.cli.options import reads
from rerank.data.reading import Reading

To = Annotated[
    str | None,
    typer.Option(
        "--to",
        "-t",
        autocompletion=completing.completion("formats"),
        metavar="NAME",
        help="Format to write; default: by the name of OUT.",
    ),
]


@verb
@reads
def convert(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists to read; - is standard input.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="File to write; - is standard output.")],
    to: To = None,
    *,
    reading: Reading,
) -> None:
    """Write lists in another format; a store (NAME.store) opens at once and keeps every column.

    \b
    rerank convert train.txt.gz train.store
    """
    from rerank.formats.base import format_for
    from rerank.formats.convert import save
    from rerank.formats.sources import size_of

    made = save(data, out, to, reading=reading)
    inform(f"{size_of(made)} to {out} ({to or format_for(out)})")
