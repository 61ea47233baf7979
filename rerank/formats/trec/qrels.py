"""Judgements as labels, one per line as TREC or BEIR writes them, or as a JSON object."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.ragged import Ragged
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.errors import DataError, FormatError
from rerank.files import read_head, shown
from rerank.formats.buffers import BOM
from rerank.formats.common import finite, note, quoted
from rerank.formats.growing import each_line
from rerank.formats.jsonl.keys import MisfitError
from rerank.formats.jsonl.nested import read_nested
from rerank.text import count

_NUMBER = re.compile(rb"[0-9]{1,9}")
_FOUR = "four fields: query iteration document label"
_THREE = "three fields, separated by tabs: query document label"
_EITHER = f"{_FOUR}; or {_THREE}"
# BEIR's header, and those of data sets that copy it.
_HEADER = {b"query-id", b"query_id", b"queryid", b"query", b"qid", b"topic"}

Judgements = dict[bytes, dict[bytes, float]]
Fields = tuple[bytes, bytes, bytes, bytes]  # query, iteration, document, label


def read_qrels(path: str) -> tuple[Judgements, set[bytes]]:
    """Return labels by query and document, and what the second of four columns holds.

    The content tells the form: lines of four fields, as for TREC and MS MARCO; lines of three fields
    separated by tabs, with a header as for BEIR or without one; or JSON, ``{query: {document: label}}``.

    Raises FormatError, also if a document is judged twice or the forms of lines differ. Warns if the file
    has a form that runs have too and its labels look like ranks or scores.
    """
    if read_head(path).removeprefix(BOM).lstrip().startswith(b"{"):
        judgements = _of_json(path)
        _note_run(judgements, shown(path))
        return judgements, set()
    source = shown(path)
    out: Judgements = {}
    second: set[bytes] = set()
    split: Callable[[bytes, str, int], Fields] | None = None
    for line, text in enumerate(each_line(path), start=1):
        if not text.strip():
            continue
        if split is None:
            split = _three if text.count(b"\t") == 2 and len(text.split()) != 4 else _four
            if split is _three and text.split(b"\t")[0].strip().lower() in _HEADER:
                continue
        query, iteration, document, label = split(text, source, line)
        second.add(iteration)
        judged = out.setdefault(query, {})
        if document in judged:
            found = f"document {quoted(document)} again for query {quoted(query)}"
            raise FormatError(source, line, found, "one judgement each")
        judged[document] = finite(label, source, line, "label")
    if not out:
        raise FormatError(source, None, "no judgement", _EITHER)
    if split is _three:
        _note_run(out, source)
    return out, second


def _four(text: bytes, source: str, line: int) -> Fields:
    """Return the fields of a line of TREC's form."""
    fields = text.split()
    if len(fields) != 4:
        raise FormatError(source, line, count(len(fields), "field"), _EITHER if line == 1 else _FOUR)
    return fields[0], fields[1], fields[2], fields[3]


def _three(text: bytes, source: str, line: int) -> Fields:
    """Return the fields of a line of BEIR's form, its iteration is empty."""
    fields = [field.strip() for field in text.split(b"\t")]
    if len(fields) != 3 or not all(fields):
        raise FormatError(source, line, count(len(fields), "field"), f"{_THREE}, as on the first line")
    return fields[0], b"", fields[1], fields[2]


def _of_json(path: str) -> Judgements:
    """Return the judgements of a JSON file."""
    source = shown(path)
    out: Judgements = {}
    try:
        for query, documents, labels in read_nested(path).each():
            out[query.encode()] = dict(zip((name.encode() for name in documents), labels, strict=True))
    except MisfitError as misfit:
        raise misfit.at(source, None) from None
    if not any(out.values()):
        raise FormatError(source, None, "no judgement", "a JSON object {query: {document: label}}")
    return out


