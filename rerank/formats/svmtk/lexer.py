"""Where trees and vectors are in lines of SVM-light-TK, block after block of whole lines.

A line is ``label |BT| tree |BT| tree |ET| i:v ... |BV| i:v ... |EV|``. The program skips what is between the
label and the first tree, and what is after |EV|; here the first may be a qid, the second a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.types import Bytes, Index, Mask

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
        """Which lines are neither blank nor comments."""
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
        """Where the label and what follows it end: at the first tree, or before the first feature."""
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
