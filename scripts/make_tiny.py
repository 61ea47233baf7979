#!/usr/bin/env python3
"""Make the tiny spelling set of data/spelling-tiny: the form of make_spelling.py's sets, words of our own.

The words and their order are written down here, their counts follow from the order, and the
misspellings are seeded slips of fingers and ears. Needs the standard library only.

    python scripts/make_tiny.py [--out DIR]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from spelling.edits import find_edits, key_distance
from spelling.sets import PARTS, Entry, WordList, split_entries, write_sets

SEED = 1
SIZES = {"train": 40, "dev": 12, "test": 12}
CANDIDATES = 6
SLIPS_A_WORD = 3  # misspellings made of each word, equal ones counted once
SECOND_SLIP = 0.6  # the share of misspellings with two slips
TOP_COUNT = 2_000_000_000  # made up; the n-th word is seen TOP_COUNT / n times

# Most common first, as a guess. Similar words are in it on purpose.
WORDS = tuple(
    """
there their these three where were here hear her then than thin think thing this with which while
white write right night light might sight fight eight weight height what when went want wait were
would could should cloud loud found sound round ground house horse hours our ours four fourth forth
from form farm firm first fist fast last least lease please place plane plan plant pant paint point
great greet green grain train rain ran run sun son song long lone line like lake take talk walk work
word world would wood good food foot root room roof proof prove move more most must much such touch
tough rough though thought through throw threw three tree free friend field find fine fire hire here
back black block lock look book took tool cool cook coat boat beat bear bean been being begin began
very every even event seven never ever river over order older other mother matter better letter later
latter water winter winner dinner diner summer simmer hammer number member remember really reality
quite quiet quick phone photo knife know now new knew known own down town brown crown crowd necessary
address across success receive believe separate beautiful different people purple simple sample
""".split()  # noqa: SIM905 - two hundred quoted words are no better to read
)

SOUND_ALIKE = (
    ("ie", "ei"), ("ei", "ie"), ("ph", "f"), ("ght", "t"), ("ck", "k"), ("ea", "ee"), ("ce", "se"),
    ("gu", "g"), ("kn", "n"), ("ou", "u"), ("ary", "ery"), ("ate", "ete"), ("er", "ar"), ("y", "ie"),
)  # fmt: skip


class Slips:
    """Makes misspellings. Draws by ``random()`` alone, whose values no Python version changes."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed).random

    def _below(self, n: int) -> int:
        return int(self._draw() * n)

    def _lose(self, word: str) -> str:
        at = self._below(len(word))
        return word[:at] + word[at + 1 :]

    def _double(self, word: str) -> str:
        at = self._below(len(word))
        return word[:at] + word[at] + word[at:]

    def _transpose(self, word: str) -> str:
        at = self._below(len(word) - 1)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    def _neighbour(self, letter: str) -> str:
        near = [key for key in "abcdefghijklmnopqrstuvwxyz" if 0 < key_distance(letter, key) < 0.4]
        return near[self._below(len(near))]

    def _wrong_key(self, word: str) -> str:
        at = self._below(len(word))
        return word[:at] + self._neighbour(word[at]) + word[at + 1 :]

    def _extra_key(self, word: str) -> str:
        at = self._below(len(word))
        return word[: at + 1] + self._neighbour(word[at]) + word[at + 1 :]

    def _by_ear(self, word: str) -> str:
        fitting = [(right, wrong) for right, wrong in SOUND_ALIKE if right in word]
        if not fitting:
            return self._swap_vowel(word)
        right, wrong = fitting[self._below(len(fitting))]
        return word.replace(right, wrong, 1)

    def _swap_vowel(self, word: str) -> str:
        places = [at for at, letter in enumerate(word) if letter in "aeiou"]
        if not places:
            return self._lose(word)
        at = places[self._below(len(places))]
        others = "aeiou".replace(word[at], "")
        return word[:at] + others[self._below(len(others))] + word[at + 1 :]

    def misspell(self, word: str) -> str:
        """One or two slips; what comes out may be a word again."""
        kinds: tuple[Callable[[str], str], ...] = (
            self._lose, self._double, self._transpose, self._wrong_key, self._extra_key,
            self._by_ear, self._by_ear, self._swap_vowel,
        )  # fmt: skip
        for _ in range(1 + (self._draw() < SECOND_SLIP)):
            word = kinds[self._below(len(kinds))](word)
        return word


def word_counts() -> dict[str, int]:
    """The words with their invented counts."""
    words = dict.fromkeys(WORDS)
    return {word: TOP_COUNT // rank for rank, word in enumerate(words, start=1)}


def make_entries(words: Sequence[str], seed: int) -> list[Entry]:
    """Misspellings that are no words; one that comes of two words has both as right corrections."""
    slips = Slips(seed)
    corrections: dict[str, list[str]] = {}
    for word in words:
        for query in {slips.misspell(word): None for _ in range(SLIPS_A_WORD)}:
            if query not in words:
                corrections.setdefault(query, []).append(word)
    return [Entry(query, tuple(right)) for query, right in corrections.items()]


def nearest_words(query: str, counts: dict[str, int], n: int) -> tuple[str, ...]:
    """The ``n`` nearest words in the order of the first stage: distance, count down, word."""
    return tuple(sorted(counts, key=lambda word: (find_edits(query, word).distance, -counts[word], word))[:n])


def make_tiny(out: Path) -> None:
    """Write the tiny set into folder ``out``."""
    counts = word_counts()
    pools, _ = split_entries(make_entries(list(counts), SEED), SEED)
    parts = {
        part: [
            WordList(entry, nearest_words(entry.query, counts, CANDIDATES))
            for entry in pools[part][: SIZES[part]]
        ]
        for part in PARTS
    }
    write_sets(out, parts, counts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    home = Path(__file__).resolve().parent.parent / "data" / "spelling-tiny"
    parser.add_argument("--out", type=Path, default=home, metavar="DIR", help="folder for the files")
    try:
        make_tiny(parser.parse_args(arguments).out)
    except OSError as error:
        print(f"make_tiny.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
