"""The proportions of a mixture, against other solvers and by the conditions of their optimum."""

import numpy as np
import pytest
from reference.kliep import em
from scipy.optimize import minimize

from rerank.extensions.transductive.weighting.kliep import TOLERANCE, fit_mixture


def log_likelihood(densities, y):
    """The mean log density of samples under proportions; densities (n_densities, n_samples)."""
    return float(np.log(y @ densities).mean())


def bound(densities, y):
    """How much more the largest log likelihood can be at most, by duality."""
    return float(np.log(np.mean(densities / (y @ densities), axis=1).max()))


def some_densities(kind, n, m, rng):
    """Densities that are hard in different ways."""
    if kind == "vanishing":
        A = np.exp(-200.0 * rng.random((m, n)))
    elif kind == "equal":
        A = np.repeat(rng.random((max(1, m // 4), n)), 4, axis=0)
    elif kind == "flat":
        A = 1.0 + 1e-9 * rng.random((m, n))
    elif kind == "indicators":
        A = (rng.random((m, n)) < 0.2).astype(float)
        A[0] += 1e-8
    else:
        x = rng.standard_normal(n)
        c = x[rng.integers(0, n, m)]
        A = np.exp(-((x - c[:, None]) ** 2) / 2.0 / 10.0 ** rng.uniform(-4.0, 3.0))
    A = A * np.exp(rng.uniform(-3.0, 3.0, (len(A), 1)))
    top = A.max(axis=0)
    return np.where(top > 0, A / np.where(top > 0, top, 1.0), 1.0)


KINDS = ("gaussians", "vanishing", "equal", "flat", "indicators")


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_of_the_optimum_hold_on_hard_densities(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(40):
        densities = some_densities(kind, int(rng.integers(1, 150)), int(rng.integers(1, 50)), rng)
        found = fit_mixture(densities)
        assert found.proportions.min() >= 0.0
        assert found.proportions.sum() == pytest.approx(1.0, abs=1e-12)
        assert found.violation <= TOLERANCE
        assert bound(densities, found.proportions) <= 2 * TOLERANCE


@pytest.mark.parametrize("seed", range(6))
def test_no_other_solver_finds_a_higher_point(seed):
    rng = np.random.default_rng(seed)
    densities = some_densities("gaussians", 60, 8, rng)
    value = log_likelihood(densities, fit_mixture(densities).proportions)
    by_em = em(densities.T)
    assert value >= log_likelihood(densities, by_em) - 1e-9
    assert value == pytest.approx(log_likelihood(densities, by_em), abs=bound(densities, by_em) + 1e-9)

    found = minimize(
        lambda y: -log_likelihood(densities, np.maximum(y, 1e-300)),
        np.full(8, 1 / 8),
        jac=lambda y: -np.mean(densities / np.maximum(y @ densities, 1e-300), axis=1),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 8,
        constraints={"type": "eq", "fun": lambda y: y.sum() - 1.0, "jac": lambda y: np.ones(8)},
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    theirs = np.maximum(found.x, 0.0) / np.maximum(found.x, 0.0).sum()
    assert value >= log_likelihood(densities, theirs) - 1e-9
    assert value == pytest.approx(log_likelihood(densities, theirs), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_start_changes_only_the_way(kind):
    rng = np.random.default_rng(7)
    densities = some_densities(kind, 80, 20, rng)
    best = fit_mixture(densities)
    for start in (best.proportions, np.eye(len(densities))[0], rng.random(len(densities))):
        again = fit_mixture(densities, start)
        assert log_likelihood(densities, again.proportions) == pytest.approx(
            log_likelihood(densities, best.proportions), abs=1e-7
        )
    assert fit_mixture(densities, best.proportions).steps == 0


@pytest.mark.parametrize("least", [0.0, 1e-300, 1e-28, 1e-8])
def test_a_start_that_leaves_a_sample_almost_no_density(least):
    rng = np.random.default_rng(0)
    densities = some_densities("gaussians", 80, 20, rng)
    densities[:, 0] = least
    densities[-1, 0] = 1.0
    start = np.full(20, 1 / 19)
    start[-1] = 0.0
    assert fit_mixture(densities, start).violation <= TOLERANCE


def test_one_density_and_one_sample():
    assert fit_mixture(np.array([[0.5, 2.0]])).proportions.tolist() == [1.0]
    found = fit_mixture(np.array([[0.5], [2.0]]))
    np.testing.assert_allclose(found.proportions, [0.0, 1.0], atol=1e-12)
