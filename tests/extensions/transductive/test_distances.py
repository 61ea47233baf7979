"""Distances of two samples: against loops, for samples that are alike and that are not."""

import numpy as np
import pytest
from reference import sample_distances as slow

from rerank.core.errors import DataError
from rerank.extensions.transductive.distances import proxy_a_distance, squared_mmd


@pytest.mark.parametrize("seed", range(4))
def test_kernel_means_are_those_of_the_loops(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-2, 3, (5, 2)).astype(float), rng.integers(-1, 5, (7, 2)).astype(float)
    assert squared_mmd(a, b) == pytest.approx(slow.squared_mmd(a.tolist(), b.tolist()), rel=1e-9)
    assert squared_mmd(a, b) == pytest.approx(squared_mmd(b, a))
    assert squared_mmd(1e6 + a, 1e6 + b) == pytest.approx(squared_mmd(a, b), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_classifier_is_that_of_the_loops(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(7, 3)), rng.normal(0.7, 1, size=(12, 3))
    found = proxy_a_distance(a, b, np.random.default_rng(seed), folds=3)
    assert found == pytest.approx(slow.proxy_a_distance(a, b, np.random.default_rng(seed), 3))


def test_equal_distributions_are_near_and_others_far():
    rng = np.random.default_rng(0)
    mmds = [squared_mmd(rng.normal(size=(40, 3)), rng.normal(size=(40, 3))) for _ in range(200)]
    assert abs(np.mean(mmds)) < 3 * np.std(mmds) / np.sqrt(200)  # unbiased
    far = rng.normal(size=(40, 3)) + np.array([4.0, 0, 0])
    near = rng.normal(size=(40, 3))
    assert squared_mmd(far, rng.normal(size=(40, 3))) > 10 * np.std(mmds)
    assert proxy_a_distance(far, rng.normal(size=(300, 3)), rng) > 1.7
    found = [proxy_a_distance(near, rng.normal(size=(300, 3)), np.random.default_rng(s)) for s in range(40)]
    assert abs(np.mean(found)) < 0.4


def test_samples_that_a_line_divides_have_the_distance_2():
    a, b = np.linspace(0, 1, 10)[:, None], np.linspace(5, 6, 30)[:, None]
    assert proxy_a_distance(a, b, np.random.default_rng(0)) == 2.0
    same = np.ones((6, 2))
    assert proxy_a_distance(same, same, np.random.default_rng(0)) == 0.0
    assert squared_mmd(same, same) == 0.0


def test_the_distance_is_the_same_for_the_same_seed_and_units():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(12, 3)), rng.normal(1, 2, size=(50, 3))
    found = [proxy_a_distance(s * a, s * b, np.random.default_rng(1)) for s in (1.0, 1.0, 64.0)]
    assert found[0] == found[1] == found[2]


def test_samples_that_are_too_small_or_not_finite_are_refused():
    X = np.zeros((6, 2))
    with pytest.raises(DataError, match="found 1 and 6 items, expected 2 or more"):
        squared_mmd(X[:1], X)
    with pytest.raises(DataError, match="found 6 and 4 items, expected 5 or more"):
        proxy_a_distance(X, X[:4], np.random.default_rng(0))
    X = X.copy()
    X[0] = np.nan
    with pytest.raises(DataError, match="not finite"):
        squared_mmd(X, X)
