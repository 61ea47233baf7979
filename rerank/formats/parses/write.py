"""Writing N-best parses: what the format cannot hold is refused, what it holds reads back the same."""

from __future__ import annotations

import numpy as np

from rerank.data.columns.forests import BracketError, Forest
from rerank.data.lists import CandidateLists
from rerank.errors import DataError
from rerank.files import atomic_write
from rerank.formats.common import STORE

_MISSING = b"()"


def write_parses(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, list after list, their base scores as log probabilities.

    Raises DataError if there are no trees or base scores, or reading the file back would not give them.
    """
    if lists.trees is None:
        raise DataError(f"{path}: parses holds trees, and the lists have none")
    scores = lists.base_scores
    if scores is None or np.isnan(scores).any():
        lacking = "the lists have none" if scores is None else "some are missing"
        raise DataError(f"{path}: parses holds log probabilities (base scores), and {lacking}")
    trees = _bytes_of(lists.trees, "tree", path)
    gold = None if lists.gold is None else _bytes_of(lists.gold, "gold tree", path)
    if gold is not None and _MISSING in gold:
        raise DataError(f"{path}: parses cannot hold a gold tree without a word; {STORE}")
    values = scores.tolist()
    with atomic_write(path) as file:
        for i in range(lists.n_lists):
            rows = [] if gold is None else [gold[i]]
            for k in range(int(lists.offsets[i]), int(lists.offsets[i + 1])):
                rows.append(b"%s\t%s" % (repr(values[k]).encode(), trees[k]))
            file.write(b"\n".join(rows) + b"\n\n")


def _bytes_of(forest: Forest, what: str, path: str) -> list[bytes]:
    """The trees in brackets; raises DataError if one would not read back as itself."""
    strings = forest.to_strings()
    try:
        again = not np.any(strings.data == ord("\n")) and Forest.from_strings(strings) == forest
    except BracketError:
        again = False
    if not again:
        raise DataError(f"{path}: parses would read a {what} back as another; {STORE}")
    return [strings.bytes_at(t) or _MISSING for t in range(len(strings))]
