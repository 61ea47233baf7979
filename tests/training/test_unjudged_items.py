"""Unjudged items of judged lists, and the label that they get as not relevant."""

from __future__ import annotations

import numpy as np
import pytest

from rerank import CandidateLists
from rerank.training.steps.labels import (
    has_negative,
    has_order,
    level_of_unjudged,
    unjudged_items,
    with_level,
)

NAN = np.nan


def lists_of(*labels: list[float]) -> CandidateLists:
    flat = [label for some in labels for label in some]
    return CandidateLists.from_arrays(np.arange(len(flat))[:, None], flat, group=list(map(len, labels)))


@pytest.mark.parametrize(
    ("labels", "level", "negative", "order"),
    [
        (([1, NAN], [NAN, NAN]), 0, False, False),
        (([1, 2, NAN], [1]), 0, False, True),
        (([1, NAN], [2, NAN]), 0, False, False),
        (([1, 0, NAN], [-2, NAN]), 0, True, True),
        (([1, NAN], [0, NAN]), 0, True, False),
        (([1, -1, NAN], [1, NAN]), -1, True, True),
        (([-1, NAN], [-3, NAN]), -1, True, False),
        (([NAN, NAN],), 0, False, False),
        (([0.5, NAN, -0.25],), -0.25, True, True),
    ],
)
def test_levels(labels: tuple[list[float], ...], level: float, negative: bool, order: bool) -> None:
    lists = lists_of(*labels)
    assert (level_of_unjudged(lists), has_negative(lists), has_order(lists)) == (level, negative, order)
    expected = []
    for some in labels:
        judged = not all(np.isnan(some))
        expected += [level if judged and np.isnan(label) else label for label in some]
    counted = with_level(lists, level)
    assert np.array_equal(counted.labels, expected, equal_nan=True)
    assert np.array_equal(unjudged_items(lists), np.isnan(lists.labels) & ~np.isnan(expected))
    assert not unjudged_items(counted).any()


def test_lists_without_labels_stay_as_they_are() -> None:
    bare = CandidateLists.from_arrays([[1.0], [2.0]])
    assert with_level(bare, 0.0) is bare
    assert not unjudged_items(bare).any()
    assert not has_order(bare)
