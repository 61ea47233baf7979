"""The risk and its gradient against their definition; annealing; starts; data that it refuses."""

import numpy as np
import pytest
from learners.test_line_search import METRICS, drawn
from reference import mrt as slow
from small_training import fit

from rerank.core.errors import DataNote, FitError
from rerank.data.lists import CandidateLists
from rerank.learners.loglinear import LogLinear
from rerank.learners.mrt import MinimumRisk
from rerank.learners.sums.risk import Risk, RiskPart
from rerank.learners.tuning.mert import Mert
from rerank.metrics.base import parse

WEIGHTS = [None, "drawn"]


def fitted(lists, metric="label@1", *, initial=None, list_weights=None, **settings):
    judge = parse(metric).prepare(lists)
    return MinimumRisk(**settings).fit(lists, judge=judge, initial=initial, list_weights=list_weights)


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "BLEU(smooth=none)"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_risk_and_its_gradient_are_those_of_the_definition(metric, weights):
    for seed in range(2):
        lists = drawn(seed, n_lists=6)
        rng = np.random.default_rng(seed)
        weights = None if weights is None else rng.choice([0.0, 0.5, 2.0], lists.n_lists)
        judge = parse(metric).prepare(lists)
        risk = Risk.of(lists, judge, weights)
        even = slow.expected_value(lists, judge, np.zeros(lists.n_features), 1.0, weights)
        for gamma in (0.5, 4.0):
            v = rng.normal(size=lists.n_features)

            def defined(v, gamma=gamma, judge=judge, lists=lists, even=even, weights=weights, unit=risk.unit):
                return (even - slow.expected_value(lists, judge, v, gamma, weights)) / unit

            value, gradient = risk(v, gamma)
            assert value == pytest.approx(defined(v), abs=1e-10)
            np.testing.assert_allclose(gradient, slow.slopes(defined, v), rtol=2e-5, atol=1e-7)


def test_the_unit_is_the_gain_of_certain_choices():
    lists = drawn(4, n_lists=5)
    judge = parse("label@1").prepare(lists)
    labels, starts = lists.labels, lists.offsets[:-1]
    best = np.maximum.reduceat(labels, starts).mean()
    even = (np.add.reduceat(labels, starts) / lists.lengths).mean()
    assert Risk.of(lists, judge).unit == pytest.approx(best - even)


def test_scores_without_limit_have_a_posterior():
    lists = drawn(5, n_lists=4)
    risk = RiskPart(lists, parse("label@1").prepare(lists))
    for scale in (1e-300, 1.0, 1e300):
        chance = risk.posterior(scale * np.random.default_rng(0).normal(size=lists.n_items))
        assert np.isfinite(chance).all()
        np.testing.assert_allclose(np.add.reduceat(chance, lists.offsets[:-1]), 1.0)
    whole = Risk.of(lists, parse("label@1").prepare(lists))
    value, slope = whole(np.full(lists.n_features, 1e308), 1.0)
    assert value == np.inf
    assert not slope.any()


def test_each_round_sharpens_and_lowers_the_risk():
    lists = drawn(6, n_lists=40)
    model = fit(MinimumRisk(rounds=4, gamma=0.5), lists, metric="label@1", scaling="none")
    assert [row["gamma"] for row in model.curve] == [0.5, 1.0, 2.0, 4.0]
    risks = [row["risk"] for row in model.curve]
    assert risks == sorted(risks, reverse=True)
    assert risks[0] < 0
    # The softmax of the model's scores is the posterior of the last round.
    judge = parse("label@1").prepare(lists)
    assert Risk.of(lists, judge)(model.weights, 1.0)[0] == pytest.approx(risks[-1])


def test_a_penalty_without_limit_leaves_the_first_weights():
    lists = drawn(7, n_lists=10)
    start = np.random.default_rng(2).normal(size=lists.n_features)
    model = fitted(lists, initial=start, l2=1e12, rounds=1)
    found, first = (weights / np.linalg.norm(weights) for weights in (model.weights, start))
    np.testing.assert_allclose(found, first, atol=1e-6)
    assert model.training.rounds.init == "given"


def test_features_that_tell_nothing_apart_leave_the_first_weights():
    lists = CandidateLists.from_arrays(np.ones((6, 2)), [0, 1, 0, 2, 0, 1], group=[3, 3], source="set")
    with pytest.warns(DataNote, match="no step of mrt gained; .* the first weights .init given"):
        model = fitted(lists, initial=np.array([1.0, 2.0]), rounds=1)
    np.testing.assert_array_equal(model.weights, [1.0, 2.0])


def test_where_it_starts():
    lists = drawn(8, n_lists=12)
    judge = parse("label@1").prepare(lists)
    starts = {
        "loglinear": LogLinear(targets="tied").fit(lists).weights,
        "mert": Mert().fit(lists, judge=judge).weights,
    }
    for init, weights in starts.items():
        model = fitted(lists, init=init)
        np.testing.assert_array_equal(model.initial, weights)
        assert model.training.rounds.init == init
    assert fitted(lists).training.rounds.init == "loglinear"


def test_what_cannot_be_learnt_is_refused():
    lists = drawn(11, n_lists=6)
    judge = parse("label@1").prepare(lists)
    flat = lists.replace_labels(np.ones(lists.n_items))
    with pytest.raises(FitError, match="label@1 is the same for all candidates of each list"):
        MinimumRisk().fit(flat, judge=parse("label@1").prepare(flat))
    with pytest.raises(FitError, match="needs a metric of single candidates"):
        MinimumRisk().fit(lists, judge=parse("AP").prepare(lists))
    with pytest.raises(FitError, match="init=given: no initial weights"):
        MinimumRisk(init="given").fit(lists, judge=judge)
    with pytest.raises(FitError, match="leave one out"):
        MinimumRisk(init="mert").fit(lists, judge=judge, initial=np.ones(lists.n_features))
    with pytest.raises(FitError, match="init=base: the lists have no first-stage scores"):
        MinimumRisk(init="base").fit(lists, judge=judge)
    with pytest.raises(FitError, match="overflow"):
        MinimumRisk().fit(lists, judge=judge, initial=np.full(lists.n_features, 1e308))


def test_lists_of_weight_0_are_as_if_absent():
    lists = drawn(12, n_lists=12)
    some = np.arange(12) % 3 > 0
    start = np.random.default_rng(3).normal(size=lists.n_features)
    alone = lists.subset(np.flatnonzero(some))
    first = Risk.of(alone, parse("label@1").prepare(alone))
    again = Risk.of(lists, parse("label@1").prepare(lists), some.astype(float))
    assert first.unit == pytest.approx(again.unit)
    for one, other in zip(first(start, 2.0), again(start, 2.0), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
