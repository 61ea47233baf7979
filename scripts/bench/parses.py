#!/usr/bin/env python3
"""Reading N-best parses and counting PARSEVAL, compared with plain Python.

    python scripts/bench/parses.py [--sentences 1000]

Megabytes read and parses counted per CPU second, best of three, on lists of 50 random trees over sentences of
about 25 words. The peer splits brackets by a regular expression and compares brackets as Counters (on a
twentieth of the file).
"""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from common import arguments, cpu_seconds

import rerank
from rerank.extensions.parsing.parseval import counts_of

N_BEST = 50
LABELS = ("NP", "VP", "PP", "S", "SBAR", "ADVP", "ADJP")
TOKEN = re.compile(r"[()]|[^()\s]+")


def random_tree(rng: np.random.Generator, tagged: list[str]) -> str:
    """A binary tree over words with their tags."""
    parts = list(tagged)
    while len(parts) > 1:
        k = int(rng.integers(len(parts) - 1))
        parts[k : k + 2] = [f"({LABELS[int(rng.integers(len(LABELS)))]} {parts[k]} {parts[k + 1]})"]
    return f"(S1 {parts[0]})"


def write_lists(path: Path, n_sentences: int) -> None:
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as out:
        for _ in range(n_sentences):
            words = rng.zipf(1.3, int(rng.integers(10, 40))) % 20_000
            tagged = [f"(T{word % 40} word{word})" for word in words.tolist()]
            out.write(random_tree(rng, tagged) + "\n")
            for k in range(N_BEST):
                out.write(f"{-100 - k}.5\t{random_tree(rng, tagged)}\n")
            out.write("\n")


def brackets(text: str) -> Counter[tuple[str, int, int]]:
    """Labels and spans of the brackets that cover more than a word."""
    found: Counter[tuple[str, int, int]] = Counter()
    stack: list[tuple[str, int, bool]] = []
    place, last = 0, ""
    for token in TOKEN.findall(text):
        if token == ")":
            label, start, is_tag = stack.pop()
            if not is_tag:
                found[label, start, place] += 1
        elif last == "(":
            stack.append((token, place, False))
        elif token != "(":
            stack[-1] = (*stack[-1][:2], True)
            place += 1
        last = token
    return found


def plain(path: Path, limit: int) -> int:
    """Bytes of the lines that plain Python counts, ``limit`` parses of the file."""
    done = 0
    gold: Counter[tuple[str, int, int]] = Counter()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            done += len(line)
            if line.startswith("("):
                gold = brackets(line)
            elif line != "\n":
                (brackets(line.partition("\t")[2]) & gold).total()
                limit -= 1
            if limit == 0:
                break
    return done


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sentences", type=int, default=1000)
    n_sentences = parser.parse_args().sentences
    reading, counting = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.parses"
        write_lists(path, n_sentences)
        size = path.stat().st_size
        for _ in range(3):
            started = time.process_time()
            lists = rerank.load(path)
            read = time.process_time()
            counts_of(lists)
            reading.append(read - started)
            counting.append(time.process_time() - read)
        limit = n_sentences * N_BEST // 20
        peer = plain(path, limit) / cpu_seconds(lambda: plain(path, limit))
    both = size / (min(reading) + min(counting))
    print(f"N-best parses, {size / 1e6:.0f} MB, {lists.n_items:,} parses, CPU")
    print(f"reading                    {size / min(reading) / 1e6:10.1f} MB/s")
    print(f"PARSEVAL                   {min(counting) / lists.n_items * 1e6:10.2f} microseconds a parse")
    print(f"both                       {both / 1e6:10.1f} MB/s")
    print(f"plain Python, both         {peer / 1e6:10.1f} MB/s   ratio {both / peer:.1f}")


if __name__ == "__main__":
    main()
