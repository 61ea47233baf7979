"""RankBoost over parts: the rounds of all lists in memory, and thresholds of values that are left out."""

from itertools import pairwise

import numpy as np
import pytest
from make import LAYOUTS
from make import lists as make_lists

from rerank.core.errors import FitError
from rerank.learners.base import FitInputs
from rerank.learners.rankboost import RankBoost, over_parts
from rerank.learners.rankboost.over_parts import BoostedPart, RoundsOverParts, column_values, cuts_of
from rerank.learners.rankboost.rankers import Grouping, counted_values, cuts
from rerank.learners.sums.parts import Parts


def rounds_of(model):
    return [getattr(model, name) for name in ("feature", "threshold", "step", "missing")]


def fitted(learner, lists, bounds):
    """The model of the lists between bounds."""
    some = [lists.subset(range(first, end)) for first, end in pairwise(bounds)]
    told = learner.told([learner.survey(one) for one in some])
    parts = Parts([learner.part(one, FitInputs(), told) for one in some], lists.n_lists)
    return learner.fit_parts(parts, lists, FitInputs())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"thresholds": 2, "step": "exact", "epsilon": 0.01},
        {"thresholds": 5, "spacing": "width", "directions": "up", "learning_rate": 0.3},
        {"thresholds": 300, "margin": "label", "tau": 0.4, "list_balance": True},
    ],
    ids=str,
)
def test_rounds_are_those_of_all_lists_in_memory(layout, missing, given):
    missing = missing if layout in ("dense", "float32") else 0.0
    lists = make_lists(
        sizes=[7, 3, 12, 1, 9, 5, 30, 4, 8, 6],
        d=6,
        layout=layout,
        seed=4,
        grades=(0, 3),
        missing=missing,
        unjudged=0.1,
    )
    learner = RankBoost(rounds=40, **given)
    expected = learner.fit(lists)
    assert expected.n_rounds > 20
    for bounds in ([0, 10], [0, 3, 10], [0, 3, 5, 7, 10]):
        found = fitted(learner, lists, bounds)
        for own, theirs in zip(rounds_of(found), rounds_of(expected), strict=True):
            np.testing.assert_array_equal(own, theirs)
        np.testing.assert_allclose(found.curve[-1]["loss"], expected.curve[-1]["loss"], rtol=1e-9)
        assert found.training.data == expected.training.data
        assert found.training.notes == pytest.approx(expected.training.notes, rel=1e-9)


def test_many_groups_and_items_use_the_bins_of_the_search():
    lists = make_lists(sizes=[60] * 160, d=3, seed=5, grades=(0, 4))
    for number in (254, 400):
        learner = RankBoost(rounds=8, thresholds=number)
        expected, found = learner.fit(lists), fitted(learner, lists, [0, 80, 160])
        for own, theirs in zip(rounds_of(found), rounds_of(expected), strict=True):
            np.testing.assert_array_equal(own, theirs)


def test_a_part_that_was_made_again_answers_the_same():
    lists = make_lists(sizes=[6] * 9, d=4, seed=6, grades=(0, 2))
    learner = RankBoost(rounds=9)
    told = learner.told([learner.survey(lists)])

    def made():
        return learner.part(lists, FitInputs(), told)

    kept, rounds = made(), []
    rounds_now = RoundsOverParts(Parts([kept], 9))
    for _ in range(6):
        sums, total = rounds_now.potentials()
        choice = rounds_now.best(sums, True)
        fresh = made()
        again, same = BoostedPart.potentials(fresh, rounds)
        assert (again.tolist(), same) == (BoostedPart.potentials(kept, rounds)[0].tolist(), total)
        assert made().split(rounds, choice) == kept.split(rounds, choice)
        rounds_now.advance(choice, 0.25)
        rounds.append((choice, 0.25))
    early = kept.potentials(rounds[:2])  # of an earlier round: a question that is asked once more
    assert early[0].tolist() == made().potentials(rounds[:2])[0].tolist()


def test_thresholds_of_values_that_are_left_out_are_near_the_quantiles(monkeypatch):
    monkeypatch.setattr(over_parts, "MOST", 64)
    X = np.random.default_rng(7).normal(size=(2000, 2))
    lists = make_lists(sizes=[50] * 40, X=X, seed=7, grades=(0, 2), unjudged=0)
    parts = [column_values(lists.subset(range(first, first + 10))) for first in range(0, 40, 10)]
    assert not any(one.all for part in parts for one in part)
    for j, found in enumerate(cuts_of(parts, Grouping(number=9))):
        column = np.sort(lists.features.to_dense()[:, j])
        wanted = cuts(*counted_values(column, 0), 9, "quantile")
        assert found.at.shape == wanted.shape
        ranks = [np.searchsorted(column, at) for at in (found.at, wanted)]
        assert np.abs(ranks[0] - ranks[1]).max() <= 2000 / 63 + 1
    widths = cuts_of(parts, Grouping(number=5, spacing="width"))  # the smallest and the largest are kept
    column = np.sort(lists.features.to_dense()[:, 0])
    np.testing.assert_array_equal(widths[0].at, cuts(*counted_values(column, 0), 5, "width"))
    with pytest.raises(FitError, match=r"feature 1 has more than 64 values: choose thresholds=N"):
        cuts_of(parts, Grouping())


@pytest.mark.parametrize("given", [{"weak": "raw"}, {"engine": "reference"}, {"keep": "train"}])
def test_what_needs_all_lists_is_named(given):
    ((name, value),) = given.items()
    assert RankBoost(**given).refused() == f"{name}={value}"
    assert RankBoost().refused() is None
