"""SVMlight, as the LETOR sets use it: ``label qid:ID index:value ... # comment``, one item a line."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.files import read_bytes, shown
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.feature_names import check_names, read_feature_names
from rerank.formats.svmlight.read import Table, parse
from rerank.formats.svmlight.source import open_source
from rerank.formats.svmlight.write import write_lists

# The first item line: a number, then a qid or an index.
_ITEM_LINE = re.compile(rb"[-+]?\.?[0-9][^ \t]*[ \t]+(qid:[^ \t]|[0-9]+:[^ \t:]+([ \t]|$))")


@FORMATS.register("svmlight", "letor")
class SVMLight(Format):
    """Reader and writer of SVMlight files.

    Without qid the file is one list. Lines of one qid that stand apart are brought together, lists in
    order of first appearance, and ``rows`` remembers the lines. A comment is the item's id; of LETOR's
    ``#docid = X ...`` it is X. Indices count from 1; feature j is column j - 1.
    """

    name: ClassVar[str] = "svmlight"
    summary: ClassVar[str] = "label qid:ID index:value ... # comment (LETOR, LIBSVM, RankLib)"
    suffixes: ClassVar[tuple[str, ...]] = (".letor", ".svm", ".svmlight", ".libsvm", ".txt", ".dat")
    honours: ClassVar[frozenset[str]] = frozenset(
        {"strict", "missing", "zero_based", "feature_names", "layout", "dtype"}
    )

    holds: ClassVar[frozenset[str]] = frozenset({"features", "labels", "list_ids", "item_ids", "rows"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        lines = (line.strip() for line in head.splitlines())
        first = next((line for line in lines if line and not line.startswith(b"#")), b"")
        return _ITEM_LINE.match(first) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        names = None
        if options.feature_names is not None:
            names = read_feature_names(options.feature_names, first=0 if options.zero_based else 1)
        # The bytes of the file are gone when the lists are put together.
        table = parse(open_source(read_bytes(path), shown(path), options), len(names or ()))
        check_names(names, options.feature_names, table.features.n_features, shown(path))
        return _lists(table, names, shown(path))

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_lists(lists, path)


def _lists(table: Table, names: list[str] | None, source: str) -> CandidateLists:
    """Items of one qid brought together."""
    n_items = len(table.labels)
    if not table.qids:
        return CandidateLists(
            offsets_of([n_items]),
            table.features,
            labels=table.labels,
            item_ids=table.item_ids,
            feature_names=names,
            source=source,
        )
    numbers: dict[bytes, int] = {}
    codes = np.array([numbers.setdefault(qid, len(numbers)) for qid in table.qids], dtype=np.int64)
    lengths = np.diff(table.run_starts, append=n_items)
    sizes = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(sizes, codes, lengths)
    features, labels, item_ids, rows = table.features, table.labels, table.item_ids, None
    if np.any(np.diff(codes) < 0):
        rows = np.argsort(np.repeat(codes, lengths), kind="stable").astype(np.int64)
        features, labels = features.take(rows), labels[rows]
        item_ids = None if item_ids is None else item_ids.take(rows)
    return CandidateLists(
        offsets_of(sizes),
        features,
        labels=labels,
        list_ids=StringColumn.from_strings(numbers),
        item_ids=item_ids,
        rows=rows,
        feature_names=names,
        source=source,
    )
