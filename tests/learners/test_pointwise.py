"""Ridge and logistic regression: minima against slow twins, degenerate items, refusals, penalties by dev."""

import warnings

import numpy as np
import pytest
from make import LAYOUTS, drawn
from reference import pointwise as slow
from small_training import fit, make_learner

import rerank
from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.penalised import STRENGTHS
from rerank.learners.pointwise import Logistic, Ridge
from rerank.learners.sums.classes import ClassItems, ClassLoss
from rerank.learners.sums.judged import JudgedItems
from rerank.learners.sums.parts import Parts
from rerank.learners.sums.squares import SquareLoss, Squares
from rerank.models.describe import model_lines
from rerank.models.describe_training import training_lines


def some_lists(seed=0, layout="dense", factor=1.0):
    """Lists with ties, an item alone, unjudged items, a list without any judgement."""
    found = drawn(seed, layout)
    return found.replace_labels(factor * np.where(found.list_index == 3, np.nan, found.labels))


def weights_of(lists, seed):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], lists.n_lists) if seed else None


@pytest.mark.parametrize("intercept", ["one", "list"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(4))
def test_ridge_is_that_of_the_normal_equations(intercept, layout, seed):
    lists = some_lists(seed, layout)
    weights = weights_of(lists, seed)
    for penalty in (0.1, 10.0):
        learner = Ridge(penalty=penalty, intercept=intercept, tolerance=1e-14)
        model = learner.fit(lists, list_weights=weights)
        expected, constants = slow.ridge(lists, penalty, weights, by_list=intercept == "list")
        np.testing.assert_allclose(model.weights, expected, atol=1e-6)
        if intercept == "one":
            assert model.training.notes["intercept"] == pytest.approx(constants[0], abs=1e-6)
        else:
            assert model.training.notes == {}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_logistic_is_that_of_a_general_solver(layout, seed):
    lists = some_lists(seed, layout)
    weights = weights_of(lists, seed)
    for penalty, relevant in ((0.3, 1.0), (3.0, 0.0)):
        model = Logistic(penalty=penalty, relevant=relevant, tolerance=1e-13).fit(lists, list_weights=weights)
        expected, constant = slow.logistic(lists, penalty, relevant, weights)
        np.testing.assert_allclose(model.weights, expected, atol=1e-5)
        assert model.training.notes["intercept"] == pytest.approx(constant, abs=1e-5)
        found = slow.log_loss(lists, model.weights, model.training.notes["intercept"], relevant, weights)
        total = sum(weight for *_, weight, _ in slow.judged(lists, weights))
        assert model.training.rounds.loss == pytest.approx(found / total, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("kind", ["squares", "classes"])
def test_gradients_are_slopes_at_the_best_intercept(kind, scale):
    items = JudgedItems.of(some_lists(3), None)
    if kind == "squares":
        loss = SquareLoss(Parts([Squares(items, False)], 1), [items.weight.sum()], 1.0, False)
    else:
        part = ClassItems(items, (items.labels > 0) * 1.0)
        loss = ClassLoss(Parts([part], 1), [part.facts()])
    w = scale * np.array([0.3, -1.0, 0.5, 0.25])
    step = 1e-5 * scale
    value, gradient = loss(w)
    for j in range(4):
        e = np.zeros(4)
        e[j] = step
        slope = (loss(w + e)[0] - loss(w - e)[0]) / (2 * step)
        assert gradient[j] == pytest.approx(slope, rel=1e-3, abs=1e-4 + 1e-6 * value / scale)


@pytest.mark.parametrize("name", ["ridge", "logistic"])
def test_judged_items_are_counted(name):
    lists = some_lists(1)
    model = rerank.train(lists, name)
    judged = np.count_nonzero(~np.isnan(lists.labels))
    assert model.training.data.judged == judged
    assert f"{judged} of the items judged" in training_lines(model, lists, None)[0]
    assert any(str(judged) in text for text in model_lines(model))


@pytest.mark.parametrize("factor", [1e-300, 1e6, 1e300])
def test_the_units_of_labels_are_those_of_the_weights_of_ridge(factor):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, many = (Ridge(tolerance=1e-13).fit(some_lists(1, factor=f)) for f in (1.0, factor))
    np.testing.assert_allclose(many.weights, one.weights * factor, rtol=1e-3)
    np.testing.assert_allclose(
        many.training.notes["intercept"], one.training.notes["intercept"] * factor, rtol=1e-3
    )
    found = many.training.rounds.loss / factor / factor
    assert found == pytest.approx(one.training.rounds.loss, rel=1e-3) or found in (0.0, np.inf)


@pytest.mark.parametrize("name", ["ridge", "logistic"])
def test_features_that_never_differ_get_no_weight(name):
    lists = some_lists(1)
    X = np.column_stack([lists.features.values, np.full(lists.n_items, 0.3)])
    model = make_learner(name, {}).fit(CandidateLists.from_arrays(X, lists.labels, group=lists.lengths))
    assert abs(model.weights[4]) < 1e-12


def refused(name, match, labels, **settings):
    lists = CandidateLists.from_arrays([[0.0], [1.0], [3.0], [2.0]], labels, group=[2, 2], source="set")
    with pytest.raises(FitError, match=match):
        make_learner(name, settings).fit(lists)


def test_items_that_are_all_alike_are_refused():
    refused(
        "ridge",
        "set: every judged item has the label 0.1; learner ridge has nothing",
        [0.1, np.nan, 0.1, 0.1],
    )
    refused("ridge", "set: no list has two different labels", [0.1, 0.1, 0.7, 0.7], intercept="list")
    refused("logistic", r"set: no judged item has a label of 1 or more \(relevant\)", [0, 0, 0, 0.5])
    refused("logistic", "set: every judged item has a label of -1 or more", [0, 0, 0, 0.5], relevant=-1)


@pytest.mark.parametrize("name", ["ridge", "logistic", "listnet"])
def test_weights_that_leave_nothing_are_refused(name):
    lists = some_lists(1)
    with pytest.raises(FitError, match="has weight 0"):
        make_learner(name, {}).fit(lists, list_weights=np.zeros(lists.n_lists))


@pytest.mark.parametrize("name", ["ridge", "logistic", "listnet"])
class TestPenalty:
    """What all learners with one penalty share."""

    def test_dev_keeps_the_best_strength(self, name):
        lists, dev = some_lists(1), some_lists(2)
        model = fit(make_learner(name, {"penalty": "dev"}), lists, dev=dev, metric="nDCG")
        values = [row["dev"] for row in model.curve]
        best = values.index(max(values))
        found = model.training.rounds
        assert found.penalty == model.curve[best]["penalty"] == STRENGTHS[best]
        assert found.dev == max(values)
        assert found.iterations == sum(row["iterations"] for row in model.curve)
        again = fit(make_learner(name, {"penalty": found.penalty}), lists, metric="nDCG")
        np.testing.assert_allclose(model.weights, again.weights, atol=1e-2)

    def test_dev_needs_dev_lists(self, name):
        with pytest.raises(
            FitError, match=f"learner {name}: penalty=dev needs development lists and a metric"
        ):
            make_learner(name, {"penalty": "dev"}).fit(some_lists())

    @pytest.mark.parametrize("penalty", [0, -1, "none", "best"])
    def test_other_strengths_are_refused(self, name, penalty):
        with pytest.raises(ConfigError, match="penalty: found "):
            make_learner(name, {"penalty": penalty})

    def test_a_search_that_is_cut_short_is_reported(self, name):
        with pytest.warns(
            DataNote, match=f"some lists: {name} stopped after 1 iteration, up to .* above the"
        ):
            make_learner(name, {"iterations": 1, "penalty": 0.001}).fit(some_lists(1))

    def test_features_without_a_difference_teach_nothing(self, name):
        lists = CandidateLists.from_arrays(np.zeros((4, 2)), [0, 1, 2, 0], group=[2, 2], source="set")
        with pytest.warns(DataNote, match=f"set: {name} learnt nothing, all weights are 0"):
            assert not make_learner(name, {}).fit(lists).weights.any()

    def test_huge_features_are_refused(self, name):
        X: Floats = np.array([[1e300], [-1e300], [1e300], [0.0]])
        lists = CandidateLists.from_arrays(X, [0, 1, 2, 0], group=[2, 2], source="set")
        with pytest.raises(FitError, match=r"set: the loss overflows; scale the features \(--scaling\)"):
            make_learner(name, {}).fit(lists)
