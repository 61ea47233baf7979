"""``rerank convert``: lists from one format to another."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Verb, Writes, inform, verb
from rerank.core.settings import setting


class Convert(Writes, Verb):
    """Options of ``rerank convert``."""

    reads: ClassVar = True

    data: str = setting(..., "lists to read; - is standard input", argument=True, metavar="DATA")
    out: str = setting(..., "file to write; - is standard output", argument=True, metavar="OUT")


@verb(Convert)
def convert(given: Convert) -> None:
    """Write lists in another format; a store (NAME.store) opens at once and keeps every column.

    \b
    rerank convert train.txt.gz train.store
    """
    from rerank.formats.base import format_for
    from rerank.formats.convert import save
    from rerank.formats.sources import size_of

    made = save(given.data, given.out, given.to, reading=given.reading)
    inform(f"{size_of(made)} to {given.out} ({given.to or format_for(given.out)})")
