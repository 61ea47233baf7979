"""Scores of a system: a number per line of the input, or by the ids of lists and items."""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import read_blocks, read_head, shown
from rerank.core.registry import did_you_mean
from rerank.core.text import number
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import as_features
from rerank.data.names import ITEM_NAMES, LISTS
from rerank.data.reading import Reading
from rerank.data.store import restore
from rerank.formats.base import FORMATS, detect
from rerank.formats.buffers import BOM
from rerank.formats.builders import Grouper, StringBuilder, filled_lines
from rerank.formats.common import finite, in_list_order, quoted

_AT_ONCE = 1 << 18  # bytes of lines that are objects at a time
_OF_NUMBERS = b"0123456789+-.eE \t\r\n"


def read_scores(path: str, lists: CandidateLists) -> Floats:
    """Return scores (n_items) in the order of the lines; ``-`` is standard input.

    Raises FormatError, with the line, if a score is not a finite number, or if there are too few or many.
    """
    file = ScoreFile(path)
    scores = file.take(lists.n_items)
    file.check_end(lists.n_items, lists.source)
    return scores


class ScoreFile:
    """A file of scores, one per line, that is read as its scores are taken; ``-`` is standard input.

    Its methods raise FormatError, with the line, if a score is not a finite number.
    """

    def __init__(self, path: str) -> None:
        self.path, self.n = path, 0  # scores that were read
        self._blocks = self._values()
        self._rest = np.empty(0)

    def take(self, n: int) -> Floats:
        """Return the next ``n`` scores, fewer at the end of the file."""
        parts, held = [self._rest], len(self._rest)
        while held < n and (values := next(self._blocks, None)) is not None:
            parts.append(values)
            held += len(values)
        found = np.concatenate(parts) if len(parts) > 1 else parts[0]
        self._rest = found[n:]
        return found[:n]

    def check_end(self, n_items: int, source: str) -> None:
        """Raise FormatError if the file does not have ``n_items`` scores in all; the rest of it is read."""
        for _ in self._blocks:
            pass
        if self.n != n_items:
            expected = f"{n_items} scores, one for each item of {source}"
            raise FormatError(shown(self.path), None, f"{self.n} scores", expected)

    def _values(self) -> Iterator[Floats]:
        for lines in _lines(self.path):
            try:
                values = np.array([float(line) for line in lines], dtype=np.float64)
            except ValueError:
                values = np.array([np.nan])
            # Python also takes 1_000, inf, nan and digits of other scripts for numbers.
            if b" ".join(lines).translate(None, _OF_NUMBERS) or not np.isfinite(values).all():
                known = [number(line.decode("utf-8", "replace").strip(" \t\r")) is not None for line in lines]
                at = known.index(False)
                found = lines[at].decode("utf-8", "replace").strip()
                found = repr(found[:40]) if found else "an empty line"
                raise FormatError(shown(self.path), self.n + at + 1, found, "a score (a finite number)")
            self.n += len(values)
            yield values


def _lines(path: str) -> Iterator[list[bytes]]:
    """Yield the lines of a file, some at a time; a last one of blanks alone is left out."""
    rest, first = b"", True
    for block in read_blocks(path):
        text = rest + block
        if first and len(text) >= len(BOM):
            text, first = text.removeprefix(BOM), False
        start = 0
        while (stop := text.find(b"\n", start + _AT_ONCE)) >= 0:
            yield text[start:stop].split(b"\n")
            start = stop + 1
        rest = text[start:]
    lines = (rest.removeprefix(BOM) if first else rest).split(b"\n")
    if not lines[-1].strip():
        lines.pop()
    if lines:
        yield lines


SCORE = "score"
_MODEL = "model"  # the column of items in tables of protein models; taken if no other one is named for them
_COLUMNS: tuple[str, ...] = ("list_column", "id_column")
_TABLES = ("table", "parquet")
EXPECTED = (
    "a score file (one number per line), a run, or a table or JSON Lines with the id of the list, the id of "
    "the item and score"
)
_LINE = "list, item, rank and score, separated by tabs, ranks 1, 2, 3 ..."


class Scored(Struct, frozen=True, eq=False):
    """Scores of items by their ids."""

    lists: CandidateLists  # CandidateLists, with ids of lists and items
    scores: Floats  # float64 (n_items), in the order of the items; NaN = none


def holds_numbers(path: str) -> bool:
    """Return whether a file holds one number per line, not scores by ids, by its first line."""
    if path != "-" and os.path.isdir(path):
        return False
    first = _first_line(read_head(path))
    if first.startswith((b"{", b"[")):
        return False
    cells = re.split(rb"[,\t]", first)
    named = any(cell.strip(b' "').decode("utf-8", "replace") in LISTS for cell in cells)
    return not named and len(first.split()) < 2


def holds_judgements(path: str) -> bool:
    """Return whether a file clearly holds judgements (qrels) as TREC or BEIR write them, by its first lines.

    Files of three columns without a header, and JSON, could be a run as well and are not recognised.
    """
    if path != "-" and os.path.isdir(path):
        return False
    head = read_head(path)
    lines = [line.split() for line in _text(head).split(b"\n")[:-1] or [_text(head)] if line.strip()]
    if not lines:
        return False
    if [cell.lower() for cell in lines[0]] == [b"query-id", b"corpus-id", b"score"]:
        return True
    if not all(len(line) == 4 and _is_number(line[3]) for line in lines):
        return False
    # A table of 'rerank predict' has four columns too: its second one holds items, each once in a list.
    pairs = {(line[0], line[1]) for line in lines}
    return lines[0][1].upper() in (b"0", b"Q0") or len(pairs) < len(lines)


