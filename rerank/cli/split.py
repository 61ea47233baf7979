"""``rerank split``: parts or folds of a set, by list."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Verb, inform, verb
from rerank.core.settings import setting


class Split(Verb):
    """Options of ``rerank split``."""

    reads: ClassVar = True

    data: str = setting(..., "lists; - is standard input", argument=True, metavar="DATA")
    out: str = setting(..., "folder for the parts", flags=("--out", "-o"), metavar="DIR")
    part: tuple[str, ...] = setting(
        (), "a part and its share, as dev=0.1", flags=("--part", "-p"), metavar="NAME=SHARE"
    )
    folds: int | None = setting(None, "K folds of train and test", flags=("--folds", "-k"), metavar="K", ge=2)
    seed: int = setting(1, "random seed", metavar="N", ge=0)
    suffix: str = setting(".letor", "suffix of the files, which names their format", metavar=".EXT")


@verb(Split)
def split(given: Split) -> None:
    """Draw parts or folds of the lists; every list is whole in one part.

    \b
    rerank split all.letor --part train=0.8 --part dev=0.1 --part test=0.1 --out parts
    """
    import os

    from rerank.formats import convert
    from rerank.formats.sources import size_of

    parts = convert.split(given.data, given.part, **given.others("data", "part"))
    for name, lists in parts.items():
        inform(f"{os.path.join(given.out, name + given.suffix)}: {size_of(lists)}")
