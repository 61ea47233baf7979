"""Affinities of items, graphs of them and the smoothed scores, against loops over pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import score_regularisation as slow

from rerank.core.errors import ConfigError, DataError, RerankError
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.regularisation.affinity import (
    affinities,
    check_affinity,
    feature_affinities,
    neighbour_weights,
    regularised,
    resolved_affinity,
    text_affinities,
)

TEXTS = ["The cat sat.", "the CAT sat", "a dog barked", "a dog and a cat", "", "...", "dog dog dog", "Été 3"]


def one_list(X, **more):
    return CandidateLists.from_arrays(np.asarray(X, dtype=float), source="set", **more)


def test_texts_are_compared_as_by_hand():
    found = text_affinities(TEXTS)
    n = len(TEXTS)
    expected = [[slow.text_affinity(TEXTS, i, j) for j in range(n)] for i in range(n)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert found[0, 1] == pytest.approx(1)  # neither case nor punctuation counts
    assert not found[4].any()
    assert not found[5].any()


def test_texts_without_words_have_no_affinity():
    assert text_affinities(["", "!"]).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("seed", range(3))
def test_features_are_compared_as_by_hand(seed):
    X = np.random.default_rng(seed).integers(0, 3, (6, 2)).astype(float)
    found = feature_affinities(one_list(X))
    expected = [[slow.feature_affinity(X.tolist(), i, j) for j in range(6)] for i in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_equal_features_are_all_alike():
    assert (feature_affinities(one_list(np.full((3, 2), 7.0))) == 1).all()


def test_distances_that_overflow_are_an_error():
    with pytest.raises(DataError, match="set: list '1': distances of items overflow"):
        feature_affinities(one_list([[1e300], [-1e300]]))


def test_a_kernel_of_items_is_normalised_and_never_negative():
    lists = CandidateLists.from_arrays([[1.0, 0], [2, 0], [-1, 0], [0, 0], [1, 1]], group=[3, 2])
    of_list = affinities("linear", lists)
    np.testing.assert_allclose(of_list(0), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(of_list(1), [[0, 0], [0, 1]])
    np.testing.assert_allclose(affinities("linear(normalise=true)", lists)(0), of_list(0))


@pytest.mark.parametrize("k", [1, 2, 3, 6, None])
@pytest.mark.parametrize("seed", range(3))
def test_neighbours_and_scores_are_those_of_the_loops(seed, k):
    rng = np.random.default_rng(seed)
    n = 7
    found = np.round(rng.random((n, n)), 1)  # with ties at the last place
    found = np.maximum(found, found.T)
    found[3] = found[:, 3] = 0  # an item that is like none
    edges = slow.edges_of(lambda i, j: found[i, j], n, k)
    degrees = np.array([sum(row) for row in edges])
    roots = np.sqrt(np.where(degrees > 0, degrees, 1))
    weights = neighbour_weights(found, k)
    np.testing.assert_allclose(weights, np.array(edges) / roots[:, None] / roots, rtol=1e-12)
    scores = rng.normal(size=n) * 1000 + 5
    for alpha in (0.0, 0.3, 0.9):
        expected = slow.smoothed(scores.tolist(), edges, alpha)
        np.testing.assert_allclose(regularised(scores, weights, alpha), expected, rtol=1e-9)


def test_the_solution_minimises_what_the_paper_minimises():
    rng = np.random.default_rng(1)
    found = rng.random((5, 5))
    found = found + found.T
    edges = slow.edges_of(lambda i, j: found[i, j], 5, 2)
    scores = rng.normal(size=5)
    start = (scores - scores.mean()) / scores.std()
    best = (regularised(scores, neighbour_weights(found, 2), 0.6) - scores.mean()) / scores.std()
    least = slow.objective(best.tolist(), start.tolist(), edges, 0.6)
    for step in 1e-3 * rng.normal(size=(50, 5)):
        assert slow.objective((best + step).tolist(), start.tolist(), edges, 0.6) > least


def test_equal_and_zero_alpha_scores_stay_as_they_are():
    weights = neighbour_weights(np.ones((3, 3)), None)
    assert regularised(np.full(3, 0.1), weights, 0.9).tolist() == [0.1] * 3
    scores = np.array([1.0, 1 / 3, 7])
    assert regularised(scores, weights, 0.0).tolist() == scores.tolist()


@given(st.lists(st.floats(-1e308, 1e308), min_size=2, max_size=6), st.sampled_from([0.1, 0.5, 0.9]))
def test_any_scores_give_finite_ones(scores, alpha):
    n = len(scores)
    found = regularised(np.array(scores), neighbour_weights(np.ones((n, n)), None), alpha)
    assert not np.isnan(found).any()


def test_equal_items_get_equal_scores_if_their_base_scores_are_equal():
    X = np.array([[0.0], [1], [0], [5], [1]])
    found = regularised(
        np.array([1.0, 3, 1, 0, 3]), neighbour_weights(feature_affinities(one_list(X)), 1), 0.5
    )
    assert found[0] == pytest.approx(found[2], abs=1e-12)
    assert found[1] == pytest.approx(found[4], abs=1e-12)


def test_auto_means_texts_then_features_then_trees():
    texts, trees = ["a", "b"], ["(S a)", "(S b)"]
    X = np.eye(2)
    both = CandidateLists.from_arrays(X, texts=texts)
    assert resolved_affinity("auto", both) == "texts"
    assert resolved_affinity("auto", one_list(X)) == "features"
    bare = CandidateLists.from_arrays(np.empty((2, 0)), trees=trees)
    assert resolved_affinity("auto", bare) == "ptk(tree)"
    assert resolved_affinity("ptk", bare) == "ptk(tree)"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("texts", "set: found no texts of the items, which affinity=texts compares"),
        ("ptk", "tree"),
    ],
)
def test_what_is_compared_must_be_there(name, message):
    with pytest.raises(RerankError, match=message):
        resolved_affinity(name, one_list(np.eye(2)))


def test_features_that_are_compared_must_be_there():
    with pytest.raises(DataError, match="found no features, which affinity=features compares"):
        affinities("features", one_list(np.empty((2, 0))))


@pytest.mark.parametrize("name", ["text", "gausian", "ptk(", ""])
def test_an_unknown_affinity_is_refused(name):
    with pytest.raises(ConfigError, match=r"affinity: .*expected auto, texts, features, or a kernel"):
        check_affinity(name)


def test_the_width_is_a_median_of_distances_not_of_squares():
    X = [[0.0], [1.0], [4.0]]  # distances 1, 3, 4
    assert feature_affinities(one_list(X))[0, 1] == pytest.approx(math.exp(-1 / 18))
