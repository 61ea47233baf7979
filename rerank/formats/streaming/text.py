"""Text in blocks of whole lists: what is read at a time of a file or a pipe whose lists are contiguous."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from msgspec import Struct

from rerank.core.errors import FormatError
from rerank.core.files.read import read_blocks
from rerank.core.types import Bytes, Index
from rerank.formats.buffers import BOM
from rerank.formats.streaming.chunks import BlockReader

_PADDING = bytes(64)  # readable bytes that kernels need after a text

BLOCK = 1 << 22  # bytes of text in a block, more only if a list is longer
FIRST = 1 << 16  # the first block is small, so that its output comes soon; each block is twice the one before


class TextBlock(Struct, frozen=True, dict=True):
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

    @cached_property
    def n_ends(self) -> int:
        """The number of ends of lines."""
        return self.text.count(b"\n")

    def lines(self) -> bytes:
        """Return the text without a byte order mark, every line with its newline."""
        text = self.text if self.lines_before else self.text.removeprefix(BOM)
        return text if text.endswith(b"\n") else text + b"\n"

    def array(self) -> Bytes:
        """Return ``lines`` as kernels read them, uint8."""
        text = self.lines()
        return np.frombuffer(text + _PADDING, dtype=np.uint8)[: len(text)]

    def in_file(self, error: FormatError) -> FormatError:
        """Return an error of the text as one of the file."""
        line = None if error.line is None else error.line + self.lines_before
        return FormatError(error.path, line, error.found, error.expected)

    def item_lines(self, n_items: int, is_item: Callable[[bytes], object]) -> Index:
        """Return the line of the file, from 1, of each of the ``n_items`` lines that ``is_item`` accepts."""
        if self.n_ends + (not self.text.endswith(b"\n")) == n_items:
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
    parts: list[bytes] = []
    held, lines, size = 0, 0, min(FIRST, BLOCK)
    wanted = size
    for piece in _pieces(path):
        parts.append(piece)
        held += len(piece)
        if held < wanted:
            continue
        text = b"".join(parts)
        whole = text.rfind(b"\n") + 1
        cut = last_list(text, whole) if whole else 0
        parts = [text[cut:]]
        held = len(parts[0])
        if not cut:
            wanted = 2 * held  # one long list: it is not looked through for every piece
            continue
        block = TextBlock(text[:cut], lines)
        del text
        yield block
        lines += block.n_ends
        size = min(2 * size, BLOCK)
        wanted = size
    if held:
        yield TextBlock(b"".join(parts), lines)


def _pieces(path: str) -> Iterator[bytes]:
    """The content in pieces of a block at most; the first ones are small."""
    most = min(BLOCK, FIRST)
    for block in read_blocks(path):
        for at in range(0, len(block), most):
            yield block[at : at + most]
        most = BLOCK


class TextBlocks(BlockReader):
    """The lists of a text with a line for each item, or for each list.

    A format says what tells the list of a line: so its text is cut where one list ends and another begins.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.block = TextBlock(b"", 0)  # that was read last
        self._texts = blocks_of_lists(path, self.last_list)

    @abstractmethod
    def key(self, text: bytes, begin: int, end: int) -> object:
        """Return what is the same in all lines of a list and differs in the next, None if it is no item's.

        The line is ``text[begin:end]``, with its newline.
        """

    def last_list(self, text: bytes, stop: int) -> int:
        """Return where the last list of a text begins that ends at ``stop``, see ``blocks_of_lists``."""
        start, last = 0, None
        while stop > 0:
            begin = text.rfind(b"\n", 0, stop - 1) + 1
            key = self.key(text, begin, stop)
            if key is not None:
                if last is not None and key != last:
                    return start
                last, start = key, begin
            stop = begin
        return 0

    def is_item(self, line: bytes) -> object:
        """Return whether a line has items, "" at the end of a text."""
        return line.strip(b" \t\r")

    def item_lines(self, n_items: int) -> Index:
        return self.block.item_lines(n_items, self.is_item)

    def drain(self) -> None:
        for _ in self._texts:
            pass
