"""Votes of weight vectors, worked by hand."""

import numpy as np
import pytest

from rerank.data.lists import CandidateLists
from rerank.models.linear import VotedModel

LISTS = CandidateLists.from_arrays([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 2.0]], group=[3, 1])


def test_scores_are_votes_and_a_fraction_by_the_rank_of_the_mean():
    vectors = np.array([[1.0, 0.0], [0.0, 2.0]])
    model = VotedModel(["1", "2"], vectors, np.array([3.0, 2.0]))
    # Means 3, 4, 0 rank the items second, first, third: fractions 1/2, 3/4, 1/4.
    np.testing.assert_array_equal(model.score(LISTS), [3.5, 2.75, 0.25, 5.5])
    assert model.explain() == [("2", pytest.approx(0.8)), ("1", pytest.approx(0.6))]


def test_the_mean_of_a_single_visit_is_its_vector():
    model = VotedModel(["a", "b"], np.array([[1.0, -2.0]]), np.array([1.0]))
    assert model.explain() == [("b", -2.0), ("a", 1.0)]


def test_on_ties_the_first_candidate_gets_the_vote():
    model = VotedModel(["1", "2"], np.array([[1.0, 1.0]]), np.array([1.0]))
    np.testing.assert_array_equal(model.score(LISTS), [1.75, 0.5, 0.25, 1.5])
