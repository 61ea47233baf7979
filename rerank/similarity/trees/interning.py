"""Sets of trees whose equal subtrees share one number, so that kernels compare each of them once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rerank import memory
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import offsets_of
from rerank.data.types import Floats, Index, Ints
from rerank.errors import DataError
from rerank.native.data import _strings
from rerank.native.similarity import _interning

_BYTES_OF_A_NODE = 60  # of the tables below while trees are interned


@dataclass(frozen=True, eq=False)
class Nodes:
    """The distinct nodes of several sets of trees: two nodes are equal if the trees below them are.

    Attributes
    ----------
    keys : int32
        Node v is ``keys[bounds[v]:bounds[v + 1]]``: its symbol, then its children, whose numbers are smaller.
    bounds : int64 (n + 1)
    symbols : int32 (n)
    productions : int32 (n)
        Nodes have one production if they have one symbol and the symbols of their children are the same;
        -1 for words.
    n_symbols, n_productions : int
    """

    keys: Ints
    bounds: Index
    symbols: Ints
    productions: Ints
    n_symbols: int
    n_productions: int

    def __len__(self) -> int:
        return len(self.symbols)

    def inner(self) -> Index:
        """Return the number of nodes with children in the tree below each node, itself included."""
        out = np.zeros(len(self), dtype=np.int64)
        _interning.inner(self.bounds, self.keys, out)
        return out


@dataclass(frozen=True, eq=False)
class TreeSet:
    """Trees whose equal subtrees share one number, whatever forest they are from; see ``of``.

    Attributes
    ----------
    all_nodes : Nodes
        Of all sets that were made together.
    starts : int64 (2 n + 1), nodes, counts : int32
        The distinct nodes of tree t and how often each occurs in it: those with children at
        ``starts[2 * t]:starts[2 * t + 1]``, words up to ``starts[2 * t + 2]``. Their order depends on tree t
        only, and children come before parents.
    distinct : int64 (n)
        Equal trees have one number; missing ones (without nodes) too.
    n_distinct : int
        One more than the largest of these numbers in all sets.
    used : int32
        The nodes that occur in this set, rising.
    """

    all_nodes: Nodes
    starts: Index
    nodes: Ints
    counts: Ints
    distinct: Index
    n_distinct: int
    used: Ints
    diagonals: dict[str, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, *forests: Forest) -> tuple[TreeSet, ...]:
        """Return a set for each forest, with one numbering for all of them.

        Raises
        ------
        RerankError
            If there is no memory for it.
        """
        total = sum(len(forest.symbols) for forest in forests)
        memory.require(_BYTES_OF_A_NODE * total, f"tables of {total:,} nodes of trees")
        translations, n_symbols = _common_symbols(forests)
        bounds, keys = np.zeros(total + 1, dtype=np.int64), np.empty(2 * total + 1, dtype=np.int32)
        slots = _slots(total)
        numbers = [np.empty(len(forest.symbols), dtype=np.int32) for forest in forests]
        n = 0
        for forest, translation, out in zip(forests, translations, numbers, strict=True):
            arrays = forest.offsets, forest.symbols, forest.sizes
            n = _interning.intern(*arrays, translation, n, slots, bounds, keys, out)
        bounds, keys = bounds[: n + 1].copy(), keys[: bounds[n]].copy()
        productions = np.empty(n, dtype=np.int32)
        room = np.zeros(n + 1, dtype=np.int64), np.empty(len(keys) + 1, dtype=np.int32)
        n_productions = _interning.productions(bounds, keys, _slots(n), *room, productions)
        nodes = Nodes(keys, bounds, keys[bounds[:-1]], productions, n_symbols, n_productions)
        roots = [np.full(len(forest), -1, dtype=np.int64) for forest in forests]
        for forest, own, out in zip(forests, roots, numbers, strict=True):
            there = forest.lengths() > 0
            own[there] = out[forest.offsets[:-1][there]]
        found, distinct = np.unique(np.concatenate([*roots, np.empty(0, np.int64)]), return_inverse=True)
        parts = np.split(distinct.astype(np.int64), np.cumsum([len(own) for own in roots])[:-1])
        return tuple(
            cls._listed(nodes, forest, out, part, len(found))
            for forest, out, part in zip(forests, numbers, parts, strict=True)
        )

    @classmethod
    def _listed(
        cls, nodes: Nodes, forest: Forest, numbers: Ints, distinct: Index, n_distinct: int
    ) -> TreeSet:
        """The set of one forest, whose nodes have these numbers."""
        starts = np.empty(2 * len(forest) + 1, dtype=np.int64)
        listed, counts = (np.empty(len(numbers), dtype=np.int32) for _ in range(2))
        place = np.zeros(len(nodes), dtype=np.int32)
        _interning.listed(forest.offsets, forest.sizes, numbers, place, starts, listed, counts)
        listed, counts = listed[: starts[-1]].copy(), counts[: starts[-1]].copy()
        return cls(nodes, starts, listed, counts, distinct, n_distinct, np.unique(listed))

    @property
    def n(self) -> int:
        """The number of trees."""
        return len(self.distinct)

    def take(self, index: Index) -> TreeSet:
        """Return the trees at ``index``, with the same numbering."""
        which = np.ascontiguousarray(index, dtype=np.int64)
        bounds = self.starts[::2].copy()
        offsets = offsets_of(np.diff(bounds)[which])
        nodes, counts = (np.empty(offsets[-1], dtype=np.int32) for _ in range(2))
        for values, out in ((self.nodes, nodes), (self.counts, counts)):
            _strings.take(values, bounds, which, offsets, out)
        starts = np.repeat(offsets, 2)[:-1]
        starts[1::2] += (self.starts[1::2] - self.starts[:-1:2])[which]
        return replace(
            self,
            starts=starts,
            nodes=nodes,
            counts=counts,
            distinct=self.distinct[which],
            used=np.unique(nodes),
            diagonals={key: values[which] for key, values in self.diagonals.items()},
        )

    def check_with(self, other: TreeSet) -> None:
        """Raise DataError if the sets were not made together."""
        if self.all_nodes is not other.all_nodes:
            raise DataError("trees: found sets with different numberings, expected sets of one TreeSet.of")


def _slots(n: int) -> Ints:
    """The slots of a table of at most n keys."""
    return np.full(max(2, 1 << (2 * n - 1).bit_length() if n else 2), -1, dtype=np.int32)


def _common_symbols(forests: tuple[Forest, ...]) -> tuple[list[Ints], int]:
    """The common number of each symbol of each forest, and how many there are."""
    numbers: dict[str, int] = {}
    found = [
        np.array([numbers.setdefault(s, len(numbers)) for s in forest.vocabulary], dtype=np.int32)
        for forest in forests
    ]
    return found, len(numbers)
