#!/usr/bin/env python3
"""Transductive ranking: CPU seconds per test list, and kernel PCA beside scikit-learn's.

    python scripts/bench/transductive.py [--quick] [FOLDER ...]

A FOLDER has train.txt.gz and test.txt.gz in svmlight's form, such as a fold of OHSUMED; without one, lists
of that size are made. Kernel PCA: 5 components of a test list, and all training items projected onto them.
scikit-learn's KernelPCA has the linear, the polynomial and the Gaussian kernel; its components must be equal
up to signs. Then whole adaptations with RankBoost of 150 rounds, and their growth with the length of the test
list and with the number of training lists. --quick uses 4 test lists.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from common import arguments, cpu_seconds, need

from rerank import load
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.scaling import Scaling
from rerank.extensions.transductive.generation.projection import KernelFeatures, Projection
from rerank.extensions.transductive.space import Points
from rerank.learners.base import LEARNERS
from rerank.training import train as training

COMPONENTS = 5
ROUNDS = 150
PEERS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "poly2": {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 0.0},
    "gaussian:1": {"kernel": "rbf", "gamma": 0.5},
}
KERNELS = (*PEERS, "diffusion:1", "diffusion:10", KernelFeatures().kernels)
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fg", {}),
    ("fg", {"project": "own"}),
    ("pm", {}),
    ("pm", {"pairs": "halves"}),
    ("pm", {"direction": "minimise"}),
    ("iw", {}),
    ("iw", {"use": "initial"}),
    ("fg-iw", {}),
)
GROWTH = ("pm",)


def made_lists(n_lists: int, seed: int, length: int = 146) -> CandidateLists:
    """Return lists with 25 features and three labels."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(length * n_lists, 25)) * rng.random(25)
    y = np.digitize(X[:, :8].sum(axis=1) + rng.normal(0, 1, len(X)), [3.5, 4.5])
    return CandidateLists.from_arrays(X, y.astype(float), group=[length] * n_lists)


def ours(settings: KernelFeatures, test: list[Points], train: Points) -> list[Floats]:
    """Return the components of the training items for each test list."""
    return [Projection(settings, points).columns(train) for points in test]


def theirs(settings: dict[str, Any], test: list[Floats], train: Floats) -> list[Floats]:
    """Return the same by scikit-learn."""
    from sklearn.decomposition import KernelPCA

    found = []
    for X in test:
        pca = KernelPCA(COMPONENTS, eigen_solver="dense", **settings).fit(X)
        found.append(pca.transform(train))
    return found


def kernel_pca(train: CandidateLists, test: CandidateLists) -> None:
    """Print a row for each kernel, and one for all of them."""
    train, test = (Scaling("list-minmax", lists.n_features).apply(lists) for lists in (train, test))
    ones = [test.subset([i]) for i in range(test.n_lists)]
    points, arrays = [Points(one) for one in ones], [one.features.to_dense() for one in ones]
    labelled = Points(train)
    for kernels in KERNELS:
        settings = KernelFeatures(kernels=kernels, components=COMPONENTS)
        taken = cpu_seconds(partial(ours, settings, points, labelled), 3) / len(ones)
        ratio = ""
        if kernels in PEERS:
            peer = partial(theirs, PEERS[kernels], arrays, train.features.to_dense())
            for one, other in zip(ours(settings, points, labelled), peer(), strict=True):
                assert np.allclose(np.abs(one), np.abs(other), atol=1e-6), "other components"
            ratio = f"{cpu_seconds(peer, 3) / len(ones) / taken:.1f} x scikit-learn"
        name = kernels if "," not in kernels else "all five"
        print(f"  kernel PCA, {name:24} {taken:8.4f} s a list  {ratio}", flush=True)


def seconds(name: str, settings: dict[str, Any], train: CandidateLists, test: CandidateLists) -> Floats:
    """Return the CPU seconds of each test list; what lists share is made before."""
    learner = LEARNERS.get(name)(**{"base": {"name": "rankboost", "rounds": ROUNDS}, **settings})
    model = training.train(train, learner)
    ones = [test.subset([i]) for i in range(test.n_lists)]
    model.score(ones[0])
    return np.array([cpu_seconds(partial(model.score, one)) for one in ones])


def adaptations(train: CandidateLists, test: CandidateLists) -> None:
    """Print a row for each method."""
    for name, settings in METHODS:
        taken = seconds(name, settings, train, test)
        shown = " ".join([name, *(f"{key}={value}" for key, value in settings.items())])
        print(f"  {shown:24} median {np.median(taken):.4f} s a list, most {taken.max():.4f} s", flush=True)


def growth() -> None:
    """Print the seconds of longer test lists, and of more training lists."""
    print("made lists, s a list: test lists of 150 items to 15,000; 63 training lists of 146 items to 630")
    train = made_lists(63, 1)
    for name in GROWTH:
        lengths = [seconds(name, {}, train, made_lists(1, 2, n))[0] for n in (150, 1500, 15_000)]
        sizes = [seconds(name, {}, made_lists(n, 1), made_lists(1, 2))[0] for n in (63, 200, 630)]
        shown = "; ".join(", ".join(f"{s:.4f}" for s in some) for some in (lengths, sizes))
        print(f"  {name:24} {shown}", flush=True)


def main() -> None:
    """Print the tables of each folder."""
    parser = arguments(__doc__ or "", quick="4 test lists", folders=True)
    given = parser.parse_args()
    need("sklearn")
    sets = [
        (str(folder), load(str(folder / "train.txt.gz")), load(str(folder / "test.txt.gz")))
        for folder in given.folders
    ]
    for name, train, test in sets or [("made lists", made_lists(63, 1), made_lists(20, 2))]:
        test = test.subset(np.arange(min(4, test.n_lists))) if given.quick else test
        items = test.n_items / test.n_lists
        print(
            f"{name}: {train.n_items:,} training items, {test.n_lists} test lists of {items:.0f} items, "
            f"{train.n_features} features"
        )
        kernel_pca(train, test)
        adaptations(train, test)
    growth()


if __name__ == "__main__":
    main()
