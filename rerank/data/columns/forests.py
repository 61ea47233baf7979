"""Forests: many trees as flat arrays, and their reader from Penn brackets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import InitVar, dataclass

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import AnyArray, Bytes, Index, Ints, Mask
from rerank.data.columns.offsets import are_bounds, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.native.data import _brackets, _strings, _trees
from rerank.native.data._names import Names

TRACE = "-NONE-"
STRIP = {"traces": 1, "functions": 2}

# Bytes of brackets that are read at a time: their nodes stay in the caches until they are copied.
PORTION = 1 << 18
_BLOCK = 4096  # trees that are written at a time
_SHOWN = 40
_LONGEST = 2**31 - 1  # bytes of a tree: nodes are numbered in 32 bits


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees, their nodes in preorder.

    offsets : int64 (n_trees + 1); the nodes of tree t are ``offsets[t]:offsets[t + 1]``. A tree without
        nodes is a missing parse.
    symbols : int32 (n_nodes), the node's label or word, a number in ``vocabulary``.
    sizes : int32 (n_nodes), the nodes of the subtree rooted here, itself included. A node is a word if and
        only if it has size 1; a node of size 2 is a pre-terminal: its only child is a word.
    vocabulary : StringColumn of distinct strings, labels and words together.

    The children of node i begin at i + 1; the next sibling of node j is node j + sizes[j]. Raises DataError,
    naming the first bad tree, if the arrays are not trees. ``check=False`` is for callers that made them
    from checked arrays.
    """

    offsets: Index
    symbols: Ints
    sizes: Ints
    vocabulary: StringColumn
    check: InitVar[bool] = True

    def __post_init__(self, check: bool) -> None:
        if not check:
            return
        for name, array, dtype in (
            ("offsets", self.offsets, np.int64),
            ("symbols", self.symbols, np.int32),
            ("sizes", self.sizes, np.int32),
        ):
            if array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
                raise DataError(f"trees: {name} must be a contiguous {np.dtype(dtype)} vector")
        n_nodes = len(self.symbols)
        if not are_bounds(self.offsets, n_nodes):
            raise DataError("trees: offsets must rise from 0 to the number of nodes")
        if len(self.sizes) != n_nodes:
            raise DataError(f"trees: sizes has {len(self.sizes)} entries, expected {n_nodes}")
        bad = _trees.misfit(self.offsets, self.symbols, self.sizes, len(self.vocabulary), self._scratch())
        if bad >= 0:
            raise DataError(f"trees: the nodes of tree {bad} are not a tree")

    @classmethod
    def from_strings(cls, trees: Iterable[str | bytes], *, strip: Collection[str] = ()) -> Forest:
        """Return the forest of trees in brackets, see TreeReader; an empty string is a missing parse."""
        column = StringColumn.from_strings(trees)
        spans = np.stack([column.offsets[:-1], column.offsets[1:]], axis=1)
        return TreeReader(strip).read(column.data, spans)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, tree: int) -> str:
        """Return tree number ``tree`` in brackets."""
        if not -len(self) <= tree < len(self):
            raise IndexError(tree)
        return self.take(np.array([tree % len(self)])).to_strings()[0]

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same trees, however their symbols are numbered."""
        if not isinstance(other, Forest):
            return NotImplemented
        if not (np.array_equal(self.offsets, other.offsets) and np.array_equal(self.sizes, other.sizes)):
            return False
        numbers: dict[str, int] = {}
        mine, theirs = (
            np.array([numbers.setdefault(s, len(numbers)) for s in forest.vocabulary], dtype=np.int64)
            for forest in (self, other)
        )
        return np.array_equal(mine[self.symbols], theirs[other.symbols])

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Forest({len(self)} trees, {len(self.symbols)} nodes, {len(self.vocabulary)} symbols)"

    def arrays(self) -> dict[str, AnyArray]:
        """Return the column's arrays by name."""
        vocabulary = {f"vocabulary.{name}": array for name, array in self.vocabulary.arrays().items()}
        return {"offsets": self.offsets, "symbols": self.symbols, "sizes": self.sizes, **vocabulary}

    def lengths(self) -> Index:
        """Return the number of nodes of each tree, int64 (n_trees)."""
        return np.diff(self.offsets)

    def _scratch(self) -> Ints:
        return np.empty(int(self.lengths().max(initial=0)), dtype=np.int32)

    def take(self, index: Index) -> Forest:
        """Return the trees at ``index`` (not negative), in that order, with the same vocabulary."""
        if len(index) and index.min() < 0:
            raise DataError("trees: found an index below 0, expected 0 or more")
        which = np.ascontiguousarray(index, dtype=np.int64)
        offsets = offsets_of(self.lengths()[which])
        symbols, sizes = (np.empty(offsets[-1], dtype=np.int32) for _ in range(2))
        _strings.take(self.symbols, self.offsets, which, offsets, symbols)
        _strings.take(self.sizes, self.offsets, which, offsets, sizes)
        return Forest(offsets, symbols, sizes, self.vocabulary, check=False)

    def to_strings(self) -> StringColumn:
        """Return each tree on one line, ``(S (NP (DT the) (NN dog)) ...)``; "" for a missing parse."""
        vocabulary = self.vocabulary
        lengths = np.empty(len(self), dtype=np.int64)
        _trees.lengths(self.offsets, self.symbols, self.sizes, vocabulary.offsets, lengths)
        offsets = offsets_of(lengths)
        data = np.empty(offsets[-1], dtype=np.uint8)
        _trees.write(
            self.offsets,
            self.symbols,
            self.sizes,
            vocabulary.data,
            vocabulary.offsets,
            offsets,
            self._scratch(),
            data,
        )
        return StringColumn(data, offsets)

    def blocks_of_strings(self) -> Iterator[StringColumn]:
        """Yield what ``to_strings`` returns in blocks of trees, of which one is in memory at a time."""
        for first in range(0, len(self), _BLOCK):
            yield self.take(np.arange(first, min(first + _BLOCK, len(self)))).to_strings()

    def symbol_of(self, string: str) -> int:
        """Return the number of a string in the vocabulary, -1 if it is absent."""
        return next((i for i, known in enumerate(self.vocabulary) if known == string), -1)

    def is_word(self) -> Mask:
        """Return which nodes are words, those of traces (under -NONE-) excluded: bool (n_nodes)."""
        words: Mask = self.sizes == 1
        trace = self.symbol_of(TRACE)
        if trace >= 0:
            words[1:] &= (self.symbols[:-1] != trace) | (self.sizes[:-1] != 2)
        return words

    def words(self) -> tuple[Index, Ints]:
        """Return the words of each tree, without traces.

        Returns
        -------
        offsets : int64 (n_trees + 1)
        symbols : int32 (n_words)
        """
        words = self.is_word()
        return offsets_of(words)[self.offsets], self.symbols[words]


