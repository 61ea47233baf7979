"""Bradley-Terry on a million comparisons, beside choix: CPU seconds and the log-likelihood that is reached.

    python scripts/bench/preferences.py [--quick]

Draws 1,000,000 comparisons of 1,000 systems (--quick: 20,000 of 100) whose strengths are normal with standard
deviation 1. Both sides have the comparisons as arrays of numbers; ours sums them by pair and runs Newton's
method. choix gets its fastest form, the matrix of counts (``ilsr_pairwise_dense``), the making of which
counts, too. "read" is our time for a TSV file of the same comparisons.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, cpu_seconds, installed

from rerank.extensions.preferences.comparisons import comparisons_of
from rerank.extensions.preferences.models import Pairs


def drawn(n: int, size: int) -> tuple[Any, Any]:
    """Return winners and losers, int64 (size)."""
    rng = np.random.default_rng(1)
    strengths = rng.normal(size=n)
    first = rng.integers(n, size=size)
    second = (first + rng.integers(1, n, size=size)) % n
    wins = rng.random(size) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    return np.where(wins, first, second), np.where(wins, second, first)


def main() -> None:
    quick = arguments(__doc__, "20,000 comparisons of 100 systems").parse_args().quick
    n, size = (100, 20_000) if quick else (1_000, 1_000_000)
    winners, losers = drawn(n, size)
    outcomes = np.zeros((size, 3))
    outcomes[:, 0] = 1
    clusters = np.zeros(size, dtype=np.int64)

    def ours() -> Any:
        return Pairs(n, winners, losers, outcomes, clusters).maximum()

    model = Pairs(n, winners, losers, outcomes, clusters)
    seconds, value = cpu_seconds(ours, 3), model.at(ours()).value
    print(f"rerank: {seconds:.2f} CPU s, log-likelihood {value:.8f}", flush=True)
    if installed("choix"):
        import choix

        def theirs() -> Any:
            counts = np.zeros((n, n))
            np.add.at(counts, (winners, losers), 1)
            return choix.ilsr_pairwise_dense(counts, tol=1e-9)

        peer = cpu_seconds(theirs)
        reached = model.at(theirs()).value
        print(f"choix:  {peer:.2f} CPU s, log-likelihood {reached:.8f}, {peer / seconds:.1f} times ours")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.tsv"
        rows = zip(winners.tolist(), losers.tolist(), strict=True)
        path.write_text("winner\tloser\n" + "".join(f"s{one}\ts{other}\n" for one, other in rows))
        print(f"read:   {cpu_seconds(lambda: comparisons_of(str(path))):.2f} CPU s")


if __name__ == "__main__":
    main()
