#!/usr/bin/env python3
"""Gram matrices of lists: CPU seconds of each kernel, beside a loop in numpy and scipy on a sample.

    python scripts/bench/similarity.py [--quick]

1,000 made lists of 50 items, so 500,500 pairs; matchings of 5 axes. The axes, computed once per list, are
timed apart. The loop takes the same axes: one matrix product, and for the list kernel one assignment
(scipy.optimize.linear_sum_assignment), per pair; it is timed on the pairs of 60 lists. Values
must agree. --quick uses 200 lists.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from common import arguments, cpu_seconds
from scipy.optimize import linear_sum_assignment

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.similarity import axes, gram
from rerank.similarity.base import KERNELS
from rerank.similarity.gram_matrices import filled

ITEMS = 50
SAMPLE = 60
SIZES = ((10, 5), (25, 5), (50, 5), (25, 10))


def made_lists(n_lists: int, n_features: int) -> CandidateLists:
    """Return lists of normal items with features of different deviations."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_lists * ITEMS, n_features)) * rng.random(n_features)
    return CandidateLists.from_arrays(X, group=[ITEMS] * n_lists)


def loop(lists: CandidateLists, components: int, kernel: str) -> Floats:
    """Return the Gram matrix of a kernel on axes, pair by pair in numpy and scipy."""
    found = axes.principal_axes(lists, components)
    vectors = found.values.reshape(lists.n_lists, -1, components)
    weights = found.weights
    out = np.zeros((lists.n_lists, lists.n_lists))
    for i in range(lists.n_lists):
        for j in range(i, lists.n_lists):
            cosines = np.abs(vectors[i].T @ vectors[j])
            if kernel == "list":
                gain = weights[i][:, None] * cosines * weights[j]
                rows, columns = linear_sum_assignment(gain, maximize=True)
                out[i, j] = out[j, i] = gain[rows, columns].sum()
            elif kernel == "angles":
                out[i, j] = out[j, i] = cosines.max()
            else:
                out[i, j] = out[j, i] = np.linalg.norm(vectors[i].T @ vectors[j], 2)
    return out


def main() -> None:
    """Print a row for each size and kernel."""
    quick = arguments(__doc__ or "", quick="200 lists").parse_args().quick
    n = 200 if quick else 1000
    print(f"{'lists':>6} {'features':>8} {'axes':>5} {'kernel':16} {'axes s':>7} {'matrix s':>8} {'loop':>8}")
    for n_features, components in SIZES:
        lists = made_lists(n, n_features)
        sample = lists.subset(np.arange(SAMPLE))
        for name in KERNELS.names():
            on_axes = name != "bhattacharyya"
            kernel = KERNELS.get(name)(**({"components": components} if on_axes else {}))
            before = cpu_seconds(partial(kernel.prepare, lists), 3)
            prepared, _ = kernel.prepare(lists)
            taken = cpu_seconds(partial(filled, prepared, prepared), 3)
            ratio = ""
            if on_axes:
                ours = gram(sample, kernel=name, components=components)
                assert np.allclose(ours, loop(sample, components, name), atol=1e-12), "another value"
                own = cpu_seconds(partial(axes.principal_axes, sample, components), 3)
                slow = cpu_seconds(partial(loop, sample, components, name)) - own
                ratio = f"{slow * (n * (n + 1)) / (SAMPLE * (SAMPLE + 1)) / taken:.0f} x"
            shown = components if on_axes else ""
            print(
                f"{n:>6} {n_features:>8} {shown:>5} {name:16} {before:7.3f} {taken:8.3f} {ratio:>8}",
                flush=True,
            )


if __name__ == "__main__":
    main()
