"""Head children of constituents, by a table of rules: the default one or one from a file.

The default is Collins' table for the Penn Treebank (Head-Driven Statistical Models for Natural Language
Parsing, 1999, appendix A), in ``collins.heads`` in this folder, which also describes the notation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.types import AnyArray, Bytes, Ints

LEFT, RIGHT = "left", "right"
OTHER = "*"
DEFAULT_TABLE = "collins.heads"
_BARE = re.compile("-.*|.[^-=]*", re.DOTALL)
NO_RANK = (1 << 31) - 1  # of labels that a sweep does not look for


@dataclass(frozen=True)
class Sweep:
    """One look at the children, from ``side``, for labels with ``ranks``; the smallest rank wins."""

    side: str
    ranks: dict[str, int]

    def find(self, children: Sequence[str]) -> int | None:
        """The child with the smallest rank, on ties the first from ``side``; None if no label is found."""
        found = [i for i, child in enumerate(children) if child in self.ranks]
        if not found:
            return None
        outward = -1 if self.side == RIGHT else 1
        return min(found, key=lambda i: (self.ranks[children[i]], outward * i))

    def __str__(self) -> str:
        """Return the sweep as a table spells it."""
        by_rank: dict[int, list[str]] = {}
        for label, rank in self.ranks.items():
            by_rank.setdefault(rank, []).append(label)
        groups = (by_rank[rank] for rank in sorted(by_rank))
        return " ".join([self.side, *(g[0] if len(g) == 1 else f"{{{' '.join(g)}}}" for g in groups)])


@dataclass(frozen=True)
class HeadTable:
    """Sweeps by parent label, those of all other parents under ``*``, and the labels of coordinators."""

    sweeps: dict[str, tuple[Sweep, ...]]
    coordination: frozenset[str] = frozenset()

    def head(self, parent: str, children: Sequence[str]) -> int:
        """Return the place of the head among ``children`` (labels, at least one).

        Labels count without their functions (``NP-SBJ`` is ``NP``). If a coordinator directly precedes
        the head that the sweeps find, the child before the coordinator is the head.
        """
        bare = [bare_label(child) for child in children]
        sweeps = self.sweeps.get(bare_label(parent), self.sweeps[OTHER])
        found = next((i for i in (sweep.find(bare) for sweep in sweeps) if i is not None), None)
        if found is None:
            found = 0 if sweeps[-1].side == LEFT else len(bare) - 1
        if found >= 2 and bare[found - 1] in self.coordination:
            return found - 2
        return found

    def lines(self) -> list[str]:
        """Return the lines that ``parse_heads`` reads as this table."""
        coordination = [f"@coordination {' '.join(sorted(self.coordination))}"] if self.coordination else []
        return coordination + [
            f"{parent} {' ; '.join(str(sweep) for sweep in sweeps)}" for parent, sweeps in self.sweeps.items()
        ]

    def compiled(self, labels: Iterable[str]) -> CompiledHeads:
        """Return the table as arrays for the kernel, with the numbers of ``labels`` in it."""
        known = sorted({label for sweeps in self.sweeps.values() for s in sweeps for label in s.ranks})
        number = {label: i for i, label in enumerate(known, 1)}
        number.update({c: len(number) + 1 + i for i, c in enumerate(sorted(self.coordination - set(known)))})
        parents = [OTHER, *sorted(self.sweeps.keys() - {OTHER})]
        row = {parent: i for i, parent in enumerate(parents)}
        sweeps = [sweep for parent in parents for sweep in self.sweeps[parent]]
        ranks = np.full((len(sweeps), len(number) + 1), NO_RANK, dtype=np.int32)
        for i, sweep in enumerate(sweeps):
            for label, rank in sweep.ranks.items():
                ranks[i, number[label]] = rank
        bare = [bare_label(label) for label in labels]
        coordinates = np.zeros(len(number) + 1, dtype=np.uint8)
        coordinates[[number[label] for label in self.coordination]] = 1
        first = np.zeros(len(parents) + 1, dtype=np.int32)
        np.cumsum([len(self.sweeps[parent]) for parent in parents], out=first[1:])
        return CompiledHeads(
            np.array([number.get(label, 0) for label in bare], dtype=np.int32),
            np.array([row.get(label, 0) for label in bare], dtype=np.int32),
            first,
            np.array([sweep.side == RIGHT for sweep in sweeps], dtype=np.uint8),
            ranks,
            coordinates,
        )


@dataclass(frozen=True)
class CompiledHeads:
    """A head table as arrays.

    ``numbers`` int32 (n_labels): the column of a label in ``ranks``, 0 if no sweep looks for it.
    ``parents`` int32 (n_labels): the row of ``first`` for a label as parent, 0 = every other parent.
    ``first`` int32 (n_parents + 1): sweeps of a parent are first[p]:first[p + 1].
    ``from_right`` uint8 (n_sweeps); ``ranks`` int32 (n_sweeps, n_columns), NO_RANK if not looked for.
    ``coordinates`` uint8 (n_columns): whether it is a coordinator.
    """

    numbers: Ints
    parents: Ints
    first: Ints
    from_right: Bytes
    ranks: Ints
    coordinates: Bytes

    def arrays(self) -> tuple[AnyArray, ...]:
        """Return the six arrays, in this order."""
        return self.numbers, self.parents, self.first, self.from_right, self.ranks, self.coordinates


def bare_label(label: str) -> str:
    """Return a label without its functions, as in trees read with ``strip``: NP-SBJ=1 is NP, -LRB- stays."""
    match = _BARE.match(label)
    return match[0] if match else label


@cache
def default_heads() -> HeadTable:
    """Return Collins' table."""
    text = resources.files(__package__).joinpath(DEFAULT_TABLE).read_text(encoding="utf-8")
    return parse_heads(text, DEFAULT_TABLE)


