"""``predict`` block by block: scores are written while lists are read; memory holds a block of lists."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rerank.core import progress
from rerank.core.errors import DataNote, FormatError, NeedsWholeError
from rerank.core.files.read import opening_once, shown
from rerank.core.files.write import atomic_write
from rerank.core.types import Floats
from rerank.data.alignment import aligned
from rerank.data.categories import column_of
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import switched
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.data.overlap import LEAST_SHARE, found_in
from rerank.data.reading import Reading, read_as
from rerank.formats.base import FORMATS, format_of
from rerank.formats.common import note
from rerank.formats.rewriting import Size, rewrite
from rerank.formats.streaming import Blocks, blocks_of
from rerank.formats.streaming.chunks import with_empty_ids
from rerank.metrics.relevance import resolve_ties
from rerank.models.base import Model
from rerank.models.predictions import Writer, ranking, table_lines

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream

# Outputs that a list gives whatever the other lists are.
OUTPUTS = ("scores", "grades", "probabilities", "table", "best", "run", "nbest")
_WITH_IDS = ("table", "best", "run")
# Models whose scores are the same bits whatever block and layout an item is in.
_KINDS = ("linear", "thresholds", "stumps", "trees")
_TRAINED_ON = "lists that the model was trained on"

Load = Callable[[], CandidateLists]
Answer = Callable[..., Floats]
Lines = Callable[[CandidateLists, Floats], Iterable[str]]


class Streamed(Struct):
    """Result of ``predict`` if it wrote block by block: ``Predicted`` without lists and scores."""

    model: Model
    lists: Size
    switched: int | None = None
    adaptation: None = None


def streams(model: Model, as_: str) -> bool:
    """Return whether a model gives an output list by list, with the same bytes in blocks of any size."""
    if as_ not in OUTPUTS or model.kind not in _KINDS or model.training.unlabelled or model.chain.sources:
        return False
    return getattr(model, "missing", None) is None  # stumps report missing values of the whole set


@opening_once
def predict_file(
    model: Model,
    path: str | os.PathLike[str],
    read: Callable[[Reading], CandidateLists],
    reading: Reading,
    as_: str,
    out: str,
    answer: Answer,
    writer: Writer,
    strict: bool,
    tag: str,
) -> Streamed | None:
    """Write predictions block by block.

    If the lines of a list are not contiguous, the file is read as a whole after all. What was printed before
    must then be the beginning of the same output.

    Parameters
    ----------
    model : Model
    path : path
        The lists; "-" is standard input.
    read : callable
        Returns the lists of the file, or of a block of it, as the model needs them.
    reading : Reading
    as_ : str
    out : str
        The file to write; "-" is standard output, which gets each block at once.
    answer : callable
        Returns scores, grades or probabilities of lists (n_items) in the order of the caller's rows.
    writer : callable
        As in ``predictions.WRITERS``.
    strict : bool
        Refuse features that the model does not know, features that are absent, and lists that are apart.
    tag : str
        The name of a run.

    Returns
    -------
    Streamed or None
        None if nothing was written, and the file must be read as a whole.

    Raises
    ------
    RerankError
        As for whole files; of what was printed before nothing is taken back.
    """
    if not streams(model, as_) or any(map(column_of, model.input_names)):  # values of categories
        return None
    path = os.fspath(path)
    format = reading.format or format_of(path)
    missing = reading.missing or read_as(model.missing_policy)
    filled = missing == "nan" or model.fill != 0.0
    if as_ == "nbest":
        return _reordered(model, path, read, reading.with_settings(format=format), out, answer, strict)
    blocks = blocks_of(path, format, reading, len(model.input_names), filled)
    if blocks is None:
        return None
    reading = reading.with_settings(format=format)
    lines, printed = _lines(model, as_, writer, tag), _Printed()

    def load() -> CandidateLists:
        return read(reading)

    try:
        with atomic_write(out) as file:
            return _Predicting(model, blocks, load, as_, answer, lines, strict).write(file, printed)
    except NeedsWholeError:
        if strict or not blocks.can_be_read_again():
            raise
        if out != "-" or not printed.size:
            return None
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            lists = load()
            items = lists.from_input_order(answer(lists, strict=strict))
            with atomic_write(out) as file:
                if not printed.go_on(file, lines(lists, items)):
                    raise
        _warn({str(one.message): one.category for one in heard})
        return Streamed(model, Size(lists.n_lists, lists.n_items), _switched(model, as_, lists, items))


def _reordered(
    model: Model,
    path: str,
    read: Callable[[Reading], CandidateLists],
    reading: Reading,
    out: str,
    answer: Answer,
    strict: bool,
) -> Streamed | None:
    """Write the lists in their own format, the best item of each first; None if it has no blocks."""
    kind = FORMATS.get(reading.format or "")()
    if not kind.writes_blocks():
        return None
    predicting: _Predicting | None = None

    def change(blocks: Iterator[CandidateLists], whole: bool) -> Iterator[CandidateLists]:
        nonlocal predicting
        one = predicting = _Predicting(model, None, None, "nbest", answer, None, strict)
        for lists in blocks:
            yield lists.reordered(ranking(lists, one.scored(lists)))
        one.give_notes(shown(path))

    def sink(stream: ListStream) -> None:
        kind.write_stream(stream, out)

    rewrite(path, reading, sink, change, grows=reading.format == "svmlight", read=read)
    assert predicting is not None
    return Streamed(model, predicting.size, predicting.switched)


def _lines(model: Model, as_: str, writer: Writer, tag: str) -> Lines:
    """Return what makes the lines of lists and their scores (n_items)."""

    def lines(lists: CandidateLists, items: Floats) -> Iterable[str]:
        if as_ != "table" or model.calibration is None:
            return writer(lists, items, tag)
        return table_lines(lists, items, "", model.calibration.columns(lists, items))

    return lines


def _switched(model: Model, as_: str, lists: CandidateLists, items: Floats) -> int | None:
    decides = model.keep_margin is not None and as_ not in ("grades", "probabilities")
    return int(switched(lists, items).sum()) if decides else None


def _warn(notes: Mapping[str, type[Warning]]) -> None:
    for text, category in notes.items():
        warnings.warn(text, category, stacklevel=3)


class _Printed:
    """Number of bytes written, and their hash."""

    def __init__(self) -> None:
        self.size, self._hash = 0, hashlib.blake2b()

    def add(self, content: bytes) -> None:
        """Note what was written."""
        self.size += len(content)
        self._hash.update(content)

    def go_on(self, file: IO[bytes], lines: Iterable[str]) -> bool:
        """Write what follows in the same output; return False if it begins otherwise."""
        left, again = self.size, hashlib.blake2b()
        for line in lines:
            content = encoded([line])
            again.update(content[:left])
            if left and len(content) >= left and again.digest() != self._hash.digest():
                return False
            file.write(content[left:])
            left = max(left - len(content), 0)
        return left == 0


def encoded(lines: Iterable[str]) -> bytes:
    """Return lines as they are written."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


