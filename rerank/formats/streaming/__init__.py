"""Lists of a file or a pipe block by block: those that reading the whole file gives, in bounded memory.

A block is some whole lists. ``Blocks.lists`` calls the function that reads a file once for each block: within
it, ``Format.read`` takes the next block instead of the file, and does with it what it does with a file. So
every option of reading works as for whole files, and the whole file is the case of one block.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from rerank.core.errors import DataNote, NeedsWholeError, RerankError
from rerank.core.files.read import is_pipe, opened, shown
from rerank.core.types import Index
from rerank.data.columns.schema import present
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading, ReadOptions
from rerank.formats.base import LARGE, NEXT_BLOCK, Format
from rerank.formats.streaming.chunks import BlockReader
from rerank.formats.streaming.seen import ListsApartError as ListsApartError
from rerank.formats.streaming.seen import SeenLists

_BY_NAME = {"list_column", "label_column", "id_column", "text_column", "answer_column"}
# Options of reading that mean the same for a block as for the file, by format.
_OPTIONS: dict[str, set[str]] = {
    "store": {"missing"},
    "svmlight": {"strict", "missing", "zero_based", "feature_names", "layout", "dtype"},
    "table": {"strict", "missing", "layout", "dtype"} | _BY_NAME,
    "parquet": {"strict", "missing", "layout", "dtype"} | _BY_NAME,
    "jsonl": {"strict", "missing", "layout"} | _BY_NAME,
    "moses": {"strict", "missing", "layout"},
    "trec": {"strict", "dtype"},
}


class _EndError(Exception):
    """There is no further block."""


class Blocks:
    """The lists of a file or a pipe, some at a time; within ``inputs_opened_once``.

    Attributes
    ----------
    path : str
    ids_differ : bool
        Whether list ids are not compared.
    """

    def __init__(self, reader: BlockReader) -> None:
        self.path = reader.path
        self.ids_differ = reader.ids_differ
        self._reader = reader

    def lists(
        self,
        load: Callable[[], CandidateLists],
        *,
        may_be_apart: bool = False,
        alike: bool = False,
    ) -> Iterator[CandidateLists]:
        """Yield the lists, some at a time.

        Parameters
        ----------
        load : callable
            Returns the lists of the file through ``Format.read``.
        may_be_apart : bool
            Yield lists that are apart in parts, each with its id, instead of an error.
        alike : bool
            Raise NeedsWholeError if not all lists have the same columns, such as labels (except for ids of
            items), and the same features, later ones perhaps more after these.

        Raises
        ------
        NeedsWholeError
            If the lines of a list are not contiguous (it names two of them), or only the whole file shows
            what its columns are.
        RerankError
            As for the whole file, once the block with the fault is asked for.
        """
        seen, reader = SeenLists(shown(self.path)), self._reader
        blocks: Iterator[CandidateLists] | None = None

        def next_block(format: Format, path: str, options: ReadOptions) -> CandidateLists:
            nonlocal blocks
            if path != self.path:
                return format._read(path, options)
            blocks = reader.lists(options) if blocks is None else blocks
            found = next(blocks, None)
            if found is None:
                raise _EndError
            if not (reader.ids_differ or may_be_apart):
                try:
                    seen.add(found, reader.item_lines)
                except ListsApartError as error:
                    raise reader.apart(error) from None
            return found

        form: tuple[Any, ...] | None = None
        while True:
            token = NEXT_BLOCK.set(next_block)
            try:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", r"(?s).*are not contiguous \(", DataNote)
                    lists = load()
            except _EndError:
                return
            finally:
                NEXT_BLOCK.reset(token)
            if alike:
                names = lists.feature_names
                columns = {name for name, column, _ in present(lists) if column.kind != "names"}
                now = columns - {"item_ids", "rows"}, names is None, list(names or ())
                form = form or now
                if now[:2] != form[:2] or now[2][: len(form[2])] != form[2]:
                    line = int(reader.item_lines(lists.n_items)[0])
                    expected = "those of the lines before; a file is read as a whole"
                    raise NeedsWholeError(lists.source, line, "other columns", expected)
                form = now
            yield lists

    def item_lines(self, n_items: int) -> Index:
        """Return the line of each item of the block that was read last, in the order of the file."""
        return self._reader.item_lines(n_items)

    def can_be_read_again(self) -> bool:
        """Return whether the whole can be read after this; the rest of a pipe is read to find out."""
        if not is_pipe(self.path):
            return True
        self._reader.drain()
        try:
            with opened(self.path):
                return True
        except RerankError:
            return False


def blocks_of(
    path: str, format: str, reading: Reading, n_columns: int = 0, filled: bool = False
) -> Blocks | None:
    """Return a file in blocks of whole lists; None if it is small, or must be read as a whole.

    Within ``inputs_opened_once``, since the beginning of the file is looked at.

    Parameters
    ----------
    path : str
        "-" is standard input.
    format : str
    reading : Reading
        If it sets an option that depends on the whole set, the file is read as a whole.
    n_columns, filled : int and bool
        The columns that the lists should have, and whether those they lack are something else than 0; see
        ``svmlight.least_width``.
    """
    if format not in _OPTIONS or set(reading.changed()) - _OPTIONS[format]:
        return None
    if format == "store":
        from rerank.formats.streaming import store

        return Blocks(store.StoreBlocks(path)) if store.is_streamed(path, LARGE) else None
    if not is_pipe(path) and not (os.path.isfile(path) and os.path.getsize(path) >= LARGE):
        return None
    reader = _reader_of(path, format, reading, n_columns, filled)
    return None if reader is None else Blocks(reader)


def _reader_of(path: str, format: str, reading: Reading, n_columns: int, filled: bool) -> BlockReader | None:
    """The reader of a text or a Parquet file; only the modules of its format are imported."""
    if format == "table":
        from rerank.formats.streaming import table

        return table.TableBlocks(path)
    if format == "parquet":
        from rerank.formats.streaming import parquet

        return parquet.ParquetBlocks(path)
    if format == "trec":
        from rerank.formats.streaming import trec

        return trec.RunBlocks(path)
    if reading.features or reading.first_best not in (None, "input"):
        return None  # the columns of a block need not be those of the file
    if format == "jsonl":
        from rerank.formats.streaming import jsonl

        return jsonl.JSONLinesBlocks(path, reading, filled)
    if format == "moses":
        from rerank.formats.streaming import moses

        return moses.MosesBlocks(path, filled)
    from rerank.formats.streaming import svmlight

    width = svmlight.least_width(path, reading, n_columns, filled)
    return None if width is None else svmlight.SVMLightBlocks(path, width)
