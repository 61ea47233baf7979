"""Edit rates compared with rapidfuzz, jiwer and sacrebleu: candidates per CPU second.

    python scripts/bench/edits.py [--quick] [FOLDER ...]

The best of a few runs in one process, all on the same lists: generated ones of 10, 25 and 60 words, and those
of each FOLDER (dev.nbest.gz and dev.ref.gz in Moses' format). CER is also measured on drawn transcripts of 20
to 1,000 letters or Chinese characters, with 5 and 30 % errors, one or 25 a list. The edits are compared
first. rerank starts from bytes of text: splitting and numbering the words is part of its time. rapidfuzz gets
words that were split before the clock starts, and its ``cdist`` gets each list at once; jiwer and sacrebleu
get strings. sacrebleu's TER is slow, so TER is measured on every STEP-th list. A peer that is not installed
is left out.
"""

from __future__ import annotations

import importlib
import itertools
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from common import arguments, cpu_seconds, draw_words, installed, read_moses

from rerank.core.types import Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
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
        of_all, lengths, references = read_moses(folder)
        texts = iter(of_all)
        return cls(folder.name, [[next(texts) for _ in range(n)] for n in lengths], references)

    @classmethod
    def draw(cls, n_lists: int, length: int, n_words: int) -> Data:
        """Words by Zipf's law; a candidate keeps most of its reference, and half have a block moved."""
        rng = np.random.default_rng(1)
        words = draw_words(rng)

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

    @classmethod
    def transcribe(cls, signs: str, size: int, rate: float, length: int, n_characters: int) -> Data:
        """Characters by a power law; of those of a reference a share is left out, replaced or doubled."""
        rng = np.random.default_rng(1)
        alphabet = np.array(list(signs))
        share = 1 / np.arange(1, len(alphabet) + 1) ** 0.7
        share /= share.sum()
        texts, references = [], []
        for _ in range(max(n_characters // size // length, 2)):
            reference = rng.choice(alphabet, size, p=share)
            of_list = []
            for _ in range(length):
                drawn, others = rng.random(size), rng.choice(alphabet, size, p=share)
                changed = np.where(drawn < rate / 3, "", np.where(drawn < 2 * rate / 3, others, reference))
                doubled = np.where((drawn >= 2 * rate / 3) & (drawn < rate), others, "")
                of_list.append("".join(np.char.add(changed, doubled)))
            references.append("".join(reference))
            texts.append(of_list)
        name = "Chinese" if signs[0] > "z" else "letters"
        return cls(f"{size} {name}, {100 * rate:.0f} % errors, {length} a list", texts, references)

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


def by_cpdist_characters(data: Data) -> Edits:
    distance = importlib.import_module("rapidfuzz.distance").Levenshtein.distance
    references = [r.strip() for r, of_list in zip(data.references, data.texts, strict=True) for _ in of_list]
    texts = [text.strip() for of_list in data.texts for text in of_list]
    found = importlib.import_module("rapidfuzz.process").cpdist(
        references, texts, scorer=distance, dtype=np.int32
    )
    edits: Edits = found.tolist()
    return edits


def by_cdist_characters(data: Data) -> Edits:
    distance = importlib.import_module("rapidfuzz.distance").Levenshtein.distance
    cdist = importlib.import_module("rapidfuzz.process").cdist
    edits: Edits = []
    for reference, of_list in zip(data.references, data.texts, strict=True):
        texts = [text.strip() for text in of_list]
        edits += cdist([reference.strip()], texts, scorer=distance, dtype=np.int32)[0].tolist()
    return edits


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
    "CER": {
        "rapidfuzz": by_rapidfuzz_characters,
        "cpdist": by_cpdist_characters,
        "cdist": by_cdist_characters,
    },
    "PER": {"Counter": by_counter},
    "TER": {"sacrebleu": by_sacrebleu},
}


MODULES = {"rapidfuzz": {"rapidfuzz", "cdist", "cpdist"}, "jiwer": {"jiwer"}, "sacrebleu": {"sacrebleu"}}


def compare(kind: str, data: Data, times: int, left_out: set[str]) -> None:
    mine = ours(kind)(data)
    n = len(mine)
    rates = {"rerank": n / cpu_seconds(partial(ours(kind), data), times, least=0.2)}
    for name in [name for name in PEERS[kind] if name not in left_out]:
        peer = PEERS[kind][name]
        found = peer(data)
        if found != mine and found != [sum(mine)]:
            raise SystemExit(f"{data.name}: the edits of {kind} differ from {name}'s")
        rates[name] = n / cpu_seconds(partial(peer, data), times, least=0.2)
    cells = [f"{name} {rate:,.0f}" for name, rate in rates.items()]
    cells += [f"{rates['rerank'] / rate:.1f} x {name}" for name, rate in list(rates.items())[1:]]
    print(f"{kind}  {data.name}, {n:,} candidates: " + "; ".join(cells), flush=True)


def main() -> None:
    parser = arguments(__doc__, "fewer lists, one run of each", folders=True)
    parser.add_argument("--step", type=int, default=20, help="TER of every STEP-th list (default 20)")
    args = parser.parse_args()
    times = 1 if args.quick else 3
    sets = [Data.draw(100 if args.quick else 400, 25, n_words) for n_words in (10, 25, 60)]
    sets += [Data.read(folder) for folder in args.folders]
    left_out = {name for module, names in MODULES.items() if not installed(module) for name in names}
    print("Candidates per CPU second")
    for kind in ("WER", "CER", "PER"):
        for data in sets:
            compare(kind, data, times, left_out)
    chinese = "".join(chr(0x4E00 + 7 * i) for i in range(2_500))
    for signs in ("etaoinsrhldcumfpgwybvkxjqz.,ETAOIN", chinese):
        for size, rate, length in itertools.product((20, 60, 150, 400, 1_000), (0.05, 0.3), (1, 25)):
            n_characters = 50_000 if args.quick else 400_000
            compare("CER", Data.transcribe(signs, size, rate, length, n_characters), times, left_out)
    for data in sets:
        compare("TER", data.every(args.step), 1, left_out)


if __name__ == "__main__":
    main()
