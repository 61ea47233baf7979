"""A score is a finite number, or an error that names the item and the feature."""

import numpy as np
import pytest

from rerank.core.errors import DataError
from rerank.data.lists import CandidateLists
from rerank.models.linear import LinearModel, ThresholdModel, VotedModel


def lists_of(X, item_ids=None):
    names = ["a", "b"]
    return CandidateLists.from_arrays(X, group=[2, 1], feature_names=names, item_ids=item_ids, source="t.txt")


HUGE = lists_of([[1, 0], [1e10, 1e305], [0, 1]], ["d1", "d2", "d3"])
MISSING = lists_of([[1, 0], [1, 1], [np.nan, 1]])


@pytest.mark.parametrize(
    ("lists", "weights", "message"),
    [
        (HUGE, [1e300, 1], "list '1', item 'd2' is inf: its feature 'a' is 1e+10 and has the weight 1e+300"),
        (
            HUGE,
            [-1e300, 1],
            "list '1', item 'd2' is -inf: its feature 'a' is 1e+10 and has the weight -1e+300",
        ),
        (
            HUGE,
            [1e300, -1e300],
            "list '1', item 'd2' is nan: its feature 'a' is 1e+10 and has the weight 1e+300",
        ),
        (
            MISSING,
            [1, 1],
            "list '2', item 1 is nan: its feature 'a' is missing (NaN); in training, "
            "--missing mean, list-mean, list-min, indicator or zero fills missing values",
        ),
    ],
)
def test_a_score_that_is_not_finite_is_an_error(lists, weights, message):
    models = [
        LinearModel(["a", "b"], np.array(weights, dtype=float)),
        ThresholdModel(["a", "b"], np.array(weights, dtype=float), np.zeros(1), np.arange(2.0)),
    ]
    for score in (models[0].score, models[0].raw_score, models[1].grades):
        with pytest.raises(DataError) as caught:
            score(lists)
        assert str(caught.value) == f"t.txt: the score of {message}"


@pytest.mark.parametrize("weights", [[1e300, 1.0], [1e300, -1e300]])
def test_votes_of_weights_that_overflow_are_an_error(weights):
    model = VotedModel(["a", "b"], np.array([weights, [1.0, 0.0]]), np.ones(2))
    with pytest.raises(DataError, match=r"t\.txt: the score of list '1', item 'd2' is (inf|nan)"):
        model.score(HUGE)


def test_items_follow_the_names_of_lists_brought_together():
    lists = CandidateLists.from_arrays([[0.0], [1e300], [0.0]], qid=["x", "y", "x"], source="t.txt")
    with pytest.raises(DataError, match="list 'y', item 1 is inf: its feature '1' is 1e"):
        LinearModel(["1"], np.array([1e300])).score(lists)
