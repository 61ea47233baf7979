"""Files of lists rewritten block by block: in another format, with more columns, with other labels.

A file that is not read in blocks is one block, so that there is one way through the code. Some outputs need
to know more than the blocks so far: whether items have ids, how many columns there are. If a later block
shows something else, the file is read once more with that knowledge; what only the whole file shows is read
as a whole after all.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from msgspec import Struct

from rerank.core import progress
from rerank.core.errors import ConfigError, FormatError, NeedsWholeError
from rerank.core.files.read import opening_once, shown
from rerank.core.text import count
from rerank.data.columns.strings import first_again, hashes_of
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.reading import Reading
from rerank.data.shards.hashing import KnownIds
from rerank.formats.base import FORMATS, format_of, load_for
from rerank.formats.common import note
from rerank.formats.list_stream import LearntError, ListStream, OtherOutputError, Printed
from rerank.formats.sources import checked_format
from rerank.formats.streaming import Blocks, ListsApartError, blocks_of
from rerank.formats.streaming.chunks import with_empty_ids
from rerank.formats.streaming.references import with_references

Lists = Iterator[CandidateLists]
Change = Callable[[Lists, bool], Lists]  # the blocks, and whether the only one is the whole set
Sink = Callable[[ListStream], None]


class Size(Struct):
    """Numbers of lists and items."""

    n_lists: int = 0
    n_items: int = 0

    def __str__(self) -> str:
        return f"{count(self.n_lists, 'list')}, {count(self.n_items, 'item')}"


class _Known(Struct):
    """Facts about a file that are known before its first block is written.

    ``has_ids``: whether items have ids, None = as those of the first block. ``wide``: whether all lines are
    looked at for the number of columns. ``last``: see ``ListStream``.
    """

    has_ids: bool | None = None
    wide: bool = False
    last: int | None = None


class _AgainError(Exception):
    """The file must be read once more, with what is known now; ``error`` if it cannot be."""

    def __init__(self, error: FormatError) -> None:
        super().__init__(str(error))
        self.error = error


def convert_file(
    data: str, out: str, to: str | None = None, *, change: Change | None = None, reading: Reading
) -> Size:
    """Write the lists of a file to another one, see ``rewrite``; ``to`` is its format, None = by suffix."""
    target = FORMATS.get(checked_format(out, to, data, reading))()

    def sink(stream: ListStream) -> None:
        target.write_stream(stream, out)

    grows = target.name == "svmlight"
    return rewrite(data, reading, sink, change, in_blocks=target.writes_blocks(), grows=grows)


@opening_once
def rewrite(
    data: str | os.PathLike[str],
    reading: Reading,
    sink: Sink,
    change: Change | None = None,
    *,
    in_blocks: bool = True,
    grows: bool = False,
    read: Callable[[Reading], CandidateLists] | None = None,
) -> Size:
    """Pass the lists of a file on, changed, block by block.

    Parameters
    ----------
    data : path
        "-" is standard input.
    reading : Reading
    sink : callable
        Writes the lists. It may be called again, and must then write the same output from its beginning; of
        what was printed before only the rest is printed.
    change : callable, optional
        Yields changed lists; may be called again as well.
    in_blocks : bool
        Read large files and pipes in blocks, if their format can be read so.
    grows : bool
        The output is the same if sparse lists have further columns after those of the lists before.

    read : callable, optional
        Returns the lists of the file; None = ``load_for``.

    Returns
    -------
    Size
        Of what was written.

    Raises
    ------
    RerankError
        As for whole files; if a pipe would have to be read twice.
    """
    path = os.fspath(data)
    format = reading.format or format_of(path)
    reading = reading.with_settings(format=format)
    known, printed = _Known(), Printed()

    refs = () if FORMATS.get(format).reads_references else reading.refs
    without = reading.with_settings(refs=()) if refs else reading
    blocks: Blocks | None = None

    def load() -> CandidateLists:
        now = reading if blocks is None else without
        return load_for(path, now, None) if read is None else read(now)

    cause: Exception | None = None
    while True:
        n_columns = sys.maxsize if known.wide else 0
        blocks = blocks_of(path, format, without, n_columns, filled=True) if in_blocks else None
        size = Size()
        with kept_notes() as notes:
            try:
                if blocks is None:
                    lists = iter([load()])
                else:
                    lists = _Source(blocks, load, known, grows, reading).lists()
                    lists = with_references(lists, refs) if refs else lists
                lists = lists if change is None else change(lists, blocks is None)
                with progress.step(f"writing lists of {shown(path)}", None, "list") as advance:
                    lists = _counted(_of_one_form(lists), size, advance)
                    sink(ListStream(lists, whole=blocks is None, last=known.last, printed=printed))
                return size
            except OtherOutputError:
                raise cause or ConfigError("standard output: other lists when read again") from None
            except (LearntError, _AgainError, NeedsWholeError) as error:
                cause = _plain(error, path)
                if blocks is None or not blocks.can_be_read_again():
                    raise cause from None
                notes.clear()
                if isinstance(error, LearntError):
                    known.last = error.last
                elif isinstance(error, NeedsWholeError):
                    in_blocks = False
                    if not isinstance(error, ListsApartError):  # which the reader of whole files reports
                        note(f"{error}; the file is read as a whole")


def _plain(error: Exception, path: str) -> Exception:
    """The error for a pipe that cannot be read again."""
    if isinstance(error, LearntError):
        found = f"0 in every line for the last feature ({error.last + 1})"
        expected = "a value: otherwise the first line names it. A file can be read twice, this pipe cannot"
        return FormatError(shown(path), None, found, expected)
    return error.error if isinstance(error, _AgainError) else error


@contextmanager
def kept_notes() -> Iterator[list[warnings.WarningMessage]]:
    """Keep the notes of the block in a list, and give each text once at its end."""
    heard: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            yield heard
    finally:
        for text, category in {str(one.message): one.category for one in heard}.items():
            warnings.warn(text, category, stacklevel=4)


class _Source:
    """The lists of a file, block by block, with the values that reading the whole file gives."""

    def __init__(
        self, blocks: Blocks, load: Callable[[], CandidateLists], known: _Known, grows: bool, reading: Reading
    ) -> None:
        self.blocks, self.load, self.known, self.grows = blocks, load, known, grows
        self.first_best = reading.first_best
        self.by_line = FORMATS.get(reading.format or "").ranked_by_line
        self.n_items, self.width = 0, -1
        self.seen = KnownIds()  # of stores, whose ids may repeat

    def lists(self) -> Lists:
        """Yield the blocks. A first list without an id is never alone, if there are others."""
        held: CandidateLists | None = None
        for number, lists in enumerate(self.blocks.lists(self.load, alike=True)):
            lists = self._numbered(self._with_ids(lists))
            self._check(lists)
            self.n_items += lists.n_items
            if held is not None:
                lists, held = replace(joined([held, lists]), source=lists.source), None
            elif number == 0 and lists.n_lists == 1 and lists.list_ids is None:
                held = lists
                continue
            yield lists
        if held is not None:
            yield held

    def _line(self, lists: CandidateLists, item: int = 0) -> int:
        return int(self.blocks.item_lines(lists.n_items)[item])

    def _with_ids(self, lists: CandidateLists) -> CandidateLists:
        """The lists with ids of items if others of the file have some."""
        known, ids = self.known, lists.item_ids
        if known.has_ids is None:
            known.has_ids = ids is not None
        if known.has_ids and ids is None:
            return with_empty_ids(lists)
        if ids is not None and not known.has_ids:
            known.has_ids = True
            line = self._line(lists, int(np.argmax(ids.lengths() > 0)))
            found, expected = "the id of an item", "none, as in the lines before"
            raise _AgainError(FormatError(lists.source, line, found, expected))
        return lists

    def _numbered(self, lists: CandidateLists) -> CandidateLists:
        """The lists with a first-best that counts the lines of the whole file."""
        values = np.arange(self.n_items, self.n_items + lists.n_items, dtype=np.float64)
        if self.first_best == "input":
            return replace(lists, first_best=0.0 - values)
        if self.by_line and lists.first_best is not None and self.first_best is None:
            return replace(lists, first_best=-values)
        return lists

    def _check(self, lists: CandidateLists) -> None:
        """Raise _AgainError for new columns, NeedsWholeError for a list id that occurs again in a store."""
        if self.width not in (-1, lists.n_features) and not (
            self.grows and lists.features.layout == "sparse"
        ):
            found = f"{lists.n_features} features"
            error = NeedsWholeError(lists.source, self._line(lists), found, f"{self.width}, as before")
            if self.known.wide:
                raise error
            self.known.wide = True
            raise _AgainError(error)
        self.width = lists.n_features
        if self.blocks.ids_differ and lists.list_ids is not None:
            hashes = hashes_of(lists.list_ids)
            if len(self.seen.find(hashes)[0]) or first_again(hashes) is not None:
                raise NeedsWholeError(lists.source, None, "two lists of one id", "each id once")
            self.seen.add(hashes, np.arange(lists.n_lists))


def _of_one_form(blocks: Lists) -> Lists:
    """Yield the blocks; raise NeedsWholeError if their features have several layouts."""
    form = None
    for lists in blocks:
        features = lists.features
        now = features.layout, features.dtype, getattr(features, "places", np.empty(0)).tolist()
        form = form or now
        if now != form:
            found, expected = f"features that are {now[0]}", f"{form[0]} ones, as in the lists before"
            raise NeedsWholeError(lists.source, None, found, f"{expected} (--layout {form[0]})")
        yield lists


def _counted(blocks: Lists, size: Size, advance: progress.Advance) -> Lists:
    for lists in blocks:
        yield lists
        size.n_lists += lists.n_lists
        size.n_items += lists.n_items
        advance(lists.n_lists)
