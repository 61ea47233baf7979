"""Importance weighting: weights and models by their definition, and lists that allow no weights."""

import numpy as np
import pytest
from reference import kliep as slow
from small_training import fit

from rerank.core.errors import ConfigError, FitError
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.importance import ImportanceWeighting
from rerank.extensions.transductive.lists import generator, single
from rerank.extensions.transductive.space import Basis, Points
from rerank.extensions.transductive.weighting.pairs import TrainingPairs, costs_of
from rerank.extensions.transductive.weighting.ranking import ranking_points

QUICK = {"name": "rankboost", "rounds": 6}


def method(**settings):
    return ImportanceWeighting(**{"base": QUICK, **settings})


def differences_of(model, lists, i, both):
    """The differences of the items of list i, with both directions unless they are by labels."""
    ready = model.prepared(lists).subset([i])
    X = ready.features.to_dense().astype(float)
    return [
        X[a] - X[b]
        for a in range(len(X))
        for b in range(len(X))
        if a != b and (both or ready.labels[a] > ready.labels[b])
    ]


def slow_weights(model, lists, i, directions, oracle=False):
    """KLIEP's weights of the labelled pairs with one width, the typical distance."""
    labelled = model.labelled
    X = labelled.features.to_dense().astype(float)
    training = slow.pair_differences(X, labelled.labels, labelled.lengths.tolist())
    n = len(training)
    if directions == "both":
        training += [-x for x in training]
    test = differences_of(model, lists, i, not oracle)
    if oracle and directions == "both":
        test += [-t for t in test]
    apart = [float(np.sqrt(((s - t) ** 2).sum())) for s in test for t in test]
    width = float(np.median([d for d in apart if d > 1e-9]))
    proportions, means = slow.fit(training, test, test, width)
    weights = [np.exp(slow.log_ratio(x, test, width, proportions, means)) for x in training]
    return np.array(weights).reshape(-1, n).mean(axis=0)


@pytest.mark.parametrize("directions", ["both", "better"])
@pytest.mark.parametrize("pairs", ["all", "oracle"])
@pytest.mark.parametrize("use", ["cost", "initial"])
def test_rankers_are_those_of_weights_by_definition(directions, pairs, use, make_lists):
    lists, test = make_lists(1), make_lists(2)
    model = fit(method(directions=directions, pairs=pairs, use=use, widths=(1.0,)), lists)
    basis = Basis(model.method.base_learner, model.labelled)
    for i in (2, 4):
        found = model.ranker(test, i)
        weights = slow_weights(model, test, i, directions, pairs == "oracle")
        given = {"costs": costs_of(weights)} if use == "cost" else {"pair_weights": weights}
        expected = basis.fit(**given)
        ready = model.prepared(test)
        np.testing.assert_allclose(found.model.score_aligned(ready), expected.score_aligned(ready), atol=1e-3)
        figures = found.diagnostics
        assert figures["median"] == pytest.approx(np.median(weights), abs=1e-3)
        assert figures["sd"] == pytest.approx(np.std(weights), abs=1e-3)
        assert figures["violation"] <= 1e-8
        accuracy = basis.accuracy(found.model.score_aligned(model.labelled))
        assert figures["train_accuracy"] == accuracy


def test_labels_are_seen_by_oracles_alone(make_lists):
    lists, test = make_lists(1), make_lists(2)
    for pairs in ("all", "oracle"):
        model = fit(method(pairs=pairs), lists)
        assert model.method.uses_test_labels == (pairs == "oracle")
        bare = test.replace_labels(None)
        same = np.array_equal(model.score(test), model.score(bare))
        assert same == (pairs == "all")
    assert {row.reason for row in model.adapt(bare).rows} == {"one item", "no labels"}


@pytest.mark.parametrize(
    ("X", "reason"),
    [
        ([[1.0, 2.0]], "one item"),
        ([[1.0, 2.0]] * 3, "equal items"),
        ([[1.0, 2.0], [1.0, 3.0]], ""),
        ([[1.0, 2.0], [1.0, 3.0], [4.0, 1.0]], ""),
        ([[1e200, 2.0], [-1e200, 3.0]], "distances overflow"),
        ([[1e6, 2.0], [-1e6, 3.0]], ""),  # nothing overlaps
        ([[1e9, 2.0], [1e9, 3.0]], "equal items"),  # within rounding of their squares
    ],
)
@pytest.mark.parametrize("use", ["cost", "initial"])
@pytest.mark.parametrize("directions", ["both", "better"])
def test_small_and_odd_lists(X, reason, use, directions):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, (20, 2)).astype(float)
    lists = CandidateLists.from_arrays(values, rng.integers(0, 3, 20), group=[1, 2, 3, 14])
    model = fit(method(use=use, directions=directions), lists, scaling="none")
    found = model.adapt(CandidateLists.from_arrays(np.array(X), group=[len(X)]))
    (row,) = found.rows
    assert row.reason == reason
    assert np.isfinite(found.scores).all()
    figures = dict(row.diagnostics)
    assert np.isnan(list(figures.values())).all() == bool(reason)
    if not reason:
        assert np.isfinite(list(figures.values())).all()
        assert figures["violation"] <= 1e-8
    assert list(figures) == list(model.ranker(lists, 0).diagnostics)


