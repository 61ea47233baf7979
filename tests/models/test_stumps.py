"""Scores of stumps against their definition; damaged models; missing values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.make import LAYOUTS, features

from rerank.data.lists import CandidateLists
from rerank.data.matrix import as_features
from rerank.errors import DataError
from rerank.models.stumps import StumpModel

POOL = np.array([0.0, 0, 1, 1, 2, -1, 0.5, -0.5, 1e300, -1e300, 1e-300])


def lists_of(X):
    """One list with the features f0, f1, ..."""
    names = [f"f{j}" for j in range(as_features(X).n_features)]
    return CandidateLists.from_arrays(X, feature_names=names)


def model_of(rng, d, n):
    names = [f"f{j}" for j in range(d)]
    steps = rng.integers(-8, 9, n) / 4
    return StumpModel(
        names, rng.integers(-2, 3, d) / 2, rng.integers(0, d, n, dtype=np.int32), rng.choice(POOL, n), steps
    )


@given(st.integers(0, 10**6), st.sampled_from(LAYOUTS), st.integers(0, 12))
def test_scores_are_those_of_the_definition(seed, layout, n):
    rng = np.random.default_rng(seed)
    pool = np.array([0.0, 1.0]) if layout == "indicators" else np.array([0.0, 0, 1, 2, -1, 0.5, 1.5, -0.5])
    X = rng.choice(pool, (9, 4))
    model = model_of(rng, 4, n)
    expected = X @ model.weights
    for f, t, step in zip(model.feature, model.threshold, model.step, strict=True):
        expected += step * ((X[:, f] >= t).astype(float) - float(t <= 0))
    lists = lists_of(features(layout, X))
    np.testing.assert_allclose(model.score(lists), expected, rtol=1e-12, atol=1e-12)
    dense = lists_of(X)
    np.testing.assert_array_equal(model.score(lists), model.score(dense))


def test_an_item_of_zeros_scores_0():
    model = model_of(np.random.default_rng(0), 3, 20)
    assert model.score(lists_of(np.zeros((1, 3))))[0] == 0.0


def test_missing_values_are_named():
    model = StumpModel(["f0", "f1"], np.zeros(2), np.array([1], np.int32), np.array([0.5]), np.array([1.0]))
    lists = lists_of([[1.0, np.nan]])
    with pytest.raises(DataError, match="feature 'f1' is missing"):
        model.score(lists)


def test_steps_of_one_stump_are_summed_and_shown():
    parts = (np.array([1, 0, 1], np.int32), np.array([2.0, 1.0, 2.0]), np.array([1.0, -0.5, 0.25]))
    model = StumpModel(["a", "b"], np.array([0.0, 3.0]), *parts)
    assert model.explain() == [("b", 3.0), ("b >= 2", 1.25), ("a >= 1", -0.5)]
    assert model.n_weighted() == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": np.array([2], np.int32)}, "a stump of a feature outside 0..1"),
        ({"feature": np.array([-1], np.int32)}, "a stump of a feature outside 0..1"),
        ({"step": np.array([1.0, 2.0])}, "1 features, 1 thresholds and 2 steps"),
        ({"threshold": np.array([np.nan])}, "a threshold or step that is not finite"),
        ({"step": np.array([np.inf])}, "a threshold or step that is not finite"),
        ({"weights": np.zeros(3)}, "3 weights for 2 features"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    good = {
        "weights": np.zeros(2),
        "feature": np.array([1], np.int32),
        "threshold": np.array([0.5]),
        "step": np.array([1.0]),
    }
    StumpModel.from_arrays(["a", "b"], good)
    with pytest.raises(DataError, match=message):
        StumpModel.from_arrays(["a", "b"], good | change)


def test_a_prefix_needs_a_number_of_rounds():
    model = model_of(np.random.default_rng(0), 3, 4)
    for n in (-1, 5):
        with pytest.raises(DataError, match=f"found {n}, expected a number of rounds from 0 to 4"):
            model.prefix(n)
