"""A small judged set."""

import numpy as np

from rerank import CandidateLists


def ranking_lists(seed, n_lists=12, first=0):
    """Lists of 3 to 9 items with grades 0 to 2; one of three features knows the grade, with noise."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 10, n_lists)
    X = rng.standard_normal((sizes.sum(), 3)).round(3)
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.standard_normal(len(X))), 0, 2)
    ids = np.repeat([f"q{first + i}" for i in range(n_lists)], sizes)
    return CandidateLists.from_arrays(X, y, qid=ids)
