"""BLEU statistics of candidates, compared with sacrebleu and a Python Counter.

    python scripts/bench/bleu.py [--quick] [FOLDER ...]

Hypotheses per CPU second, the best of a few runs in one process, all on the same lists: generated ones, and
those of each FOLDER (dev.nbest.gz and dev.ref.gz in Moses' format). Texts are converted to what each program
takes (bytes for rerank, str for the others) before the clock starts. The statistics are compared first.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import arguments, cpu_seconds, draw_words, need, read_moses

from rerank.core.types import Counts, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.metrics.bleu import bleu_statistics

Rows = list[list[float]]


class Data:
    """Candidates, list after list, with one reference a list."""

    def __init__(self, name: str, texts: list[str], lengths: list[int], references: list[str]) -> None:
        self.name = name
        self.texts = texts
        self.references = references
        self.offsets = offsets_of(lengths)
        self.column = StringColumn.from_strings(texts)
        self.reference_column = StringColumn.from_strings(references)

    @classmethod
    def read(cls, folder: Path) -> Data:
        return cls(folder.name, *read_moses(folder))

    @classmethod
    def draw(cls, n_lists: int, length: int, n_tokens: int) -> Data:
        """Words by Zipf's law; candidates keep about three words in four of their reference."""
        rng = np.random.default_rng(1)
        words = draw_words(rng)

        def drawn(size: int) -> Index:
            return rng.zipf(1.3, size=size) % len(words)  # the long tail falls on all words

        texts, references = [], []
        for _ in range(n_lists):
            reference = drawn(int(rng.integers(n_tokens // 2, 2 * n_tokens)))
            references.append(" ".join(words[w] for w in reference))
            for _ in range(length):
                changed = np.where(rng.random(len(reference)) < 0.25, drawn(len(reference)), reference)
                texts.append(" ".join(words[w] for w in changed[rng.random(len(reference)) < 0.95]))
        return cls(f"drawn, {n_tokens} words, {length} a list", texts, [length] * n_lists, references)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """(candidate, its reference)."""
        for i, reference in enumerate(self.references):
            for text in self.texts[self.offsets[i] : self.offsets[i + 1]]:
                yield text, reference


def ours(data: Data) -> Counts:
    return bleu_statistics(data.column, (data.reference_column,), data.offsets)


def by_sacrebleu(data: Data) -> Rows:
    """[tokens, tokens of the reference, 4 matches, 4 totals]; the references' n-grams are kept by list."""
    metric = importlib.import_module("sacrebleu.metrics").BLEU(tokenize="none", force=True)
    rows: Rows = []
    for i, reference in enumerate(data.references):
        (cached,) = metric._cache_references([[reference]])
        for text in data.texts[data.offsets[i] : data.offsets[i + 1]]:
            rows.append(metric._compute_segment_statistics(metric._preprocess_segment(text), cached))
    return rows


def ngrams(text: str) -> tuple[Counter[tuple[str, ...]], int]:
    tokens = text.split()
    spans = ((i, n) for n in (1, 2, 3, 4) for i in range(len(tokens) - n + 1))
    return Counter(tuple(tokens[i : i + n]) for i, n in spans), len(tokens)


def by_counter(data: Data) -> Rows:
    rows: Rows = []
    for i, reference in enumerate(data.references):
        known, length = ngrams(reference)
        for text in data.texts[data.offsets[i] : data.offsets[i + 1]]:
            found, n_tokens = ngrams(text)
            matches = [0.0] * 4
            for gram, times in found.items():
                matches[len(gram) - 1] += min(times, known.get(gram, 0))
            totals = [float(max(n_tokens - n, 0)) for n in range(4)]
            rows.append([n_tokens, length, *matches, *totals])
    return rows


def compare(data: Data, times: int) -> None:
    mine = ours(data)[:, [8, 9, 0, 1, 2, 3, 4, 5, 6, 7]].tolist()
    if mine != by_sacrebleu(data) or mine != by_counter(data):
        raise SystemExit(f"{data.name}: the statistics differ")
    n = len(data.texts)
    again = max(1, 200_000 // n)  # of ours: one run is too short to be timed
    seconds = {
        "rerank": cpu_seconds(lambda: [ours(data) for _ in range(again)], 3 * times) / again,
        "sacrebleu": cpu_seconds(lambda: by_sacrebleu(data), times),
        "Counter": cpu_seconds(lambda: by_counter(data), times),
    }
    rates = {name: n / taken for name, taken in seconds.items()}
    cells = [f"{name} {rate:,.0f} ({rate / rates['sacrebleu']:.1f})" for name, rate in rates.items()]
    words = sum(mine_row[0] for mine_row in mine) / n
    print(f"{data.name}: {n:,} hypotheses of {words:.1f} words; " + "; ".join(cells))


def main() -> None:
    args = arguments(__doc__, "fewer lists, one run of the slow ones", folders=True).parse_args()
    need("sacrebleu")
    times = 1 if args.quick else 3
    print("BLEU statistics, hypotheses per CPU second (times sacrebleu)")
    for folder in args.folders:
        compare(Data.read(folder), times)
    scale = 1 if args.quick else 4
    for n_tokens, length in ((13, 20), (25, 16), (25, 100)):
        compare(Data.draw(scale * 8_000 // length, length, n_tokens), times)


if __name__ == "__main__":
    main()
