"""Edit rates beside rapidfuzz, jiwer and sacrebleu: candidates per CPU second.

    python scripts/bench/edits.py [--quick] [FOLDER ...]

The best of a few runs in one process, everyone on the same lists: made ones of 10, 25 and 60 words, and each
FOLDER's dev.nbest.gz and dev.ref.gz in Moses' form. The edits of all are compared first. Ours start from
bytes of text: white space, words and their numbers are inside the time. rapidfuzz has its words split
before the clock starts, and its ``cdist`` gets each list at once;
jiwer and sacrebleu have their strings. sacrebleu's TER takes long: it counts every STEP-th list, and so
does the one of ours that stands beside it.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.types import Index
from rerank.metrics.base import parse
from rerank.metrics.selecting import TextStatistics

Edits = list[int]


class Data:
    """Candidates, list after list, with one reference a list."""

    def __init__(self, name: str, texts: list[list[str]], references: list[str]) -> None:
        self.name = name
        self.texts = texts
        self.references = references
        self.offsets = offsets_of([len(of_list) for of_list in texts])
        self.column = StringColumn.from_strings([text for of_list in texts for text in of_list])
        self.reference_column = StringColumn.from_strings(references)
        self.split = [[text.split() for text in of_list] for of_list in texts]
        self.split_references = [text.split() for text in references]

    @classmethod
    def read(cls, folder: Path) -> Data:
        with gzip.open(folder / "dev.nbest.gz", "rt", encoding="utf-8", newline="\n") as lines:
            parts = [line.split(" ||| ") for line in lines]
        with gzip.open(folder / "dev.ref.gz", "rt", encoding="utf-8", newline="\n") as lines:
            references = [line.rstrip("\n") for line in lines]
        lengths = Counter(part[0] for part in parts).values()
        texts = iter(part[1] for part in parts)
        return cls(folder.name, [[next(texts) for _ in range(n)] for n in lengths], references)

    @classmethod
    def draw(cls, n_lists: int, length: int, n_words: int) -> Data:
        """Words by Zipf's law; a candidate keeps most of its reference, and half have a block moved."""
        rng = np.random.default_rng(1)
        shapes = rng.integers(1, 10, size=20_000)
        words = ["".join(map(chr, rng.integers(97, 123, size=size))) for size in shapes]

        def drawn(size: int) -> Index:
            return np.minimum(rng.zipf(1.3, size=size) - 1, len(words) - 1)

        texts, references = [], []
        for _ in range(n_lists):
            reference = drawn(n_words)
            references.append(" ".join(words[w] for w in reference))
            of_list = []
            for _ in range(length):
                changed = np.where(rng.random(n_words) < 0.2, drawn(n_words), reference)
                if rng.random() < 0.5:
                    start, stop = np.sort(rng.integers(0, n_words + 1, size=2))
                    block = changed[start:stop]
                    rest = np.delete(changed, np.s_[start:stop])
                    changed = np.insert(rest, int(rng.integers(len(rest) + 1)), block)
                of_list.append(" ".join(words[w] for w in changed[rng.random(n_words) < 0.95]))
            texts.append(of_list)
        return cls(f"drawn, {n_words} words, {length} a list", texts, references)

    def every(self, step: int) -> Data:
        """Each ``step``-th list."""
        return Data(self.name, self.texts[::step], self.references[::step])


def ours(kind: str) -> Callable[[Data], Edits]:
    statistics = parse(kind)
    assert isinstance(statistics, TextStatistics)

    def run(data: Data) -> Edits:
        found = statistics.count(data.column, (data.reference_column,), data.offsets)
        edits: Edits = found[:, 0].astype(int).tolist()
        return edits

    return run


def by_rapidfuzz(data: Data) -> Edits:
    distance = importlib.import_module("rapidfuzz.distance").Levenshtein.distance
    return [
        distance(reference, words)
        for reference, of_list in zip(data.split_references, data.split, strict=True)
        for words in of_list
    ]


