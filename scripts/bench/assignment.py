#!/usr/bin/env python3
"""Linear assignment of many matrices: CPU seconds beside scipy in a loop and lapx's batch on one thread.

    python scripts/bench/assignment.py [--quick]

Matrices of uniform numbers, of whole numbers below 100, and of products of a number of the row and one of the
column, on which searches are longest. The totals of all must be equal. lapx is named as absent if it is not
installed (pip install lapx). --quick uses a tenth of the matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from common import arguments, cpu_seconds, installed
from scipy.optimize import linear_sum_assignment

from rerank.core.types import Floats, Ints
from rerank.similarity import assign

TURNS = 7
SIZES = ((10_000, 5), (10_000, 10), (100, 200), (1, 1000))
KINDS: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "uniform": lambda rng, b, n: rng.random((b, n, n)),
    "integers": lambda rng, b, n: rng.integers(0, 100, (b, n, n)).astype(np.float64),
    "products": lambda rng, b, n: rng.random((b, n, 1)) * rng.random((b, 1, n)),
}


def total(batch: Floats, columns: Ints) -> float:
    """Return the summed costs of columns (b, n)."""
    return float(np.take_along_axis(batch, np.asarray(columns, dtype=np.int64)[:, :, None], 2).sum())


def scipy_loop(batch: Floats) -> Ints:
    """Return the columns (b, n) that scipy finds."""
    return np.array([linear_sum_assignment(costs)[1] for costs in batch], dtype=np.int32)


def lapx_batch() -> Callable[[Floats], Ints] | None:
    """Return lapx's batch as a function of matrices, None if lapx is not installed."""
    if not installed("lap"):
        return None
    from lap import lapjvr_batch

    return lambda batch: np.array(lapjvr_batch(batch, n_threads=1)[2])


def main() -> None:
    """Print a row for each size and kind."""
    quick = arguments(__doc__ or "", quick="a tenth of the matrices").parse_args().quick
    tools: dict[str, Callable[[Floats], Ints]] = {"rerank": assign, "scipy": scipy_loop}
    lapx = lapx_batch()
    if lapx is not None:
        tools["lapx"] = lapx
    rng = np.random.default_rng(0)
    print(f"{'matrices':>20} {'':10} {'rerank ms':>10} {'scipy':>8} {'lapx':>8}")
    for count, n in SIZES:
        b = max(count // 10, 1) if quick else count
        for kind, draw in KINDS.items():
            batch = draw(rng, b, n)
            ours = total(batch, assign(batch))
            for name, tool in tools.items():
                theirs = total(batch, tool(batch))
                assert abs(ours - theirs) <= 1e-9 * abs(ours), f"another total than that of {name}"
            taken = dict.fromkeys(tools, float("inf"))
            for _ in range(TURNS):  # in turns, so that a change of the clock rate changes no ratio
                for name, tool in tools.items():
                    taken[name] = min(taken[name], cpu_seconds(partial(tool, batch)))
            ratios = [
                f"{taken[name] / taken['rerank']:.1f} x" if name in taken else "absent"
                for name in ("scipy", "lapx")
            ]
            row = f"{b:>9,} of {n:>4} x {n:<4} {kind:10} {taken['rerank'] * 1e3:10.2f}"
            print(f"{row} {ratios[0]:>8} {ratios[1]:>8}")


if __name__ == "__main__":
    main()
