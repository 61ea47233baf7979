"""Sets of trees whose equal subtrees share one number, so that kernels compare each of them once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.types import Floats, Index, Ints
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import offsets_of
from rerank.native.data import _strings
from rerank.native.similarity import _interning, _partial_trees, _shared_nodes, _subset_trees, _tree_parts

NODES_OF_A_PART = 1 << 17  # counted once per tree
LARGE_TABLE = 1 << 23  # pairs of nodes
_MOST_NODES = 1 << 30  # numbers of nodes are 32 bits
_BYTES_OF_A_NODE = 80  # of the tables below while trees are interned
_TABLE = 1 << 16  # pairs of nodes that there is room for at first


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
    heights : int32 (n)
        0 for words.
    n_symbols, n_productions : int
    largest : int
        The number of nodes of the largest tree.
    fingerprint : str
        Different nodes or symbols have different ones.
    """

    keys: Ints
    bounds: Index
    symbols: Ints
    productions: Ints
    heights: Ints
    n_symbols: int
    n_productions: int
    largest: int
    fingerprint: str
    weights: dict[float, Floats] = field(default_factory=dict, repr=False)
    rooms: list[_tree_parts.Room] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, keys: Ints, bounds: Index, symbols: Collection[str], largest: int) -> Nodes:
        """Return the nodes with everything that follows from their keys."""
        n = len(bounds) - 1
        productions, heights = (np.empty(n, dtype=np.int32) for _ in range(2))
        room = np.zeros(n + 1, dtype=np.int64), np.empty(len(keys) + 1, dtype=np.int32)
        n_productions = _interning.productions(bounds, keys, _slots(n), *room, productions)
        _interning.heights(bounds, keys, heights)
        digest = blake2b(keys.tobytes(), digest_size=16)
        digest.update("\0".join(symbols).encode("utf-8", "surrogatepass"))
        sizes = len(symbols), n_productions, largest
        return cls(keys, bounds, keys[bounds[:-1]], productions, heights, *sizes, digest.hexdigest())

    def __len__(self) -> int:
        return len(self.symbols)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "native"} | {
            "rooms": [],
            "weights": {},
        }

    def inner(self) -> Index:
        """Return the number of nodes with children in the tree below each node, itself included."""
        out = np.empty(len(self), dtype=np.int64)
        _interning.inner(self.bounds, self.keys, out)
        return out

    def subtree_weights(self, decay: float) -> Floats:
        """Return decay^inner of each node, which is kept."""
        if decay not in self.weights:
            self.weights[decay] = np.power(decay, self.inner(), dtype=np.float64)
        return self.weights[decay]

    @cached_property
    def native(self) -> _tree_parts.Nodes:
        """The arrays for kernels."""
        return _tree_parts.Nodes(self.bounds, self.keys, self.symbols, self.productions)

    @contextmanager
    def room(self) -> Iterator[_tree_parts.Room]:
        """Lend a room to compute in, for one thread."""
        try:
            room = self.rooms.pop()
        except IndexError:
            room = None
        if room is None or room.largest < self.largest:  # sums of trees are larger
            sizes = self.n_symbols, self.n_productions, len(self), self.largest
            memory.require(4 * sum(sizes) + 120 * self.largest, "the nodes of two trees")
            room = _tree_parts.Room(*sizes)
        yield room
        if room.size <= LARGE_TABLE:
            self.rooms.append(room)


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
    diagonals : dict
        K(x, x) of each tree by kernel.
    """

    all_nodes: Nodes
    starts: Index
    nodes: Ints
    counts: Ints
    distinct: Index
    n_distinct: int
    diagonals: dict[Any, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, *forests: Forest) -> tuple[TreeSet, ...]:
        """Return a set for each forest, with one numbering for all of them.

        Raises
        ------
        RerankError
            If there is no memory for it.
        """
        total = sum(len(forest.symbols) for forest in forests)
        if total >= _MOST_NODES:
            raise DataError(f"trees: found {total:,} nodes, expected fewer than {_MOST_NODES:,}")
        memory.require(_BYTES_OF_A_NODE * total, f"tables of {total:,} nodes of trees")
        translations, symbols = _common_symbols(forests)
        bounds, keys = np.zeros(total + 1, dtype=np.int64), np.empty(2 * total + 1, dtype=np.int32)
        slots = _slots(total)
        numbers = [np.empty(len(forest.symbols), dtype=np.int32) for forest in forests]
        n = 0
        for forest, translation, out in zip(forests, translations, numbers, strict=True):
            arrays = forest.offsets, forest.symbols, forest.sizes
            n = _interning.intern(*arrays, translation, n, slots, bounds, keys, out)
        largest = max((int(forest.lengths().max(initial=0)) for forest in forests), default=0)
        nodes = Nodes.of(keys[: bounds[n]].copy(), bounds[: n + 1].copy(), symbols, largest)
        distinct, n_distinct = _distinct(forests, numbers)
        return tuple(
            cls._listed(nodes, forest, out, part, n_distinct)
            for forest, out, part in zip(forests, numbers, distinct, strict=True)
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
        end = starts[-1]
        return cls(nodes, starts, listed[:end].copy(), counts[:end].copy(), distinct, n_distinct)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("lists", "parts")}

    @property
    def n(self) -> int:
        """The number of trees."""
        return len(self.distinct)

    @cached_property
    def lists(self) -> _tree_parts.Lists:
        """The arrays for kernels."""
        return _tree_parts.Lists(self.starts, self.nodes, self.counts)

    @cached_property
    def parts(self) -> list[tuple[int, int, _tree_parts.Part]]:
        """Neighbouring trees that kernels treat together: the first, one after the last, and their nodes."""
        bounds = self.starts[::2]
        firsts = np.flatnonzero(np.diff(bounds[:-1] // NODES_OF_A_PART, prepend=-1)).tolist()
        return [(first, last, self.part(first, last)) for first, last in pairwise([*firsts, self.n])]

    def part(self, first: int, last: int) -> _tree_parts.Part:
        """Return some trees in the form that kernels take for columns."""
        nodes = self.all_nodes
        starts = self.starts[2 * first : 2 * last + 1]
        listed = self.nodes[starts[0] : starts[-1]]
        counts = self.counts[starts[0] : starts[-1]]
        used = np.unique(listed)
        heights, productions = nodes.heights[used], nodes.productions[used]
        order = used[np.lexsort((used, productions, nodes.symbols[used], heights))]
        heights, productions = nodes.heights[order], nodes.productions[order]
        n_words, n_low = np.searchsorted(heights, [1, 2]).tolist()
        changed = (np.diff(heights[n_low:]) != 0) | (np.diff(productions[n_low:]) != 0)
        ends = [0, *(np.flatnonzero(changed) + 1).tolist(), len(order) - n_low]
        ranges = n_low + np.unique(np.array(ends, dtype=np.int32))
        n_children = np.diff(nodes.bounds)[order] - 1
        place = np.empty(len(nodes), dtype=np.int32)
        child_bounds, children = np.empty(len(order) + 1, np.int64), np.empty(n_children.sum(), np.int32)
        _tree_parts.gather(nodes.native, order, place, child_bounds, children)
        lists = _tree_parts.Lists(starts - starts[0], place[listed], counts)
        sizes = ranges.astype(np.int32), n_words, n_low
        return _tree_parts.Part(
            nodes.symbols[order], productions, child_bounds, children, *sizes, lists, len(order)
        )

    def take(self, index: Index) -> TreeSet:
        """Return the trees at ``index``, with the same numbering."""
        which = self.checked(index)
        bounds = self.starts[::2].copy()
        offsets = offsets_of(np.diff(bounds)[which])
        nodes, counts = (np.empty(offsets[-1], dtype=np.int32) for _ in range(2))
        for values, out in ((self.nodes, nodes), (self.counts, counts)):
            _strings.take(values, bounds, which, offsets, out)
        starts = np.repeat(offsets, 2)[:-1]
        starts[1::2] += (self.starts[1::2] - self.starts[:-1:2])[which]
        kept = {key: values[which] for key, values in self.diagonals.items()}
        return TreeSet(self.all_nodes, starts, nodes, counts, self.distinct[which], self.n_distinct, kept)

    def checked(self, index: Index) -> Index:
        """Return numbers of trees, contiguous; DataError if one is not a tree's."""
        which = np.ascontiguousarray(index, dtype=np.int64)
        if len(which) and not 0 <= which.min() <= which.max() < self.n:
            found = int(which[(which < 0) | (which >= self.n)][0])
            raise DataError(f"trees: found number {found}, expected 0 to {self.n - 1}")
        return which

    def size_of(self, tree: int) -> int:
        """Return the number of nodes of a tree."""
        return int(self.counts[self.starts[2 * tree] : self.starts[2 * tree + 2]].sum())

    def check_with(self, other: TreeSet) -> None:
        """Raise DataError if the sets were not made together."""
        if self.all_nodes.fingerprint != other.all_nodes.fingerprint:
            raise DataError("trees: found sets with different numberings, expected sets of one TreeSet.of")


