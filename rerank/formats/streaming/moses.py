"""Moses N-best lists block by block: the reader of whole files with the names of the blocks before."""

from __future__ import annotations

from collections.abc import Iterator

from rerank.core.errors import FormatError
from rerank.core.files.read import shown
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.buffers import content_start
from rerank.formats.moses.lexer import EXPECTED, Vocabulary
from rerank.formats.moses.read import NBestFile, NBestReading
from rerank.formats.streaming.seen import refuse_late_columns
from rerank.formats.streaming.text import TextBlocks


class MosesBlocks(TextBlocks):
    """The lists of an N-best file, block by block.

    Parameters
    ----------
    path : str
    all_columns : bool
        Refuse columns that come after the first block.
    """

    def __init__(self, path: str, all_columns: bool) -> None:
        super().__init__(path)
        self._all_columns = all_columns

    def key(self, text: bytes, begin: int, end: int) -> bytes | None:
        stop = text.find(b"|||", begin, end)
        return None if stop < 0 else text[begin:stop].strip(b" \t")

    def lists(self, options: ReadOptions) -> Iterator[CandidateLists]:
        source, kinds, bare, names = shown(self.path), None, None, None
        vocabulary = Vocabulary()
        for block in self._texts:
            self.block = block
            if not block.lines_before:
                content_start(block.text, source, f"lines '{EXPECTED}'")
            reader = NBestReading(options)
            reader.vocabulary, reader.bare = vocabulary, bare
            kinds = reader.read(NBestFile(source, -block.lines_before), [block.array()], kinds)
            found = reader.lists()
            if names is not None and self._all_columns:
                refuse_late_columns(found, names, block.lines_before + 1)
            names = found.names()
            # A message about a row counts from the first row of the next block.
            known, n = reader.vocabulary, found.n_items
            known.stats[:, 2] -= n
            bare = None if reader.bare is None else reader.bare - n
            vocabulary = Vocabulary(
                names=known.names, followers=known.followers, stats=known.stats, attempts=known.attempts
            )
            yield found
        if names is None:
            raise FormatError(source, None, "an empty file", f"lines '{EXPECTED}'")
