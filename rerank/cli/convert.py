"""``rerank convert``: lists in another format, or as a sharded store."""

from __future__ import annotations

from typing import ClassVar

from rerank.cli.frame import Verb, Writes, inform, verb
from rerank.core.errors import ConfigError
from rerank.core.settings import setting


class Convert(Writes, Verb):
    """Options of ``rerank convert``."""

    reads: ClassVar = True

    data: tuple[str, ...] = setting(
        ..., "lists to read; - is standard input; several with --shards", argument=True, metavar="DATA"
    )
    shards: str | None = setting(
        None,
        "write a sharded store, a folder of stores of about this size, in one pass: for sets larger than "
        "memory",
        metavar="SIZE",
    )


@verb(Convert)
def convert(given: Convert) -> None:
    """Write lists in another format; a store (NAME.store) opens at once and keeps every column.

    \b
    rerank convert train.txt.gz --out train.store
    rerank convert day1.letor day2.letor --shards 256MB --out train.shards
    """
    from rerank.formats.base import format_for
    from rerank.formats.rewriting import convert_file

    if given.shards is not None:
        from rerank.formats.sharding import convert_to_shards

        if given.to is not None:
            raise ConfigError("--to: not used with --shards, which writes a sharded store")
        made = convert_to_shards(given.data, given.out, given.shards, reading=given.reading)
        inform(f"{made.summary()} to {given.out}")
        return
    if len(given.data) > 1:
        raise ConfigError(f"found {len(given.data)} inputs, expected one; --shards SIZE takes several")
    size = convert_file(given.data[0], given.out, given.to, reading=given.reading)
    inform(f"{size} to {given.out} ({given.to or format_for(given.out)})")
