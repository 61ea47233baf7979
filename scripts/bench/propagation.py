#!/usr/bin/env python3
"""Ranker propagation at scale: CPU seconds and peak memory of its three parts, and how they grow.

    python scripts/bench/propagation.py [--kernel NAME] [--neighbours K] [--quick]

Made lists of 100 items and 20 features, half of them labelled by linear rankers that differ from list to
list. Graph: every list is joined to its K nearest (default 10, the list kernel). Rankers: a RankSVM of each
labelled list. Propagation: the rankers of the others. All by one job, each number of lists in a process of
its own, whose peak memory holds the data too. The other rows repeat the graph with the whole Gram matrix and
scikit-learn's neighbours, and the propagation with numpy's dense solver and with scikit-learn's
LabelPropagation, whose classes are 20 columns of zeros and ones. Their results must agree with ours. --quick:
up to 2,500 lists.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from functools import partial

import numpy as np
from common import arguments, cpu_seconds, installed
from scipy.sparse import csr_array

from rerank.core.system import PEAK_UNIT
from rerank.core.types import Floats, Mask
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.propagation.harmonic import harmonic
from rerank.extensions.transductive.propagation.settings import list_rankers
from rerank.learners.base import LEARNERS
from rerank.similarity.base import KERNELS, Kernel
from rerank.similarity.gram_matrices import filled
from rerank.similarity.graph import neighbour_graph

ITEMS, FEATURES = 100, 20
SIZES = (1250, 2500, 5000, 10_000, 20_000)
MOST_FOR_PEERS = 5000  # whose dense matrices are still small


def made_lists(n: int) -> CandidateLists:
    """Return lists of five grades, ordered by a ranker of each list."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, ITEMS, FEATURES))
    X *= rng.uniform(0.2, 1.0, (n, 1, FEATURES))
    rankers = rng.standard_normal(FEATURES) + rng.standard_normal((n, FEATURES))
    scores = np.einsum("lif,lf->li", X, rankers) + rng.standard_normal((n, ITEMS))
    places = scores.argsort(axis=1).argsort(axis=1)
    labels = np.floor(5.0 * places / ITEMS)
    return CandidateLists.from_arrays(X.reshape(-1, FEATURES), labels.reshape(-1), group=[ITEMS] * n)


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / 2**20


def measure(n: int, kernel: Kernel, k: int) -> None:
    """Print the figures of ``n`` lists."""
    lists = made_lists(n)
    labelled = np.arange(n) % 2 == 0
    results = []
    seconds = [
        cpu_seconds(lambda: results.append(neighbour_graph(lists, kernel, k).matrix)),
        cpu_seconds(
            lambda: results.append(
                list_rankers(LEARNERS.get("ranksvm")(), lists.subset(np.flatnonzero(labelled)), "l2").weights
            )
        ),
        cpu_seconds(lambda: results.append(harmonic(results[0], labelled, results[1]))),
    ]
    graph, rankers, found = results
    cells = " ".join(f"{value:11.2f}" for value in (*seconds, sum(seconds)))
    print(
        f"{n:>7,} {cells} {peak():8.0f} {graph.nnz // 2:>8,} {np.count_nonzero(found.reached):>8,}",
        flush=True,
    )
    if n <= MOST_FOR_PEERS and installed("sklearn"):
        dense_neighbours(lists, kernel, k, graph)
        dense_propagation(graph, labelled, rankers, found.values)


def dense_neighbours(lists: CandidateLists, kernel: Kernel, k: int, graph: csr_array) -> None:
    """Print a row for scikit-learn's neighbours by the whole Gram matrix, which must be ours."""
    from sklearn.neighbors import NearestNeighbors

    kept: list[csr_array] = []

    def whole() -> None:
        prepared, _ = kernel.prepare(lists)
        distances = filled(prepared, prepared)
        np.subtract(1.0, distances, out=distances)
        np.clip(distances, 0.0, None, out=distances)
        near = NearestNeighbors(n_neighbors=k, metric="precomputed").fit(distances)
        directed = csr_array(near.kneighbors_graph(mode="distance"))
        directed.data = 1.0 - directed.data
        kept.append(directed.maximum(directed.T))

    taken = cpu_seconds(whole)
    assert abs(kept[0] - graph).max() < 1e-9, "another graph"
    print(
        f"        {taken:11.2f} graph by the Gram matrix and scikit-learn, peak {peak():,.0f} MB", flush=True
    )


def dense_propagation(graph: csr_array, labelled: Mask, rankers: Floats, values: Floats) -> None:
    """Print rows for numpy and scikit-learn on the dense matrix; their values must be ours."""
    from sklearn.semi_supervised import LabelPropagation

    u = np.flatnonzero(~labelled & ~np.isnan(values[:, 0]))
    kept: list[Floats] = []

    def solve() -> None:
        K = graph.toarray()
        laplacian = np.diag(K.sum(axis=1)) - K
        kept.append(-np.linalg.solve(laplacian[np.ix_(u, u)], laplacian[np.ix_(u, labelled)] @ rankers))

    taken = cpu_seconds(solve)
    assert np.allclose(kept[0], values[u], rtol=0, atol=1e-10), "other values"
    print(f"        {taken:35.2f} propagation by numpy's dense solver", flush=True)
    classes = np.where(labelled, np.arange(len(labelled)) // 2 % FEATURES, -1)
    peer = LabelPropagation(kernel=lambda *_: graph.toarray(), max_iter=10_000, tol=1e-9)
    theirs = cpu_seconds(partial(peer.fit, np.zeros((len(labelled), 1)), classes))
    ours = harmonic(graph, labelled, np.eye(FEATURES)[classes[labelled]]).values
    assert np.allclose(peer.label_distributions_[u], ours[u], rtol=0, atol=1e-6), "other values"
    print(f"        {theirs:35.2f} propagation by scikit-learn's LabelPropagation", flush=True)


def main() -> None:
    """Print a row for each number of lists."""
    parser = arguments(__doc__ or "", quick="up to 2,500 lists")
    parser.add_argument("--kernel", default="list", choices=KERNELS.names(), help="similarity of lists")
    parser.add_argument("--neighbours", type=int, default=10, help="nearest lists of each list")
    parser.add_argument("--lists", type=int, help="only so many, in this process")
    given = parser.parse_args()
    if given.lists:
        measure(given.lists, KERNELS.get(given.kernel)(), given.neighbours)
        return
    print(f"{'lists':>7} {'graph s':>11} {'rankers s':>11} {'propagate s':>11} {'sum s':>11}", end=" ")
    print(f"{'peak MB':>8} {'edges':>8} {'reached':>8}", flush=True)
    for n in SIZES[: 2 if given.quick else None]:
        subprocess.run([sys.executable, *sys.argv, "--lists", str(n)], check=True)


if __name__ == "__main__":
    main()
