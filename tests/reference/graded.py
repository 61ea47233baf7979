"""Lists of graded items for tests of ordinal learners."""

import numpy as np
from make import features
from scipy.sparse import csr_array

from rerank.data.lists import CandidateLists


def whole_lists(seed, *, grades=4, n_lists=7, d=5, largest=3):
    """Whole numbers with ties, an item of zeros, two equal items of different grades, one unjudged."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, n_lists)
    sizes[0] = 1
    n = int(sizes.sum())
    X = (rng.integers(-largest, largest + 1, (n, d)) * (rng.random((n, d)) < 0.7)).astype(float)
    y = np.clip(np.round(X[:, 0] * 3 / largest + rng.normal(0, 1, n)) % grades, 0, grades - 1)
    y[:grades] = np.arange(grades)
    X[2] = 0
    X[3] = X[1]
    y[-2] = np.nan
    return CandidateLists.from_arrays(X, y, group=sizes, source="whole lists")


def layouts(lists):
    """The same lists dense, float32, sparse and mixed."""
    X = lists.features.to_dense()
    return [
        CandidateLists.from_arrays(values, lists.labels, group=lists.lengths, source=lists.source)
        for values in (X, X.astype(np.float32), csr_array(X), features("mixed", X))
    ]


def judged_rows(lists):
    return np.flatnonzero(~np.isnan(lists.labels))


def passes_of(learner, lists):
    """The rows of each round in the order that the learner's settings give."""
    rows = judged_rows(lists)
    rng = np.random.default_rng(learner.seed)
    return [rng.permutation(rows) if learner.shuffle else rows for _ in range(learner.epochs)]


def ranks_of(lists):
    """Grades from 1 by the distinct labels (0 where unjudged), and their number."""
    known = sorted(set(lists.labels[judged_rows(lists)].tolist()))
    return [known.index(label) + 1 if label in known else 0 for label in lists.labels.tolist()], len(known)


def separable_grades(seed, k, n=120, d=5):
    """Lists that a unit (w, b) grades rightly: lists, gamma and the largest norm R of Theorem 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (4000, d))
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    b = np.linspace(-0.7, 0.7, k + 1)[1:-1] + rng.uniform(-0.05, 0.05, k - 1)
    distance = np.abs((X @ w)[:, None] - b).min(axis=1)
    X = X[distance > 0.02][:n]
    y = np.searchsorted(b, X @ w)
    size = np.sqrt(1 + b @ b)
    gamma = float(np.abs((X @ w)[:, None] - b).min() / size)
    assert len(set(y.tolist())) == k
    lists = CandidateLists.from_arrays(X, y.astype(float), group=[n // 4] * 4, source="separable")
    return lists, gamma, float(np.linalg.norm(X, axis=1).max())