def _note_run(judgements: Judgements, source: str) -> None:
    """Warn if labels are fractions, or in each query 1, 2, 3 ... as the ranks of a run."""
    labels = [sorted(judged.values()) for judged in judgements.values()]
    fraction = next((label for some in labels for label in some if label != int(label)), None)
    if fraction is not None:
        note(f"{source}: labels such as {fraction:g} are no whole numbers; is it a run?")
    elif max(map(len, labels)) > 2 and all(some == list(range(1, len(some) + 1)) for some in labels):
        note(f"{source}: labels are 1, 2, 3 ... in each query; are they the ranks of a run?")


def with_qrels(lists: CandidateLists, path: str) -> CandidateLists:
    """Return the lists with labels from the qrels in ``path``, NaN for documents that are not judged.

    Judged documents that are in no list become ``unretrieved``, so that AP, R@k and nDCG divide by the number
    of all relevant ones, and bpref knows those judged not relevant, as in trec_eval. Warns how many queries
    only one of the two has, and if no document is in both or columns seem to be swapped; raises DataError if
    no query is in both.
    """
    return with_judgements(lists, *read_qrels(path), shown(path))


def with_judgements(
    lists: CandidateLists, judgements: Judgements, second: set[bytes], qrels: str
) -> CandidateLists:
    """Return the lists with labels as ``with_qrels`` does; the judgements are used up.

    Parameters
    ----------
    lists : CandidateLists
    judgements, second
        What ``read_qrels`` returns.
    qrels : where they came from, for messages.
    """
    if lists.list_ids is None or lists.item_ids is None:
        raise DataError(f"{lists.source}: judgements need ids of lists and of items")
    labels = np.full(lists.n_items, np.nan)
    nothing_relevant = all(label == 0 for judged in judgements.values() for label in judged.values())
    names, documents = list(judgements), [name for judged in judgements.values() for name in judged]
    without = 0
    lost: list[list[float]] = []
    bounds = lists.offsets.tolist()
    for i, (start, stop) in enumerate(itertools.pairwise(bounds)):
        judged = judgements.pop(lists.list_ids.bytes_at(i), None)
        if judged is None:
            without += 1
            lost.append([])
            continue
        for k in range(start, stop):
            labels[k] = judged.pop(lists.item_ids.bytes_at(k), math.nan)
        lost.append(list(judged.values()))
    source = lists.source
    if without == lists.n_lists:
        cause = _other_case(names, lists.list_ids)
        if not cause and not set(documents).isdisjoint(lists.list_ids.bytes_at(i) for i in range(without)):
            cause = ": are its columns of queries and documents swapped?"
        raise DataError(f"{qrels}: judges no query of {source}{cause}")
    if np.isnan(labels).all():
        cause = _other_case(documents, lists.item_ids)
        if not cause and not second.isdisjoint(lists.item_ids.bytes_at(k) for k in range(lists.n_items)):
            cause = ": its second column holds documents, swapped with the third?"
        note(f"{qrels}: judges no document of {source}{cause}")
    if nothing_relevant:
        swapped = any(_NUMBER.fullmatch(token) and float(token) > 0 for token in second)
        cause = ", but not its second column: are they swapped?" if swapped else ""
        note(f"{qrels}: every label is 0{cause}")
    if without:
        note(f"{qrels}: judges nothing of {count(without, 'query', 'queries')} of {source}")
    if judgements:
        queries = count(len(judgements), "judged query", "judged queries")
        note(f"{qrels}: {queries} not in {source}; left out (trec_eval -c and --missing-lists zero count 0)")
    return replace(lists, labels=labels, unretrieved=_ragged(lost))


def _other_case(mine: Sequence[bytes], theirs: StringColumn) -> str:
    """Return the end of a message that no name is in both, if one is in another case."""
    found = {name.lower(): name for name in mine}
    for k in range(len(theirs)):
        name = found.get(theirs.bytes_at(k).lower())
        if name is not None:
            return f": {quoted(name)} in one is {quoted(theirs[k])} in the other"
    return ""


def _ragged(labels: list[list[float]]) -> Ragged | None:
    """Return a column of the labels of each list, None if there are none at all."""
    values = np.array([label for some in labels for label in some], dtype=np.float64)
    return Ragged(values, offsets_of([len(some) for some in labels])) if len(values) else None
