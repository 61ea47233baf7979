#!/usr/bin/env python3
"""Make the spelling task: misspellings as lists of candidate corrections, in LETOR text.

Queries are the misspellings of codespell's dictionary; candidates are the words of symspellpy's
English frequency list nearest by edit distance (optimal string alignment). A list is in the
order of the first stage: distance up, frequency down, word up. Label 1 is a right correction.

    python scripts/make_spelling.py --lists 2000 --out DIR

writes DIR/train.letor, dev.letor, test.letor and features.txt. Needs `pip install 'rerank[demo]'`.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from spelling.sets import PARTS, Entry, WordList, part_sizes, split_entries, write_sets

NEEDED = {"codespell_lib": "codespell", "symspellpy": "symspellpy", "rapidfuzz": "rapidfuzz"}
FREQUENCY_FILE = "frequency_dictionary_en_82_765.txt"
BATCH = 64  # queries whose distances to every word are held at once: 5 MB


class TaskError(Exception):
    """A mistake that is reported to the user in one line."""


def read_counts() -> dict[str, int]:
    """Word -> count in text, of symspellpy's frequency list; words of a to z only, commonest first."""
    text = (files("symspellpy") / FREQUENCY_FILE).read_text(encoding="utf-8-sig")
    counts = {}
    for line in text.splitlines():
        word, count = line.split()
        if is_plain(word):
            counts[word] = int(count)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def is_plain(word: str) -> bool:
    """Whether a word is made of the letters a to z and nothing else."""
    return word.isascii() and word.isalpha() and word.islower()


def read_dictionary() -> Iterator[tuple[str, list[str]]]:
    """Misspelling and corrections of each line of codespell's main dictionary, in lower case.

    A line is ``wrong->right`` or ``wrong->right, right,``; what follows the last comma is a remark.
    """
    text = (files("codespell_lib") / "data" / "dictionary.txt").read_text(encoding="utf-8")
    for line in text.lower().splitlines():
        query, _, right = line.strip().partition("->")
        if "," in right:
            right = right.rpartition(",")[0]
        yield query, [word.strip() for word in right.split(",")]


def choose_entries(counts: dict[str, int]) -> tuple[list[Entry], Counter[str]]:
    """The dictionary's usable entries, and why the others are left out (reason -> how many)."""
    entries: dict[str, Entry] = {}
    skipped: Counter[str] = Counter()
    for query, right in read_dictionary():
        corrections = tuple(word for word in right if is_plain(word))
        if not is_plain(query):
            skipped["misspelling not of the letters a to z"] += 1
        elif query in counts:
            skipped["misspelling is itself a word of the list"] += 1
        elif query in entries:
            skipped["misspelling listed before"] += 1
        elif not corrections:
            skipped["correction of several words, or not of the letters a to z"] += 1
        elif not any(word in counts for word in corrections):
            skipped["correction not in the word list"] += 1
        else:
            entries[query] = Entry(query, corrections)
    return list(entries.values()), skipped


def nearest_words(queries: Sequence[str], counts: dict[str, int], n: int) -> Iterator[tuple[str, ...]]:
    """For each query its ``n`` nearest words in the order of the first stage."""
    import numpy as np
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import cdist

    words = list(counts)  # commonest first, so equal distances are in order already
    for start in range(0, len(queries), BATCH):
        batch = queries[start : start + BATCH]
        for distances in cdist(batch, words, scorer=OSA.distance, dtype=np.uint8):
            chosen: list[int] = []
            limit = 0
            while len(chosen) < n:
                chosen.extend(np.flatnonzero(distances == limit)[: n - len(chosen)].tolist())
                limit += 1
            yield tuple(words[i] for i in chosen)


def make_lists(n_lists: int, n_candidates: int, seed: int, out: Path) -> None:
    """Make the sets in folder ``out`` and print what went into them."""
    counts = read_counts()
    if n_candidates > len(counts):
        raise TaskError(f"--candidates {n_candidates}: the word list has {len(counts)} words")
    entries, skipped = choose_entries(counts)
    pools, torn = split_entries(entries, seed)
    skipped["corrections in two parts of the split"] = len(torn)
    chosen = {}
    for part, size in part_sizes(n_lists).items():
        if size > len(pools[part]):
            raise TaskError(
                f"--lists {n_lists}: {part} would need {size}, with seed {seed} it has {len(pools[part])}"
            )
        chosen[part] = pools[part][:size]
    queries = [entry.query for part in PARTS for entry in chosen[part]]
    found = nearest_words(queries, counts, n_candidates)
    parts = {part: [WordList(entry, next(found)) for entry in chosen[part]] for part in PARTS}
    write_sets(out, parts, counts)
    report(len(entries) - len(torn), skipped, parts, out)


def report(n_usable: int, skipped: Counter[str], parts: dict[str, list[WordList]], out: Path) -> None:
    """Print what was left out and what was written."""
    print(f"dictionary entries: {n_usable + skipped.total()}, usable: {n_usable}, left out:")
    for reason, count in skipped.most_common():
        print(f"  {count:6d}  {reason}")
    for part in PARTS:
        lists = parts[part]
        lines = sum(len(one.candidates) for one in lists)
        letters = "".join(sorted({word[0] for one in lists for word in one.entry.corrections}))
        without = sum(not one.answered for one in lists)
        print(
            f"{out / part}.letor: {len(lists)} lists, {lines} candidates, corrections in {letters}, "
            f"right answer not among the candidates: {without}"
        )


def at_least(least: int) -> Callable[[str], int]:
    """An argparse type: a whole number not below ``least``."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number >= {least}")
        return number

    return parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 0 done, 2 wrong usage or the extra is missing."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog="needs codespell, symspellpy and rapidfuzz: pip install 'rerank[demo]'",
    )
    parser.add_argument("--lists", type=at_least(5), default=2000, help="lists in all (default: 2000)")
    parser.add_argument("--candidates", type=at_least(2), default=30, help="candidates a list (default: 30)")
    parser.add_argument(
        "--seed", type=at_least(0), default=1, help="seed of the split and choice (default: 1)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the files")
    options = parser.parse_args(arguments)
    missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
    try:
        if missing:
            raise TaskError(f"not installed: {', '.join(missing)}; pip install 'rerank[demo]'")
        make_lists(options.lists, options.candidates, options.seed, options.out)
    except (TaskError, OSError) as error:
        print(f"make_spelling.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
