"""The lazy walk, and its extension to other items, against plain loops."""

import numpy as np
import pytest
from reference import kernel_pca

from rerank.extensions.transductive.generation.item_kernels import extended, lazy_walk, walked


def squared(X, Y):
    return ((X[:, None] - Y[None]) ** 2).sum(axis=2)


LISTS = {
    "random": np.random.default_rng(0).random((15, 3)),
    "two": np.array([[0.0], [1.0]]),
    "three": np.array([[0.0], [1.0], [5.0]]),
    "equal": np.ones((6, 2)),
    "duplicates": np.repeat(np.random.default_rng(1).random((5, 2)), 3, axis=0),
    "grid": np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2),
    "disconnected": np.concatenate([np.arange(5.0), 1000 + np.arange(5.0), 5000 + np.arange(4.0)])[:, None],
    "close": np.array([[0.0], [1e-12], [1.0], [2.0]]),
}


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("name", LISTS)
def test_the_walk_is_that_of_plain_loops_and_a_kernel(name, k):
    X = LISTS[name]
    walk = lazy_walk(squared(X, X), k)
    for steps in (1, 2, 10):
        kernel = walked(walk, steps, squared(X, X))
        np.testing.assert_allclose(kernel, kernel_pca.diffusion(X, k, steps), atol=1e-12)
        np.testing.assert_array_equal(kernel, kernel.T)
        values = np.linalg.eigvalsh(kernel)
        assert values[0] > -1e-12
        assert values[-1] < 1 + 1e-12


def test_one_item():
    np.testing.assert_array_equal(lazy_walk(np.zeros((1, 1)), 10), [[1.0]])


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("name", LISTS)
def test_other_items_have_weighted_means_of_their_nearest(name, k):
    X, rng = LISTS[name], np.random.default_rng(5)
    items = np.vstack([X, X + 0.25, rng.random((4, X.shape[1]))])
    values = rng.normal(size=(len(X), 3))
    out = np.full((len(items), 3), np.nan)
    distances = squared(items, X)
    extended(distances, k, values, out)
    for row, found in zip(np.sqrt(distances), out, strict=True):
        if row.min() == 0:
            expected = values[row == 0].mean(axis=0)
        else:
            near = kernel_pca.nearest(row, k)
            expected = (values[near] / row[near][:, None]).sum(axis=0) / (1 / row[near]).sum()
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_an_item_beside_one_of_the_list_has_nearly_its_value():
    X, values = LISTS["random"], np.arange(15.0)[:, None]
    out = np.empty((15, 1))
    extended(squared(X + 1e-9, X), 5, values, out)
    np.testing.assert_allclose(out, values, atol=1e-6)
