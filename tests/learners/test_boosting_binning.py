"""Thresholds of features: values, counts, quantiles, zeros, and the same ones in every layout."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import features

from rerank.learners.boosting.examples import thresholds_of

LAYOUTS = ("dense", "sparse", "mixed")


def listed(found):
    return list(zip(found.feature.tolist(), found.at.tolist(), strict=True))


def slow_thresholds(X, bins):
    """Thresholds by the definition, feature by feature."""
    out = []
    for f in range(X.shape[1]):
        values = X[:, f]
        distinct = sorted({0.0, *values.tolist()})
        chosen = set(distinct[1:])
        if bins is not None and len(chosen) > bins:
            stored = np.sort(values[values != 0])
            chosen = {float(stored[len(stored) * q // bins]) for q in range(bins)}
            chosen |= {0.0} if stored[0] < 0 else set()
            chosen |= {float(stored[stored > 0].min())} if stored[-1] > 0 else set()
            chosen.discard(distinct[0])
        out += [(f, t) for t in sorted(chosen)]
    return out


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 10**6), st.sampled_from([None, 1, 2, 3, 5, 40]))
def test_thresholds_are_those_of_the_definition_in_every_layout(n, d, seed, bins):
    rng = np.random.default_rng(seed)
    pool = np.array([0.0, 0, 0, 1, 1, 2, 3, -1, -2.5, 0.5, 1e300, -1e300])
    X = rng.choice(pool, (n, d))
    for layout in LAYOUTS:
        assert listed(thresholds_of(features(layout, X), bins)) == slow_thresholds(X, bins)


def test_indicators_have_a_threshold_at_1_and_counts_one_at_each_count():
    X = np.array([[1.0, 0, 3, 0], [0, 0, 1, 0], [1, 0, 2, 0]])
    expected = [(0, 1.0), (2, 1.0), (2, 2.0), (2, 3.0)]
    for layout in LAYOUTS:
        assert listed(thresholds_of(features(layout, X), 32)) == expected
    assert listed(thresholds_of(features("indicators", X > 0), 32)) == [(0, 1.0), (2, 1.0)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_feature_can_be_left_out(layout):
    X = np.array([[1.0, 5, 3], [0, 6, 1]])
    assert listed(thresholds_of(features(layout, X), 32, without=1)) == [(0, 1.0), (2, 1.0), (2, 3.0)]


def test_there_are_as_many_quantiles_as_bins():
    X = np.random.default_rng(0).normal(10, 1, (1000, 1))
    for layout in LAYOUTS:
        found = thresholds_of(features(layout, X), 16)
        assert len(found) == 16
        shares = np.diff([float((t > X).mean()) for t in found.at])
        np.testing.assert_allclose(shares, 1 / 16, atol=0.002)
