"""Likelihoods and their maxima against slow twins, finite differences and choix."""

from __future__ import annotations

import numpy as np
import pytest
from reference import preferences as twin

from rerank.core.errors import FitError
from rerank.extensions.preferences.models import DENSE, Pairs, Rankings


def drawn(n=5, size=60, seed=0, judges=2):
    rng = np.random.default_rng(seed)
    first = rng.integers(n, size=size)
    second = (first + rng.integers(1, n, size=size)) % n
    outcomes = np.eye(3)[rng.choice(3, size=size, p=[0.5, 0.2, 0.3])]
    soft = rng.random(size) < 0.2
    chance = rng.random(size)
    outcomes[soft] = np.column_stack([chance, np.zeros(size), 1 - chance])[soft]
    return {
        "first": first,
        "second": second,
        "outcomes": outcomes,
        "clusters": rng.integers(10, size=size),
        "lengths": np.tanh(rng.normal(size=size)),
        "judges": rng.integers(judges, size=size),
    }


def rows(d):
    return [
        (int(d["first"][k]), int(d["second"][k]), d["outcomes"][k], d["lengths"][k], int(d["judges"][k]))
        for k in range(len(d["first"]))
    ]


def pairs(d, n=5, **settings):
    known = {name: d[name] for name in ("lengths", "judges") if settings.pop(name, False)}
    return Pairs(n, d["first"], d["second"], d["outcomes"], d["clusters"], **known, **settings)


@pytest.mark.parametrize("tie", [False, True])
@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("judges", [False, True])
def test_the_likelihood_is_that_of_the_definition(tie, order, lengths, judges):
    d = drawn()
    model = pairs(d, tie=tie, order=order, lengths=lengths, judges=judges)
    x = np.random.default_rng(1).normal(size=model.n_parameters) / 2
    found = dict(zip(model.names, x[5:], strict=True))
    slow = twin.log_likelihood(
        x[:5],
        rows(d),
        tie=found.get("tie"),
        order=found.get("order", 0.0),
        slope=found.get("length", 0.0),
        judges=[found["judge 0"], found["judge 1"]] if judges else None,
    )
    assert model.at(x).value == pytest.approx(slow, rel=1e-12)


