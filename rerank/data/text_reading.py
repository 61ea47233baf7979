"""Questions and texts of lists: which columns have them, and files of texts that are joined by id."""

from __future__ import annotations

from rerank.core.settings import Settings, setting


class TextReading(Settings):
    """Where lists have their questions and texts, besides the column of texts."""

    query_column: str | None = setting(
        None,
        "column of the questions, the same for all items of a list; without a column of lists it makes them",
        flags=("--query-column", "--query"),
    )
    queries: str | None = setting(
        None,
        "questions, joined by the id of the list: id<TAB>text on each line, or JSON Lines",
        path=True,
    )
    collection: str | None = setting(
        None,
        "texts, joined by the id of the item: id<TAB>text on each line, or JSON Lines",
        path=True,
    )
