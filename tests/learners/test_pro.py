"""PRO: its pairs and its minimum against slow twins; gradients; what it refuses and what it reports."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import LAYOUTS, drawn, features
from reference.pro import clearest as slow_clearest
from reference.pro import minimum
from scipy.optimize import check_grad
from small_judging import values
from small_training import fit

from rerank.core.errors import DataNote, FitError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.learners.sums.parts import Parts
from rerank.learners.sums.samples import SampledPairs, SampleLoss, clearest
from rerank.learners.tuning.pro import Pro
from rerank.metrics.labelling import label
from rerank.native.learners import _pro

some_lists = partial(drawn, grades=None)


def some_pairs(seed, n_items, n_pairs=40):
    rng = np.random.default_rng(seed)
    better = rng.integers(0, n_items, n_pairs)
    worse = (better + rng.integers(1, n_items, n_pairs)) % n_items
    return better, worse, rng.integers(1, 4, n_pairs).astype(np.float64)


labels_of = st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5, 7.0, np.nan]), min_size=1, max_size=8)


@given(labels_of, st.sampled_from([0.0, 0.5, 1.0, 5.0]), st.integers(1, 60), st.integers(0, 2**32))
def test_the_clearest_pairs_are_those_of_the_twin(labels, threshold, most, seed):
    drawn = np.random.default_rng(seed).integers(len(labels), size=(2, 50))
    better, worse = clearest(np.array(labels), drawn, threshold, most)
    expected = slow_clearest(labels, drawn.T.tolist(), threshold, most)
    assert sorted(zip(better.tolist(), worse.tolist(), strict=True)) == sorted(expected)


def test_the_loss_of_pairs_is_the_logistic_one_at_any_margin():
    scores = np.array([0.0, 1000.0, -1000.0, 0.5, 1e-9])
    better, worse = np.array([1, 2, 3, 0, 4, 0]), np.array([2, 1, 0, 3, 0, 0])
    weight = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 1.0])
    slope = np.full(5, 9.0)
    loss = _pro.pair_loss(scores, better, worse, weight, slope)
    margin = scores[better] - scores[worse]
    assert loss == pytest.approx(np.sum(weight * np.logaddexp(0, -margin)), rel=1e-14)
    pull = weight * 0.5 * (1 - np.tanh(margin / 2))
    expected = np.bincount(worse, pull, 5) - np.bincount(better, pull, 5)
    np.testing.assert_allclose(slope, expected, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_is_that_of_finite_differences(layout):
    rng = np.random.default_rng(5)
    X = some_lists(5, layout).features
    start = rng.standard_normal(X.n_features)
    loss = SampleLoss(Parts([SampledPairs(X, *some_pairs(5, X.n_items))], 1), (), start, 0.7)
    for _ in range(5):
        u = rng.standard_normal(X.n_features)
        assert check_grad(lambda v: loss(v)[0], lambda v: loss(v)[1], u) < 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_feature_is_measured_by_its_differences(layout):
    X = some_lists(6, layout).features
    better, worse, weight = some_pairs(6, X.n_items)
    loss = SampleLoss(Parts([SampledPairs(X, better, worse, weight)], 1), (), np.zeros(X.n_features), 0.1)
    dense = X.to_dense().astype(np.float64)
    squares = ((dense[better] - dense[worse]) ** 2 * weight[:, None]).sum(axis=0)
    np.testing.assert_allclose(loss.scale, np.sqrt(squares / weight.sum()), rtol=1e-13)


def kept_pairs(learner, lists, list_weights=None):
    """The pairs that a learner keeps, one row of features' differences each, by the twin.

    They are there as many times as the weight of their list says.
    """
    copies = np.ones(lists.n_lists) if list_weights is None else list_weights
    rng = np.random.default_rng(learner.seed)
    X = lists.features.to_dense().astype(np.float64)
    rows = []
    for first, last, n in zip(lists.offsets[:-1], lists.offsets[1:], copies.astype(int), strict=True):
        if n == 0:
            continue
        drawn = rng.integers(last - first, size=(2, learner.samples)).T.tolist()
        labels = lists.labels[first:last].tolist()
        for i, j in slow_clearest(labels, drawn, learner.threshold, learner.keep_pairs):
            rows += [X[first + i] - X[first + j]] * n
    return np.array(rows)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_weights_are_the_minimum_over_explicit_pairs(layout):
    for seed in range(4):
        lists = some_lists(seed, layout)
        start = np.random.default_rng(seed).standard_normal(lists.n_features)
        learner = Pro(samples=60, keep_pairs=10, threshold=0.4, l2=[0.25, 3.0][seed % 2], seed=seed)
        rows = kept_pairs(learner, lists)
        for initial, w0 in ((None, np.zeros_like(start)), (start, start)):
            model = learner.fit(lists, initial=initial)
            np.testing.assert_allclose(model.weights, minimum(rows, w0, learner.l2), rtol=1e-4, atol=1e-5)
            assert model.training.rounds.init == ("zero" if initial is None else "given")
        assert model.training.data.pairs == len(rows) > 20


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_of_lists_are_as_many_copies_of_their_pairs(layout):
    for seed in range(3):
        lists = some_lists(seed, layout)
        learner = Pro(samples=60, keep_pairs=10, threshold=0.4, seed=seed)
        given = np.array([2.0, 1.0, 0.0, 3.0, 1.0])
        rows = kept_pairs(learner, lists, given)
        model = learner.fit(lists, list_weights=given)
        expected = minimum(rows, np.zeros(lists.n_features), learner.l2)
        np.testing.assert_allclose(model.weights, expected, rtol=1e-4, atol=1e-5)
        assert model.training.data.pairs == len(kept_pairs(learner, lists, np.minimum(given, 1.0)))


def test_the_size_of_a_feature_does_not_matter():
    lists = some_lists(2)
    X = lists.features.to_dense()
    size = np.array([1.0, 1e5, 1e-4, 1.0])
    other = lists.with_features(features("dense", X * size), None)
    a, b = Pro().fit(lists), Pro().fit(other)
    np.testing.assert_allclose(a.weights, b.weights * size, rtol=1e-5)


def test_a_feature_that_differs_in_no_pair_keeps_its_weight():
    lists = some_lists(3)
    X = lists.features.to_dense().copy()
    X[:, 2] = 0.1 + lists.list_index
    lists = lists.with_features(features("dense", X), None)
    assert Pro().fit(lists).weights[2] == 0.0
    assert Pro().fit(lists, initial=np.full(4, 0.3)).weights[2] == 0.3


def test_the_threshold_is_a_twentieth_of_the_labels_range_by_default():
    lists = some_lists(4)
    known = lists.labels[~np.isnan(lists.labels)]
    assert Pro().fit(lists).training.rounds.threshold == pytest.approx(0.05 * np.ptp(known))
    assert Pro(threshold=1.5).fit(lists).training.rounds.threshold == 1.5


def test_labels_too_close_are_refused_with_what_there_is():
    lists = CandidateLists.from_arrays(np.eye(4), [0.0, 1.0, 5.0, 5.5], group=[2, 2], source="close")
    with pytest.raises(FitError, match=r"close: no drawn pair differs by 2 .* in any list is 1"):
        Pro(threshold=2.0).fit(lists)
    same = CandidateLists.from_arrays(np.eye(3), [1.0, 1.0, 2.0], group=[2, 1], source="same")
    with pytest.raises(FitError, match="same: no list has two different labels"):
        Pro().fit(same)


def test_equal_features_are_refused():
    lists = CandidateLists.from_arrays(np.ones((4, 2)), [0.0, 1.0, 5.0, 5.5], source="equal")
    with pytest.raises(FitError, match="equal: the features do not differ in any pair"):
        Pro().fit(lists)
    huge = CandidateLists.from_arrays(np.array([[1e200], [-1e200]]), [0.0, 1.0], source="huge")
    with pytest.raises(FitError, match="huge: squares of the features overflow"):
        Pro().fit(huge)


def test_pairs_that_contradict_each_other_are_reported():
    X = np.array([[1.0], [0.0], [0.0], [1.0]])
    lists = CandidateLists.from_arrays(X, [1.0, 0.0, 1.0, 0.0], group=[2, 2], source="torn")
    with pytest.warns(DataNote, match="torn: pro learnt nothing, all weights are 0"):
        assert Pro(keep_pairs=3).fit(lists).weights.tolist() == [0.0]


def test_a_search_that_is_cut_short_is_reported():
    with pytest.warns(DataNote, match="some lists: pro stopped after 1 iteration, before the minimum"):
        Pro(iterations=1).fit(some_lists(1))


def test_the_error_for_texts_without_labels_names_the_option():
    lists = CandidateLists(
        np.array([0, 2]),
        features("dense", np.eye(2)),
        texts=StringColumn.from_strings(["a b", "c"]),
        references=(StringColumn.from_strings(["a b"]),),
        source="texts",
    )
    with pytest.raises(FitError, match=r"texts: no judged item; .* \(--label sBLEU makes them"):
        Pro().fit(lists)
    assert Pro().fit(label(lists, "sBLEU")).weights[0] > 0


def test_system_combination_gains_what_the_paper_s_method_gains(system_combination):
    train, test = system_combination
    model = fit(Pro(threshold=5.0), label(train, "sBLEU"), metric="BLEU")
    assert values(train, model.score(train), ["BLEU"])["BLEU"] > 19.5
    assert values(test, model.score(test), ["BLEU"])["BLEU"] > 18.8


def test_lists_without_a_pair_are_those_that_no_pair_was_kept_of():
    X = np.arange(12.0)[:, None]
    lists = CandidateLists.from_arrays(X, [1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0], group=[3, 3, 3, 3])
    assert fit(Pro(), lists).training.data.lists_without_pair == 1
    weights = np.array([1.0, 1.0, 0.0, 1.0])
    assert Pro().fit(lists, list_weights=weights).training.data.lists_without_pair == 1