SETTINGS = [
    {},
    {"tie": True},
    {"order": True},
    {"lengths": True},
    {"lengths": True, "each": True},
    {"judges": True},
    {"tie": True, "order": True, "lengths": True, "judges": True, "prior": 1.0},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_gradient_and_information_are_derivatives(settings):
    model = pairs(drawn(), **settings)
    x = np.random.default_rng(2).normal(size=model.n_parameters) / 2
    point, small = model.posterior(x), 1e-6
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = small
        up, down = model.posterior(x + step), model.posterior(x - step)
        assert point.gradient[k] == pytest.approx((up.value - down.value) / (2 * small), abs=1e-5)
        if "judges" in settings:  # the expected information leaves out a term
            continue
        column = -(up.gradient - down.gradient) / (2 * small)
        if k == 0 and model.precision[0] == 0:
            column[0] += model.at(x).information.diagonal()[:5].mean()  # fixes the sum
        np.testing.assert_allclose(point.information[:, k], column, atol=1e-5)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_maximum_has_no_gradient_and_strengths_sum_to_0(settings):
    model = pairs(drawn(), **settings)
    x = model.maximum()
    assert np.abs(model.posterior(x).gradient).max() < 1e-7
    if "prior" not in settings:
        assert x[:5].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("sd", [None, 0.7])
@pytest.mark.parametrize("tie", [False, True])
def test_the_maximum_is_that_of_a_slow_climb(sd, tie):
    d = drawn(n=3, size=20)
    model = pairs(d, n=3, prior=sd, tie=tie)

    def value(x):
        own = 0.0 if sd is None else twin.log_prior(x[:3], sd)
        return own + twin.log_likelihood(x[:3], rows(d), tie=x[3] if tie else None)

    slow, best = twin.climbed(value, [0.0] * (3 + tie), range(0 if sd else 1, 3 + tie))
    x = model.maximum()
    assert model.posterior(x).value == pytest.approx(best, abs=1e-10)
    shift = 0.0 if sd else np.mean(slow[:3])
    np.testing.assert_allclose(x[:3], np.array(slow[:3]) - shift, atol=1e-4)


@pytest.mark.parametrize("model", ["pairs", "rankings"])
def test_weights_repeat_clusters(model):
    d = drawn()
    weights = np.random.default_rng(3).integers(0, 3, 10).astype(float)
    if model == "pairs":
        one = pairs(d, tie=True)
        again = np.repeat(np.arange(60), weights[d["clusters"]].astype(int))
        other = pairs({name: column[again] for name, column in d.items()}, tie=True)
        x = np.linspace(-1, 1, 6)
    else:
        rng = np.random.default_rng(4)
        rankings = [rng.permutation(5)[: rng.integers(2, 6)] for _ in range(10)]
        one = Rankings(5, rankings, np.arange(10))
        again = np.repeat(np.arange(10), weights.astype(int))
        other = Rankings(5, [rankings[k] for k in again], np.arange(len(again)))
        x = np.linspace(-1, 1, 5)
    weighted = one.weighted(weights)
    assert weighted.at(x).value == pytest.approx(other.at(x).value, rel=1e-12)
    np.testing.assert_allclose(weighted.at(x).gradient, other.at(x).gradient, atol=1e-10)
    np.testing.assert_allclose(weighted.at(x).information, other.at(x).information, atol=1e-10)


def test_rankings_have_the_likelihood_of_the_definition_and_its_derivatives():
    rng = np.random.default_rng(5)
    rankings = [rng.permutation(6)[: rng.integers(2, 7)] for _ in range(12)]
    model, x = Rankings(6, rankings, np.arange(12)), rng.normal(size=6)
    point = model.at(x)
    assert point.value == pytest.approx(twin.log_likelihood_of_rankings(x, rankings), rel=1e-12)
    for k in range(6):
        step = np.eye(6)[k] * 1e-6
        up, down = model.at(x + step), model.at(x - step)
        assert point.gradient[k] == pytest.approx((up.value - down.value) / 2e-6, abs=1e-5)
        np.testing.assert_allclose(point.information[k], -(up.gradient - down.gradient) / 2e-6, atol=1e-5)
    best = model.maximum()
    assert np.abs(model.at(best).gradient).max() < 1e-7


def test_rankings_of_two_are_comparisons():
    d = drawn()
    ranked = [np.array(pair) for pair in zip(d["first"], d["second"], strict=True)]
    one = Rankings(5, ranked, np.arange(60), prior=1.0)
    other = Pairs(5, d["first"], d["second"], np.tile([1.0, 0, 0], (60, 1)), np.arange(60), prior=1.0)
    np.testing.assert_allclose(one.maximum(), other.maximum(), atol=1e-9)


def test_many_items_are_fitted_by_sparse_matrices_as_by_dense_ones(monkeypatch):
    d = drawn(n=30, size=300)
    dense = [pairs(d, n=30, **settings, prior=1.0).maximum() for settings in ({}, {"tie": True})]
    monkeypatch.setattr("rerank.extensions.preferences.models.DENSE", 10)
    sparse = [pairs(d, n=30, **settings, prior=1.0).maximum() for settings in ({}, {"tie": True})]
    assert DENSE > 30
    ranked = [np.random.default_rng(k).permutation(30)[:5] for k in range(40)]
    sparse.append(Rankings(30, ranked, np.arange(40), prior=1.0).maximum())
    monkeypatch.undo()
    dense.append(Rankings(30, ranked, np.arange(40), prior=1.0).maximum())
    for one, other in zip(dense, sparse, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_an_order_that_explains_every_verdict_is_refused():
    first, second = np.array([0, 1, 2]), np.array([1, 2, 0])
    model = Pairs(3, first, second, np.tile([1.0, 0, 0], (3, 1)), np.arange(3), order=True)
    with pytest.raises(FitError, match="order: the likelihood has no maximum"):
        model.maximum()


def test_effects_that_comparisons_cannot_tell_apart_are_refused():
    first, second = np.zeros(40, dtype=np.int64), np.arange(40) % 4 + 1
    outcomes = np.eye(3)[np.random.default_rng(0).choice([0, 2], 40)]
    with pytest.raises(FitError, match="do not determine every effect, such as that of the order"):
        Pairs(5, first, second, outcomes, np.arange(40), order=True).maximum()


def test_likelihood_and_maximum_are_those_of_choix():
    choix = pytest.importorskip("choix", reason="the peer choix is not installed")
    rng = np.random.default_rng(6)
    n, data = 8, []
    for _ in range(400):
        i, j = rng.choice(n, 2, replace=False)
        data.append((i, j) if rng.random() < 1 / (1 + np.exp((i - j) / 4)) else (j, i))
    winners, losers = (np.array(column) for column in zip(*data, strict=True))
    wins = np.tile([1.0, 0, 0], (len(data), 1))
    model = Pairs(n, winners, losers, wins, np.arange(len(data)))
    x = rng.normal(size=n)
    assert model.at(x).value == pytest.approx(choix.opt.PairwiseFcts(data, 0.0).objective(x) * -1, rel=1e-8)
    best = choix.opt_pairwise(n, data, method="Newton-CG", tol=1e-12)
    np.testing.assert_allclose(model.maximum(), best - best.mean(), atol=1e-6)
    peer, own = (choix.log_likelihood_pairwise(data, y) for y in (best, model.maximum()))
    assert own >= peer - 1e-8
    assert model.at(model.maximum()).value == pytest.approx(peer, abs=1e-8)
    penalised = choix.opt_pairwise(n, data, alpha=0.5, method="Newton-CG", tol=1e-12)
    own = Pairs(n, winners, losers, wins, np.arange(len(data)), prior=1.0).maximum()
    np.testing.assert_allclose(own, penalised, atol=1e-6)
    rankings = [rng.permutation(n) for _ in range(50)]
    ranked = Rankings(n, rankings, np.arange(50))
    assert ranked.at(x).value == pytest.approx(choix.log_likelihood_rankings(rankings, x), abs=1e-8)
    best = choix.opt_rankings(n, rankings, method="Newton-CG", tol=1e-12)
    assert ranked.at(ranked.maximum()).value == pytest.approx(
        choix.log_likelihood_rankings(rankings, best), abs=1e-8
    )
