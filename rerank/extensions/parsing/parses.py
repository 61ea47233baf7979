"""Reading N-best parses: lines by a kernel, blocks by their empty lines, trees as flat arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.files.write import atomic_write
from rerank.core.text import count
from rerank.core.types import Bytes, Floats, Index, Mask
from rerank.data.columns.forests import BracketError, Forest, TreeReader, other_words
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.extensions.parsing.native._parses import KINDS, scan
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.buffers import content_start
from rerank.formats.builders import bracket_strings
from rerank.formats.common import STORE, not_a_number, note, quoted
from rerank.formats.texts import read_lines
from rerank.native.formats._moses import count_lines

_LINE = "a gold tree, or log2 probability<TAB>tree"


@dataclass(frozen=True)
class Lines:
    """The lines of a file that are not empty."""

    source: str
    text: Bytes
    numbers: Index  # of lines, from 1
    is_gold: Mask  # whether a line is a tree without a log probability
    values: Floats  # log probabilities
    spans: Index  # (n, 2): start and end of the trees in the text
    starts: Index  # the first line of each block

    def fault(self, line: int, found: str, expected: str) -> FormatError:
        """Return the error for a line, given by its position among these."""
        return FormatError(self.source, int(self.numbers[line]), found, expected)


def _scanned(path: str) -> Lines:
    """The lines of a file; raises FormatError at one that is neither empty, nor gold, nor a parse."""
    source, data = shown(path), read_bytes(path)
    text = np.frombuffer(data, dtype=np.uint8)[content_start(data, source, f"lines of {_LINE}") :]
    n_lines = count_lines(text) + int(text[-1] != ord("\n"))
    kinds, values = np.empty(n_lines, dtype=np.int8), np.empty(n_lines)
    spans = np.empty((n_lines, 2), dtype=np.int64)
    bad = scan(text, kinds, values, spans)
    if bad >= 0:
        raise _unrecognised(source, bad + 1, text[0 if bad == 0 else spans[bad - 1, 1] + 1 :][:80].tobytes())
    used = np.flatnonzero(kinds != KINDS["empty"])
    if len(used) == 0:
        raise FormatError(source, None, "empty lines only", f"lines of {_LINE}")
    starts = np.flatnonzero(np.diff(used, prepend=-2) > 1)
    return Lines(source, text, used + 1, kinds[used] == KINDS["gold"], values[used], spans[used], starts)


def _unrecognised(source: str, number: int, start: bytes) -> FormatError:
    """Return the error for an unrecognised line, by its first bytes."""
    line = start.split(b"\n")[0].decode("utf-8", "backslashreplace").strip()
    first = line.partition(" ")[0].partition("\t")[0]
    if not_a_number(first.encode(), "")[1] == "a finite number":
        return FormatError(source, number, quoted(first), "a log2 probability that is finite")
    return FormatError(source, number, quoted(line), _LINE)


def _check_blocks(lines: Lines) -> bool:
    """Return whether blocks begin with a gold tree: all or none. No other line may be one."""
    of_block = lines.is_gold[lines.starts]
    has_gold = bool(of_block[0])
    inner = lines.is_gold.copy()
    inner[lines.starts] = False
    if inner.any():
        odd = int(np.argmax(inner))
        # A tree over several lines is open at the end of its first one; that error is more helpful.
        before = lines.starts[np.searchsorted(lines.starts, odd, side="right") - 1]
        _forests(lines, TreeReader(), None, np.arange(before, odd))
        expected = "log2 probability<TAB>tree, or an empty line before the next sentence"
        raise lines.fault(odd, "a tree without a log probability", expected)
    if np.any(of_block != has_gold):
        odd = int(lines.starts[np.argmax(of_block != has_gold)])
        found, expected = "no gold tree", "one first in the block, as on line"
        if not has_gold:
            found, expected = "a gold tree", "none, as in the block of line"
        raise lines.fault(odd, found, f"{expected} {lines.numbers[0]}")
    return has_gold


def _note_missing(lines: Lines, missing: Index) -> None:
    """Warn about missing parses, given by their lines."""
    if not len(missing):
        return
    what = "parse is missing; it counts" if len(missing) == 1 else "parses are missing; they count"
    note(f"{lines.source}: {len(missing)} {what} as wrong (from line {lines.numbers[missing[0]]})")


def _ids(path: str, n_blocks: int, source: str) -> StringColumn:
    """The ids of all blocks, from a file with one per line; raises FormatError if they do not fit."""
    ids = read_lines(path)
    if len(ids) != n_blocks:
        raise FormatError(
            shown(path), None, count(len(ids), "id"), f"{n_blocks}, one per sentence of {source}"
        )
    seen: dict[str, int] = {}
    for number, name in enumerate(ids, start=1):
        before = seen.setdefault(name, number)
        if not name or before != number:
            found = f"the id {quoted(name)} again (line {before})" if name else "an empty line"
            raise FormatError(shown(path), number, found, "an id of its own for every sentence")
    return ids


def _forests(
    lines: Lines, reader: TreeReader, firsts: Index | None, items: Index
) -> tuple[Forest | None, Forest]:
    """The gold trees on the lines ``firsts`` and the parses on the lines ``items``, with one vocabulary.

    Raises FormatError at the first of these lines whose tree is malformed.
    """
    forests: list[Forest] = []
    faults = []
    for which in (items[:0] if firsts is None else firsts, items):
        try:
            forests.append(reader.read(lines.text, lines.spans[which]))
        except BracketError as error:
            faults.append((int(which[error.tree]), error.found, error.expected))
    if faults:
        raise lines.fault(*min(faults)) from None
    gold, trees = forests
    if firsts is None:
        return None, trees
    return Forest(gold.offsets, gold.symbols, gold.sizes, trees.vocabulary, check=False), trees


def _check_words(
    lines: Lines, trees: Forest, gold: Forest, offsets: Index, places: tuple[Index, Index]
) -> None:
    """Raise FormatError if a gold tree has no word, or the words of a parse differ from those of gold.

    places are the lines of the parses and of the gold trees.
    """
    items, firsts = places
    empty = gold.lengths() == 0
    if empty.any():
        raise lines.fault(
            int(firsts[np.argmax(empty)]), "a gold tree without a word", "the words of a sentence"
        )
    bad = other_words(trees, gold, offsets)
    if bad < 0:
        return
    right = int(np.searchsorted(offsets, bad, side="right")) - 1
    mine, theirs = (
        [forest.vocabulary[symbol] for symbol in forest.take(np.array([k])).words()[1].tolist()]
        for forest, k in ((trees, bad), (gold, right))
    )
    place = next((k for k, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
    if place is None:
        found, expected = count(len(mine), "word"), str(len(theirs))
    else:
        found, expected = f"word {place + 1} {quoted(mine[place])}", quoted(theirs[place])
    where = f"as in the gold tree on line {lines.numbers[firsts[right]]}"
    raise lines.fault(int(items[bad]), found, f"{expected}, {where}")


_MISSING = b"()"
_BLOCK = re.compile(rb"\s*(\([^\n]*\n)?[-+]?[0-9.][-+0-9.eE]*[ \t]+\([^\n]*\)")


@FORMATS.register("parses")
class Parses(Format):
    """Reader and writer of N-best parses.

    The log probability (log base 2) is the one feature, ``logprob``, and ``base_scores``; the first-best
    order is that of the lines. Texts are the trees as they were read, in brackets on one line, so that the
    best of a list prints as a tree. Words of every parse must be those of gold. ``strip`` leaves out traces,
    function tags or both; ``ids`` names a file with an id per block, one per line. Blocks without a parse are
    left out with a note, or refused under ``strict``.
    """

    name: ClassVar[str] = "parses"
    summary: ClassVar[str] = "gold tree, then log2 probability and tree per line (Penn brackets)"
    suffixes: ClassVar[tuple[str, ...]] = (".parses",)
    signs: ClassVar[tuple[bytes, ...]] = (b" (", b"\t(")
    honours: ClassVar[frozenset[str]] = frozenset({"strict", "distinct", "ids", "strip"})

    holds: ClassVar[frozenset[str]] = frozenset({"base_scores", "first_best", "trees", "gold", "texts"})
    ranked_by_line: ClassVar[bool] = True
    score_feature: ClassVar[str] = "logprob"

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _BLOCK.match(head) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        lines = _scanned(path)
        has_gold = _check_blocks(lines)
        lengths = np.diff(lines.starts, append=len(lines.numbers)) - has_gold
        kept = lengths > 0
        ids = None if options.ids is None else _ids(options.ids, len(kept), lines.source)
        if not kept.all():
            first = int(lines.starts[np.argmax(~kept)])
            if options.strict or not kept.any():
                raise lines.fault(
                    first, "a gold tree without a parse", "parses of the sentence, one per line"
                )
            n = count(int(np.count_nonzero(~kept)), "sentence")
            note(f"{lines.source}: {n} without a parse left out (from line {lines.numbers[first]})")
        items, firsts = np.flatnonzero(~lines.is_gold), lines.starts[kept]
        # The gold trees that are left out are read too, so that one that is cut off is reported.
        gold, trees = _forests(lines, TreeReader(options.strip), lines.starts if has_gold else None, items)
        offsets = offsets_of(lengths[kept])
        if gold is not None:
            gold = gold if kept.all() else gold.take(np.flatnonzero(kept))
            _check_words(lines, trees, gold, offsets, (items, firsts))
        _note_missing(lines, items[trees.lengths() == 0])
        scores = lines.values[items]
        return CandidateLists(
            offsets,
            Dense(scores[:, None].copy()),
            base_scores=scores,
            first_best=-np.arange(len(items), dtype=np.float64),
            list_ids=None if ids is None else ids.take(np.flatnonzero(kept)),
            feature_names=["logprob"],
            texts=trees.to_strings(),
            trees=trees,
            gold=gold,
            source=lines.source,
        )

    def _write(self, lists: CandidateLists, path: str) -> None:
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
    strings = bracket_strings(forest, what, "parses", path)
    return [strings.bytes_at(t) or _MISSING for t in range(len(strings))]
