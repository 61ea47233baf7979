"""Places of trees and vectors in lines of SVM-light-TK, block after block of whole lines.

A line is ``label |BT| tree |BT| tree |ET| i:v ... |BV| i:v ... |EV|``. The program skips what is between the
label and the first tree, and what is after |EV|; here the first may be a qid, the second a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.text import count
from rerank.core.types import Bytes, Index, Mask
from rerank.data.columns.forests import BracketError, Forest, TreeReader
from rerank.data.columns.schema import TREE, TREE_NAME
from rerank.data.joining import stacked
from rerank.data.matrix import Dense, Features, as_features
from rerank.formats.base import ReadOptions
from rerank.formats.builders import ForestBuilder
from rerank.formats.common import first_repeated, quoted
from rerank.formats.feature_columns import WIDE
from rerank.formats.svmlight.read import Items, Source, open_source, read_items

MARKERS = ("|BT|", "|ET|", "|BV|", "|EV|")
BT, ET, BV, EV = range(4)
LENGTH = 4  # bytes of a marker
MISSING = b"EMPTY"

_BAR, _OPEN, _CLOSE, _BLANK, _NEWLINE, _HASH, _ZERO = b"|() \n#0"
_BLANKS = np.isin(np.arange(256), list(b" \t\r"))
_STOPS = np.isin(np.arange(256), list(b" \t\r()"))  # what is around labels and words of trees
_PREFIX = re.compile(rb"[ \t\r]*[^ \t\r\n]*([ \t\r]+qid:[^ \t\r\n]*)?")


@dataclass(frozen=True)
class Spans:
    """Parts of lines, in the order of the text."""

    line: Index  # of each part, from 0
    number: Index  # which of its kind it is in its line, from 0
    start: Index
    stop: Index

    def of_lines(self, n_lines: int) -> Index:
        """Return how many parts each line has, int64 (n_lines)."""
        return np.bincount(self.line, minlength=n_lines)


class Block:
    """The examples of some whole lines.

    Attributes
    ----------
    text : uint8 (n_bytes), writable: leaves in brackets of their own, ``(DT (the))``, are words,
        ``(DT  the )``, and the first byte of each vector is a blank.
    starts, stops : int64 (n_lines); a line without its newline is ``text[starts[i]:stops[i]]``.
    is_example : bool (n_lines); other lines are blank or comments.
    trees, vectors : Spans.
    """

    def __init__(self, block: bytes, path: str, first_line: int) -> None:
        self._path, self._first_line = path, first_line
        self.text: Bytes = np.frombuffer(bytearray(block), dtype=np.uint8)
        self.stops = np.flatnonzero(self.text == _NEWLINE)
        self.starts = np.concatenate([[0], self.stops[:-1] + 1])
        self.is_example = self._examples()
        place, kind, line = self._markers()
        self._check(kind, line, place)
        tree = kind == BT
        first = np.flatnonzero(tree)
        self.trees = Spans(
            line[tree],
            _numbers(line[tree]),
            place[tree] + LENGTH,
            place[np.minimum(first + 1, len(place) - 1)],
        )
        self._prefixes = self._ends_of_prefixes()
        self.vectors = self._vectors(place, kind, line)
        self._read_leaves()

    @property
    def n_lines(self) -> int:
        """The number of lines."""
        return len(self.stops)

    def fault(self, line: int, found: str, expected: str) -> FormatError:
        """Return the error for line ``line`` of the block."""
        return FormatError(self._path, self._first_line + line, found, expected)

    def bytes_of(self, start: int, stop: int) -> bytes:
        """Return a part of the text."""
        return self.text[start:stop].tobytes()

    def prefix(self, line: int) -> bytes:
        """Return what is before the first tree or feature of a line."""
        return self.bytes_of(self.starts[line], self._prefixes[line])

    def blank_out(self, start: int, stop: int) -> None:
        """Replace a part of the text by blanks."""
        self.text[start:stop] = _BLANK

    def _examples(self) -> Mask:
        """Return the mask of lines that are neither blank nor comments."""
        first = self.text[self.starts]
        found = ~(_BLANKS[first] | (first == _NEWLINE) | (first == _HASH))
        for i in np.flatnonzero(_BLANKS[first]).tolist():
            line = self.bytes_of(self.starts[i], self.stops[i]).lstrip(b" \t\r")
            found[i] = line != b"" and not line.startswith(b"#")
        return found

    def _markers(self) -> tuple[Index, Index, Index]:
        """Place, kind and line of each marker that is not part of a comment."""
        text = self.text
        place = np.flatnonzero(text[: max(len(text) - LENGTH + 1, 0)] == _BAR)
        place = place[text[place + 3] == _BAR]
        kind = np.full(len(place), -1, dtype=np.int64)
        for k, marker in enumerate(MARKERS):
            first, second = marker[1:3].encode()
            kind[(text[place + 1] == first) & (text[place + 2] == second)] = k
        place, kind = place[kind >= 0], kind[kind >= 0]
        line = np.searchsorted(self.stops, place)
        ends = kind == EV
        after = np.full(self.n_lines, len(text), dtype=np.int64)
        after[line[ends][::-1]] = place[ends][::-1]  # the first of a line is set last
        kept = (place <= after[line]) & self.is_example[line]
        return place[kept], kind[kept], line[kept]

    def _check(self, kind: Index, line: Index, place: Index) -> None:
        """Raise FormatError at the first line whose markers are not in order."""
        follows = np.zeros(len(kind), dtype=bool)  # whether the marker before is of the same line
        follows[1:] = line[1:] == line[:-1]
        before = np.where(follows, np.roll(kind, 1), -1)
        after = np.full(len(kind), -1, dtype=np.int64)
        after[:-1] = np.where(follows[1:], kind[1:], -1)
        unordered = (kind < before) | ((kind == ET) & (before != BT))
        unclosed = (kind == BT) & (after != BT) & (after != ET)
        bad = np.flatnonzero(unordered | unclosed)
        if not len(bad):
            return
        i = int(bad[0])
        name = MARKERS[kind[i]]
        if unclosed[i]:
            raise self.fault(int(line[i]), f"{name} without |ET|", "|ET| after the last tree")
        found = f"{name} after {MARKERS[before[i]]}" if follows[i] else f"{name} without |BT|"
        raise self.fault(int(line[i]), found, "trees, |ET|, vectors, |EV|")

    def _ends_of_prefixes(self) -> Index:
        """Return the end of the label and what follows it: at the first tree, or before the first feature."""
        ends = np.full(self.n_lines, -1, dtype=np.int64)
        first = self.trees.number == 0
        ends[self.trees.line[first]] = self.trees.start[first] - LENGTH
        for i in np.flatnonzero((ends < 0) & self.is_example).tolist():
            found = _PREFIX.match(self.bytes_of(self.starts[i], self.stops[i]))
            assert found is not None  # all of it is optional
            ends[i] = self.starts[i] + found.end()
        return ends

    def _vectors(self, place: Index, kind: Index, line: Index) -> Spans:
        """The vectors of each line. A span begins with a byte of the marker before it, now a blank."""
        examples = np.flatnonzero(self.is_example)
        begin, end = self._prefixes.copy(), self.stops.copy()
        begin[line[kind == ET]] = place[kind == ET] + LENGTH - 1
        end[line[kind == EV]] = place[kind == EV]
        between = place[kind == BV]
        self.text[begin[line[kind == ET]]] = _BLANK
        self.text[between + LENGTH - 1] = _BLANK
        start = np.sort(np.concatenate([begin[examples], between + LENGTH - 1]))
        stop = np.sort(np.concatenate([end[examples], between]))
        of_line = np.sort(np.concatenate([examples, line[kind == BV]]))
        marked = np.zeros(self.n_lines, dtype=bool)
        marked[line[kind >= BV]] = True
        kept = np.ones(len(start), dtype=bool)
        for i in np.flatnonzero(~marked[of_line]).tolist():  # blank, it is no vector
            kept[i] = self.bytes_of(start[i], stop[i]).partition(b"#")[0].strip() != b""
        of_line = of_line[kept]
        return Spans(of_line, _numbers(of_line), start[kept], stop[kept])

    def _read_leaves(self) -> None:
        """Make words of leaves in brackets, and missing trees of EMPTY."""
        text, trees = self.text, self.trees
        stops = _STOPS[text]
        words = np.cumsum(~stops[1:] & stops[:-1], dtype=np.int32)  # begun up to each byte
        brackets = np.flatnonzero((text == _OPEN) | (text == _CLOSE))
        tree = np.searchsorted(trees.start, brackets, side="right") - 1
        brackets = brackets[(tree >= 0) & (brackets < np.append(trees.stop, 0)[tree])]
        kinds, words = text[brackets], words[brackets - 1]
        leaf = (kinds[:-1] == _OPEN) & (kinds[1:] == _CLOSE) & (np.diff(words) == 1)
        text[brackets[:-1][leaf]] = _BLANK
        text[brackets[1:][leaf]] = _BLANK
        opened = brackets[kinds == _OPEN]
        first = np.searchsorted(opened, trees.start)
        none = np.append(opened, len(text))[first] >= trees.stop
        for i in np.flatnonzero(none).tolist():
            if self.bytes_of(trees.start[i], trees.stop[i]).strip() == MISSING:
                self.blank_out(trees.start[i], trees.stop[i])

    def first_vectors(self, chosen: Mask) -> bytes:
        """Return the lines with label, qid, the chosen vectors and comment: lines of SVMlight."""
        vectors = self.vectors
        examples = np.flatnonzero(self.is_example)
        comment = self.stops.copy()  # and the newline
        last = self.text[np.minimum(vectors.stop, len(self.text) - 1)] == _BAR
        closing = last & (
            self.text[np.minimum(vectors.stop + 1, len(self.text) - 1)] == MARKERS[EV].encode()[1]
        )
        comment[vectors.line[closing]] = vectors.stop[closing] + LENGTH
        start = [self.starts[examples], vectors.start[chosen], comment]
        stop = [self._prefixes[examples], vectors.stop[chosen], self.stops + 1]
        return self._compact(start, stop)

    def other_vectors(self, chosen: Mask) -> bytes:
        """Return the lines with the chosen vectors after a label 0, which replaces that of the text."""
        examples = np.flatnonzero(self.is_example)
        begin = self.starts[examples]
        self.text[begin] = _ZERO
        start = [begin, self.vectors.start[chosen], self.stops]
        return self._compact(start, [begin + 1, self.vectors.stop[chosen], self.stops + 1])

    def _compact(self, start: list[Index], stop: list[Index]) -> bytes:
        """Return the text at spans that do not overlap, in its order."""
        starts, stops = np.concatenate(start), np.concatenate(stop)
        order = np.lexsort((stops, starts))  # an empty span goes before one that starts in the same place
        text = self.text.tobytes()
        spans = zip(starts[order].tolist(), stops[order].tolist(), strict=True)
        return b"".join([text[i:j] for i, j in spans])


def _numbers(line: Index) -> Index:
    """Return which one of its line each part is, from 0; ``line`` does not fall."""
    starts = np.flatnonzero(np.diff(line, prepend=-1))
    return np.arange(len(line)) - np.repeat(starts, np.diff(starts, append=len(line)))


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
        self._forests: list[ForestBuilder] = []
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
            self._forests.append(ForestBuilder(self._reader))
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
        return stacked([features.widened(width) for features in sides]).take(order)


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
