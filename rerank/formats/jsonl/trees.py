"""The trees of JSON candidates: "tree", the candidate's own parse, and "trees", further ones by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.types import Index
from rerank.data.columns.forests import BracketError, Forest, TreeReader
from rerank.data.columns.invariants import TREE_NAME
from rerank.data.columns.schema import TREE
from rerank.data.columns.strings import StringColumn
from rerank.formats.brackets import GrowingForest
from rerank.formats.common import quoted
from rerank.formats.jsonl.keys import MisfitError, described, encoded

TREES = "trees"


class Trees:
    """Growing forests by name; a name that a candidate lacks is a missing tree.

    Parameters
    ----------
    of
        The roles of keys: a key that has another role, such as ``text_column="tree"``, holds no tree.
    """

    def __init__(self, of: Mapping[str, str]) -> None:
        self._of = of
        self._reader = TreeReader()
        self._forests: dict[str, GrowingForest] = {}
        self._n_items = 0

    def add(self, items: Sequence[dict[str, Any]]) -> None:
        """Add the trees of some candidates.

        Raises
        ------
        MisfitError
            With the number of the first candidate whose trees are not as ``_trees_of`` and the reader expect.
        """
        if self._of.get(TREE) != TREE and self._of.get(TREES) != TREES:
            self.skip(len(items))
            return
        given: dict[str, list[bytes]] = {}
        places: dict[str, list[int]] = {}
        faults = []
        for i, item in enumerate(items):
            try:
                for name, text in self._trees_of(item):
                    given.setdefault(name, []).append(text)
                    places.setdefault(name, []).append(i)
            except MisfitError as misfit:
                misfit.item = i
                faults.append(misfit)
                break
        for name, texts in given.items():
            misfit_of = self._read(name, texts, places[name], len(items))
            if misfit_of is not None:
                faults.append(misfit_of)
        if faults:
            raise min(faults, key=lambda fault: fault.item)
        self._n_items += len(items)

    def skip(self, n: int) -> None:
        """Add ``n`` candidates without any tree."""
        self._n_items += n

    def _trees_of(self, item: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
        """Yield name and text of each tree that the candidate has a key for, "" for null."""
        if TREE in item and self._of.get(TREE) == TREE:
            yield TREE, b"" if item[TREE] is None else encoded(item[TREE], TREE)
        named = item.get(TREES) if self._of.get(TREES) == TREES else None
        if named is None:
            return
        if not isinstance(named, dict):
            raise MisfitError(TREES, described(named), "an object of names and trees")
        for name, text in named.items():
            if name == TREE or not TREE_NAME.fullmatch(name):
                expected = f"a letter or _, then letters, digits, _ and - (the key {TREE!r} is the parse)"
                raise MisfitError(TREES, f"the name {quoted(name)}", expected)
            yield name, b"" if text is None else encoded(text, f"{TREES}.{name}")

    def _read(self, name: str, texts: list[bytes], places: list[int], n: int) -> MisfitError | None:
        """Add the trees of one name, those of the candidates ``places`` of ``n``; return the first fault."""
        forest = self._forests.setdefault(name, GrowingForest(self._reader))
        forest.fill(self._n_items)
        lengths = np.zeros(n, dtype=np.int64)
        lengths[places] = [len(text) for text in texts]
        stops = np.cumsum(lengths)
        column = StringColumn.from_strings(texts)
        try:
            forest.read(column.data, np.stack([stops - lengths, stops], axis=1))
        except BracketError as error:
            where = TREE if name == TREE else f"{TREES}.{name}"
            misfit = MisfitError(where, error.found, error.expected)
            misfit.item = error.tree
            return misfit
        return None

    def finish(self, rows: Index | None) -> tuple[Forest | None, dict[str, Forest]]:
        """Return the candidates' own parses, None if no candidate has any, and the named trees.

        They are in the order of ``rows``; nothing can be added afterwards.
        """
        for forest in self._forests.values():
            forest.fill(self._n_items)
        forests = {name: forest.forest() for name, forest in self._forests.items()}
        found = forests if rows is None else {name: some.take(rows) for name, some in forests.items()}
        return found.pop(TREE, None), found
