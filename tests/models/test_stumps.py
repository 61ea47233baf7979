"""Scores of stumps against their definition; damaged models; missing values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import LAYOUTS, features
from small_training import saved

from rerank.core.errors import DataError, DataNote
from rerank.data.lists import CandidateLists
from rerank.data.matrix import as_features
from rerank.models.stumps import StumpModel

POOL = np.array([0.0, 0, 1, 1, 2, -1, 0.5, -0.5, 1e300, -1e300, 1e-300])


def lists_of(X):
    """One list with the features f0, f1, ..."""
    names = [f"f{j}" for j in range(as_features(X).n_features)]
    return CandidateLists.from_arrays(X, feature_names=names)


def lists_of_names(X, names):
    return CandidateLists.from_arrays(np.array(X), feature_names=names)


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


def extended_model(rng, d, n, pool=POOL):
    """A model with raw rounds and values of h for missing features."""
    model = model_of(rng, d, n)
    raw = rng.integers(0, 2, n).astype(np.uint8)
    threshold = np.where(raw == 1, 0.0, rng.choice(pool, n))
    missing = rng.choice(np.array([0.0, 1.0, 0.5]), n)
    parts = (model.weights, model.feature, threshold, model.step)
    return StumpModel(model.feature_names, *parts, raw=raw, missing=missing)


def defined_score(model, x):
    """The score of one item from the definition; a feature that training never lacked counts as 0."""

    def h(r, v):
        return v if model.raw[r] else float(v >= model.threshold[r])

    total = sum(w * v for w, v in zip(model.weights, x, strict=True) if w)
    for r, f in enumerate(model.feature):
        missing = 0.0 if math.isnan(model.missing[r]) else model.missing[r] - h(r, 0.0)
        total += model.step[r] * (missing if math.isnan(x[f]) else h(r, x[f]) - h(r, 0.0))
    return total


@given(st.integers(0, 10**6), st.sampled_from([*LAYOUTS[:3], "mixed"]), st.integers(0, 12))
def test_raw_rounds_and_missing_values_are_scored_by_the_definition(seed, layout, n):
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array([0.0, 0, 1, 2, -1, 0.5, np.nan]), (9, 4))
    X[0, 0] = np.nan
    pool = np.append(POOL[:-3], -np.finfo(float).max)
    model = extended_model(rng, 4, n, pool)
    model.weights[np.isnan(X).any(axis=0)] = 0.0
    scores = model.score(lists_of(features(layout, X)))
    np.testing.assert_allclose(scores, [defined_score(model, x) for x in X], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(scores, model.score(lists_of(X)))
    for k in range(n + 1):
        part = model.prefix(k)
        assert part.n_rounds == k
        np.testing.assert_allclose(
            part.score(lists_of(X)), [defined_score(part, x) for x in X], rtol=1e-12, atol=1e-12
        )
    total = dict(model.explain())
    assert sum(total.get(f"f{j} missing", 0.0) for j in range(4)) == pytest.approx(
        defined_score(model, [np.nan] * 4) if not model.weights.any() else sum(model.of_missing())
    )


def test_a_value_that_training_never_lacked_counts_as_0_and_is_reported():
    parts = (np.array([0, 1], np.int32), np.array([0.5, -1.0]), np.array([1.0, 2.0]))
    model = StumpModel(["a", "b"], np.zeros(2), *parts, missing=np.array([1.0, np.nan]))
    with pytest.warns(
        DataNote, match=r"feature 'b' is missing \(NaN\) in 2 items, but was in none of training"
    ):
        scores = model.score(lists_of_names([[np.nan, np.nan], [0.0, np.nan], [0.0, -2.0]], ["a", "b"]))
    np.testing.assert_array_equal(scores, [1.0, 0.0, -2.0])


def test_a_missing_value_with_a_weight_is_an_error():
    parts = (np.array([0], np.int32), np.array([0.5]), np.array([1.0]))
    model = StumpModel(["a", "b"], np.array([0.0, 3.0]), *parts, missing=np.array([1.0]))
    assert model.score(lists_of_names([[np.nan, 1.0]], ["a", "b"]))[0] == 4.0
    with pytest.raises(DataError, match=r"feature 'b' is missing \(NaN\)"):
        model.score(lists_of_names([[1.0, np.nan]], ["a", "b"]))


def test_an_extended_model_is_saved_whole(tmp_path):
    rng = np.random.default_rng(1)
    model, X = extended_model(rng, 4, 9), rng.choice(np.array([0.0, 1, np.nan]), (9, 4))
    X[0, 0] = np.nan
    model.weights[:] = 0.0
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.score(lists_of(X)), model.score(lists_of(X)))


def test_lists_that_were_read_with_zeros_for_missing_values_are_reported():
    parts = (np.array([0], np.int32), np.array([0.5]), np.array([1.0]))
    lists = lists_of_names([[1.0], [0.0]], ["a"])
    for missing in (None, np.array([np.nan])):  # training had no missing value
        StumpModel(["a"], np.zeros(1), *parts, missing=missing).score(lists)
    with pytest.warns(DataNote, match=r"no value is missing \(NaN\), but some were in training"):
        StumpModel(["a"], np.zeros(1), *parts, missing=np.ones(1)).score(lists)


def test_shares_of_steps_count_every_round():
    parts = (np.array([1, 0, 1], np.int32), np.array([2.0, 1.0, 2.0]), np.array([1.0, -0.5, -0.5]))
    model = StumpModel(["a", "b"], np.array([0.0, 3.0]), *parts)
    assert model.step_shares() == [("b", 0.75), ("a", 0.25)]
    assert StumpModel(["a"], np.ones(1), *(part[:0] for part in parts)).step_shares() == []
    raw = StumpModel(["a", "b"], np.zeros(2), *parts, raw=np.array([1, 0, 0], np.uint8))
    assert raw.step_shares() == [("b", 2.5 / 3), ("a", 0.5 / 3)]  # a range of 2


def test_present_is_a_threshold_below_every_value():
    parts = (np.array([0], np.int32), np.array([-np.finfo(float).max]), np.array([2.0]))
    model = StumpModel(["a"], np.zeros(1), *parts, missing=np.array([0.0]))
    np.testing.assert_array_equal(model.score(lists_of_names([[-1e308], [0.0], [np.nan]], ["a"])), [0, 0, -2])
    assert model.explain() == [("a present", 2.0), ("a missing", -2.0)]


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
        ({"raw": np.array([1, 0], np.uint8)}, "2 marks of raw rounds and 1 steps"),
        ({"raw": np.array([2], np.uint8)}, "a round that is neither raw nor not"),
        ({"missing": np.zeros(3)}, "3 marks of missing values and 1 steps"),
        ({"missing": np.array([np.inf])}, "an infinite value instead of a missing one"),
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
