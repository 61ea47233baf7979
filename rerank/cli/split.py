"""``rerank split``: parts or folds of a set, by list."""

from __future__ import annotations

from typing import Annotated

import typer

from rerank.cli.common import say, verb
from rerank.cli.options import Reading, reads


@verb
@reads
def split(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Lists; - is standard input.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the parts.")],
    part: Annotated[
        list[str] | None,
        typer.Option("--part", "-p", metavar="NAME=SHARE", help="A part and its share, as dev=0.1."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option("--folds", "-k", metavar="K", min=2, help="K folds of train and test."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the drawing.")] = 1,
    suffix: Annotated[
        str, typer.Option("--suffix", metavar=".EXT", help="Of the files; it says their format.")
    ] = ".letor",
    *,
    reading: Reading,
) -> None:
    """Draw parts or folds of the lists; every list is whole in one part.

    \b
    rerank split all.letor --part train=0.8 --part dev=0.1 --part test=0.1 --out parts
    """
    import os

    from rerank.data.folds import folds_of, parts_of
    from rerank.errors import ConfigError
    from rerank.files import os_error
    from rerank.formats.saving import format_for, save
    from rerank.text import count

    if (part is None) == (folds is None):
        raise ConfigError("give parts (--part NAME=SHARE, twice or more) or --folds K")
    target = format_for(f"part{suffix}")
    lists = reading.load(data)
    drawn = parts_of(lists, part or [], seed) if folds is None else folds_of(lists, folds, seed)
    for name, some in drawn:
        path = os.path.join(out, f"{name}{suffix}")
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except OSError as error:
            raise os_error(out, error) from None
        save(some, path, target)
        say(f"{path}: {count(some.n_lists, 'list')}, {count(some.n_items, 'item')}")
