"""Spectra of Gram matrices: the list kernel's is not positive, repairs, and maps of lists."""

import numpy as np
import pytest

from rerank import CandidateLists
from rerank.core.errors import ConfigError, DataError
from rerank.similarity import gram, plane, repaired, spectra, spectrum

# Two items each: the only axis is a line through both, at 0, 45, 90 and 135 degrees.
FOUR = [[0, 0], [1, 0], [0, 0], [1, 1], [0, 0], [0, 1], [0, 0], [-1, 1]]


def four_lists():
    return CandidateLists.from_arrays(np.array(FOUR, dtype=float), group=[2, 2, 2, 2])


@pytest.mark.parametrize("kernel", ["list", "angles", "angles-subspace"])
def test_kernels_on_axes_are_not_positive_semi_definite(kernel):
    """Proposition 8.3.4 of the thesis claims that they are, since all values are 0 or more."""
    K = gram(four_lists(), kernel=kernel)
    half = np.sqrt(0.5)
    expected = [[1, half, 0, half], [half, 1, half, 0], [0, half, 1, half], [half, 0, half, 1]]
    np.testing.assert_allclose(K, expected, atol=1e-15)
    found = spectrum(K)
    np.testing.assert_allclose(found.eigenvalues, [1 + np.sqrt(2), 1, 1, 1 - np.sqrt(2)])
    assert found.smallest == pytest.approx(-0.41421356)
    assert found.n_negative == 1
    assert found.negative_share == pytest.approx((np.sqrt(2) - 1) / (2 * np.sqrt(2) + 2))
    sign = np.array([1, -1, 1, -1])
    assert sign @ K @ sign == pytest.approx(4 - 4 * np.sqrt(2))


@pytest.mark.parametrize("seed", range(5))
def test_random_lists_have_negative_eigenvalues_too(seed):
    rng = np.random.default_rng(seed)
    lists = CandidateLists.from_arrays(rng.standard_normal((60, 2)), group=[5] * 12)
    assert spectrum(gram(lists)).smallest < -0.01
    assert spectrum(gram(lists, kernel="bhattacharyya")).n_negative == 0


def test_repairs():
    K = gram(four_lists())
    for how, last in (("clip", 0.0), ("flip", np.sqrt(2) - 1)):
        fixed = repaired(K, how)
        assert np.array_equal(fixed, fixed.T)
        values = spectrum(fixed)
        np.testing.assert_allclose(values.eigenvalues, [1 + np.sqrt(2), 1, 1, last], atol=1e-12)
        assert values.n_negative == 0
        np.testing.assert_allclose(repaired(fixed, how), fixed, atol=1e-12)
    positive = gram(four_lists(), kernel="bhattacharyya")
    np.testing.assert_allclose(repaired(positive, "clip"), positive, atol=1e-12)


def test_maps_keep_distances():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((9, 2))
    K = points @ points.T
    found, shares = plane(K)
    apart = np.linalg.norm(found[:, None] - found[None], axis=2)
    np.testing.assert_allclose(apart, np.linalg.norm(points[:, None] - points[None], axis=2), atol=1e-9)
    assert shares.sum() == pytest.approx(1.0)
    for axis in found.T:
        assert axis[np.argmax(np.abs(axis))] > 0


def test_maps_of_many_lists_are_those_of_all_eigenvectors(monkeypatch):
    rng = np.random.default_rng(2)
    lists = CandidateLists.from_arrays(rng.standard_normal((1600, 4)) * [4, 2, 1, 1], group=[4] * 400)
    K = gram(lists)
    found, shares = plane(K)
    monkeypatch.setattr(spectra, "_SMALL", 10_000)
    whole, expected = plane(K)
    np.testing.assert_allclose(found, whole, atol=1e-8)
    np.testing.assert_allclose(shares, expected, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 400])
@pytest.mark.parametrize("kind", ["zeros", "ones", "identity"])
def test_maps_of_degenerate_matrices(n, kind):
    K = {"zeros": np.zeros((n, n)), "ones": np.ones((n, n)), "identity": np.eye(n)}[kind]
    points, shares = plane(K)
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
    assert (shares >= 0).all()
    assert shares.sum() <= 1 + 1e-9
    if kind != "identity":
        assert (points == 0).all()
        assert (shares == 0).all()
    assert spectrum(K).n_negative == 0


def test_refused():
    with pytest.raises(DataError, match="square"):
        spectrum(np.ones((2, 3)))
    with pytest.raises(DataError, match="square"):
        plane(np.ones((0, 0)))
    with pytest.raises(DataError, match="not finite"):
        repaired(np.array([[np.nan]]), "clip")
    with pytest.raises(DataError, match="not symmetric"):
        spectrum(np.array([[1.0, 0.5], [0.4, 1.0]]))
    with pytest.raises(ConfigError, match="unknown repair 'clap'; did you mean 'clip'"):
        repaired(np.eye(2), "clap")
