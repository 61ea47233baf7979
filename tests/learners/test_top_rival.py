"""Updates with the top rival alone, the scale of tau and initial weights, against the definitions."""

import numpy as np
import pytest
from learners.test_perceptron import MARGINS, RELATIONS, as_sparse, integer_lists, orders_of, pair_seed
from reference.perceptron import mean_margin, mean_squared_norm
from reference.perceptron import perceptron as slow_perceptron

from rerank.core.errors import ConfigError, FitError
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Mixed
from rerank.data.pairs import Margin, PairRelation, make_pairs
from rerank.learners.perceptron import Perceptron


def with_base_scores(lists: CandidateLists, weights: list[float]) -> CandidateLists:
    scores = lists.features.scores(np.array(weights))
    return CandidateLists(lists.offsets, lists.features, labels=lists.labels, base_scores=scores)


def checked(lists: CandidateLists, epochs: int = 4, start=None, **settings) -> None:
    """Compare the weights and the curve with those of the slow twin, in every layout."""
    for average in ("last", "average"):
        learner = Perceptron(rivals="top", epochs=epochs, average=average, **settings)
        pairs = make_pairs(lists, learner.relation, learner.margin_function)
        last, mean, history = slow_perceptron(
            lists,
            learner.relation,
            learner.margin_function,
            algorithm=learner.algorithm,
            tau=learner.tau,
            epochs=epochs,
            dimension=learner.dimension**2,
            orders=orders_of(learner, pairs.n_lists),
            rivals="top",
            target=learner.target,
            step="one" if learner.plain else "margin",
            start=start,
        )
        for data in (lists, as_sparse(lists)):
            model = learner.fit(data, initial=start)
            wanted = last if average == "last" else mean
            np.testing.assert_allclose(model.weights, wanted, rtol=1e-12, atol=1e-12)
            assert [(row["updates"], row["violated"]) for row in model.curve] == history


@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("margin", MARGINS, ids=str)
def test_weights_are_those_of_the_definition(algorithm, relation, margin):
    for seed, tau in ((1, 0.0), (2, 0.5), (3, 40.0)):
        for step in ("auto", "margin")[: 1 + (margin["margin"] != "even")]:
            checked(
                integer_lists(seed), algorithm=algorithm, tau=tau, seed=seed, step=step, **relation, **margin
            )


@pytest.mark.parametrize("margin", MARGINS, ids=str)
def test_the_target_is_the_best_item_that_scores_highest(margin):
    for seed, tau in ((1, 0.0), (2, 0.5), (3, 40.0)):
        checked(
            integer_lists(seed, levels=3),
            pairs="best-rest",
            target="highest",
            tau=tau,
            dimension=seed,
            **margin,
        )


def test_degenerate_lists():
    zeros = CandidateLists.from_arrays(np.zeros((4, 2)), [2, 1, 1, 0])
    checked(zeros, tau=1.0)
    one_pair = CandidateLists.from_arrays([[1.0, 0.0], [0.0, 2.0]], [1, 0])
    checked(one_pair, pairs="best-rest", target="highest", tau=3.0)
    huge = CandidateLists.from_arrays([[1e150], [-1e150], [0.0]], [2, 1, 0])
    checked(huge, tau=1.0)
    with pytest.raises(FitError, match="scale the features"):
        Perceptron(rivals="top", epochs=50).fit(
            CandidateLists.from_arrays([[1e308, -1e308], [-1e308, 1e308]], [2, 1])
        )


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("margin", MARGINS, ids=str)
@pytest.mark.parametrize("rivals", ["all", "top"])
def test_tau_can_be_a_multiple_of_the_mean_squared_norm(relation, margin, rivals):
    for seed in range(3):
        lists = integer_lists(seed, n_lists=12)
        settings = {"epochs": 3, "rivals": rivals, **relation, **margin}
        learner = Perceptron(tau=0.5, tau_scale="norm", **settings)
        wanted = 0.5 * mean_squared_norm(lists, learner.relation, learner.margin_function)
        if learner.plain:
            wanted /= mean_margin(lists, learner.relation, learner.margin_function)
        for data in (lists, as_sparse(lists)):
            model = learner.fit(data)
            tau = model.training.notes["absolute_tau"]
            assert tau == pytest.approx(wanted, rel=1e-12)
            np.testing.assert_array_equal(model.weights, Perceptron(tau=tau, **settings).fit(data).weights)