def read_scored(path: str, reading: Reading | None = None, column: str | None = None) -> Scored:
    """Return the scores of a file by ids.

    It is a table as ``rerank predict --as table`` writes it, or of any format whose lists have ids and base
    scores or a feature "score": runs, CSV, TSV, JSON Lines, stores.

    Parameters
    ----------
    path : the file, "-" = standard input.
    reading : how the judged lists are read; its ``list_column`` and ``id_column`` count if the file has them,
        and ``missing``: unless it is None or "error" an item may have an empty cell for a score.
    column : the feature that is the score; None = the base scores or "score".

    Raises
    ------
    ConfigError
        If there is no such feature.
    FormatError
        At the first fault of the file.
    DataError
        If it holds no scores by ids, or judgements.
    """
    name = shown(path)
    if path != "-":
        restore(path)
    if holds_judgements(path):
        raise DataError(
            f"{name}: holds judgements (qrels), expected {EXPECTED}; give judgements as DATA or by --qrels"
        )
    partial = reading is not None and reading.missing not in (None, "error")
    if path != "-" and os.path.isdir(path):
        return _of_format(path, "store", Reading(), partial, column)
    head = read_head(path)
    cells = _first_line(head).split(b"\t")
    if column is None and len(cells) == 4 and cells[2] == b"1" and _is_number(cells[3]):
        return _ranked_table(path)
    try:
        kind, _ = detect(path, head)
    except ConfigError:
        line = _text(head).split(b"\n").index(_first_line(head)) + 1
        raise FormatError(name, line, quoted(_first_line(head)), EXPECTED) from None
    return _of_format(path, kind, _reading(head, kind, reading), partial, column)


def _of_format(path: str, kind: str, reading: Reading, partial: bool, column: str | None) -> Scored:
    lists = FORMATS.get(kind)().read(path, reading)
    names = lists.names()
    if column is not None and column not in names:
        raise ConfigError(f"{shown(path)}: no feature {column!r}; {did_you_mean(column, names)}")
    scores = lists.base_scores
    if column is not None or (scores is None and SCORE in names):
        scores = lists.features.column(lists.column_of(column or SCORE)).astype(np.float64)
    if scores is None or lists.list_ids is None or lists.item_ids is None:
        lacks = (
            "ids of lists" if lists.list_ids is None else "ids of items" if scores is not None else "scores"
        )
        hint = " (--id-column names its column)" if lacks == "ids of items" and kind in _TABLES else ""
        raise DataError(f"{shown(path)}: read as {kind}, holds no {lacks}{hint}; expected {EXPECTED}")
    if np.isnan(scores).any() and not partial:
        where = lists.place_of(int(np.argmax(np.isnan(scores))))
        hint = "--missing nan ranks items without a score below the others"
        raise DataError(f"{shown(path)}: {where} has no score; {hint}")
    return Scored(lists, scores)


def _reading(head: bytes, kind: str, reading: Reading | None) -> Reading:
    """Return the options of reading scores; columns have the names of the judged lists' if it has them.

    Empty cells of other columns do not matter.
    """
    own: dict[str, Any] = {}
    if kind in _TABLES:
        own["missing"] = "nan"
    first = _first_line(head).decode("utf-8", "replace")
    for option in _COLUMNS:
        name = None if reading is None else getattr(reading, option)
        found = name is not None and re.search(rf'(^|[\t,"]){re.escape(name)}($|[\t,"])', first)
        if found and option in FORMATS.get(kind).honours:
            own[option] = name
    cells = {cell.strip(' "') for cell in re.split(r"[,\t]", first)}
    if kind in _TABLES and "id_column" not in own and _MODEL in cells and not cells & {*ITEM_NAMES["id"]}:
        own["id_column"] = _MODEL
    return Reading(**own)


def _ranked_table(path: str) -> Scored:
    """The scores of a table as 'rerank predict --as table' writes it."""
    source = shown(path)
    grouper, items, scores = Grouper(source, strict=True), StringBuilder(), array("d")
    last, rank = -1, 0
    for line, raw in filled_lines(path):
        cells = raw.rstrip(b"\r").split(b"\t")
        if len(cells) != 4:
            if not raw.strip():
                continue
            raise FormatError(source, line, quoted(raw), _LINE)
        code = grouper.add(cells[0].decode("utf-8", "surrogateescape"), line)
        last, rank = code, rank + 1 if code == last else 1
        if cells[2] != b"%d" % rank:
            raise FormatError(source, line, f"rank {quoted(cells[2])}", f"{rank}: {_LINE}")
        items.add(cells[1])
        scores.append(finite(cells[3], source, line, "score"))
    offsets, list_ids, rows = grouper.finish()
    values = np.frombuffer(scores)
    columns = in_list_order(rows, item_ids=items.column(), base_scores=values)
    empty = as_features(np.empty((len(values), 0)))
    lists = CandidateLists(offsets, empty, list_ids=list_ids, source=source, **columns)
    return Scored(lists, lists.base_scores)  # type: ignore[arg-type]


def _text(head: bytes) -> bytes:
    return head.removeprefix(BOM)


def _first_line(head: bytes) -> bytes:
    """The first line that is not blank, without blanks around it."""
    return next((line.strip() for line in _text(head).split(b"\n") if line.strip()), b"")


def _is_number(token: bytes) -> bool:
    try:
        return math.isfinite(float(token))
    except ValueError:
        return False
