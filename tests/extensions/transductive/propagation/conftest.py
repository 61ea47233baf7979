import numpy as np
import pytest
from make import features

from rerank.data.lists import CandidateLists

SIZES = (1, 6, 5, 9, 4, 7, 5, 8)


@pytest.fixture
def make_lists():
    """Return a function that makes graded lists: the first has one item, the fifth no pair."""

    def make(seed=1, layout="dense", sizes=SIZES, n_features=6):
        rng = np.random.default_rng(seed)
        n = sum(sizes)
        X = np.round(rng.normal(0, 2, (n, n_features)), 2)
        if layout in ("sparse", "mixed", "indicators"):
            X[rng.random(X.shape) < 0.4] = 0.0
        y = np.clip(np.round(X[:, 1] - 0.5 * X[:, 3] + rng.normal(0, 1, n)), 0, 3)
        offsets = np.append(0, np.cumsum(sizes))
        if len(sizes) > 4:
            y[offsets[4] : offsets[5]] = 1.0
        y[-1] = np.nan
        names = [f"f{j}" for j in range(n_features)]
        return CandidateLists.from_arrays(
            features(layout, X), y, group=list(sizes), feature_names=names, source=f"lists {seed}"
        )

    return make
