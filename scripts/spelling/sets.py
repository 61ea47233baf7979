"""Sets of lists: split into parts that share no word family, and written as LETOR text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spelling.features import FEATURES, feature_values

PARTS = ("train", "dev", "test")
SHARES = (0.6, 0.2, 0.2)


@dataclass(frozen=True, slots=True)
class Entry:
    """A misspelling and every correction that is right for it."""

    query: str
    corrections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordList:
    """A misspelling and its candidates in the order of the first stage."""

    entry: Entry
    candidates: tuple[str, ...]

    @property
    def answered(self) -> bool:
        """Whether a right correction is among the candidates."""
        return any(word in self.entry.corrections for word in self.candidates)


def seeded_order(items: Iterable[str], seed: int) -> list[str]:
    """The items in an order that depends on the seed and on nothing else.

    By hash: adding or removing an item leaves the order of the others unchanged.
    """
    return sorted(items, key=lambda item: hashlib.blake2b(f"{seed} {item}".encode()).digest())


def split_letters(entries: Sequence[Entry], seed: int) -> dict[str, str]:
    """The part (train, dev, test) of every first letter of a correction.

    Whole letters go to a part, so a correction and its inflections (take, taken, took; die, dying)
    are never in two parts; a seeded order of the letters, each to the part that lacks most.
    """
    sizes: dict[str, int] = {}
    for entry in entries:
        for letter in {word[0] for word in entry.corrections}:
            sizes[letter] = sizes.get(letter, 0) + 1
    total = sum(sizes.values())
    lacking = {part: share * total for part, share in zip(PARTS, SHARES, strict=True)}
    part_of = {}
    for letter in seeded_order(sizes, seed):
        part = max(PARTS, key=lacking.__getitem__)
        part_of[letter] = part
        lacking[part] -= sizes[letter]
    return part_of


def split_entries(entries: Sequence[Entry], seed: int) -> tuple[dict[str, list[Entry]], list[Entry]]:
    """Entries by part, each part in a seeded order, and those whose corrections lie in two parts."""
    part_of = split_letters(entries, seed)
    by_query = {entry.query: entry for entry in entries}
    parts: dict[str, list[Entry]] = {part: [] for part in PARTS}
    torn = []
    for query in seeded_order(by_query, seed):
        entry = by_query[query]
        homes = {part_of[word[0]] for word in entry.corrections}
        if len(homes) == 1:
            parts[homes.pop()].append(entry)
        else:
            torn.append(entry)
    return parts, torn


def part_sizes(n_lists: int) -> dict[str, int]:
    """How many of ``n_lists`` lists each part gets; they add up."""
    dev, test = (round(n_lists * share) for share in SHARES[1:])
    return dict(zip(PARTS, (n_lists - dev - test, dev, test), strict=True))


def _number(value: float) -> str:
    """Four decimals, without trailing zeros."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def letor_lines(lists: Iterable[WordList], counts: dict[str, int], first_id: int) -> Iterator[str]:
    """Lines ``label qid:ID 1:v 2:v … # query -> candidate``; ids count up from ``first_id``."""
    for qid, one in enumerate(lists, start=first_id):
        query = one.entry.query
        for word in one.candidates:
            label = int(word in one.entry.corrections)
            values = feature_values(query, word, counts[word])
            columns = " ".join(f"{i}:{_number(value)}" for i, value in enumerate(values, start=1))
            yield f"{label} qid:{qid} {columns} # {query} -> {word}\n"


def write_atomically(path: Path, lines: Iterable[str]) -> None:
    """Write ``path`` whole or not at all: under another name first, then renamed."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("w", encoding="ascii", newline="\n") as out:
            out.writelines(lines)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_sets(out: Path, parts: dict[str, list[WordList]], counts: dict[str, int]) -> None:
    """Write train, dev and test (.letor) and features.txt, one name a line, into folder ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    first_id = 1
    for part in PARTS:
        write_atomically(out / f"{part}.letor", letor_lines(parts[part], counts, first_id))
        first_id += len(parts[part])
    write_atomically(out / "features.txt", (f"{name}\n" for name in FEATURES))
