"""Judgements as labels, one per line as TREC or BEIR writes them, or as a JSON object."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.streams import read_head, shown
from rerank.core.text import count
from rerank.data.lists import CandidateLists
from rerank.formats.buffers import BOM
from rerank.formats.common import in_list_order, not_a_number, note
from rerank.formats.growing import whole_lines
from rerank.formats.jsonl.keys import MisfitError
from rerank.formats.jsonl.nested import read_nested
from rerank.formats.trec.judgements import Judgements
from rerank.formats.trec.lines import Lines, read_lines
from rerank.native.formats._trec import Scanner

_FOUR = "four fields: query iteration document label"
_THREE = "three fields, separated by tabs: query document label"
_EITHER = f"{_FOUR}; or {_THREE}"
# BEIR's header, and those of data sets that copy it.
_HEADER = {b"query-id", b"query_id", b"queryid", b"query", b"qid", b"topic"}


def read_qrels(path: str) -> Judgements:
    """Return the judgements in a file.

    The content tells the form: lines of four fields, as for TREC and MS MARCO; lines of three fields
    separated by tabs, with a header as for BEIR or without one; or JSON, ``{query: {document: label}}``.

    Raises FormatError, also if a document is judged twice or the forms of lines differ. Warns if the file
    has a form that runs have too and its labels look like ranks or scores.
    """
    if read_head(path).removeprefix(BOM).lstrip().startswith(b"{"):
        judgements = _of_json(path)
        _note_run(judgements)
        return judgements
    lines, by_tabs, last = _lines_of(path)
    offsets, rows = lines.groups(warn=False)
    columns = in_list_order(rows, documents=lines.documents, labels=lines.numbers)
    lines.refuse_repeated(offsets, columns["documents"], rows, "for")
    if lines.fault is not None:
        if last is not None and lines.holds(*last):
            raise lines.repeated(*last, lines.fault.line, "for")
        raise lines.fault
    if not len(lines):
        raise FormatError(lines.source, None, "no judgement", _EITHER)
    second = [b""] if by_tabs else lines.others.strings()
    judgements = Judgements(lines.source, lines.names, offsets, second=second, **columns)
    if by_tabs:
        _note_run(judgements)
    return judgements


def _lines_of(path: str) -> tuple[Lines, bool, tuple[bytes, bytes] | None]:
    """Return the lines of judgements in a file, and whether tabs separate three fields.

    The third value is the query and document of a line whose label is at fault.
    """
    source, blocks = shown(path), whole_lines(path)
    first, head, rest = _first_line(blocks)
    by_tabs = head.count(b"\t") == 2 and len(head.split()) != 4
    if by_tabs and head.split(b"\t")[0].strip().lower() in _HEADER:
        first, rest = first + 1, rest[len(head) + 1 :]

    last: tuple[bytes, bytes] | None = None

    def words(text: bytes, line: int) -> FormatError:
        nonlocal last
        fields = [field.strip() for field in text.split(b"\t")] if by_tabs else text.split()
        if by_tabs and (len(fields) != 3 or not all(fields)):
            return FormatError(source, line, count(len(fields), "field"), f"{_THREE}, as on the first line")
        if not by_tabs and len(fields) != 4:
            return FormatError(source, line, count(len(fields), "field"), _EITHER if line == 1 else _FOUR)
        last = fields[0], fields[-2]
        return FormatError(source, line, *not_a_number(fields[-1], "label"))

    if by_tabs:
        scanner = Scanner(3, query=0, document=1, value=2, tabs=True, line=first)
    else:
        scanner = Scanner(4, query=0, document=2, value=3, other=1, line=first)
    lines = read_lines(source, itertools.chain([rest], blocks), scanner, words)
    return lines, by_tabs, last


def _first_line(blocks: Iterator[bytes]) -> tuple[int, bytes, bytes]:
    """Return the number of the first line that is not blank, that line, and the rest of its block from it on.

    Blocks are used up to that one.
    """
    number = 1
    for block in blocks:
        text = block.lstrip()
        number += block.count(b"\n", 0, len(block) - len(text))
        if text:
            start = block.rfind(b"\n", 0, len(block) - len(text)) + 1
            return number, block[start : block.index(b"\n", start)], block[start:]
    return number, b"", b""


def _of_json(path: str) -> Judgements:
    """Return the judgements of a JSON file."""
    source = shown(path)
    out: dict[bytes, dict[bytes, float]] = {}
    try:
        for query, documents, labels in read_nested(path).each():
            out[query.encode()] = dict(zip((name.encode() for name in documents), labels, strict=True))
    except MisfitError as misfit:
        raise misfit.at(source, None) from None
    if not any(out.values()):
        raise FormatError(source, None, "no judgement", "a JSON object {query: {document: label}}")
    return Judgements.of(out, source)


def _note_run(judgements: Judgements) -> None:
    """Warn if labels are fractions, or in each query 1, 2, 3 ... as the ranks of a run."""
    labels, offsets, source = judgements.labels, judgements.offsets, judgements.source
    fractions = np.flatnonzero(labels != np.trunc(labels))
    if len(fractions):
        own = fractions[fractions < offsets[np.searchsorted(offsets, fractions[0], side="right")]]
        note(f"{source}: labels such as {labels[own].min():g} are no whole numbers; is it a run?")
        return
    lengths = np.diff(offsets)
    if lengths.max() < 3 or labels.min() != 1 or labels.max() != lengths.max():
        return
    lists = np.repeat(np.arange(len(lengths)), lengths)
    rising = labels[np.lexsort((labels, lists))]
    if np.array_equal(rising, np.arange(len(labels)) - offsets[lists] + 1):
        note(f"{source}: labels are 1, 2, 3 ... in each query; are they the ranks of a run?")


def with_qrels(lists: CandidateLists, path: str) -> CandidateLists:
    """Return the lists with labels from the qrels in ``path``; see ``Judgements.on``."""
    return read_qrels(path).on(lists)
