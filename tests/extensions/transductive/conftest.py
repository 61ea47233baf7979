import numpy as np
import pytest
from make import features
from reference.nearest_lists import NearestLists

from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS


@pytest.fixture(autouse=True)
def nearest_lists(monkeypatch):
    """The learner nearest-lists, which only these tests know."""
    LEARNERS.names()
    monkeypatch.setitem(LEARNERS._entries, "nearest-lists", NearestLists)


@pytest.fixture
def make_lists():
    """Return a function that makes graded lists of several sizes, the first one of a single item."""

    def make(seed=1, layout="dense", missing=False, sizes=(1, 6, 5, 9, 4, 7)):
        rng = np.random.default_rng(seed)
        n = sum(sizes)
        X = rng.integers(-4, 5, (n, 6)).astype(float)
        y = np.clip(np.round(X[:, 1] - 0.5 * X[:, 3] + rng.normal(0, 1, n)) / 2, 0, 3).round()
        y[-1] = np.nan
        if missing:
            X[3, 2] = np.nan
        names = [f"f{j}" for j in range(6)]
        return CandidateLists.from_arrays(
            features(layout, X), y, group=list(sizes), feature_names=names, source=f"lists {seed}"
        )

    return make
