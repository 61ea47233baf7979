"""JSON Lines block by block: each block begins with a copy of the first candidate, which is then left out.

The first candidate shows what every candidate has, such as a text, so that a block is read as if it followed
the first block. What is learnt of keys (their roles, those that are numbers) goes from one block to the next.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np

from rerank.core.errors import DataNote, FormatError
from rerank.core.files.read import shown
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.buffers import BOM
from rerank.formats.common import quoted
from rerank.formats.jsonl.columns import note_absent
from rerank.formats.jsonl.read import ONE_LINE, ItemReader, LineReader, ListReader, reader_of
from rerank.formats.jsonl.schema import MisfitError
from rerank.formats.streaming.seen import ListsApartError, refuse_late_columns
from rerank.formats.streaming.text import TextBlocks

_FIRST = "\0the first candidate"


class JSONLinesBlocks(TextBlocks):
    """The lists of a file of either shape, block by block.

    Parameters
    ----------
    path : str
    options : ReadOptions
    all_columns : bool
        Refuse features that come after the first block.
    """

    def __init__(self, path: str, options: ReadOptions, all_columns: bool) -> None:
        super().__init__(path)
        self._options, self._all_columns = options, all_columns
        self._list_key: str | None = None
        self._candidates = ""  # the key of a line's candidates, "" = a line has one
        self._first: dict[str, Any] | None = None  # the line of the first candidate
        self._lengths: Index = np.empty(0, dtype=np.int64)
        self._looked_at = False

    def last_list(self, text: bytes, stop: int) -> int:
        if not self._looked_at:
            value = next(_objects(bytes(text[:stop]).removeprefix(BOM)), None)
            self._looked_at = value is not None
            if value is not None:
                with warnings.catch_warnings(), suppress(MisfitError):  # the reader of lines raises it
                    warnings.simplefilter("ignore", DataNote)
                    reader = reader_of(value, shown(self.path), self._options)
                    self._list_key, self._candidates = reader.list_key, reader.candidates
        return stop if self._candidates or self._list_key is None else super().last_list(text, stop)

    def key(self, text: bytes, begin: int, end: int) -> object:
        return next((value.get(self._list_key or "") for value in _objects(text[begin:end])), None)

    def is_item(self, line: bytes) -> object:
        if not self._candidates:
            return super().is_item(line)
        return any(value.get(self._candidates) for value in _objects(line))

    def item_lines(self, n_items: int) -> Index:
        if not self._candidates:
            return super().item_lines(n_items)
        return np.repeat(super().item_lines(len(self._lengths)), self._lengths)

    def apart(self, error: FormatError) -> FormatError:
        if not self._candidates or not isinstance(error, ListsApartError):
            return error
        found = f"list {quoted(error.name)} again (line {error.first})"
        return MisfitError(self._list_key or "", found, "each list once").at(error.path, error.line or 0)

    def lists(self, options: ReadOptions) -> Iterator[CandidateLists]:
        source = shown(self.path)
        lines = LineReader(source, options)
        n_items = n_lists = n_prompts = n_values = 0
        names: list[str] | None = None
        for block in self._texts:
            self.block = block
            if self._first is not None and lines.reader is not None:
                lines.reader = self._continued(lines.reader, lines.line)
            before = (0, 0, 0) if lines.reader is None else _sizes(lines.reader)
            try:
                lines.add(block.lines())
            finally:
                if lines.reader is not None:
                    lines.reader.flush()  # a fault of an earlier line goes first
            reader = lines.reader
            if reader is None or _sizes(reader)[0] == before[0]:
                continue  # blank lines, or lists without a candidate
            self._list_key, self._candidates = reader.list_key, reader.candidates
            own = [after - earlier for after, earlier in zip(_sizes(reader), before, strict=True)]
            ignored = dict(reader.columns.ignored)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataNote)
                found = reader.finish()
            reader.columns.ignored = ignored
            if self._first is not None:
                found = found.subset(np.arange(1, found.n_lists))
            else:
                self._first = self._first_line(block.lines())
            self.ids_differ, self._lengths = found.list_ids is None, found.lengths
            if names is not None and self._all_columns:
                refuse_late_columns(found, names, block.lines_before + 1)
            names = found.names()
            n_items, n_lists = n_items + own[0], n_lists + found.n_lists
            n_values, n_prompts = n_values + own[1], n_prompts + own[2]
            yield found
        if lines.reader is None:
            raise FormatError(source, None, "blank lines only" if lines.line else "an empty file", ONE_LINE)
        if not n_items:
            lines.reader.finish()  # which raises that there is no candidate
        columns = lines.reader.columns
        if isinstance(lines.reader, ListReader):
            lines.reader.note_empty()
        if 0 < n_prompts < n_lists:
            columns.ignore(columns.prompt_key, n_prompts)
        columns.note_keys()
        n_cells = n_items * len(columns.builder.names)
        note_absent(n_cells - n_values, n_cells, options, source)

    def _first_line(self, text: bytes) -> dict[str, Any]:
        """The line of the first candidate, with this one alone, in a list that no line can name."""
        key = self._candidates
        first = next(value for value in _objects(text) if not key or value.get(key))
        if key:
            first[key] = first[key][:1]
        if self._list_key is not None:
            first[self._list_key] = _FIRST
        return first

    def _continued(self, reader: ListReader | ItemReader, line: int) -> ListReader | ItemReader:
        """A reader of what follows the lines that another one has read."""
        assert self._first is not None
        old, options = reader.columns, reader.columns.options
        new: ListReader | ItemReader
        if isinstance(reader, ListReader):
            new = ListReader(reader.source, options, reader.candidates, reader.list_key)
            new.empty, new.seen_of_items = reader.empty, reader.seen_of_items
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataNote)
                new = ItemReader(reader.source, options, reader.list_key or "")
        columns = new.columns
        columns.roles, columns.numeric, columns.builder.names = old.roles, old.numeric, old.builder.names
        columns.any_label, columns.any_score = old.any_label, old.any_score
        columns.ignored = dict(old.ignored)
        new.seen = reader.seen
        new.add(self._first, line)
        new.flush()
        columns.ignored = old.ignored
        return new


def _objects(text: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of lines; other lines are left to the reader."""
    for line in text.split(b"\n"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = msgspec.json.decode(line)
            if type(value) is dict:
                yield value


def _sizes(reader: ListReader | ItemReader) -> tuple[int, int, int]:
    """The numbers of candidates, values and prompts that a reader has."""
    builder = reader.columns.builder
    return builder.n_items, len(builder.values), len(reader.columns.prompts)
