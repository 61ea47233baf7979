"""``rerank append``: features from files of numbers."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Verb, Writes, verb
from rerank.core.settings import setting


class Append(Writes, Verb):
    """Options of ``rerank append``."""

    reads: ClassVar = True

    data: str = setting(..., "lists; - is standard input", argument=True, metavar="DATA")
    columns: tuple[str, ...] = setting(
        ...,
        "a feature's name and a file of its values, one per item line",
        argument=True,
        metavar="NAME=FILE",
    )
    out: str = setting(..., "file to write; - is standard output", flags=("--out", "-o"), metavar="OUT")


@verb(Append)
def append(given: Append) -> None:
    """Add named features from numbers that other programs wrote.

    \b
    rerank append dev.letor lm=dev.lm length=dev.len --out dev2.letor
    """
    from rerank.core.errors import ConfigError
    from rerank.formats.convert import append as append_to

    named: dict[str, str] = {}
    for typed in given.columns:
        name, equals, path = typed.partition("=")
        if not (name and equals and path):
            raise ConfigError(f"found {typed!r}, expected NAME=FILE")
        if name in named:
            raise ConfigError(f"feature {name!r} is given twice")
        named[name] = path
    append_to(given.data, named, given.out, given.to, reading=given.reading)
