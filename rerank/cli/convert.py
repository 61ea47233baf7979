"""``rerank convert``: lists from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import say, verb
from rerank.cli.options import Reading, reads

To = Annotated[
    str | None, typer.Option("--to", "-t", metavar="NAME", help="Format to write; else by the name of OUT.")
]


@verb
@reads
def convert(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists to read; - is standard input.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="What to write; - is standard output.")],
    to: To = None,
    *,
    reading: Reading,
) -> None:
    """Write lists in another format; a store (NAME.store) opens at once and keeps every column.

    \b
    rerank convert train.txt.gz train.store
    """
    from rerank.formats.saving import format_for, save
    from rerank.text import count

    target = to or format_for(out)
    lists = reading.load(data)
    save(lists, out, target)
    say(f"{count(lists.n_lists, 'list')}, {count(lists.n_items, 'item')} to {out} ({target})")