def by_cdist(data: Data) -> Edits:
    distance = importlib.import_module("rapidfuzz.distance").Levenshtein.distance
    cdist = importlib.import_module("rapidfuzz.process").cdist
    edits: Edits = []
    for reference, of_list in zip(data.split_references, data.split, strict=True):
        edits += cdist([reference], of_list, scorer=distance, dtype=np.int32)[0].tolist()
    return edits


def by_rapidfuzz_characters(data: Data) -> Edits:
    distance = importlib.import_module("rapidfuzz.distance").Levenshtein.distance
    return [
        distance(reference.strip(), text.strip())
        for reference, of_list in zip(data.references, data.texts, strict=True)
        for text in of_list
    ]


def by_jiwer(data: Data) -> Edits:
    """The sum alone: jiwer gives no edits of single sentences in one call."""
    references = [r for r, of_list in zip(data.references, data.texts, strict=True) for _ in of_list]
    texts = [text for of_list in data.texts for text in of_list]
    found = importlib.import_module("jiwer").process_words(references, texts)
    return [found.substitutions + found.deletions + found.insertions]


def by_counter(data: Data) -> Edits:
    edits: Edits = []
    for reference, of_list in zip(data.split_references, data.split, strict=True):
        known = Counter(reference)
        for words in of_list:
            edits.append(max(len(words), len(reference)) - (Counter(words) & known).total())
    return edits


def by_sacrebleu(data: Data) -> Edits:
    # What TER's _compute_segment_statistics does for each reference; preprocessing is outside the time.
    edit_rate = importlib.import_module("sacrebleu.metrics.lib_ter").translation_edit_rate
    edits: Edits = []
    for reference, of_list in zip(data.references, data.texts, strict=True):
        known = reference.lower().split()
        edits += [edit_rate(text.lower().split(), known)[0] for text in of_list]
    return edits


PEERS: dict[str, dict[str, Callable[[Data], Edits]]] = {
    "WER": {"rapidfuzz": by_rapidfuzz, "cdist": by_cdist, "jiwer": by_jiwer},
    "CER": {"rapidfuzz": by_rapidfuzz_characters},
    "PER": {"Counter": by_counter},
    "TER": {"sacrebleu": by_sacrebleu},
}


def cpu_seconds(run: Callable[[Data], Any], data: Data, times: int) -> float:
    """The best of ``times`` runs, each repeated until it takes a fifth of a second."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        done = 0
        while True:
            run(data)
            done += 1
            taken = time.process_time() - start
            if taken > 0.2:
                break
        best = min(best, taken / done)
    return best


def compare(kind: str, data: Data, times: int) -> None:
    mine = ours(kind)(data)
    n = len(mine)
    rates = {"rerank": n / cpu_seconds(ours(kind), data, times)}
    for name, peer in PEERS[kind].items():
        found = peer(data)
        if found != mine and found != [sum(mine)]:
            raise SystemExit(f"{data.name}: the edits of {kind} differ from {name}'s")
        rates[name] = n / cpu_seconds(peer, data, times)
    cells = [f"{name} {rate:,.0f}" for name, rate in rates.items()]
    cells += [f"{rates['rerank'] / rate:.1f} x {name}" for name, rate in list(rates.items())[1:]]
    print(f"{kind}  {data.name}, {n:,} candidates: " + "; ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="fewer lists, one run of each")
    parser.add_argument("--step", type=int, default=20, help="TER of every STEP-th list (default 20)")
    args = parser.parse_args()
    times = 1 if args.quick else 3
    sets = [Data.draw(100 if args.quick else 400, 25, n_words) for n_words in (10, 25, 60)]
    sets += [Data.read(folder) for folder in args.folders]
    print("Candidates per CPU second")
    for kind in ("WER", "CER", "PER"):
        for data in sets:
            compare(kind, data, times)
    for data in sets:
        compare("TER", data.every(args.step), 1)


if __name__ == "__main__":
    main()