def _distinct(forests: tuple[Forest, ...], numbers: list[Ints]) -> tuple[list[Index], int]:
    """A number for each distinct tree, and how many there are; -1 stands for missing ones before."""
    roots = []
    for forest, of_nodes in zip(forests, numbers, strict=True):
        there = forest.lengths() > 0
        own = np.full(len(forest), -1, dtype=np.int64)
        own[there] = of_nodes[forest.offsets[:-1][there]]
        roots.append(own)
    found, distinct = np.unique(np.concatenate([np.empty(0, np.int64), *roots]), return_inverse=True)
    bounds = np.cumsum([len(own) for own in roots])
    return np.split(distinct.astype(np.int64), bounds)[:-1], len(found)


def _slots(n: int) -> Ints:
    """The slots of a table of at most n keys."""
    return np.full(max(2, 1 << (2 * n - 1).bit_length() if n else 2), -1, dtype=np.int32)


def _common_symbols(forests: tuple[Forest, ...]) -> tuple[list[Ints], Collection[str]]:
    """The common number of each symbol of each forest, and all symbols in this order."""
    numbers: dict[str, int] = {}
    found = [
        np.array([numbers.setdefault(s, len(numbers)) for s in forest.vocabulary], dtype=np.int32)
        for forest in forests
    ]
    return found, numbers.keys()


