"""What ``rerank validate`` reports of features."""

import numpy as np
import pytest

from rerank.data import describe as contents
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_that_never_differ_within_a_list(block, dtype, monkeypatch):
    monkeypatch.setattr(contents, "_BLOCK", block)
    values = np.array([[1, 2, 0, 4, np.nan], [1, 2, 1, 4, 5], [3, 2, 0, np.nan, 6], [3, 9, 0, 4, 6]], dtype)
    lists = CandidateLists(np.array([0, 2, 4]), Dense(values))
    assert "3 features that never differ within a list" in contents.describe(lists).warnings


@pytest.mark.parametrize(
    ("labels", "alone"),
    [
        ([1, np.nan, 2, np.nan], True),
        ([1, 0, 2, np.nan], False),
        ([1, 2, 2, np.nan], False),
        ([1] * 4, False),
    ],
)
def test_judgements_of_relevant_items_only(labels, alone):
    lists = CandidateLists(np.array([0, 2, 4]), Dense(np.ones((4, 1))), labels=np.array(labels, dtype=float))
    text = "only relevant items are judged: train with --unjudged negative"
    assert (text in contents.describe(lists).warnings) == alone


@pytest.mark.parametrize(
    ("scores", "text"),
    [([1, 2.5], "1 to 2.5"), ([np.nan, 2], "2 to 2; 1 item without one"), ([np.nan] * 2, "none")],
)
def test_first_stage_scores_that_some_items_lack(scores, text):
    lists = CandidateLists(
        np.array([0, 2]), Dense(np.ones((2, 1))), base_scores=np.array(scores, dtype=float)
    )
    assert ("scores", text) in contents.describe(lists).facts
