"""Judgements of documents by query, and lists that get their labels from them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rerank.core.errors import DataError
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of, places_of
from rerank.data.columns.ragged import Ragged
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.common import note, quoted

_NUMBER = re.compile(rb"[0-9]{1,9}")


@dataclass(frozen=True, eq=False)
class Judgements:
    """Labels of documents by query.

    Attributes
    ----------
    source : str
        Where they came from, for messages.
    queries : StringColumn (n_queries)
        All different.
    offsets : int64 (n_queries + 1)
        The bounds of the documents of each query; it may have none.
    documents : StringColumn (n)
        All those of a query different, in the order of the file.
    labels : float64 (n)
    second : collection of bytes
        What the second of four columns holds.
    """

    source: str
    queries: StringColumn
    offsets: Index
    documents: StringColumn
    labels: Floats
    second: Collection[bytes] = ()

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
        ------
        DataError
            If no query is in both, or the lists have no ids.
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
