"""Judgements of documents by query, as TREC, BEIR or JSON files hold them, and lists labelled by them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import read_head, shown
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import Ragged, offsets_of, places_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.buffers import BOM
from rerank.formats.builders import whole_lines
from rerank.formats.common import in_list_order, not_a_number, note, quoted
from rerank.formats.jsonl.schema import MisfitError
from rerank.formats.trec.lines import Lines, read_lines, read_nested
from rerank.native.formats._trec import Scanner

_NUMBER = re.compile(rb"[0-9]{1,9}")


class Judgements(Struct, frozen=True, eq=False):
    """Labels of documents by query."""

    source: str
    queries: StringColumn  # all different
    offsets: Index  # the bounds of the documents of each query; it may have none
    documents: StringColumn  # all those of a query different, in the order of the file
    labels: Floats
    second: Collection[bytes] = ()  # what the second of four columns holds

    @classmethod
    def of(cls, labels: Mapping[bytes, Mapping[bytes, float]], source: str) -> Judgements:
        """Return those of a mapping of queries to labels by document."""
        return cls(
            source,
            StringColumn.from_strings(labels),
            offsets_of([len(found) for found in labels.values()]),
            StringColumn.from_strings(name for found in labels.values() for name in found),
            np.array([label for found in labels.values() for label in found.values()], dtype=np.float64),
        )

    def places_of(self, queries: StringColumn) -> Index:
        """Return the number of each of some queries among those judged, -1 = not judged: int64 (n)."""
        return queries.places_in(_all_of(queries), self.queries, _all_of(self.queries))

    def on(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists with labels, NaN for documents that are not judged.

        Judged documents that are in no list become ``unretrieved``, so that AP, R@k and nDCG divide by the
        number of all relevant ones, and bpref knows those judged not relevant, as in trec_eval. Warns how
        many queries only one of the two has, and if no document is in both or columns seem to be swapped.
        Raises
        DataError if no query is in both, or the lists have no ids.
        """
        if lists.list_ids is None or lists.item_ids is None:
            raise DataError(f"{lists.source}: judgements need ids of lists and of items")
        source, ids, items = lists.source, lists.list_ids, lists.item_ids
        own = self.places_of(ids)
        own[ids.repeated(_all_of(ids))] = -1
        if (own < 0).all():
            raise DataError(f"{self.source}: judges no query of {source}{self._why_no_query(ids)}")
        at = items.places_in(lists.offsets, self.documents, self.offsets, own)
        if items.first_fault(lists.offsets) >= 0:
            at[items.repeated(lists.offsets)] = -1
        judged = at >= 0
        labels = np.where(judged, self.labels[at], np.nan) if len(self.labels) else np.full(len(at), np.nan)
        if not judged.any():
            note(f"{self.source}: judges no document of {source}{self._why_no_document(items)}")
        if not self.labels.any():
            swapped = any(_NUMBER.fullmatch(token) and float(token) > 0 for token in self.second)
            cause = ", but not its second column: are they swapped?" if swapped else ""
            note(f"{self.source}: every label is 0{cause}")
        without = int(np.count_nonzero(own < 0))
        if without:
            note(f"{self.source}: judges nothing of {count(without, 'query', 'queries')} of {source}")
        left = len(self.queries) - (len(own) - without)
        if left:
            queries = count(left, "judged query", "judged queries")
            why = "left out (trec_eval -c and --missing-lists zero count 0)"
            note(f"{self.source}: {queries} not in {source}; {why}")
        return replace(lists, labels=labels, unretrieved=self._unretrieved(own, at[judged]))

    def _unretrieved(self, own: Index, found: Index) -> Ragged | None:
        """Return the labels of documents that are not among ``found``, by lists of queries ``own``."""
        absent = np.ones(len(self.labels), dtype=bool)
        absent[found] = False
        places, bounds = places_of(self.offsets, own[own >= 0])
        absent = absent[places]
        if not absent.any():
            return None
        lengths = np.zeros(len(own), dtype=np.int64)
        lengths[own >= 0] = np.diff(offsets_of(absent)[bounds])
        return Ragged(self.labels[places[absent]], offsets_of(lengths))

    def _why_no_query(self, ids: StringColumn) -> str:
        cause = _other_case(_bytes_of(self.queries), ids)
        if not cause and not set(_bytes_of(self.documents)).isdisjoint(_bytes_of(ids)):
            cause = ": are its columns of queries and documents swapped?"
        return cause

    def _why_no_document(self, items: StringColumn) -> str:
        cause = _other_case(_bytes_of(self.documents), items)
        if not cause and not set(self.second).isdisjoint(_bytes_of(items)):
            cause = ": its second column holds documents, swapped with the third?"
        return cause


def _all_of(column: StringColumn) -> Index:
    return np.array([0, len(column)], dtype=np.int64)


def _bytes_of(column: StringColumn) -> list[bytes]:
    return [column.bytes_at(i) for i in range(len(column))]


def _other_case(mine: Sequence[bytes], theirs: StringColumn) -> str:
    """Return the end of a message that no name is in both, if one is in another case."""
    found = {name.lower(): name for name in mine}
    for k in range(len(theirs)):
        name = found.get(theirs.bytes_at(k).lower())
        if name is not None:
            return f": {quoted(name)} in one is {quoted(theirs[k])} in the other"
    return ""


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
    return read_lines(source, itertools.chain([rest], blocks), scanner, words), by_tabs, last


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