def test_the_unit_of_tau_loses_no_digits_to_large_values():
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 5, (30, 3)).astype(float), rng.integers(0, 4, 30).astype(float)
    plain, moved = (
        CandidateLists.from_arrays(X + shift, y + shift, group=[10] * 3) for shift in (0.0, 2.0**40)
    )
    for settings in ({}, {"rivals": "top", "margin": "label"}):
        learner = Perceptron(tau=1.0, tau_scale="norm", epochs=1, **settings)
        one, other = (learner.fit(lists).training.notes["absolute_tau"] for lists in (plain, moved))
        assert one == other


def test_mixed_features_have_the_same_unit_of_tau():
    lists = integer_lists(3, n_lists=12)
    X = lists.features.to_dense()
    dense, block = X[:, :2].copy(), X.copy()
    block[:, :2] = 0
    rows = as_sparse(CandidateLists.from_arrays(block, lists.labels, group=lists.lengths)).features
    mixed = CandidateLists(
        lists.offsets, Mixed(dense, np.arange(2, dtype=np.int32), rows), labels=lists.labels
    )
    learner = Perceptron(tau=1.0, tau_scale="norm", epochs=2, rivals="top")
    one, other = learner.fit(lists), learner.fit(mixed)
    assert one.training.notes == other.training.notes
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


def test_a_multiple_of_nothing_is_refused():
    with pytest.raises(ConfigError, match="tau_scale=norm multiplies tau, which is 0"):
        Perceptron(tau_scale="norm").fit(integer_lists(1))


@pytest.mark.parametrize("value", [0.0, 1e200])
def test_differences_without_a_usable_norm_are_refused(value):
    lists = CandidateLists.from_arrays([[value], [-value]], [1, 0])
    with pytest.raises(FitError, match="tau_scale=norm: the differences of the pairs"):
        Perceptron(tau=1.0, tau_scale="norm").fit(lists)


@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("rivals", ["all", "top"])
def test_given_weights_are_where_training_starts(algorithm, rivals):
    lists = integer_lists(7)
    start = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    learner = Perceptron(algorithm=algorithm, rivals=rivals, tau=1.0, epochs=3)
    _, mean, _ = slow_perceptron(
        lists,
        learner.relation,
        learner.margin_function,
        algorithm=algorithm,
        tau=1.0,
        epochs=3,
        orders=orders_of(learner, make_pairs(lists, learner.relation).n_lists),
        rivals=rivals,
        start=start,
        seed=pair_seed(learner),
    )
    for data in (lists, as_sparse(lists)):
        model = learner.fit(data, initial=start)
        np.testing.assert_allclose(model.weights, mean, rtol=1e-12, atol=1e-12)
        assert model.training.rounds.init == "given"


def test_the_first_stage_is_where_training_can_start():
    lists = with_base_scores(integer_lists(8), [1.0, 0.0, -2.0, 0.0, 0.5])
    model = Perceptron(init="base", epochs=2, average="last", tau=1.0).fit(lists)
    given = Perceptron(epochs=2, average="last", tau=1.0).fit(lists, initial=model.initial)
    np.testing.assert_allclose(model.initial, [1.0, 0.0, -2.0, 0.0, 0.5], atol=1e-9)
    np.testing.assert_array_equal(model.weights, given.weights)
    assert model.training.rounds.init == "base"


def test_initial_weights_that_need_no_update_are_the_model():
    lists = CandidateLists.from_arrays([[2.0, 1.0], [1.0, 5.0]], [1, 0])
    start = np.array([1.0, 0.0])
    for average in ("last", "average"):
        np.testing.assert_array_equal(Perceptron(average=average).fit(lists, initial=start).weights, start)
    voted = Perceptron(average="voted").fit(lists, initial=start)
    np.testing.assert_array_equal(voted.vectors, [start])
    assert voted.score(lists)[0] > voted.score(lists)[1]


def test_initial_weights_that_the_setting_ignores_are_refused():
    lists = integer_lists(7)
    with pytest.raises(FitError, match="init=zero: initial weights are given too"):
        Perceptron(init="zero").fit(lists, initial=np.ones(5))
    with pytest.raises(FitError, match="init=given: no initial weights"):
        Perceptron(init="given").fit(lists)


def test_mean_margin_and_losses_are_those_of_the_pairs():
    lists = integer_lists(10, n_lists=20)
    for relation in RELATIONS:
        for function in (Margin(), Margin("uneven"), Margin("label")):
            pairs = make_pairs(lists, PairRelation(**relation), function)
            wanted = mean_margin(lists, PairRelation(**relation), function)
            assert pairs.mean_margin == pytest.approx(wanted, rel=1e-12)
            assert pairs.losses.sum() == pairs.n_pairs
