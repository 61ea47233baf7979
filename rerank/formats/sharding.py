"""Files as sharded stores: one pass over each file, a second one over parts of lists that are apart."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from rerank.core.errors import ConfigError, NeedsWholeError
from rerank.core.files.read import is_pipe, opening_once, read_head
from rerank.core.text import count
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.data.shards.manifest import Manifest
from rerank.data.shards.write import key_of, write_shards
from rerank.formats.base import format_of, load_for
from rerank.formats.regrouping import regrouped_blocks
from rerank.formats.sources import check_outputs
from rerank.formats.streaming import ListsApartError, blocks_of
from rerank.formats.streaming.chunks import with_empty_ids

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([kKMG]?)B?")
_LEAST = 1_000_000
_NAMED = re.compile(rb"^[^#\n]*[^#\s][ \t]+qid:[^#\n]*#[ \t]*[^\s]", re.MULTILINE)


class Converted(Struct):
    """Summary of a conversion."""

    manifest: Manifest
    n_items: int

    def summary(self) -> str:
        """Return the numbers of lists, items and shards in words."""
        sizes = count(self.manifest.n_lists, "list"), count(self.n_items, "item")
        return f"{', '.join(sizes)} in {count(len(self.manifest.shards), 'shard')}"


def bytes_of(text: str) -> int:
    """Return the bytes of a size such as 256MB or 1.5G; raise ConfigError if it is none, or below 1 MB."""
    found = _SIZE.fullmatch(text.strip())
    n = 0 if found is None else int(float(found[1]) * 1000 ** " kMG".index(found[2].replace("K", "k") or " "))
    if n < _LEAST:
        raise ConfigError(f"--shards: found {text!r}, expected a size of 1MB or more, such as 256MB")
    return n


@opening_once
def convert_to_shards(
    data: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    shards: str = "256MB",
    *,
    reading: Reading | None = None,
) -> Converted:
    """Write the lists of files as one sharded store, in their order.

    Files and pipes that ``formats.streaming`` reads in blocks are read once, and memory holds a block and a
    shard. Others are read one after the other, each as a whole. If the lines of a list are not together, a
    file is read again and its lists are brought together, see ``regrouped_blocks``.

    Parameters
    ----------
    data : sequence of path
        The files; "-" is standard input.
    out : path
        The folder; a sharded store that is there is replaced.
    shards : str
        About the size of a shard, such as "256MB"; no list is divided.
    reading : Reading, optional
        How all files are read.

    Returns
    -------
    Converted

    Raises
    ------
    RerankError
        If a file cannot be read, an id of a list occurs in two files or, of a pipe, again after other lists
        (both places are named), or the store cannot be written. The same conversion of files, unless their
        lists are apart, then continues after the shards that are finished.
    """
    reading, size = reading or Reading(), bytes_of(shards)
    paths, target = [os.fspath(path) for path in data], os.fspath(out)
    check_outputs({"--out": target}, [*paths, *reading.files()], store=True)
    absent = float("nan") if reading.missing == "nan" else 0.0
    apart: list[str] = []
    wholes: list[str] = []
    has_ids = True if any(map(_names_items, paths)) else None
    while True:
        files = _Files(paths, apart, wholes, has_ids, reading, size)
        key = key_of([*paths, *reading.files()], (reading, size, apart, wholes, has_ids))
        try:
            made = write_shards(files.blocks(), target, size, key=key, absent=absent)
            return Converted(made, files.n_items)
        except _LateIdsError:
            has_ids = True
        except NeedsWholeError as error:
            are_apart = isinstance(error, ListsApartError)
            if (reading.strict and are_apart) or error.path not in paths or is_pipe(error.path):
                raise
            (apart if are_apart else wholes).append(error.path)


def _names_items(path: str) -> bool:
    """Return whether the beginning of a file has comments after items, which SVMlight takes for ids."""
    return not os.path.isdir(path) and _NAMED.search(read_head(path)) is not None


class _LateIdsError(Exception):
    """Items have ids, those of the first lists have none."""


class _Files:
    """The lists of files, block by block; ``apart`` are brought together, ``wholes`` read whole."""

    def __init__(
        self,
        paths: Sequence[str],
        apart: Sequence[str],
        wholes: Sequence[str],
        has_ids: bool | None,
        reading: Reading,
        size: int,
    ) -> None:
        self.paths, self.apart, self.wholes, self.reading, self.size = paths, apart, wholes, reading, size
        self.n_items = 0
        self.has_ids = has_ids  # None = as the first lists

    def blocks(self) -> Iterator[CandidateLists]:
        """Yield the lists; all blocks have the same columns."""
        for path in self.paths:
            for lists in self._of_file(path):
                self.n_items += lists.n_items
                if self.has_ids is None:
                    self.has_ids = lists.item_ids is not None
                if not self.has_ids and lists.item_ids is not None and not any(map(is_pipe, self.paths)):
                    raise _LateIdsError
                if self.has_ids and lists.item_ids is None:
                    lists = with_empty_ids(lists)
                yield lists

    def _of_file(self, path: str) -> Iterator[CandidateLists]:
        """Yield the lists of a file, in blocks if possible."""
        format = self.reading.format or format_of(path)
        known = self.reading.with_settings(format=format)
        blocks = None if path in self.wholes else blocks_of(path, format, self.reading)

        def load() -> CandidateLists:
            return load_for(path, known, None)

        if blocks is None:
            yield load()
        elif path in self.apart:
            yield from regrouped_blocks(blocks, load, self.size)
        else:
            yield from blocks.lists(load, alike=True)
