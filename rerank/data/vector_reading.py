"""Files of vectors of lists: which options name them."""

from __future__ import annotations

from rerank.core.settings import setting
from rerank.data.text_reading import TextReading


class VectorReading(TextReading):
    """Files of vectors, which were computed elsewhere, of items and of lists."""

    vectors: str | None = setting(
        None,
        "vectors of the items (npy, Parquet, JSON Lines): joined by the item's id if the file has ids, "
        "otherwise a row for each line of items",
        metavar="FILE",
        path=True,
        per_part=True,
    )
    query_vectors: str | None = setting(
        None,
        "vectors of the questions, in the same forms: joined by the id of the list, otherwise a row for each "
        "list",
        metavar="FILE",
        path=True,
        per_part=True,
    )
