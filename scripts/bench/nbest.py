#!/usr/bin/env python3
"""Loading Moses N-best lists with references and counting BLEU's statistics, compared with plain Python.

    python scripts/bench/nbest.py [--lists 1000]

Hypotheses per CPU second, best of three, on generated lists of 100 with a realistic vocabulary. The peer
splits the lines in Python and counts by sacrebleu's own statistics (on a tenth of the file).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from common import arguments, cpu_seconds, need

import rerank
from rerank.metrics.bleu import BleuStatistics

N_BEST = 100


def write_lists(folder: Path, n_lists: int) -> tuple[Path, Path]:
    """An N-best file with 15 features a line, and its references."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(20_000)]
    weights = 1 / np.arange(1, len(words) + 1)
    weights /= weights.sum()
    nbest, refs = folder / "bench.nbest", folder / "bench.ref"
    with open(nbest, "w", encoding="utf-8") as out, open(refs, "w", encoding="utf-8") as ref:
        for i in range(n_lists):
            reference = rng.choice(words, rng.integers(8, 35), p=weights)
            ref.write(" ".join(reference) + "\n")
            for _ in range(N_BEST):
                wrong = rng.random(len(reference)) < 0.3
                text = " ".join(np.where(wrong, rng.choice(words, len(reference), p=weights), reference))
                values = " ".join(f"{value:.4f}" for value in rng.normal(-20, 10, 15))
                out.write(f"{i} ||| {text} ||| d= {values} ||| {rng.normal():.5f}\n")
    return nbest, refs


def ours(nbest: Path, refs: Path) -> int:
    lists = rerank.load(nbest, "moses", refs=str(refs))
    return len(BleuStatistics().of(lists))


def plain(nbest: Path, refs: Path, limit: int) -> int:
    """Python's split and sacrebleu's statistics for the first ``limit`` lines."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize="none", force=True)
    references = refs.read_text(encoding="utf-8").splitlines()
    done = 0
    with open(nbest, encoding="utf-8") as lines:
        for line in lines:
            number, text, features, _ = line.split(" ||| ")
            [float(value) for value in features.split()[1:]]
            metric._extract_corpus_statistics([text], [[references[int(number)]]])
            done += 1
            if done == limit:
                break
    return done


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--lists", type=int, default=1000)
    n_lists = parser.parse_args().lists
    need("sacrebleu")
    with tempfile.TemporaryDirectory() as folder:
        nbest, refs = write_lists(Path(folder), n_lists)
        mine = n_lists * N_BEST / cpu_seconds(lambda: ours(nbest, refs), 3)
        part = n_lists * N_BEST // 10
        peer = part / cpu_seconds(lambda: plain(nbest, refs, part))
    print("load + BLEU statistics, hypotheses per CPU second")
    print(f"rerank                      {mine:12,.0f}")
    print(f"Python split + sacrebleu    {peer:12,.0f}   ratio {mine / peer:.1f}")


if __name__ == "__main__":
    main()
