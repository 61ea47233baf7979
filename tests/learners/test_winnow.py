"""Winnow against its definition: two weights that updates multiply and divide."""

import warnings

import numpy as np
import pytest
from learners.test_perceptron import (
    ALGORITHMS,
    MARGINS,
    RELATIONS,
    as_sparse,
    integer_lists,
    orders_of,
    pair_seed,
)
from make import LAYOUTS, features
from reference.perceptron import mean_squared_norm
from reference.perceptron import perceptron as slow_perceptron
from small_training import fit

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.data.lists import CandidateLists
from rerank.data.pairs import make_pairs
from rerank.learners.perceptron import Perceptron
from rerank.learners.winnow import Winnow

MORE = [
    {"rivals": "top"},
    {"rivals": "top", "pairs": "best-rest", "target": "highest"},
    {"rivals": "top", "margin": "label", "step": "margin"},
    {"dimension": 1.5},
    {"dimension": 0.5, "algorithm": 1},
    {"rivals": "top", "dimension": 2.0},
]


def in_layout(lists, layout, X):
    return CandidateLists(lists.offsets, features(layout, X), labels=lists.labels, source="set")


def checked(lists, start=None, list_weights=None, **settings):
    """Compare weights and curve with those of the twin."""
    for average in ("last", "average"):
        learner = Winnow(average=average, epochs=4, **settings)
        pairs = make_pairs(lists, learner.relation, learner.margin_function)
        n = pairs.n_lists if list_weights is None else int(np.count_nonzero(list_weights[pairs.lists]))
        last, mean, history = slow_perceptron(
            lists,
            learner.relation,
            learner.margin_function,
            algorithm=learner.algorithm,
            tau=learner.tau,
            epochs=4,
            dimension=learner.dimension**2,
            orders=orders_of(learner, n),
            rivals=learner.rivals,
            target=learner.target,
            step="one" if learner.plain else "margin",
            start=start,
            list_weights=list_weights,
            seed=pair_seed(learner),
            rate=learner.learning_rate,
        )
        model = learner.fit(lists, initial=start, list_weights=list_weights)
        wanted = last if average == "last" else mean
        np.testing.assert_allclose(model.weights, wanted, rtol=1e-10, atol=1e-11)
        assert [(row["updates"], row["violated"]) for row in model.curve] == history
        exponent = np.arcsinh(np.abs(wanted).max() / 2)
        assert model.training.notes["largest_exponent"] == pytest.approx(exponent, abs=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("margin", MARGINS, ids=str)
def test_weights_are_those_of_the_definition(algorithm, relation, margin):
    for seed, tau, rate in ((1, 0.0, 0.01), (2, 0.5, 0.002), (3, 4.0, 0.02)):
        lists = integer_lists(seed, noise=0.1)
        checked(lists, tau=tau, learning_rate=rate, seed=seed, **algorithm, **relation, **margin)


@pytest.mark.parametrize("how", [*MORE, *ALGORITHMS], ids=str)
@pytest.mark.parametrize("layout", ["sparse", "mixed"])  # others: the contract
def test_every_layout_moves_the_same_weights(layout, how):
    lists = integer_lists(4)
    rng = np.random.default_rng(4)
    X = np.where(rng.random((lists.n_items, 12)) < 0.4, np.round(64 * rng.standard_normal(12)) / 64, 0.0)
    start = rng.standard_normal(12)  # without ties, which rounding would break
    checked(in_layout(lists, layout, X), start, tau=0.51, learning_rate=0.02, **how)


@pytest.mark.parametrize("how", [{}, {"algorithm": 1}, {"rivals": "top"}], ids=str)
def test_it_starts_from_given_weights_and_weights_lists(how):
    start = np.array([0.3, -2.0, 0.0, 5.0, 1.0])
    given = np.random.default_rng(3).choice([0.0, 0.5, 2.0], 12)
    lists = integer_lists(3, n_lists=12, noise=0.1)
    for data in (lists, as_sparse(lists)):
        checked(data, start, given, tau=0.5, learning_rate=0.01, **how)


def test_tau_in_units_of_a_first_update():
    lists = integer_lists(6)
    learner = Winnow(tau=0.5, tau_scale="norm", learning_rate=0.02)
    unit = mean_squared_norm(lists, learner.relation, learner.margin_function)
    tau = learner.fit(lists).training.notes["absolute_tau"]
    assert tau == pytest.approx(0.5 * 2 * 0.02 * unit)
    same = Winnow(tau=tau, learning_rate=0.02).fit(lists).weights
    np.testing.assert_array_equal(learner.fit(lists).weights, same)
    with pytest.raises(ConfigError, match="learner winnow: tau_scale=norm multiplies tau, which is 0"):
        Winnow(tau_scale="norm").fit(lists)


def test_voted_weights_score_as_their_sum_of_signs():
    lists = integer_lists(7, n_lists=12, noise=0.1)
    model = Winnow(average="voted", epochs=3).fit(lists)
    last = Winnow(average="last", epochs=3).fit(lists)
    np.testing.assert_allclose(model.vectors[-1], last.weights)
    assert model.survived.sum() == 3 * make_pairs(lists, Winnow().relation).n_lists


def test_weights_that_overflow_are_an_error_and_large_ones_are_reported():
    lists = integer_lists(8, n_lists=20)
    for layout in LAYOUTS:
        data = in_layout(lists, layout, lists.features.to_dense())
        for how in ({}, {"algorithm": 1}, {"rivals": "top"}, {"average": "voted"}):
            with pytest.raises(FitError, match="set: the weights overflow; lower learning_rate, or scale"):
                Winnow(learning_rate=1e4, **how).fit(data)
    with pytest.warns(
        DataNote, match=r"weights of winnow grew to e\^\d+; beside them those near 1 do not count: lower"
    ):
        model = Winnow(learning_rate=0.5).fit(lists)
    assert 36 < model.training.notes["largest_exponent"] < 300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Winnow(learning_rate=0.01).fit(lists)


def test_few_features_of_many_matter_less_to_the_perceptron():
    """Littlestone's case: the label is the sign of three of 400 features of -1 and 1."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (600, 400))
    y = (X[:, :3].sum(axis=1) > 0).astype(float)
    lists = CandidateLists.from_arrays(X, y, group=[10] * 60)
    train, test = lists.subset(np.arange(30)), lists.subset(np.arange(30, 60))

    def pairs_right(learner):
        scores = fit(learner, train, scaling="none").score(test)
        parts = zip(np.split(scores, 30), np.split(test.labels, 30), strict=True)
        return np.mean([np.mean(s[y == 1][:, None] > s[y == 0]) for s, y in parts if 0 < y.sum() < 10])

    assert pairs_right(Winnow(learning_rate=0.02)) > pairs_right(Perceptron()) + 0.1
