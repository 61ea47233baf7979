"""What ``rerank validate`` reports of features."""

import numpy as np
import pytest

from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.report import contents


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_that_never_differ_within_a_list(block, dtype, monkeypatch):
    monkeypatch.setattr(contents, "_BLOCK", block)
    values = np.array([[1, 2, 0, 4, np.nan], [1, 2, 1, 4, 5], [3, 2, 0, np.nan, 6], [3, 9, 0, 4, 6]], dtype)
    lists = CandidateLists(np.array([0, 2, 4]), Dense(values))
    assert "3 features that never differ within a list" in contents.describe(lists).oddities