def other_words(trees: Forest, gold: Forest, lists: Index) -> int:
    """Return the first tree whose words differ from its list's gold tree, traces ignored; -1 if none does.

    trees, gold : Forest (n_items) and (n_lists)
        With the same symbols: both are of one TreeReader. A missing parse never differs.
    lists : int64 (n_lists + 1), the bounds of the lists of trees.
    """
    trace = trees.symbol_of(TRACE)
    forests = trees.offsets, trees.symbols, trees.sizes, gold.offsets, gold.symbols, gold.sizes
    return _trees.other_words(lists, *forests, trace)


class BracketError(DataError):
    """Text that is not a tree in brackets: the ``tree`` (from 0), what was ``found`` and ``expected``."""

    def __init__(self, tree: int, found: str, expected: str) -> None:
        self.tree = tree
        self.found = found
        self.expected = expected
        super().__init__(f"tree {tree + 1}: found {found}, expected {expected}")

    def __reduce__(self) -> tuple[type[BracketError], tuple[int, str, str]]:
        return BracketError, (self.tree, self.found, self.expected)


def check_strip(strip: Collection[str]) -> None:
    """Raise ConfigError if ``strip`` names something that TreeReader cannot strip."""
    for name in strip:
        if name not in STRIP:
            raise ConfigError(f"strip: unknown {name!r}; {did_you_mean(name, STRIP)}")


