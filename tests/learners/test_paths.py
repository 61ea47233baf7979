"""A path of fits over a strength, and which of them is kept."""

from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import pytest

from rerank.core.errors import ConfigError, FitError
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.regularization_path import check_strength, path, require_dev, watched
from rerank.learners.rounds import Rounds
from rerank.metrics.base import parse

LISTS = CandidateLists.from_arrays(np.array([[1.0], [2.0], [3.0], [1.0]]), [1.0, 2.0, 5.0, 3.0], group=[4])


@dataclass
class Found:
    strength: float
    weight: float

    @property
    def weights(self):
        return np.array([self.weight])

    def row(self):
        return {"strength": self.strength}


def kept(weights, *, strictly=False, on_dev=True):
    """Walk a path whose steps have these weights; the metric on dev is 5 for a positive one, else 1."""
    judge = parse("label@1").prepare(LISTS)
    watch = Rounds(LISTS, FitInputs(dev=(LISTS, judge)), "best" if on_dev else "last")
    steps = path(range(len(weights)), lambda strength, before: Found(strength, weights[strength]))
    return watched(steps, watch, on_dev=on_dev, strictly=strictly), watch.curve


def test_each_fit_gets_the_one_before():
    seen = []

    def fit(strength, before):
        seen.append((strength, before and before.strength))
        return Found(strength, 1.0)

    assert [step.strength for step in path([9.0, 3.0, 1.0], fit)] == [9.0, 3.0, 1.0]
    assert seen == [(9.0, None), (3.0, 9.0), (1.0, 3.0)]


def test_nothing_is_fitted_before_it_is_asked_for():
    seen = []
    steps = path([3.0, 2.0, 1.0], lambda strength, before: seen.append(strength) or Found(strength, 1.0))
    assert len(list(takewhile(lambda step: step.strength > 2, steps))) == 1
    assert seen == [3.0, 2.0]


def test_the_first_is_kept_on_ties_and_ties_do_not_end_the_path():
    found, curve = kept([-1.0, 1.0, 2.0, 3.0, 1.0, 1.0])
    assert found.strength == 1
    assert len(curve) == 6
    assert [row["strength"] for row in curve] == [0, 1, 2, 3, 4, 5]


def test_ties_end_it_if_steps_must_be_strictly_better():
    found, curve = kept([-1.0, 1.0, 2.0, 3.0, 1.0, 1.0], strictly=True)
    assert (found.strength, len(curve)) == (1, 5)


def test_three_worse_in_a_row_end_it():
    found, curve = kept([-1.0, -1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
    assert (found.strength, len(curve)) == (2, 6)


def test_a_tie_with_the_best_does_not_count_as_worse_nor_end_a_row():
    found, curve = kept([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    assert (found.strength, len(curve)) == (0, 5)


def test_the_last_is_kept_if_dev_does_not_choose():
    found, curve = kept([1.0, -1.0, -1.0, -1.0, -1.0], on_dev=False)
    assert (found.strength, len(curve)) == (4, 5)


def test_a_choice_on_dev_needs_dev_lists():
    with pytest.raises(FitError, match=r"^learner some: C=dev needs development lists and a metric$"):
        require_dev("some", "C", FitInputs())


@pytest.mark.parametrize("strength", [0.0, -1.0, float("inf"), float("nan")])
def test_a_strength_is_above_0_and_finite(strength):
    with pytest.raises(ConfigError, match=r"^C: found .*, expected more than 0 or dev$"):
        check_strength("C", strength)
    check_strength("C", 1e-9)
    check_strength("C", "dev")