class _Predicting:
    """One prediction, block by block. Notes are kept, and given once at the end."""

    def __init__(
        self,
        model: Model,
        blocks: Blocks | None,
        load: Load | None,
        as_: str,
        answer: Answer,
        lines: Lines | None,
        strict: bool,
    ) -> None:
        self.model, self.blocks, self.load = model, blocks, load
        self.as_, self.answer, self.lines, self.strict = as_, answer, lines, strict
        self.size, self.switched = Size(), None if model.keep_margin is None else 0
        self.notes: dict[str, type[Warning]] = {}
        self.known = [0, 0]  # lists that the model was trained on, and those that could be known
        self.columns = _Columns()
        self.has_ids: bool | None = None
        self.ties = ""

    def write(self, file: IO[bytes], printed: _Printed) -> Streamed:
        """Write all lines."""
        assert self.blocks is not None
        source = shown(self.blocks.path)
        try:
            with progress.step(f"predicting {source}", None, "list") as advance:
                for lists in self.blocks.lists(self._load):
                    with self._kept_notes():
                        content = self._block(lists)
                    file.write(content)
                    file.flush()
                    printed.add(content)
                    advance(lists.n_lists)
        except NeedsWholeError:
            self.notes, self.known, self.columns = {}, [0, 0], _Columns()  # those of the whole file are given
            raise
        finally:
            self.give_notes(source)
        return Streamed(self.model, self.size, self.switched)

    def _load(self) -> CandidateLists:
        with self._kept_notes():
            assert self.load is not None
            return self.load()

    def _block(self, lists: CandidateLists) -> bytes:
        """Return the output for some lists."""
        if self.as_ in _WITH_IDS:
            lists = self._with_ids(lists)
        if self.as_ == "run":
            self._check_ties(lists)
        assert self.lines is not None
        return encoded(self.lines(lists, self.scored(lists)))

    def scored(self, lists: CandidateLists) -> Floats:
        """Return the scores of some lists (n_items), in the order of their items."""
        found = found_in(self.model.training.data.sketch or "", self.model.input_names, lists, poor=False)
        self.known = [self.known[0] + sum(found), self.known[1] + len(found)]
        scores = self.answer(self._aligned(lists), strict=self.strict)
        items = lists.from_input_order(scores)
        now = _switched(self.model, self.as_, lists, items)
        self.switched = None if now is None or self.switched is None else self.switched + now
        self.size = Size(self.size.n_lists + lists.n_lists, self.size.n_items + lists.n_items)
        return items

    def _with_ids(self, lists: CandidateLists) -> CandidateLists:
        """The lists with their ids or numbers, and ids of items if those before have them.

        FormatError if only these items have ids.
        """
        if lists.list_ids is None:
            numbers = range(self.size.n_lists + 1, self.size.n_lists + lists.n_lists + 1)
            lists = replace(lists, list_ids=StringColumn.from_strings(map(str, numbers)))
        has = lists.item_ids is not None
        if self.has_ids is False and has:
            assert lists.item_ids is not None
            assert self.blocks is not None
            line = self.blocks.item_lines(lists.n_items)[np.argmax(lists.item_ids.lengths() > 0)]
            expected = "none, as in the lines before (--as scores needs none)"
            raise FormatError(lists.source, int(line), "the id of an item", expected)
        self.has_ids = has or bool(self.has_ids)
        if has == self.has_ids:
            return lists
        return with_empty_ids(lists)

    def _check_ties(self, lists: CandidateLists) -> None:
        """Raise NeedsWholeError if ties are not broken as in the lists before, see ``run_lines``."""
        ties = resolve_ties(lists, None)
        self.ties = self.ties or ties
        if ties != self.ties:
            ids = "unique" if ties == "trec" else "no unique"
            assert self.blocks is not None
            line = int(self.blocks.item_lines(lists.n_items)[0])
            raise NeedsWholeError(lists.source, line, f"{ids} ids of items", "ids as in the lines before")

    def _aligned(self, lists: CandidateLists) -> CandidateLists:
        """The lists with the columns of the model; what does not match is noted for all blocks together."""
        model, selection = self.model, self.model.training.data.features or ""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", DataNote)
            ready = aligned(
                lists, model.input_names, selection=selection, fill=model.fill, strict=self.strict
            )
        self.columns.add(lists, matches=not heard)
        return ready

    @contextmanager
    def _kept_notes(self) -> Iterator[None]:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                self.notes |= {str(one.message): one.category for one in heard}

    def give_notes(self, source: str) -> None:
        _warn(self.notes)
        hits, total = self.known
        if hits and hits / total >= LEAST_SHARE:
            note(f"{source}: {hits / total:.0%} of the lists have the features of {_TRAINED_ON}")
        if not self.columns.match:
            self.columns.give_note(self.model, source)


