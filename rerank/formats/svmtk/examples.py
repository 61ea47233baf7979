"""Trees and vectors of the lines of SVM-light-TK, gathered block by block."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.text import count
from rerank.core.types import Index
from rerank.data.columns.forests import BracketError, Forest, TreeReader
from rerank.data.columns.schema import TREE, TREE_NAME
from rerank.data.joining import stacked
from rerank.data.matrix import Dense, Features, as_features
from rerank.formats.base import ReadOptions
from rerank.formats.builders import GrowingForest
from rerank.formats.common import first_repeated, quoted
from rerank.formats.feature_columns import WIDE
from rerank.formats.svmlight.read import Items, Source, open_source, read_items
from rerank.formats.svmtk.lexer import Block, Spans

EXPECTED = "lines 'label |BT| tree ... |ET| index:value ... |EV|'"
NAMES = b"trees:"  # before the first tree of the file: the names of the trees
_NAMES = re.compile(rb"[ \t]" + NAMES + rb"([^ \t\r\n]*)")


class Lines:
    """The trees and vectors of all lines of a file; of pairs, in halves.

    With ``pairs`` the first half of trees and of vectors is candidate one, the second half candidate two.
    """

    def __init__(self, blocks: Iterable[bytes], source: str, options: ReadOptions, *, pairs: bool) -> None:
        self.source = source
        self.options = options
        self.names: list[str] = []  # that the file gives its trees
        self.n = 0  # examples
        self.most_trees = self.most_vectors = 0  # of a line
        self.even = True  # whether all lines have an even number of trees and of vectors
        self._sides = 2 if pairs else 1
        self._reader = TreeReader()
        self._forests: list[GrowingForest] = []
        self._vectors: dict[tuple[int, int], bytearray] = {
            (side, 0): bytearray() for side in range(self._sides)
        }
        self._template = bytearray()  # every line with the label 0 alone
        line = 1
        for block in blocks:
            line += self._add(Block(block, self.source, line)) if block.strip() else block.count(b"\n")
        if self.n == 0:
            found = "an empty file" if line == 1 else "no example"
            raise FormatError(self.source, None, found, EXPECTED)

    def _add(self, block: Block) -> int:
        """Add the examples of a block; return the number of its lines."""
        examples = np.flatnonzero(block.is_example)
        if self.n == 0 and len(examples):
            self._take_names(block, int(examples[0]))
        rows = np.cumsum(block.is_example) - 1
        tree_sides, tree_numbers = self._halves(block, block.trees, "tree")
        vector_sides, vector_numbers = self._halves(block, block.vectors, "vector")
        self._add_trees(block, rows[block.trees.line] * self._sides + tree_sides, tree_numbers, len(examples))
        self._add_vectors(block, vector_sides, vector_numbers)
        self.most_trees = max(self.most_trees, int(block.trees.number.max(initial=-1)) + 1)
        self.most_vectors = max(self.most_vectors, int(block.vectors.number.max(initial=-1)) + 1)
        for spans in (block.trees, block.vectors):
            self.even = self.even and not np.any(spans.of_lines(block.n_lines) % 2)
        self.n += len(examples)
        return block.n_lines

    def _take_names(self, block: Block, line: int) -> None:
        """Take the names of trees from the first example and leave them out of the text."""
        found = _NAMES.search(block.prefix(line))
        if found is None:
            return
        self.names = [name.decode("utf-8", "backslashreplace") for name in found[1].split(b",")]
        bad = [name for name in self.names if not TREE_NAME.fullmatch(name)]
        again = first_repeated(self.names)
        if bad or again is not None:
            name = bad[0] if bad else self.names[again or 0]
            expected = "names of trees (a letter or _, then letters, digits, _ and -), each once"
            raise block.fault(line, quoted(name), expected)
        start = int(block.starts[line])
        block.blank_out(start + found.start(), start + found.end())

    def _halves(self, block: Block, spans: Spans, what: str) -> tuple[Index, Index]:
        """Return the candidate of each part, 0 or 1, and which of the candidate's parts it is, from 0."""
        if self._sides == 1:
            return np.zeros(len(spans.line), dtype=np.int64), spans.number
        counts = spans.of_lines(block.n_lines)
        odd = np.flatnonzero(counts % 2)
        if len(odd):
            n = int(counts[odd[0]])
            raise block.fault(
                int(odd[0]), count(n, what), f"an even number of {what}s, half of them of each candidate"
            )
        half = counts[spans.line] // 2
        side = (spans.number >= half).astype(np.int64)
        return side, spans.number - side * half

    def _add_trees(self, block: Block, rows: Index, numbers: Index, n: int) -> None:
        """Add the trees of ``n`` examples by row and number; raises FormatError at the first bad one."""
        trees, faults = block.trees, []
        while len(self._forests) <= numbers.max(initial=-1):
            self._forests.append(GrowingForest(self._reader))
        for k, forest in enumerate(self._forests):
            forest.fill(self.n * self._sides)
            chosen = np.flatnonzero(numbers == k)
            spans = np.zeros((n * self._sides, 2), dtype=np.int64)
            spans[rows[chosen], 0] = trees.start[chosen]
            spans[rows[chosen], 1] = trees.stop[chosen]
            try:
                forest.read(block.text, spans)
            except BracketError as error:
                at = int(chosen[np.flatnonzero(rows[chosen] == error.tree)[0]])
                # Not the error itself: its traceback would keep what each reader has allocated.
                faults.append((int(trees.line[at]), int(trees.number[at]), error.found, error.expected))
        if faults:
            line, number, found, expected = min(faults)
            raise block.fault(line, f"{found} in tree {number + 1}", expected)

    def _add_vectors(self, block: Block, sides: Index, numbers: Index) -> None:
        """Add the lines of each vector of a candidate."""
        for number in range(int(numbers.max(initial=-1)) + 1):
            for side in range(self._sides):
                if (side, number) not in self._vectors:
                    self._vectors[side, number] = bytearray(self._template)
        first = block.first_vectors((sides == 0) & (numbers == 0))
        for (side, number), buffer in self._vectors.items():
            plain = (side, number) == (0, 0)
            buffer += first if plain else block.other_vectors((sides == side) & (numbers == number))
        none = np.zeros(len(sides), dtype=bool)
        self._template += block.other_vectors(none)

    def trees(self) -> list[Forest]:
        """Return the trees by number, each of all candidates; those that a candidate lacks are missing."""
        for forest in self._forests:
            forest.fill(self.n * self._sides)
        return [forest.forest() for forest in self._forests]

    def items(self) -> tuple[Source, Items]:
        """Return the candidates' vectors side by side, with labels and spans of the lines.

        Candidate 2i + 1 of pairs is the second one of line i. With several vectors the features are named
        v1:1, v1:2, ..., v2:1, ... Raises FormatError at the first bad line.
        """
        sources = {
            key: open_source(bytes(text), self.source, self.options) for key, text in self._vectors.items()
        }
        parsed, faults = {}, []
        for key, source in sources.items():
            try:
                parsed[key] = read_items(source, None)
            except FormatError as error:
                faults.append(error)
        if faults:
            raise min(faults, key=lambda error: error.line or 0)
        first = parsed[0, 0]
        if len(sources) == 1:
            return sources[0, 0], first
        if any(items.names is not None for items in parsed.values()):
            expected = f"indices up to {WIDE:,} if a line has several vectors"
            raise FormatError(self.source, None, "indices of features that are far apart", expected)
        columns = [
            self._interleaved([parsed[side, k].features for side in range(self._sides)])
            for k in range(len(sources) // self._sides)
        ]
        names = None
        if len(columns) > 1:
            widths = [features.n_features for features in columns]
            names = vector_names(widths)
        return sources[0, 0], Items(_side_by_side(columns), names, first.labels, first.spans)

    def _interleaved(self, sides: list[Features]) -> Features:
        """Return one vector of all candidates from those of each side."""
        width = max(features.n_features for features in sides)
        order = np.arange(self._sides * self.n).reshape(self._sides, self.n).T.reshape(-1)
        return stacked([_widened(features, width) for features in sides]).take(order)


def _widened(features: Features, width: int) -> Features:
    n = features.n_features
    return features if n == width else features.select(np.arange(n), width)


def _side_by_side(blocks: list[Features]) -> Features:
    """Return the columns of all blocks, dense if all of them are."""
    if len(blocks) == 1:
        return blocks[0]
    if all(isinstance(block, Dense) for block in blocks):
        return Dense(np.hstack([block.to_dense() for block in blocks]))
    from scipy.sparse import csr_array, hstack

    parts = [block.compressed() for block in blocks]
    data = [np.ones(len(part.indices)) if part.data is None else part.data for part in parts]
    rows = [
        csr_array((values, part.indices, part.indptr), shape=(part.n_items, part.n_features))
        for part, values in zip(parts, data, strict=True)
    ]
    return as_features(hstack(rows, format="csr"))


def default_names(n: int) -> list[str]:
    """Return the names of ``n`` trees of a file that names none."""
    return [TREE] if n == 1 else [f"{TREE}{k + 1}" for k in range(n)]


def vector_names(widths: list[int]) -> list[str]:
    """Return the names of the features of several vectors."""
    return [f"v{k}:{j + 1}" for k, width in enumerate(widths, 1) for j in range(width)]


def named_trees(
    forests: list[Forest], names: list[str], source: str
) -> tuple[Forest | None, dict[str, Forest]]:
    """Return the parse and the named trees of items: "tree" if there is one, else tree1, tree2, ...

    Raises FormatError if there are not as many trees as ``names``, if any are given.
    """
    if not forests:
        return None, {}
    if names and len(names) != len(forests):
        raise FormatError(
            source, None, count(len(forests), "tree"), f"{len(names)}, as named on its first line"
        )
    found = dict(zip(names or default_names(len(forests)), forests, strict=True))
    return found.pop(TREE, None), found
