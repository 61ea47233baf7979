"""chrF of candidates, compared with sacrebleu and, on BLEU's statistics, with Moses' extractor.

    python scripts/bench/chrf.py [--quick] [--moses PATH/TO/extractor] [FOLDER ...]

Hypotheses per CPU second, the best of a few runs, on generated lists and on those of each FOLDER
(dev.nbest.gz and dev.ref.gz in Moses' format). First texts in memory: rerank's statistics and sacrebleu's own
(every STEP-th list; the references' n-grams are counted once per list); they must be equal, and corpus chrF
to the bit. Then from files, if Moses' extractor is given: rerank's reading and chrF's statistics, without
Python's start; and the extractor's user and system time with BLEU's statistics. Its own chrF is no peer: it
adds a character to the address of a text (CHRFScorer.cpp), so that what it counts is undefined.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import tempfile
from pathlib import Path

from bleu import Data
from common import arguments, cpu_seconds, need

import rerank
from rerank.metrics.base import parse
from rerank.metrics.chrf import Chrf, chrf

Rows = list[list[int]]
ORDERS = {"chrF": 0, "chrF++": 2}  # of words


def by_sacrebleu(data: Data, name: str, step: int) -> Rows:
    metric = importlib.import_module("sacrebleu.metrics").CHRF(word_order=ORDERS[name])
    rows: Rows = []
    for i in range(0, len(data.references), step):
        (cached,) = metric._cache_references([[data.references[i]]])
        for text in data.texts[data.offsets[i] : data.offsets[i + 1]]:
            rows.append(metric._compute_segment_statistics(metric._preprocess_segment(text), cached))
    return rows


def some(data: Data, step: int) -> Data:
    """Each ``step``-th list."""
    chosen = range(0, len(data.references), step)
    texts = [data.texts[j] for i in chosen for j in range(data.offsets[i], data.offsets[i + 1])]
    lengths = [int(data.offsets[i + 1] - data.offsets[i]) for i in chosen]
    return Data(data.name, texts, lengths, [data.references[i] for i in chosen])


def in_memory(data: Data, name: str, step: int, times: int) -> None:
    metric = parse(name)
    assert isinstance(metric, Chrf)

    def ours(of: Data) -> Rows:
        rows: Rows = metric.count(of.column, (of.reference_column,), of.offsets).astype(int).tolist()
        return rows

    part = some(data, step)
    theirs = by_sacrebleu(data, name, step)
    if ours(part) != theirs:
        raise SystemExit(f"{data.name}: the statistics of {name} differ from sacrebleu's")
    peer = importlib.import_module("sacrebleu.metrics").CHRF(word_order=ORDERS[name])
    first = [part.texts[j] for j in part.offsets[:-1]]
    count = metric.count(part.column, (part.reference_column,), part.offsets)
    value = chrf(count[part.offsets[:-1]].sum(axis=0), metric.beta)
    if value != peer.corpus_score(first, [part.references]).score:
        raise SystemExit(f"{data.name}: {name} differs from sacrebleu's")
    taken = cpu_seconds(
        lambda: metric.count(data.column, (data.reference_column,), data.offsets), 3 * times, least=0.2
    )
    mine = len(data.texts) / taken
    slow = len(theirs) / cpu_seconds(lambda: by_sacrebleu(data, name, step), times)
    length = sum(map(len, data.texts)) / len(data.texts)
    print(
        f"{name:7}{data.name}, {len(data.texts):,} of {length:.0f} characters: "
        f"rerank {mine:,.0f}; sacrebleu {slow:,.0f}; {mine / slow:.0f} x",
        flush=True,
    )


def process_seconds(command: list[str], folder: Path, times: int) -> float:
    """User and system seconds of a process, the best of a few."""
    best = float("inf")
    for _ in range(times):
        before = os.times()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        after = os.times()
        used = after.children_user + after.children_system
        best = min(best, used - before.children_user - before.children_system)
    return best


def from_files(data: Data, moses: str, times: int) -> None:
    n = len(data.texts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open(folder / "nbest", "w", encoding="utf-8") as out:
            for i in range(len(data.references)):
                for text in data.texts[data.offsets[i] : data.offsets[i + 1]]:
                    out.write(f"{i} ||| {text} ||| d= 0.5 -1.25 ||| -1\n")
        (folder / "ref").write_text("".join(f"{line}\n" for line in data.references), encoding="utf-8")
        refs = str(folder / "ref")
        mine = n / cpu_seconds(
            lambda: Chrf().of(rerank.load(folder / "nbest", "moses", refs=refs)), 3 * times
        )
        asked = [moses, "--sctype", "BLEU", "--nbest", "nbest", "-r", "ref", "-S", "scores", "-F", "features"]
        peer = n / process_seconds(asked, folder, times)
    rates = f"rerank, chrF {mine:,.0f}; extractor, BLEU {peer:,.0f}; {mine / peer:.1f} x"
    print(f"files  {data.name}, {n:,}: {rates}", flush=True)


def main() -> None:
    parser = arguments(__doc__, "fewer lists, one run of each", folders=True)
    parser.add_argument("--step", type=int, default=10, help="sacrebleu on every STEP-th list (default 10)")
    parser.add_argument("--moses", metavar="PATH", help="Moses' extractor")
    args = parser.parse_args()
    need("sacrebleu")
    times, scale = (1, 1) if args.quick else (3, 6)
    moses = str(Path(args.moses).resolve()) if args.moses else None
    print("Hypotheses per CPU second" + ("" if moses else "; Moses' extractor is missing"))
    sets = [Data.draw(scale * 4_000 // length, length, n_words) for n_words, length in ((13, 100), (25, 16))]
    sets += [Data.read(folder) for folder in args.folders]
    for data in sets:
        for name in ORDERS:
            in_memory(data, name, args.step, times)
        if moses:
            from_files(data, moses, times)


if __name__ == "__main__":
    main()
