"""The log-loss of a learning curve, and the baselines."""

import numpy as np
import pytest

from rerank.core.errors import FitError
from rerank.data.lists import CandidateLists
from rerank.learners.rounds import log_loss
from rerank.training.train import train


def lists_of(labels, group, X=None):
    return CandidateLists.from_arrays(np.zeros((len(labels), 1)) if X is None else X, labels, group=group)


def test_equal_scores_cost_the_log_of_the_list_length():
    assert log_loss(lists_of([2, 1, 0, 0], [4]), np.zeros(4)) == pytest.approx(np.log(4))


def test_items_tied_for_best_share_their_probability():
    assert log_loss(lists_of([2, 2, 0, 0], [4]), np.zeros(4)) == pytest.approx(np.log(2))


def test_a_worked_value():
    scores = np.array([1.0, -1.0, 3.0, 3.0])
    lists = lists_of([1, 0, 0, 1], [2, 2])
    scale = np.sqrt(0.5)  # deviations are 1, -1, 0, 0
    first = -np.log(np.exp(1 / scale) / (np.exp(1 / scale) + np.exp(-1 / scale)))
    assert log_loss(lists, scores) == pytest.approx((first + np.log(2)) / 2)


def test_the_scale_and_offset_of_scores_do_not_matter():
    rng = np.random.default_rng(0)
    lists = lists_of(rng.integers(0, 3, 30).astype(float), [10, 20])
    scores = rng.standard_normal(30)
    assert log_loss(lists, 1e6 * scores + 5) == pytest.approx(log_loss(lists, scores))


def test_a_best_item_far_below_is_finite():
    n = 4000
    labels = np.zeros(n + 1)
    labels[0] = 1
    scores = np.r_[-1.0, np.zeros(n)]
    loss = log_loss(lists_of(labels, [n + 1]), scores)
    assert np.isfinite(loss)
    assert loss > np.log(n)


def test_an_unjudged_item_competes_but_is_never_best():
    assert log_loss(lists_of([np.nan, 1.0], [2]), np.zeros(2)) == pytest.approx(np.log(2))


def test_no_list_counts_gives_nan():
    assert np.isnan(log_loss(lists_of([1.0, 1.0], [2]), np.zeros(2)))
    assert np.isnan(log_loss(lists_of([np.nan, np.nan], [2]), np.zeros(2)))


def test_best_feature_finds_the_feature_and_its_sign():
    X = np.array([[0, 5, 1], [1, 3, 1], [0, 1, 1], [1, 2, 1], [0, 4, 1]], dtype=float)
    labels = [0, 1, 3, 2, 0]
    model = train(lists_of(labels, [5], X), "best-feature", metric="nDCG")
    assert model.explain() == [("2", -1.0)]
    assert model.training.rounds.train == pytest.approx(1.0)


def test_on_ties_best_feature_takes_the_first_and_larger_is_better():
    model = train(
        lists_of([1, 0], [2], np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])), "best-feature", metric="AP"
    )
    assert model.explain() == [("2", 1.0)]


def test_best_feature_needs_a_feature_and_a_value():
    with pytest.raises(FitError, match="no features; learner best-feature learns from features"):
        train(lists_of([1, 0], [2], np.zeros((2, 0))), "best-feature", metric="AP")


def test_random_scores_depend_on_the_seed_alone():
    lists = lists_of([1, 0, 0], [3])
    scores = [train(lists, "random", seed=seed).score(lists).tolist() for seed in (1, 1, 2)]
    assert scores[0] == scores[1] != scores[2]
