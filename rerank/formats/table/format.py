"""Tables, CSV or TSV: a header of column names, one item a line, empty cells for missing values."""

from __future__ import annotations

from typing import ClassVar

from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.table.read import read_table
from rerank.formats.table.write import write_table


@FORMATS.register("table", "csv", "tsv")
class Table(Format):
    """Reader and writer of CSV and TSV, quoted as Python's csv module does it.

    ``list_column``, ``label_column``, ``id_column`` and ``text_column`` name the columns that are no
    features. Where they are not given, a column with a well-known name is taken, and said: for the list
    qid, list, list_id, query, query_id or target; for the others label, id or item_id, text. All other
    columns of numbers are features by their names; columns that start with something else are left out,
    and named in a note. An empty label is unjudged; an empty feature is an error, or NaN with
    missing=nan. NaN and infinite numbers are refused.

    The separator is the comma (.csv), the tab (.tsv), or whichever of them the header holds. Rows of one
    list that stand apart are brought together. A table has no first-best order.
    """

    name: ClassVar[str] = "table"
    summary: ClassVar[str] = "CSV or TSV with a header, an item a line, empty cells for missing values"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv")
    honours: ClassVar[frozenset[str]] = frozenset(
        {
            "strict",
            "missing",
            "layout",
            "dtype",
            "refs",
            "distinct",
            "list_column",
            "label_column",
            "id_column",
            "text_column",
        }
    )

    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "labels", "list_ids", "item_ids", "rows", "feature_names", "texts"}
    )

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return read_table(path, options)

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_table(lists, path)
