"""Items of a list that have the same text: the first one is kept where that is asked for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rerank.data.lists import CandidateLists, offsets_of
from rerank.errors import DataNote


def drop_duplicates(lists: CandidateLists) -> CandidateLists:
    """The lists without items whose text stands before in the same list; how many go is a DataNote.

    ``rows`` count the lines that are kept.
    """
    if lists.texts is None:
        return lists
    again = lists.texts.repeated(lists.offsets)
    dropped = int(np.count_nonzero(again))
    if dropped == 0:
        return lists
    note = f"{lists.source}: {dropped} of {lists.n_items} items repeat a text of their list; left out"
    warnings.warn(note, DataNote, stacklevel=2)
    items = np.flatnonzero(~again)
    rows = None
    if lists.rows is not None:
        rows = np.empty(len(items), dtype=np.int64)
        rows[np.argsort(lists.rows[items], kind="stable")] = np.arange(len(items))

    def of_items(column: Any) -> Any:
        return None if column is None else column[items]

    return CandidateLists(
        offsets_of(np.add.reduceat(~again, lists.offsets[:-1], dtype=np.int64)),
        lists.features.take(items),
        labels=of_items(lists.labels),
        base_scores=of_items(lists.base_scores),
        first_best=of_items(lists.first_best),
        list_ids=lists.list_ids,
        item_ids=None if lists.item_ids is None else lists.item_ids.take(items),
        rows=rows,
        feature_names=lists.feature_names,
        texts=lists.texts.take(items),
        references=lists.references,
        counts={name: column[items] for name, column in lists.counts.items()},
        source=lists.source,
    )