def test_oracle_pairs_that_do_not_exist():
    rng = np.random.default_rng(0)
    lists = CandidateLists.from_arrays(rng.random((20, 2)), rng.integers(0, 3, 20), group=[6, 14])
    model = fit(method(pairs="oracle", directions="better"), lists)
    X = rng.random((3, 2))
    for labels, reason in (([1, 1, 1], "no pair of different labels"), ([0, 1, np.nan], "equal differences")):
        one = CandidateLists.from_arrays(X, np.array(labels, dtype=float), group=[3])
        assert model.adapt(one).rows[0].reason == reason


def test_labelled_items_that_are_too_far_apart():
    X = np.array([[1e200], [-1e200], [0.0]])
    lists = CandidateLists.from_arrays(X, np.array([0, 1, 2]), group=[3])
    model = fit(method(), lists, scaling="none")
    with pytest.raises(FitError, match="distances of items overflow"):
        model.score(CandidateLists.from_arrays(np.array([[1.0], [2.0]]), group=[2]))


def test_costs():
    weights = np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(costs_of(weights), [[0.5, 0.375, 0.0], [0.5, 0.625, 1.0]])
    np.testing.assert_allclose(costs_of(np.ones(2)), [[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"base": "ranksvm"}, "base: found ranksvm, which weights no pairs; expected rankboost"),
        ({"widths": ()}, "widths: found"),
        ({"widths": (0.0,)}, "widths: found"),
        ({"samples": 1}, "samples: found 1, expected all or a number"),
        ({"folds": 1}, "folds: found 1"),
        ({"centres": 0}, "centres: found 0"),
    ],
)
def test_wrong_settings(settings, text):
    with pytest.raises(ConfigError, match=text):
        ImportanceWeighting(**settings)


def test_widths_can_be_typed():
    assert ImportanceWeighting(widths="0.5,1").widths == (0.5, 1.0)


def places_of(scores):
    """Score and place of items from 0 to 1, by comparing every two items."""
    n, spread = len(scores), max(scores) - min(scores)
    if spread == 0:
        return [(0.0, 0.0)] * n
    below = [sum((b < a) + 0.5 * (b == a) for b in scores) - 0.5 for a in scores]
    return [((a - min(scores)) / spread, p / (n - 1)) for a, p in zip(scores, below, strict=True)]


def test_the_first_ranking_is_two_more_features(make_lists):
    lists, test = make_lists(1), make_lists(2)
    for i in (2, 4):
        model = fit(method(widths=(1.0,), ranking=1.5), lists)
        basis = Basis(model.method.base_learner, model.labelled)
        unadapted = basis.fit()

        def wide(some, unadapted=unadapted):
            scores = unadapted.score_aligned(some).tolist()
            bounds = zip(some.offsets[:-1].tolist(), some.offsets[1:].tolist(), strict=True)
            columns = 1.5 * np.array([pair for a, b in bounds for pair in places_of(scores[a:b])])
            return some.with_added({"score": columns[:, 0], "place": columns[:, 1]})

        labelled, one = wide(model.labelled), wide(model.prepared(test).subset([i]))
        training = TrainingPairs.of(basis.pairs, Points(labelled))
        plain = method(widths=(1.0,))
        rng = generator(single(model.prepared(test), i, labels=False), 1)
        weights = plain.weigh(training, [(Points(labelled), Points(one))], None, rng).weights
        found = model.ranker(test, i)
        assert found.diagnostics["median"] == pytest.approx(np.median(weights), abs=1e-6)
        assert found.diagnostics["sd"] == pytest.approx(np.std(weights), abs=1e-6)
        expected = basis.fit(costs=costs_of(weights))
        ready = model.prepared(test)
        np.testing.assert_allclose(found.model.score_aligned(ready), expected.score_aligned(ready), atol=1e-6)
        without = fit(plain, lists).ranker(test, i).diagnostics
        assert found.diagnostics["sd"] != pytest.approx(without["sd"], abs=1e-6)


def test_ties_and_equal_scores_of_the_first_ranking(make_lists):
    lists = CandidateLists.from_arrays(np.zeros((7, 1)), group=[4, 2, 1])
    found = ranking_points(lists, np.array([3.0, 1, 1, 5, 2, 2, 9]), 2.0)
    expected = [*places_of([3.0, 1, 1, 5]), (0, 0), (0, 0), (0, 0)]
    np.testing.assert_allclose(found.scores(np.eye(2)), 2 * np.array(expected))