class _Columns:
    """The columns of all blocks, and whether those of each match those of the model."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.occur: set[int] = set()
        self.dense, self.named, self.match = False, True, True
        self.last: list[str] | None = None

    def add(self, lists: CandidateLists, *, matches: bool) -> None:
        """Add the columns of a block."""
        self.match &= matches
        names = list(lists.names())
        if matches and names == self.last:
            return
        self.last = names
        self.named &= lists.feature_names is not None
        for name in names:
            self.places.setdefault(name, len(self.places))
        occur = range(len(names)) if matches else lists.features.occurring().tolist()
        self.occur |= {self.places[names[j]] for j in occur}
        self.dense |= isinstance(lists.features, Dense)

    def give_note(self, model: Model, source: str) -> None:
        """Report what does not match, as for lists with all of the columns."""
        n, found = len(self.places), sorted(self.occur)
        indptr = np.array([0, len(found)], dtype=np.int64)
        ones = Sparse(indptr, np.array(found, dtype=np.int32), None, n)
        features = Dense(ones.to_dense()) if self.dense else ones
        names = list(self.places) if self.named else None
        lists = CandidateLists(np.array([0, 1]), features, feature_names=names, source=source)
        aligned(lists, model.input_names, selection=model.training.data.features or "", fill=model.fill)
