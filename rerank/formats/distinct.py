"""Items of a list that have the same text: the first one is kept where that is asked for."""

from __future__ import annotations

import warnings

import numpy as np

from rerank.data.lists import CandidateLists
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
    return lists.kept(~again)