def read_heads(path: str) -> HeadTable:
    """Return the head table in a file.

    Raises FormatError with the line, RerankError if the file cannot be opened.
    """
    data = bytes(read_bytes(path))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(shown(path), line, "bytes that are not UTF-8", "text") from None
    return parse_heads(text, shown(path))


def parse_heads(text: str, source: str) -> HeadTable:
    """Return the table that ``text`` spells.

    Its lines are ``PARENT SIDE LABEL ... ; SIDE LABEL ...``, and ``@coordination LABEL ...``. ``#`` at the
    beginning of a line is a comment. Raises FormatError.
    """
    sweeps: dict[str, tuple[Sweep, ...]] = {}
    coordination: frozenset[str] = frozenset()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.replace("{", " { ").replace("}", " } ").split()
        if not words or words[0].startswith("#"):
            continue
        place = _Place(source, number)
        if words[0] == "@coordination":
            coordination |= frozenset(words[1:])
        elif words[0].startswith("@"):
            raise place.fault(repr(words[0]), "@coordination, or a parent")
        elif words[0] in sweeps:
            raise place.fault(f"{words[0]} again", "one line for each parent")
        else:
            sweeps[words[0]] = tuple(_sweeps(words[1:], place))
    if OTHER not in sweeps:
        raise FormatError(source, None, "no line for *", "one, for every parent without a line of its own")
    return HeadTable(sweeps, coordination)


@dataclass(frozen=True)
class _Place:
    source: str
    line: int

    def fault(self, found: str, expected: str) -> FormatError:
        return FormatError(self.source, self.line, found, expected)


def _sweeps(words: Sequence[str], place: _Place) -> Iterable[Sweep]:
    """The sweeps of one line, from the words after the parent."""
    start = 0
    while start <= len(words):
        end = words.index(";", start) if ";" in words[start:] else len(words)
        side = words[start] if start < end else "nothing"
        if side not in (LEFT, RIGHT):
            raise place.fault(repr(side) if start < end else side, "left or right, then labels")
        yield Sweep(side, _ranks(words[start + 1 : end], place))
        start = end + 1


def _ranks(words: Sequence[str], place: _Place) -> dict[str, int]:
    """Ranks of labels in the order written, equal within braces."""
    ranks: dict[str, int] = {}
    rank, inside = 0, False
    for word in words:
        if word in "{}":
            if (word == "{") == inside:
                raise place.fault(f"{word!r} out of place", "braces in pairs, not nested")
            inside = not inside
        elif word in ranks:
            raise place.fault(f"{word} twice in one sweep", "each label once")
        else:
            ranks[word] = rank
        rank += not inside
    if inside:
        raise place.fault("'{' without '}'", "braces in pairs, not nested")
    return ranks
