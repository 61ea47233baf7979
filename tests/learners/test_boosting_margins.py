"""Margins of boosting: costs in both losses against the slow twins, and settings that have no effect."""

import dataclasses

import numpy as np
import pytest
from learners.test_boosting import found_rounds, random_lists, slow_run
from learners.test_boosting_log import twin
from reference import boosting as slow

from rerank.core.errors import ConfigError, FitError
from rerank.learners.boosting import Boosting

MARGINS = [
    {"margin": "uneven", "tau": 2.0},
    {"margin": "uneven", "margin_power": 0.5, "tau": 1.0},
    {"margin": "label", "tau": 0.7},
]


def costs_of(lists, pairs, learner):
    return slow.costs_of(lists, pairs, learner.tau, learner.margin, learner.margin_power)


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("weighting", ["score", "one"])
@pytest.mark.parametrize("margin", MARGINS, ids=str)
def test_rounds_are_those_of_the_exponential_loss_with_costs(engine, weighting, margin):
    for seed in range(3):
        lists = random_lists(seed, values=(0, 1, 2))
        learner = Boosting(
            engine=engine, pair_weighting=weighting, epsilon=0.01, rounds=40, bins=None, **margin
        )
        model = learner.fit(lists)
        pairs, stumps, g = slow_run(lists, learner, 40)
        costs = costs_of(lists, pairs, learner)
        alpha = model.training.notes["alpha0"]
        assert alpha == pytest.approx(slow.scanned_weight(lists.base_scores, pairs, costs), abs=0.00051)
        margins = [alpha * (lists.base_scores[a] - lists.base_scores[b]) for _, a, b, _ in pairs]
        expected = slow.exp_rounds(g, [s for *_, s in pairs], margins, 0.01, 40, costs)
        assert [r[:2] for r in found_rounds(model)] == [stumps[k] for k, *_ in expected]
        np.testing.assert_allclose(model.step, [step for _, step, *_ in expected], atol=2e-12)
        losses = [row["loss"] for row in model.curve]
        np.testing.assert_allclose(losses, [loss for *_, loss, _ in expected], rtol=1e-10)
        assert [row["errors"] for row in model.curve] == [errors for *_, errors in expected]
        assert found_rounds(model) != found_rounds(learner.copy_with({"tau": 1e-300}, "").fit(lists))


@pytest.mark.parametrize("margin", [*MARGINS, {"margin": "even", "tau": 1.5}], ids=str)
def test_rounds_are_those_of_the_logistic_loss_with_costs(margin):
    for seed in range(3):
        lists = random_lists(seed, values=(0, 1, 2))
        learner = Boosting(loss="log", epsilon=0.01, rounds=30, bins=None, **margin)
        model = learner.fit(lists)
        stumps, g, groups, of_lists, pairs = twin(lists)
        costs = costs_of(lists, pairs, learner)
        margins = [lists.base_scores[a] - lists.base_scores[b] for _, a, b, _ in pairs]
        expected = slow.log_rounds(g, groups, margins, 0.01, 30, costs)
        assert [r[:2] for r in found_rounds(model)] == [stumps[k] for k, *_ in expected]
        np.testing.assert_allclose(model.step, [step for _, step, _ in expected], atol=2e-12)
        losses = [row["loss"] for row in model.curve]
        np.testing.assert_allclose(losses, [loss for *_, loss in expected], rtol=1e-11, atol=1e-14)
        # Iterative scaling sees the costs as scores of the items that are not best.
        raised = lists.base_scores.copy()
        for cost, (_, _, other, _) in zip(costs, pairs, strict=True):
            raised[other] += cost
        scaled = learner.copy_with({"engine": "reference", "epsilon": None, "rounds": 6}, "").fit(lists)
        X = lists.features.to_dense()
        h = [[float(X[j, f] >= t) for f, t in stumps] for j in range(lists.n_items)]
        expected = slow.scaling_rounds(h, of_lists, raised.tolist(), 6)
        assert [r[:2] for r in found_rounds(scaled)] == [stumps[k] for k, *_ in expected]
        np.testing.assert_allclose(scaled.step, [step for _, step, _ in expected], atol=1e-9)


def test_errors_are_counted_without_the_margin():
    lists = random_lists(3, values=(0, 1, 2))
    flat, wide = (Boosting(rounds=1, margin="label", tau=tau).fit(lists) for tau in (1e-300, 50.0))
    scores = wide.score(lists)
    assert wide.curve[-1]["loss"] > 1e3 * flat.curve[-1]["loss"]
    wrong = [scores[a] <= scores[b] for _, a, b, _ in slow.pairs_of(lists, False)]
    assert wide.curve[-1]["errors"] == sum(wrong)


def test_tiny_margins_change_nothing():
    lists = random_lists(1)
    for loss in ("exp", "log"):
        learner = Boosting(loss=loss, rounds=20)
        with_margin = learner.copy_with({"margin": "uneven", "tau": 1e-300}, "").fit(lists)
        assert found_rounds(learner.fit(lists)) == found_rounds(with_margin)


def test_margins_without_an_effect_are_refused():
    lists = random_lists(0)
    with pytest.raises(ConfigError, match="margin=uneven is multiplied by tau, which is 0: set tau"):
        Boosting(margin="uneven").fit(lists)
    with pytest.raises(ConfigError, match="tau with margin=even multiplies all pairs of loss=exp equally"):
        Boosting(tau=1.0).fit(lists)
    for wrong in ({"margin": "label"}, {"tau": 1.0}):
        with pytest.raises(ConfigError, match="margin and tau are for task=ranking"):
            Boosting(task="classification", **wrong)
    for loss in ("exp", "log"):
        with pytest.raises(FitError, match="drawn lists: margins overflow"):
            Boosting(margin="label", tau=1e308, loss=loss).fit(lists)
    huge = dataclasses.replace(lists, labels=1e300 * lists.labels)
    with pytest.raises(FitError, match="margins overflow"):
        Boosting(margin="label", tau=1e10, loss="log").fit(huge)