class Sweeps:
    """The values of a kernel before normalisation, for rows of one set."""

    def __init__(
        self, a: TreeSet, name: str, decay: float | None, mu: float | None, max_children: int | None
    ) -> None:
        self.a, self.nodes = a, a.all_nodes
        self.shared = name in ("st", "bow")
        self.words = name in ("bow", "sst-leaves")
        self.sums = 0
        if self.shared:
            self.weights = np.ones(len(self.nodes)) if decay is None else self.nodes.subtree_weights(decay)
        elif name == "ptk":
            most = max_children or 0
            self.kernel: _tree_parts.Kernel = _partial_trees.PartialTrees(decay, mu, most)
            self.sums = max(1, most) * int(np.diff(self.nodes.bounds).max(initial=1) - 1)
        else:
            self.kernel = _subset_trees.SubsetTrees(decay, self.words)

    def rows(self, which: Index, b: TreeSet, out: Floats) -> None:
        """Compute K of the trees ``which`` and all trees of ``b``."""
        if self.shared:
            given = self.a.lists, which, b.lists, self.weights, self.words
            _shared_nodes.rows(*given, np.zeros(len(self.nodes)), out)
            return
        with self.nodes.room() as room:
            for first, last, part in b.parts:
                self._part(which, b, first, last, part, room, out)

    def diagonal(self) -> Floats:
        """Return K(x, x) of each tree."""
        out = np.empty(self.a.n)
        if self.shared:
            given = self.a.lists, self.weights, self.words
            _shared_nodes.diagonal(*given, np.zeros(len(self.nodes)), out)
            return out
        with self.nodes.room() as room:
            both = self.nodes.native, self.a.lists
            self._all(
                lambda row: self.kernel.diagonal(*both, row, room, out), self.a.n, self.nodes.largest, room
            )
        return out

    def _part(
        self,
        which: Index,
        b: TreeSet,
        first: int,
        last: int,
        part: _tree_parts.Part,
        room: _tree_parts.Room,
        out: Floats,
    ) -> None:
        """Compute the columns first:last, those of a part of ``b``, or of halves of it for large trees."""
        given = self.nodes.native, self.a.lists, which

        def halves(row: int) -> None:
            middle = (first + last) // 2
            for begin, end in ((first, middle), (middle, last)):
                one = slice(row, row + 1)
                self._part(which[one], b, begin, end, b.part(begin, end), room, out[one])

        self._all(
            lambda row: self.kernel.rows(*given, row, part, room, out, first),
            len(which),
            part.n,
            room,
            halves if last - first > 1 else None,
        )

    def _all(
        self,
        compute: Callable[[int], tuple[int, int]],
        n: int,
        n_nodes: int,
        room: _tree_parts.Room,
        apart: Callable[[int], None] | None = None,
    ) -> None:
        """Compute n rows by a function that stops at rows for which the table is too small.

        Rows that need a large table are computed by ``apart`` if it is given.
        """
        row = 0
        while row < n:
            room.fit(n_nodes, _TABLE, self.sums)
            row, need = compute(row)
            if row == n:
                return
            if apart is not None and need > LARGE_TABLE:
                apart(row)
                row += 1
            else:
                memory.require(
                    8 * need, f"a table of {need:,} pairs of nodes of two trees", "smaller trees need less"
                )
                room.fit(n_nodes, need, self.sums)
