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
from common import arguments, cpu_seconds
from scipy.optimize import linear_sum_assignment

from rerank.data.types import Floats, Ints
from rerank.similarity import assign

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
    try:
        from lap import lapjvr_batch
    except ImportError:
        return None
    return lambda batch: np.array(lapjvr_batch(batch, n_threads=1)[2])


def main() -> None:
    """Print a row for each size and kind."""
    quick = arguments(__doc__ or "", quick="a tenth of the matrices").parse_args().quick
    lapx = lapx_batch()
    rng = np.random.default_rng(0)
    print(f"{'matrices':>20} {'':10} {'rerank ms':>10} {'scipy':>8} {'lapx':>8}")
    for count, n in SIZES:
        b = max(count // 10, 1) if quick else count
        for kind, draw in KINDS.items():
            batch = draw(rng, b, n)
            ours = total(batch, assign(batch))
            assert abs(ours - total(batch, scipy_loop(batch))) <= 1e-9 * abs(ours), (
                "another total than scipy's"
            )
            taken = cpu_seconds(partial(assign, batch), 5)
            ratio = cpu_seconds(partial(scipy_loop, batch), 3) / taken
            peer = "absent"
            if lapx is not None:
                assert abs(ours - total(batch, lapx(batch))) <= 1e-9 * abs(ours), "another total than lapx's"
                peer = f"{cpu_seconds(partial(lapx, batch), 3) / taken:.1f} x"
            print(f"{b:>9,} of {n:>4} x {n:<4} {kind:10} {taken * 1e3:10.2f} {ratio:6.1f} x {peer:>8}")


if __name__ == "__main__":
    main()
