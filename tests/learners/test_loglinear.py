"""Log-linear models: loss, gradient and minimum against slow twins; priors, targets, batches."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import LAYOUTS, features, lists
from reference import loglinear as slow
from scipy.optimize import minimize
from small_training import fit, make_learner

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.workers import parallel
from rerank.data import blocks as bundles
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.loglinear import PRIORS, LogLinear, LogLoss, target_lists
from rerank.learners.minimise import Objective, Penalty, minimise

TARGETS = ["best", "tied", "any", "soft"]


some_lists = partial(lists, grades=(-1, 1))


def loss_of(lists, targets="best", sharpness=0.7, list_weights=None):
    return LogLoss(lists.features, target_lists(lists, targets, sharpness, list_weights))


@pytest.fixture(params=["plain", "bundled"])
def form(request, monkeypatch):
    """Sparse features as they are, and in bundles whatever their number."""
    if request.param == "bundled":
        monkeypatch.setattr(bundles, "SMALL", 0)
        monkeypatch.setattr(bundles, "WORTH_BUNDLING", np.inf)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_and_its_gradient_are_those_of_the_twin(form, layout, targets, seed):
    lists = some_lists(seed=seed, layout=layout)
    rng = np.random.default_rng(seed)
    weights = rng.random(lists.n_lists) if seed else None
    w = rng.standard_normal(4)
    how = {"targets": targets, "sharpness": 0.7, "list_weights": weights}
    found, gradient = loss_of(lists, **how)(w)
    assert found == pytest.approx(slow.loss(lists, w, **how), rel=1e-12)
    np.testing.assert_allclose(gradient, slow.gradient(lists, w, **how), atol=1e-7)


@pytest.mark.parametrize("margin", ["even", "uneven", "label"])
@pytest.mark.parametrize("targets", ["best", "tied", "any"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_costs_are_added_to_the_scores_of_items_that_are_not_best(form, layout, targets, margin):
    lists = some_lists(seed=5, layout=layout)
    w = np.random.default_rng(5).standard_normal(4)
    how = {"targets": targets, "margin": margin, "tau": 1.5}
    learner = LogLinear(**how)
    found, gradient = learner.part(lists, FitInputs(), [learner.survey(lists)])(w)
    assert found == pytest.approx(slow.loss(lists, w, **how), rel=1e-12)
    assert found > slow.loss(lists, w, targets=targets)
    np.testing.assert_allclose(gradient, slow.gradient(lists, w, **how), atol=1e-7)


def test_margins_that_have_no_effect_are_refused():
    lists = some_lists(seed=6)
    with pytest.raises(ConfigError, match="margin=uneven is multiplied by tau, which is 0"):
        LogLinear(margin="uneven").fit(lists)
    with pytest.raises(ConfigError, match="soft targets have no best item"):
        LogLinear(targets="soft", tau=1.0)
    with pytest.raises(FitError, match="margins overflow"):
        LogLinear(margin="label", tau=1e308).fit(lists.replace_labels(1e10 * lists.labels))


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=1, max_size=9), st.integers(0, 99))
def test_targets_are_those_of_the_twin(labels, seed):
    rng = np.random.default_rng(seed)
    base = rng.choice([-1.0, 0.0, 3.0, np.nan], len(labels))
    lists = CandidateLists.from_arrays(
        np.zeros((len(labels) + 2, 1)), [*labels, 1, 0], group=[len(labels), 2]
    )
    lists = CandidateLists(
        lists.offsets, lists.features, labels=lists.labels, base_scores=np.append(base, [0, 0])
    )
    judged = [j for j, label in enumerate(labels) if label == label]
    for targets in TARGETS:
        expected = slow.targets_of([labels[j] for j in judged], base[judged].tolist(), targets, 2.0)
        found = target_lists(lists, targets, 2.0, None)
        assert len(found.weight) == 1 + (expected is not None)
        if expected is not None:
            by_item = dict(zip(found.items.tolist(), found.target.tolist(), strict=True))
            np.testing.assert_allclose([by_item[j] for j in judged], expected, rtol=1e-14)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("prior", [0.05, 2.0])
def test_the_gaussian_minimum_is_that_of_an_independent_solver(form, targets, prior):
    lists = some_lists(seed=4, layout="sparse")

    def objective(w):
        return slow.loss(lists, w, targets, 0.7) + prior * w @ w

    sharpness = {"sharpness": 0.7} if targets == "soft" else {}
    model = LogLinear(prior=prior, targets=targets, tolerance=1e-13, **sharpness).fit(lists)
    starts = [np.zeros(4), model.weights]
    found = [minimize(objective, start, method="BFGS", options={"gtol": 1e-7}) for start in starts]
    np.testing.assert_allclose(model.weights, found[0].x, atol=1e-5)
    assert objective(model.weights) <= min(one.fun for one in found) + 1e-9
    used = lists.n_lists - model.training.data.lists_without_pair
    assert model.training.rounds.loss == pytest.approx(slow.loss(lists, model.weights, targets, 0.7) / used)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("prior", [0.3, 0.7])
def test_the_l1_minimum_has_exact_zeros_and_no_descent(form, targets, prior):
    lists = some_lists(seed=6, layout="sparse", d=12)
    sharpness = {"sharpness": 0.7} if targets == "soft" else {}
    model = LogLinear(penalty="l1", prior=prior, targets=targets, tolerance=1e-13, **sharpness).fit(lists)
    w = model.weights
    slope = slow.gradient(lists, w, targets=targets, sharpness=0.7)
    assert 0 < np.count_nonzero(w) < 12
    assert model.training.rounds.nonzero == np.count_nonzero(w)
    np.testing.assert_allclose(slope[w != 0], -prior * np.sign(w[w != 0]), atol=1e-4)
    assert np.abs(slope[w == 0]).max() <= prior + 1e-4


@pytest.mark.parametrize("l1", [False, True])
@given(seed=st.integers(0, 2**32))
def test_the_gap_is_a_bound_of_the_distance_from_the_minimum(l1, seed):
    objective = Objective(loss_of(some_lists(seed=seed % 50)), Penalty(0.4, l1))
    best = minimise(objective, np.zeros(4), 1e-12, 1000)
    u = np.random.default_rng(seed).standard_normal(4)
    for scale in (1e-3, 0.1, 1.0, 10.0):
        here = objective.at(best.w + scale * u)
        assert here.total - best.objective <= here.gap * (1 + 1e-9) + 1e-9


def test_features_that_are_not_free_stay_0():
    objective = Objective(loss_of(some_lists(seed=1)), Penalty(0.1), np.array([True, False, True, False]))
    u = minimise(objective, np.zeros(4), 1e-10, 1000).w
    assert u[0] != 0
    assert not u[[1, 3]].any()


def test_the_prior_prefers_the_initial_weights():
    lists, start = some_lists(seed=2), np.array([1.0, -2.0, 0.5, 0.0])
    far = LogLinear(prior=1e6, tolerance=1e-12).fit(lists, initial=start)
    np.testing.assert_allclose(far.weights, start, atol=1e-4)
    near = LogLinear(prior=0.5, tolerance=1e-12).fit(lists, initial=start).weights
    slope = slow.gradient(lists, near) + (near - start)
    np.testing.assert_allclose(slope, 0, atol=1e-4)
    kept = LogLinear(penalty="l1", prior=2.0).fit(lists, initial=start).weights
    assert np.any(kept == start)


def test_the_base_score_is_the_prior_mean_on_demand():
    lists = some_lists(seed=3, unjudged=0.0)
    base = lists.features.to_dense() @ np.array([0.0, 2.0, 0.0, -1.0])
    lists = CandidateLists(lists.offsets, lists.features, labels=lists.labels, base_scores=base)
    weights = LogLinear(prior=1e6, init="base", tolerance=1e-12).fit(lists).weights
    np.testing.assert_allclose(weights, [0, 2, 0, -1], atol=1e-4)


def many_lists(seed=0, layout="dense", n_lists=400):
    return some_lists(seed=seed, layout=layout, sizes=(20,) * n_lists, d=30)


@pytest.mark.parametrize("layout", ["dense", "indicators", "mixed"])
def test_results_are_the_same_for_any_number_of_threads(form, layout):
    lists, w = many_lists(1, layout), np.random.default_rng(1).standard_normal(30)
    found = []
    for jobs in (1, 2, 5):
        with parallel.using(jobs):
            loss = loss_of(lists)
            assert len(loss._blocks) > 2
            found.append((loss(w)[0], loss(w)[1].tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("penalty", ["gaussian", "l1"])
def test_prior_dev_keeps_the_best_of_a_path(penalty):
    train, dev = many_lists(1, n_lists=60), many_lists(2, n_lists=60)
    model = fit(make_learner("loglinear", {"prior": "dev", "penalty": penalty}), train, dev=dev, metric="AP")
    values = [row["dev"] for row in model.curve]
    best = values.index(max(values))
    assert model.training.rounds.prior == model.curve[best]["prior"] == PRIORS[best]
    assert model.training.rounds.dev == values[best]
    assert len(values) == len(PRIORS) or values[best] > max(values[-3:])
    train, dev = (lists.with_first_best("input") for lists in (train, dev))
    chosen = fit(make_learner("loglinear", {"prior": "dev"}), train, dev=dev, metric="label@1")
    assert [gain.use for gain in chosen.training.gains] == ["fit", "choice"]
    alone = fit(make_learner("loglinear", {"prior": PRIORS[best], "penalty": penalty}), train, metric="AP")
    np.testing.assert_allclose(model.weights, alone.weights, atol=0.02)


@pytest.mark.parametrize("key", ["prior", "batches"])
def test_a_choice_on_dev_needs_dev_lists(key):
    batch = {"batch": 2} if key == "batches" else {}
    with pytest.raises(FitError, match=f"loglinear: {key}=dev needs development lists and a metric"):
        make_learner("loglinear", {key: "dev", **batch}).fit(some_lists())


@pytest.mark.parametrize("penalty", ["gaussian", "l1"])
def test_batches_add_the_features_of_the_steepest_slope(penalty):
    lists = many_lists(3, n_lists=40)
    slope = np.abs(loss_of(lists)(np.zeros(30))[1])
    settings = {"penalty": penalty, "prior": 1.0, "batch": 4, "tolerance": 1e-9}
    one = LogLinear(**settings, batches=1).fit(lists)
    assert set(np.flatnonzero(one.weights)) == set(np.argsort(-slope)[:4])
    two = LogLinear(**settings, batches=2).fit(lists)
    slope = np.abs(slow.gradient(lists, one.weights))
    slope[one.weights != 0] = 0
    added = set(np.flatnonzero(two.weights)) - set(np.flatnonzero(one.weights))
    assert added <= set(np.argsort(-slope)[:4])
    assert [row["nonzero"] for row in two.curve] == [4, np.count_nonzero(two.weights)]
    everything = LogLinear(**settings, batches=100).fit(lists).weights
    at_once = LogLinear(penalty=penalty, prior=1.0, tolerance=1e-9).fit(lists).weights
    np.testing.assert_allclose(everything, at_once, atol=1e-3)


def test_the_number_of_batches_can_be_chosen_on_dev():
    train, dev = many_lists(4, n_lists=60), many_lists(5, n_lists=60)
    learner = make_learner("loglinear", {"batch": 2, "batches": "dev"})
    model = fit(learner, train, dev=dev, metric="AP")
    values = [row["dev"] for row in model.curve]
    best = values.index(max(values))
    assert len(values) in (best + 4, 15)
    assert model.training.rounds.nonzero == model.curve[best]["nonzero"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": 0}, "prior: found 0, expected more than 0 or dev"),
        ({"prior": "best"}, "prior: found 'best', expected"),
        ({"sharpness": 2.0}, "sharpness is for targets=soft, found targets=best"),
        ({"batch": 2, "batches": 0}, "batches: found 0, expected 1 or more"),
        ({"batches": 3}, "batches is for features that are added in batches: set batch"),
        ({"prior": "dev", "batch": 3}, "prior=dev goes with all features at once"),
        ({"penalty": "l2"}, "penalty: found 'l2', expected 'gaussian' or 'l1'"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        make_learner("loglinear", settings)


def test_lists_without_two_labels_are_left_out_and_counted():
    lists = some_lists(seed=1, unjudged=0.0)
    labels = lists.labels.copy()
    labels[7:16] = 1.0
    lists = lists.replace_labels(labels)
    assert LogLinear().fit(lists).training.data.lists_without_pair == 2
    with pytest.raises(FitError, match="some lists: no list has two different labels"):
        LogLinear().fit(lists.replace_labels(np.ones(lists.n_items)))


@pytest.mark.parametrize("targets", ["best", "soft"])
@pytest.mark.parametrize("penalty", ["gaussian", "l1"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_huge_features_give_a_finite_model_or_an_error(form, layout, penalty, targets):
    lists = some_lists(seed=1)
    for scale in (1e15, 1e30):
        X = features(layout, lists.features.to_dense() * scale)
        odd = CandidateLists(lists.offsets, X, labels=lists.labels, source="odd")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)
            assert np.isfinite(LogLinear(penalty=penalty, targets=targets).fit(odd).weights).all()
    X = features(layout, np.sign(lists.features.to_dense()) * (1e300 if layout != "float32" else 1e38))
    odd = CandidateLists(lists.offsets, X, labels=lists.labels, source="odd")
    if layout not in ("indicators", "float32"):
        with pytest.raises(FitError, match="odd: the loss overflows; scale the features"):
            LogLinear(penalty=penalty, targets=targets).fit(odd)


@pytest.mark.parametrize("unit", [1e-300, 1e-3, 1e300])
def test_labels_in_any_unit_give_soft_targets(unit):
    lists = some_lists(seed=1)
    weights = LogLinear(targets="soft").fit(lists.replace_labels(lists.labels * unit)).weights
    np.testing.assert_allclose(weights, LogLinear(targets="soft").fit(lists).weights, atol=1e-6)


def test_a_prior_that_outweighs_the_features_is_reported():
    lists = some_lists(seed=1)
    with pytest.warns(DataNote, match="loglinear learnt nothing, prior 100 outweighs every feature"):
        assert not LogLinear(penalty="l1", prior=100.0).fit(lists).weights.any()


def test_an_early_stop_is_reported_with_what_may_be_missing():
    lists = many_lists(1, n_lists=20)
    with pytest.warns(DataNote, match=r"stopped after 2 iterations, up to [\d.]+% of the loss above"):
        LogLinear(prior=0.001, iterations=2).fit(lists)
