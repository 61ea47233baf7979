"""Distances between two samples of items: by kernel means, and by how well a classifier tells them apart."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats

_RIDGE = 1e-3  # of the classifier, relative to the mean variance of a feature


def squared_mmd(a: Floats, b: Floats) -> float:
    """Return the unbiased estimate of the squared maximum mean discrepancy of two samples.

    The kernel is a Gaussian whose width is the median distance of two different items of both samples. The
    estimate is about 0 for samples of one distribution, and may be below; 0 if all items are equal.

    Parameters
    ----------
    a : float64 (n, d)
    b : float64 (m, d)
        2 items or more each.

    Raises
    ------
    DataError
        If a sample has fewer items, or a distance is not finite.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola: A kernel two-sample test. JMLR 13, 2012, eq. 3.
    """
    n, m = len(a), len(b)
    if min(n, m) < 2:
        raise DataError(f"samples: found {n} and {m} items, expected 2 or more each")
    both = np.concatenate([a, b])
    both = both - both.mean(axis=0)
    norms = np.einsum("ij,ij->i", both, both)
    squared = np.maximum(norms[:, None] + norms - 2.0 * both @ both.T, 0.0)
    np.fill_diagonal(squared, 0.0)
    if not np.isfinite(squared).all():
        raise DataError("samples: a distance is not finite")
    apart = squared[squared > 1e-12 * norms.max()]  # those of equal items are 0 up to rounding
    if not len(apart):
        return 0.0
    gram = np.exp(-0.5 * squared / float(np.median(apart)))
    np.fill_diagonal(gram, 0.0)
    within = gram[:n, :n].sum() / (n * (n - 1)) + gram[n:, n:].sum() / (m * (m - 1))
    return float(within - 2.0 * gram[:n, n:].mean())


def proxy_a_distance(a: Floats, b: Floats, rng: np.random.Generator, folds: int = 5) -> float:
    """Return 2 (1 - 2 e), with e the error of a linear classifier of the samples on unseen items.

    The classifier is ridge regression of +1 and -1, cross-validated; of the larger sample as many items are
    drawn as the smaller one has. The distance is 0 for samples that cannot be told apart (and below by
    chance), 2 for those that always can.

    Parameters
    ----------
    a : float64 (n, d)
    b : float64 (m, d)
        As many items as there are folds, or more, each.
    rng
        Draws items and folds.
    folds
        2 or more.

    Raises
    ------
    DataError
        If a sample has fewer items.

    References
    ----------
    Ben-David, Blitzer, Crammer & Pereira: Analysis of representations for domain adaptation. NIPS 2006,
    section 4.
    """
    n = min(len(a), len(b))
    if n < folds:
        raise DataError(f"samples: found {len(a)} and {len(b)} items, expected {folds} or more each")
    both = np.concatenate([a[rng.permutation(len(a))[:n]], b[rng.permutation(len(b))[:n]]])
    y = np.repeat([1.0, -1.0], n)
    fold = np.tile(np.arange(n) % folds, 2)  # items are in a random order: as many of each sample in a fold
    wrong = 0.0
    for k in range(folds):
        seen = fold != k
        mean = both[seen].mean(axis=0)
        X, rest = both[seen] - mean, both[~seen] - mean
        gram = X.T @ X
        ridge = _RIDGE * max(float(np.trace(gram)) / len(gram), np.finfo(np.float64).tiny)
        found = rest @ np.linalg.solve(gram + ridge * np.eye(len(gram)), X.T @ y[seen])
        wrong += float(np.count_nonzero(found * y[~seen] < 0) + 0.5 * np.count_nonzero(found == 0))
    return 2.0 * (1.0 - 2.0 * wrong / len(y))