class TreeReader:
    """Reads trees in Penn brackets, block after block, into forests that share a growing vocabulary.

    A label follows its bracket; words and brackets follow the label, separated by ASCII blanks. A bracket
    without a label around a single bracket (the treebank's outer one) is ignored; ``()``, ``(())`` and blank
    text are missing parses. Symbols keep their numbers: a later forest's vocabulary begins with that of an
    earlier one.

    Parameters
    ----------
    strip : what to leave out of the trees. "traces": elements labelled -NONE-, and brackets with nothing
        else. "functions": what follows the first - or = of a label, as in NP-SBJ and NP=2; a label that
        begins with - (-LRB-) stays whole.
    """

    def __init__(self, strip: Collection[str] = ()) -> None:
        check_strip(strip)
        self._strip = sum(STRIP[name] for name in set(strip))
        self._names = Names()
        self._vocabulary = StringColumn.from_strings([])
        self._recent = np.zeros(_brackets.RECENT, dtype=np.uint64), np.zeros(_brackets.RECENT, dtype=np.int32)

    @property
    def vocabulary(self) -> StringColumn:
        """All labels and words read so far, by number."""
        names = self._names
        if len(self._vocabulary) < len(names):
            data = np.empty(names.n_bytes, dtype=np.uint8)
            offsets = np.empty(len(names) + 1, dtype=np.int64)
            names.copy_to(data, offsets)
            self._vocabulary = StringColumn(data, offsets)
        return self._vocabulary

    def read(self, text: Bytes, spans: Index) -> Forest:
        """Return the trees at ``text[spans[t, 0]:spans[t, 1]]``: text is uint8, spans int64 (n_trees, 2).

        Raises BracketError at the first text that is not a tree.
        """
        spans = np.ascontiguousarray(spans, dtype=np.int64)
        bounds = offsets_of(spans[:, 1] - spans[:, 0])
        symbols, sizes = bytearray(), bytearray()
        offsets = np.zeros(len(spans) + 1, dtype=np.int64)
        longest = int(np.diff(bounds).max(initial=0))
        if longest > _LONGEST:
            tree = int(np.argmax(np.diff(bounds)))
            raise BracketError(tree, f"{longest:,} bytes", f"at most {_LONGEST:,}")
        rooms = np.empty((2, max(PORTION, longest)), dtype=np.int32)
        first = 0
        while first < len(spans):
            within = int(np.searchsorted(bounds, bounds[first] + PORTION, side="right")) - 1
            stop = max(first + 1, within)
            n = self._read(text, spans[first:stop], first, rooms, offsets[first + 1 : stop + 1])
            offsets[first + 1 : stop + 1] += offsets[first]
            symbols += rooms[0, :n].data
            sizes += rooms[1, :n].data
            first = stop
        return Forest(
            offsets,
            np.frombuffer(symbols, dtype=np.int32),
            np.frombuffer(sizes, dtype=np.int32),
            self.vocabulary,
            check=False,
        )

    def _read(self, text: Bytes, spans: Index, first: int, rooms: Ints, ends: Index) -> int:
        """Read one portion, whose first tree is number ``first``; return the number of its nodes."""
        state = np.zeros(2, dtype=np.int64)
        while True:
            code, place = _brackets.read(
                text, spans, self._names, *self._recent, self._strip, state, rooms[0], rooms[1], ends
            )
            fault = _brackets.FAULTS[code]
            if fault == "none":
                return int(state[1])
            if fault != "no room":
                tree = int(state[0])
                raise _error(first + tree, fault, text[place : spans[tree, 1]].tobytes())
            self._names.grow()


def _error(tree: int, fault: str, rest: bytes) -> BracketError:
    """The error for a fault at the first bytes of ``rest``."""
    words = rest.decode("utf-8", "backslashreplace").rstrip()
    shown = repr(words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "...")
    if fault == "no bracket":
        return BracketError(tree, shown, "a tree in brackets, such as (S (NP ...) (VP ...))")
    if fault == "open":
        return BracketError(tree, f"brackets that are not closed: {shown}", "a ) for every (")
    if fault == "empty":
        return BracketError(tree, f"a bracket without a word, before {shown}", "words in every bracket")
    return BracketError(tree, f"{shown} after the tree", "one tree, with a ( for every )")
