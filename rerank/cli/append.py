"""``rerank append``: features from files of numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import verb
from rerank.cli.convert import To
from rerank.cli.options import reads
from rerank.data.reading import Reading


@verb
@reads
def append(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists; - is standard input.")],
    columns: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=FILE", help="A feature's name and a file of its values, one per item line."
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="OUT", help="File to write; - is standard output.")
    ],
    to: To = None,
    *,
    reading: Reading,
) -> None:
    """Add named features from numbers that other programs wrote.

    \b
    rerank append dev.letor lm=dev.lm length=dev.len --out dev2.letor
    """
    from rerank.core.errors import ConfigError
    from rerank.formats.convert import append as append_to

    named: dict[str, str] = {}
    for typed in columns:
        name, equals, path = typed.partition("=")
        if not (name and equals and path):
            raise ConfigError(f"found {typed!r}, expected NAME=FILE")
        if name in named:
            raise ConfigError(f"feature {name!r} is given twice")
        named[name] = path
    append_to(data, named, out, to, reading=reading)
