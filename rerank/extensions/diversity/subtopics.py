"""Judgements by subtopic: which documents are relevant to which subtopic (intent, aspect) of a query.

A line has four fields separated by blanks, as ``ndeval`` reads them: query, subtopic, document, judgement.
``CandidateLists.subtopics`` keeps the lines of each list, so that judged documents that are in no list count
in ideal rankings. The same form with values of 0 or more instead of judgements holds aspects, see
``aspects``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.buffers import BOM
from rerank.formats.common import not_a_number, note, quoted
from rerank.formats.trec.qrels import Judgements
from rerank.native.data._number import parse

_FOUR = "four fields: query subtopic document {}"

Entry = tuple[bytes, bytes, float]  # subtopic, document, value


def read_entries(path: str, what: str = "judgement") -> dict[bytes, list[Entry]]:
    """Return subtopic, document and value of each line of a file, by query in the order of the file.

    Parameters
    ----------
    path : str
    what : str
        What the value is, for messages.

    Raises
    ------
    FormatError
        If a line has not four fields or no finite number, a document has two values for a subtopic, or there
        is no line.
    """
    source, expected = shown(path), _FOUR.format(what)
    out: dict[bytes, list[Entry]] = {}
    known: dict[tuple[bytes, ...], int] = {}
    for number, line in enumerate(bytes(read_bytes(path)).removeprefix(BOM).split(b"\n"), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 4:
            raise FormatError(source, number, count(len(fields), "field"), expected)
        query, subtopic, document, token = fields
        value = parse(token)
        if value is None or not math.isfinite(value):
            raise FormatError(source, number, *not_a_number(token, what))
        first = known.setdefault((query, subtopic, document), number)
        if first != number:
            place = f"subtopic {quoted(subtopic)} of query {quoted(query)}"
            found = f"document {quoted(document)} again for {place}"
            raise FormatError(source, number, found, f"one {what} each (it is in line {first})")
        out.setdefault(query, []).append((subtopic, document, value))
    if not out:
        raise FormatError(source, None, f"no {what}", expected)
    return out


def largest(entries: Mapping[bytes, Iterable[Entry]], source: str) -> Judgements:
    """Return the largest judgement of each document, for measures that know no subtopics."""
    labels: dict[bytes, dict[bytes, float]] = {}
    for query, lines in entries.items():
        found = labels.setdefault(query, {})
        for _, document, value in lines:
            found[document] = max(value, found.get(document, value))
    return Judgements.of(labels, source)


def with_subtopics(
    lists: CandidateLists, judgements: str | Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> CandidateLists:
    """Return lists with judgements by subtopic.

    Lists without labels get the largest judgement of each document as its label. Warns of queries that only
    one of the two has.

    Parameters
    ----------
    lists : CandidateLists
        With ids of lists and of items.
    judgements : str or mapping
        A file (see the module), or ``{query: {subtopic: {document: judgement}}}``.

    Raises
    ------
    DataError
        If the lists have no ids, no query is in both, or a name has a blank.
    FormatError
        If the file is malformed.

    Examples
    --------
    >>> import rerank
    >>> lists = rerank.CandidateLists.from_arrays(
    ...     [[3.0], [2.0], [1.0]], qid=["q"] * 3, item_ids=["a", "b", "c"]
    ... )
    >>> judged = with_subtopics(lists, {"q": {"1": {"a": 1, "b": 1}, "2": {"c": 1}}})
    >>> rerank.evaluate(judged, [3, 2, 1], ["strec@2", "strec@3"])
    {'strec@2': 0.5, 'strec@3': 1.0}
    """
    if isinstance(judgements, str):
        entries, source = read_entries(judgements), shown(judgements)
    else:
        entries, source = _entries_of(judgements), "judgements"
    labelled = largest(entries, source).on(lists)
    assert lists.list_ids is not None  # which on() checks
    texts, seen = [], set()
    for name in lists.list_ids:
        query = name.encode("utf-8", "surrogateescape")
        own = [] if query in seen else entries.get(query, [])
        seen.add(query)
        texts.append(b"\n".join(b"%b\t%b\t%b" % (one, item, b"%r" % value) for one, item, value in own))
    found = lists if lists.labels is not None else labelled
    if not any(value > 0 for lines in entries.values() for *_, value in lines):
        note(f"{source}: no judgement is above 0")
    return replace(found, subtopics=StringColumn.from_strings(texts))


def _entries_of(judgements: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[bytes, list[Entry]]:
    """The entries of a mapping."""
    out: dict[bytes, list[Entry]] = {}
    for query, subtopics in judgements.items():
        own = out.setdefault(_name(query), [])
        for subtopic, documents in subtopics.items():
            for document, value in documents.items():
                if isinstance(value, str) or not math.isfinite(value):
                    place = f"query {query!r}, subtopic {subtopic!r}, document {document!r}"
                    raise DataError(f"judgements: {place}: found {value!r}, expected a finite number")
                own.append((_name(subtopic), _name(document), float(value)))
    return out


def _name(value: Any) -> bytes:
    text = str(value).encode("utf-8", "surrogateescape")
    if len(text.split()) != 1:
        raise DataError(f"judgements: found the name {value!r}, expected one without blanks")
    return text


class Pairs(Struct, frozen=True, eq=False):
    """The judgements of lists as columns with an entry for each list, subtopic and document.

    Attributes
    ----------
    lists, subtopics, documents : int64 (n)
        Subtopics and documents are numbered within all lists: those of different lists differ. In a list
        documents are numbered by their ids, the largest id (by bytes) first.
    items : int64 (n)
        The item with the document's id, the first one if there are several; -1 = not in the list.
    grades : float64 (n)
    """

    lists: Index
    subtopics: Index
    documents: Index
    items: Index
    grades: Floats


def pairs_of(lists: CandidateLists) -> Pairs:
    """Return the judgements of lists as columns.

    Raises DataError if there are none, the lists have no item ids, or the column (of a store) is damaged.
    """
    if lists.subtopics is None:
        raise DataError(f"{lists.source}: no subtopics are judged; --subtopics FILE names their judgements")
    ids = lists.item_ids
    if ids is None:
        raise DataError(f"{lists.source}: judgements by subtopic need ids of items")
    columns: list[tuple[int, int, int, int]] = []
    grades: list[float] = []
    n_subtopics = n_documents = 0
    for i in range(lists.n_lists):
        lines = [line.split(b"\t") for line in lists.subtopics.bytes_at(i).split(b"\n") if line]
        if any(len(line) != 3 for line in lines):
            raise DataError(f"{lists.source}: subtopics of list {lists.list_id(i)!r}: found a damaged line")
        own: dict[bytes, int] = {}
        for item in range(int(lists.offsets[i]), int(lists.offsets[i + 1])) if lines else ():
            own.setdefault(ids.bytes_at(item), item)
        subtopics: dict[bytes, int] = {}
        documents = {name: k for k, name in enumerate(sorted({line[1] for line in lines}, reverse=True))}
        for subtopic, document, token in lines:
            value = parse(token)
            if value is None or not math.isfinite(value):
                raise DataError(f"{lists.source}: subtopics of list {lists.list_id(i)!r}: found {token!r}")
            number = n_subtopics + subtopics.setdefault(subtopic, len(subtopics))
            columns.append((i, number, n_documents + documents[document], own.get(document, -1)))
            grades.append(value)
        n_subtopics += len(subtopics)
        n_documents += len(documents)
    table = np.array(columns, dtype=np.int64).reshape(-1, 4)
    of_list, of_subtopic, of_document, of_item = np.ascontiguousarray(table.T)
    return Pairs(of_list, of_subtopic, of_document, of_item, np.array(grades, dtype=np.float64))
