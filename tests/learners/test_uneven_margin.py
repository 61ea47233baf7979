"""The perceptron with uneven margins against its pseudo-code; what it refuses."""

import numpy as np
import pytest
from reference.graded import judged_rows, layouts, passes_of, separable_grades, whole_lists
from reference.ordinal import paum as slow_paum

from rerank.core.errors import FitError
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS
from rerank.learners.ordinal import UnevenMargin
from rerank.models.training import DataRecord

MARGINS = [(0.0, 0.0), (1.0, 1.0), (20.0, 0.5), (0.0, 7.0), (5.0, -2.0), (-2.0, 0.0)]


def signs(lists, relevant):
    return np.where(np.isnan(lists.labels), 0, np.where(lists.labels >= relevant, 1, -1))


@pytest.mark.parametrize(("tau_plus", "tau_minus"), MARGINS)
@pytest.mark.parametrize("relevant", [1, 2.5])
def test_weights_and_bias_are_those_of_the_pseudo_code(tau_plus, tau_minus, relevant):
    for seed in range(3):
        lists = whole_lists(seed)
        for average in ("last", "average"):
            learner = UnevenMargin(
                tau_plus=tau_plus,
                tau_minus=tau_minus,
                relevant=relevant,
                epochs=5,
                average=average,
                seed=seed,
                shuffle=seed != 1,
            )
            last, mean, history = slow_paum(
                lists.features.to_dense(),
                signs(lists, relevant),
                tau_plus,
                tau_minus,
                passes_of(learner, lists),
            )
            w, b = last if average == "last" else mean
            for data in layouts(lists):
                model = learner.fit(data)
                np.testing.assert_allclose(model.weights, w, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(model.thresholds, [-b], rtol=1e-12, atol=1e-12)
                assert [(row["updates"], row["wrong"]) for row in model.curve] == history


@pytest.mark.parametrize(("tau_plus", "tau_minus"), MARGINS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_updates_are_within_the_bound_and_margins_are_reached(tau_plus, tau_minus, seed):
    lists, _, radius = separable_grades(seed, 2)
    model = UnevenMargin(
        tau_plus=tau_plus, tau_minus=tau_minus, average="last", epochs=100_000, seed=seed
    ).fit(lists)
    assert model.training.rounds.converged
    y = signs(lists, 1)
    reached = y * (model.score(lists) - model.thresholds[0])
    assert (reached > np.where(y > 0, tau_plus, tau_minus)).all()
    # Any separator will do for w*: one that has converged with large margins, scaled to a unit w.
    best = UnevenMargin(tau_plus=100, tau_minus=100, average="last", epochs=100_000).fit(lists)
    size = np.linalg.norm(best.weights)
    bias = -best.thresholds[0] / size
    gamma = float((y * (best.score(lists) / size + bias)).min())
    assert gamma > 0
    updates = sum(row["updates"] for row in model.curve)
    largest = max(tau_plus, tau_minus, 0)
    assert 1 <= updates <= (1 + bias**2 / radius**2) * (2 * radius**2 + 2 * largest) / gamma**2


def test_grades_are_one_at_or_above_the_threshold_and_zero_below():
    lists = whole_lists(5)
    model = UnevenMargin(relevant=3).fit(lists)
    np.testing.assert_array_equal(model.grades(lists), model.score(lists) >= model.thresholds[0])
    rows = judged_rows(lists)
    assert model.training.data == DataRecord(judged=len(rows), grades=2)
    assert model.labels.tolist() == [0.0, 1.0]


def test_unjudged_items_have_no_part_in_the_radius():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1e6, 1e6]])
    model = UnevenMargin(average="last", shuffle=False, epochs=1).fit(
        CandidateLists.from_arrays(X, [1.0, 0.0, np.nan])
    )
    np.testing.assert_array_equal(model.weights, [1.0, -1.0])
    assert model.thresholds[0] == 0.0  # + 1 and - 1: the radius is 1


def test_it_has_the_name_of_its_paper_too():
    assert LEARNERS.get("paum") is UnevenMargin


@pytest.mark.parametrize(("labels", "side"), [([0.0, 0.5], "no"), ([1.0, 2.0], "every")])
def test_one_class_only_is_refused(labels, side):
    lists = CandidateLists.from_arrays(np.eye(2), labels, source="one.txt")
    with pytest.raises(FitError, match=f"one.txt: {side} judged item has a label of 1 or more"):
        UnevenMargin().fit(lists)


def test_overflow_is_an_error_and_not_nan():
    with pytest.raises(FitError, match="scale the features"):
        UnevenMargin().fit(CandidateLists.from_arrays([[1e200], [-1e200]], [1, 0]))
