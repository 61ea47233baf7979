"""``rerank append``: features from files of numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.convert import To
from rerank.cli.options import Reading, reads


@verb
@reads
def append(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists; - is standard input.")],
    columns: Annotated[
        list[str],
        typer.Argument(metavar="NAME=FILE", help="A feature's name and its values, one an item line."),
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="Where to; - is standard output.")],
    to: To = None,
    *,
    reading: Reading,
) -> None:
    """Add named features from numbers that other programs gave.

    \b
    rerank append dev.letor lm=dev.lm length=dev.len --out dev2.letor
    """
    from rerank.data.scores import read_scores
    from rerank.errors import ConfigError
    from rerank.formats.saving import format_for, save

    target = to or format_for(out)
    pairs = [column.partition("=") for column in columns]
    for (name, equals, path), typed in zip(pairs, columns, strict=True):
        if not (name and equals and path):
            raise ConfigError(f"found {typed!r}, expected NAME=FILE")
    lists = reading.load(data)
    added = {name: read_scores(path, lists) for name, _, path in pairs}
    if len(added) < len(pairs):
        raise ConfigError("a feature's name is given twice")
    save(lists.with_added(added), out, target)
