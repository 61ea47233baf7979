"""Propagation by a learnt list kernel: against loops and dense algebra, in files, in degenerate cases."""

import numpy as np
import pytest
from reference import learned_kernel as slow
from reference.propagation import items, solved
from small_training import fit

from rerank.core.errors import ConfigError, FormatError
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.propagation.learned import (
    Descriptors,
    LearnedKernel,
    LearnedModel,
    PropagateLearned,
    learn_weights,
    nonnegative_ridge,
    unlikeness,
)
from rerank.models.base import load_model
from rerank.similarity.gram_matrices import filled

SIZES = (6, 5, 7, 9, 4, 7, 8)


def some_lists(seed, sizes=SIZES, d=3):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.normal(size=(n, d)) * np.repeat(rng.uniform(0.2, 3, (len(sizes), d)), sizes, axis=0)
    y = np.round(np.clip(X[:, 0] + rng.normal(0, 0.5, n), 0, 2))
    y[np.concatenate([[0], np.cumsum(sizes)[:-1]])] = 3.0
    return CandidateLists.from_arrays(X, y, group=list(sizes), source=f"lists {seed}")


def test_unlikeness_is_that_of_the_scores():
    lists, rng = some_lists(1), np.random.default_rng(5)
    rankers = rng.normal(size=(7, 3))
    rankers[3] = 0.0
    found = unlikeness(lists, rankers)
    np.testing.assert_allclose(found, slow.unlike(items(lists), rankers), atol=1e-12)
    assert (found[3, :3] == 1).all()
    twins = unlikeness(lists, np.tile(rankers[:1], (7, 1)))
    np.testing.assert_allclose(twins, 0.0, atol=1e-12)


def test_the_kernel_is_that_of_the_definition():
    lists, others = some_lists(1), some_lists(2, (3, 8, 2, 5))
    weights = np.random.default_rng(3).uniform(0, 2, 5)
    weights[1] = 0.0
    mine, theirs = LearnedKernel(weights, 2).prepare(lists, others)
    expected = [[slow.similarity(X, Y, weights, 2) for Y in items(others)] for X in items(lists)]
    np.testing.assert_allclose(filled(mine, theirs), expected, rtol=1e-9)
    i, j = np.array([0, 4]), np.array([2, 1])
    X = items(lists)
    found = Descriptors.of(lists, 2).differences(i, j)
    np.testing.assert_allclose(found, [slow.differences(X[a], X[b], 2) for a, b in zip(i, j, strict=True)])


def test_lists_of_equal_items_are_similar_to_none():
    lists = CandidateLists.from_arrays(
        np.array([[1.0, 2], [1, 2], [0, 1], [1, 0]]), [1, 0, 1, 0], group=[2, 2]
    )
    mine, theirs = LearnedKernel(np.ones(3), 1).prepare(lists)
    assert filled(mine, theirs)[0].tolist() == [0, 0]
    assert mine.empty.tolist() == [0]


@pytest.mark.parametrize("strength", [0.0, 0.1, 10.0])
def test_the_ridge_regression_is_that_of_coordinate_descent(strength):
    rng = np.random.default_rng(7)
    A = rng.uniform(0, 2, (40, 4))
    y = np.maximum(A @ [1.0, -0.5, 0.3, 0] + 0.4 + rng.normal(0, 0.2, 40), 0)
    found = nonnegative_ridge(A, y, strength)
    np.testing.assert_allclose(found, slow.ridge(A, y, strength), atol=1e-8)
    assert (found >= 0).all()


def test_weights_find_the_difference_that_matters():
    rng = np.random.default_rng(8)
    first, second = np.triu_indices(30, 1)
    place = rng.normal(size=(30, 3))
    A = np.abs(place[first] - place[second])
    y = 0.2 + 0.5 * A[:, 1]
    folds = np.arange(30) % 5
    found = learn_weights(A, y, first, second, None, folds)
    assert found.weights[1] > 20 * max(found.weights[0], found.weights[2])
    assert found.explained > 0.99
    assert (A @ found.weights).mean() == pytest.approx(1)
    noise = learn_weights(A, rng.uniform(0, 1, len(y)), first, second, None, folds)
    assert noise.explained < 0.1
    against = learn_weights(
        A, 2 - y, first, second, None, folds
    )  # the more unlike, the more alike the rankers
    assert against.weights[1] == 0


def test_scores_are_harmonic_with_the_learnt_kernel():
    train, test = some_lists(1), some_lists(2, (5, 6, 3))
    model = fit(PropagateLearned(neighbours="all", components=2), train, scaling="none")
    assert isinstance(model, LearnedModel)
    X = [*items(train), *items(test)]
    graph = np.array([[slow.similarity(a, b, model.weights, 2) for b in X] for a in X])
    np.fill_diagonal(graph, 0)
    labelled = np.arange(len(X)) < 7
    found = solved(graph, labelled, model.nodes.weights)[7:]
    expected = np.concatenate([a @ w for a, w in zip(items(test), found, strict=True)])
    np.testing.assert_allclose(model.score(test), expected, atol=1e-7)


def test_models_are_saved_and_loaded(tmp_path):
    train, test = some_lists(1), some_lists(2, (5, 6, 3))
    model = fit(PropagateLearned(neighbours=3), train)
    path = str(tmp_path / "model")
    model.save(path)
    again = load_model(path)
    assert isinstance(again, LearnedModel)
    np.testing.assert_array_equal(again.score(test), model.score(test))
    assert again.training_lines()[-1].startswith("the learnt kernel explains ")
    again.weights = -again.weights - 1
    again.save(path)
    with pytest.raises(FormatError, match="kernel_weights: expected 8 numbers of 0 or more"):
        load_model(path)


def test_too_few_lists_are_equally_similar():
    model = fit(PropagateLearned(), some_lists(1, (6, 5)))
    assert not model.weights.any()
    assert model.training_lines()[-1].startswith("too few lists with rankers to learn a kernel")
    assert model.adapt(some_lists(2, (5, 6, 3))).rows[0].adapted


@pytest.mark.parametrize("wrong", [{"neighbours": 0}, {"strength": -1}, {"kernel": "list"}])
def test_wrong_settings(wrong):
    with pytest.raises(ConfigError):
        PropagateLearned(**wrong)
