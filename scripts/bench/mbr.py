"""Utilities of all pairs of 50 candidates, compared with fastchrf, and for BLEU with sacrebleu.

    python scripts/bench/mbr.py [--quick]

CPU seconds of the tables (50 x 50) of 2,000 generated lists, of 22 words a text, the best of a few runs.
fastchrf computes chrF of the same lists. sacrebleu's sentence BLEU, which mbrs calls for each pair, is
measured on a few lists and multiplied; here the n-grams of a reference are counted once. Equal values are
checked on one list. At last the expected utilities of lists of 1,000 candidates, all pairs and with pruning
by confidence (0.99), under equal probabilities.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial

import numpy as np
from common import absent, arguments, cpu_seconds, need

from rerank.core.types import Floats
from rerank.data.first_best import first_largest
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.expressions import utility_of
from rerank.extensions.decision.gain import expected_gains
from rerank.extensions.decision.pruning import pruned_gains
from rerank.extensions.decision.utilities import Pairing

SIZE, LISTS, WORDS = 50, 2_000, 22


def drawn(n_lists: int, size: int = SIZE) -> list[list[str]]:
    """Lists of texts of which each differs from the first one of its list in a fifth of its words."""
    rng = np.random.default_rng(1)
    letters = list("etaoinshrdlucmf")
    words = ["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(3_000)]
    found = []
    for _ in range(n_lists):
        first = rng.integers(len(words), size=WORDS)
        other = rng.random((size, WORDS)) < 0.2
        chosen = np.where(other, rng.integers(len(words), size=(size, WORDS)), first)
        found.append([" ".join(words[w] for w in row) for row in chosen.tolist()])
    return found


def tables(lists: CandidateLists, name: str) -> list[Floats]:
    """The tables by a metric."""
    return list(utility_of(name).tables(Pairing.within(lists)))


def by_fastchrf(texts: list[list[str]]) -> list[Floats]:
    """The tables of chrF, candidate by reference."""
    peer = importlib.import_module("fastchrf").pairwise_chrf
    return [np.asarray(table) for table in peer(texts, texts)]


def by_sacrebleu(texts: list[list[str]]) -> list[Floats]:
    """The tables of BLEU."""
    bleu = importlib.import_module("sacrebleu.metrics").BLEU(tokenize="none", effective_order=False)
    out = []
    for own in texts:
        table = np.empty((len(own), len(own)))
        for o, reference in enumerate(own):
            (cached,) = bleu._cache_references([[reference]])
            for c, text in enumerate(own):
                row = bleu._compute_segment_statistics(bleu._preprocess_segment(text), cached)
                table[c, o] = bleu._compute_score_from_stats(row).score
        out.append(table)
    return out


def compare(
    name: str,
    texts: list[list[str]],
    peer: str,
    run: Callable[[list[list[str]]], list[Floats]],
    n: int,
    times: int,
) -> None:
    """Print the seconds of 2,000 lists, ours on all, the peer's on the first ``n``."""
    flat = [text for own in texts for text in own]
    lists = CandidateLists.from_arrays(
        np.zeros((len(flat), 1)), group=[len(own) for own in texts], texts=flat, feature_names=["f"]
    )
    gap = max(
        float(np.abs(a - b).max())
        for a, b in zip(tables(lists.subset([0]), name), run(texts[:1]), strict=True)
    )
    if gap > 1e-3:  # fastchrf has single precision
        raise SystemExit(f"{name}: a value of {peer} differs by {gap:g}")
    ours = cpu_seconds(lambda: tables(lists, name), times) * LISTS / len(texts)
    theirs = cpu_seconds(lambda: run(texts[:n]), times) * LISTS / n
    print(f"{name:7} rerank {ours:.2f} CPU s, {peer} {theirs:.1f}: {theirs / ours:.1f} x", flush=True)


def prune(texts: list[list[str]], name: str) -> None:
    """Print the seconds of a list with all pairs and pruned, and how often the same candidate wins."""
    flat = [text for own in texts for text in own]
    ends = [len(own) for own in texts]
    lists = CandidateLists.from_arrays(np.zeros((len(flat), 1)), group=ends, texts=flat)
    same, p = Pairing.within(lists), np.repeat(1.0 / np.array(ends), ends)
    pruned, all_pairs = (
        pruned_gains(utility_of(name), same, p, 0.99),
        expected_gains(tables(lists, name), same, p),
    )
    chosen = [first_largest(gains, lists.offsets) for gains in (pruned[0], all_pairs)]
    seconds = [
        cpu_seconds(run, 1) / len(texts)
        for run in (
            lambda: expected_gains(tables(lists, name), same, p),
            lambda: pruned_gains(utility_of(name), same, p, 0.99),
        )
    ]
    ratio, kept = seconds[0] / seconds[1], int((chosen[0] == chosen[1]).sum())
    times = f"all pairs {seconds[0]:.2f} CPU s, pruned {seconds[1]:.3f}: {ratio:.1f} x"
    print(f"{name:7} 1,000 candidates: {times}; {kept} of {len(texts)} winners kept", flush=True)
    print(f"        {pruned[1].line()}", flush=True)


def main() -> None:
    parser = arguments(__doc__, "200 lists, one run of each")
    args = parser.parse_args()
    need("sacrebleu")
    times = 1 if args.quick else 3
    texts = drawn(200 if args.quick else LISTS)
    print(f"{SIZE} x {SIZE} tables of {LISTS:,} lists, measured on {len(texts):,}")
    if (missing := absent("fastchrf")) is not None:
        print(missing)
    else:
        compare("chrF", texts, "fastchrf", by_fastchrf, len(texts), times)
    compare("BLEU", texts, "sacrebleu", by_sacrebleu, 4, times)
    for name in ("sBLEU", "WER", "TER"):
        some = texts if name != "TER" else texts[:20]
        flat = [text for own in some for text in own]
        lists = CandidateLists.from_arrays(np.zeros((len(flat), 1)), group=[SIZE] * len(some), texts=flat)
        seconds = cpu_seconds(partial(tables, lists, name), times) * LISTS / len(some)
        print(f"{name:7} rerank {seconds:.2f} CPU s", flush=True)
    for name in ("sBLEU", "chrF", "WER", "TER"):
        prune(drawn(4 if args.quick else 20, 1_000), name)


if __name__ == "__main__":
    main()
