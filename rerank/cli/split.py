"""``rerank split``: parts or folds of a set, by list."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import inform, verb
from rerank.cli.options import reads
from rerank.data.reading import Reading


@verb
@reads
def split(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists; - is standard input.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the parts.")],
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part", "-p", metavar="NAME=SHARE", help="A part and its share, as dev=0.1. Repeatable."
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option("--folds", "-k", metavar="K", min=2, help="K folds of train and test."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the drawing.")] = 1,
    suffix: Annotated[
        str, typer.Option("--suffix", metavar=".EXT", help="Suffix of the files, which names their format.")
    ] = ".letor",
    *,
    reading: Reading,
) -> None:
    """Draw parts or folds of the lists; every list is whole in one part.

    \b
    rerank split all.letor --part train=0.8 --part dev=0.1 --part test=0.1 --out parts
    """
    import os

    from rerank.formats import convert
    from rerank.formats.sources import size_of

    parts = convert.split(data, part or (), folds=folds, seed=seed, out=out, suffix=suffix, reading=reading)
    for name, lists in parts.items():
        inform(f"{os.path.join(out, name + suffix)}: {size_of(lists)}")
