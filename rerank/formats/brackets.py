"""Trees in brackets as formats read them, some items at a time, and write them."""

from __future__ import annotations

from array import array

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Bytes, Index
from rerank.data.columns.forests import BracketError, Forest, TreeReader
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.formats.common import STORE


class GrowingForest:
    """A forest that grows; all forests of one ``reader`` number their symbols alike."""

    def __init__(self, reader: TreeReader) -> None:
        self._reader = reader
        self._lengths = array("q")
        self._symbols = bytearray()
        self._sizes = bytearray()

    def __len__(self) -> int:
        return len(self._lengths)

    def read(self, text: Bytes, spans: Index) -> None:
        """Add the trees at ``spans`` of a text, see ``TreeReader.read``; raises BracketError."""
        part = self._reader.read(text, spans)
        self._lengths.frombytes(part.lengths().tobytes())
        self._symbols += part.symbols.data
        self._sizes += part.sizes.data

    def fill(self, n: int) -> None:
        """Add missing trees until there are ``n``."""
        self._lengths.extend([0] * (n - len(self)))

    def forest(self) -> Forest:
        """Return the trees without copying their nodes; nothing can be added afterwards."""
        symbols, sizes = (np.frombuffer(nodes, dtype=np.int32) for nodes in (self._symbols, self._sizes))
        return Forest(offsets_of(self._lengths), symbols, sizes, self._reader.vocabulary, check=False)


def bracket_strings(forest: Forest, what: str, name: str, path: str) -> StringColumn:
    """Return trees in brackets; raise DataError if format ``name`` would read one back as another.

    Parameters
    ----------
    what : what one of the trees is, for the message.
    path : the file that is written.
    """
    strings = forest.to_strings()
    try:
        again = Forest.from_strings(strings) == forest
    except BracketError:
        again = False
    if not again:
        raise DataError(f"{path}: {name} would read a {what} back as another; {STORE}")
    return strings
