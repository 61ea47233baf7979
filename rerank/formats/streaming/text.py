"""Text in blocks of whole lists: what is read at a time of a file or a pipe whose lists are contiguous."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from rerank.core.files.read import read_blocks
from rerank.core.types import Index

BLOCK = 1 << 22  # bytes of text in a block, more only if a list is longer
FIRST = 1 << 16  # the first block is small, so that its output comes soon; each block is twice the one before


class TextBlock(Struct, frozen=True):
    """Lines of some whole lists.

    Attributes
    ----------
    text : bytes
        Whole lines; the last line of a file may have no newline.
    lines_before : int
        The lines of the file before these.
    """

    text: bytes
    lines_before: int

    def item_lines(self, n_items: int, is_item: Callable[[bytes], bool]) -> Index:
        """Return the line of the file, from 1, of each of the ``n_items`` lines that ``is_item`` accepts."""
        if self.text.count(b"\n") + (not self.text.endswith(b"\n")) == n_items:
            return np.arange(n_items, dtype=np.int64) + self.lines_before + 1
        lines = enumerate(self.text.split(b"\n"), self.lines_before + 1)
        return np.array([number for number, line in lines if is_item(line)], dtype=np.int64)


def blocks_of_lists(path: str, last_list: Callable[[bytes, int], int]) -> Iterator[TextBlock]:
    """Yield the text of a file ("-" = standard input), decompressed, in blocks of whole lists.

    Memory holds one block and the beginning of the next list.

    Parameters
    ----------
    path : str
    last_list : callable
        Returns where the last list of a text begins that ends at a position (the end of a line); 0 if no list
        begins after the first one.

    Raises
    ------
    RerankError
        As ``rerank.core.files.read.read_blocks``.
    """
    held, lines, size = bytearray(), 0, min(FIRST, BLOCK)
    wanted = size
    for piece in _pieces(path):
        held += piece
        if len(held) < wanted:
            continue
        whole = held.rfind(b"\n") + 1
        cut = last_list(held, whole) if whole else 0  # type: ignore[arg-type]  # it is not changed
        if not cut:
            wanted = 2 * len(held)  # one long list: it is not looked through for every piece
            continue
        text = bytes(held[:cut])
        yield TextBlock(text, lines)
        lines += text.count(b"\n")
        del held[:cut]
        size = min(2 * size, BLOCK)
        wanted = size
    if held:
        yield TextBlock(bytes(held), lines)


def _pieces(path: str) -> Iterator[bytes]:
    """The content in pieces of a block at most."""
    for block in read_blocks(path):
        for at in range(0, len(block), min(BLOCK, FIRST)):
            yield block[at : at + min(BLOCK, FIRST)]
