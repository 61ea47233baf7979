"""Standardised weights, permutation importance and ablation."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from make import features
from small_training import fit, make_learner

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.data.lists import CandidateLists
from rerank.data.selection import random_order, selected
from rerank.models import importance
from rerank.models.importance import permutation_importance, standardised_weights
from rerank.models.linear import LinearModel
from rerank.training.ablation import ablation
from rerank.training.options import options_of


def some_lists(seed=1, layout="dense"):
    """Lists with ties, an item and a list without a judgement, a constant feature and one of zeros."""
    rng = np.random.default_rng(seed)
    sizes = [4, 1, 7, 5, 6, 3]
    X = rng.integers(-3, 4, (sum(sizes), 6)) / 2
    X[:, 3] = np.repeat(np.arange(6.0), sizes)
    X[:, 4] = 0
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 1, len(X)) > 0.5).astype(float)
    y[2], y[-3:] = np.nan, np.nan
    names = ["a", "b", "ab", "constant", "zero", "other"]
    lists = CandidateLists.from_arrays(features(layout, X), y, group=sizes, feature_names=names)
    return replace(lists, first_best=np.arange(len(X), dtype=float))


def linear(weights=(2.0, 1.0, 0.0, 3.0, 5.0, -0.5)):
    return LinearModel(["a", "b", "ab", "constant", "zero", "other"], np.array(weights))


def slow_losses(model, lists, metric, chosen, repeats, better=1):
    """The loss in each repeat: a new set of lists is made, scored and evaluated."""
    X = lists.features.to_dense()
    whole = rerank.evaluate(lists, model.score(lists), [metric])[metric]
    found = []
    for repeat in range(repeats):
        order = random_order(lists, 1, repeat)
        new = X.copy()
        for i in range(len(X)):
            for j in chosen:
                new[i, j] = X[order[i], j]
        other = replace(lists, features=features("dense", new))
        found.append(better * (whole - rerank.evaluate(other, model.score(other), [metric])[metric]))
    return found


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize(("metric", "better"), [("AP", 1), ("label@1", 1), ("loss@1", -1)])
@pytest.mark.parametrize("fast", [True, False])
def test_losses_are_those_of_lists_that_are_really_permuted(layout, metric, better, fast, monkeypatch):
    if not fast:
        monkeypatch.setattr(importance, "LINEAR", ())
    lists, model = some_lists(), linear()
    groups = ["a,b", "-constant", "other", "a?"]
    found = permutation_importance(model, some_lists(layout=layout), metric, groups=groups, repeats=4)
    assert found.basis.value == rerank.evaluate(lists, model.score(lists), [metric])[metric]
    assert [(one.feature, one.columns) for one in found.drops] == [
        ("a,b", 2),
        ("-constant", 5),
        ("other", 1),
        ("a?", 1),
    ]
    for one, chosen in zip(found.drops, ([0, 1], [0, 1, 2, 4, 5], [5], [2]), strict=True):
        losses = slow_losses(model, lists, metric, chosen, 4, better)
        assert one.loss == pytest.approx(np.mean(losses), abs=1e-12)
        assert one.sd == pytest.approx(np.std(losses, ddof=1), abs=1e-12)
        assert one.ci[0] - 1e-12 <= one.ci[1]


@pytest.mark.parametrize("fast", [True, False])
def test_features_that_change_no_order_lose_nothing_at_all(fast, monkeypatch):
    if not fast:
        monkeypatch.setattr(importance, "LINEAR", ())
    found = {one.feature: one for one in permutation_importance(linear(), some_lists(), "AP").drops}
    for name in ("ab", "constant", "zero"):
        assert (found[name].loss, found[name].sd, found[name].ci) == (0.0, 0.0, (0.0, 0.0))
    assert found["a"].loss > 0


def test_one_repeat_has_no_deviation():
    assert permutation_importance(linear(), some_lists(), "AP", repeats=1).drops[0].sd is None


@pytest.mark.parametrize("learner", ["perceptron", "rankboost", "rrf", "combmnz", "prank"])
@pytest.mark.parametrize("scaling", ["none", "list-minmax", "zscore"])
def test_any_model_is_permuted_after_scaling_as_before_it(learner, scaling):
    lists = some_lists()
    few = {"perceptron": {"epochs": 3}, "prank": {"epochs": 3}, "rankboost": {"rounds": 3}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        model = fit(make_learner(learner, few.get(learner, {})), lists, scaling=scaling)
    found = permutation_importance(model, lists, "AP", repeats=3)
    for j, one in enumerate(found.drops):
        assert one.loss == pytest.approx(np.mean(slow_losses(model, lists, "AP", [j], 3)), abs=1e-12)


def test_a_base_weight_and_a_keep_margin_stay():
    lists = replace(some_lists(), base_scores=np.linspace(3, -3, 26))
    model = linear()
    model.base_weight, model.keep_margin = 0.7, 0.4
    for fast in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not fast:
                patch.setattr(importance, "LINEAR", ())
            found = permutation_importance(model, lists, "label@1", groups=["a"], repeats=3)
        expected = np.mean(slow_losses(model, lists, "label@1", [0], 3))
        assert found.drops[0].loss == pytest.approx(expected, abs=1e-12)


def test_workers_change_no_byte():
    a, b = (permutation_importance(linear(), some_lists(), "AP", jobs=jobs).as_json() for jobs in (1, 3))
    assert json.dumps(a) == json.dumps(b)
    options = options_of("perceptron", {"epochs": 3, "metric": "AP"})
    runs = []
    for jobs in (1, 3):
        with rerank.core.workers.parallel.using(jobs):
            runs.append(ablation(some_lists(), options, test=some_lists(2)).as_json())
    assert json.dumps(runs[0]) == json.dumps(runs[1])


def test_seeds_change_the_permutations_and_nothing_else():
    a, b = (permutation_importance(linear(), some_lists(), "AP", permutation_seed=seed) for seed in (1, 2))
    assert a.basis.value == b.basis.value
    assert a.drops[0].loss != b.drops[0].loss


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["x*"], "no feature matches"),
        (["a", "a"], "group 'a' is given twice"),
        (["a,,b"], "group: found 'a,,b', expected names"),
        (["-*"], "selects no feature"),
    ],
)
def test_groups_that_mean_nothing_are_refused(groups, message):
    with pytest.raises((ConfigError, DataError), match=message):
        permutation_importance(linear(), some_lists(), "AP", groups=groups)
    lists = some_lists()
    with pytest.raises((ConfigError, DataError), match=message):
        ablation(lists, options_of("perceptron", {"metric": "AP"}), test=lists, groups=groups)


def test_lists_that_cannot_be_judged_or_scored_are_refused():
    lists = some_lists()
    with pytest.raises(DataError, match="no list has a judged item"):
        permutation_importance(linear(), replace(lists, labels=np.full(26, np.nan)), "AP")
    huge = replace(lists, features=features("dense", np.full((26, 6), 1e308)))
    with pytest.raises(DataError, match="is inf: its feature"):
        permutation_importance(linear(), huge, "AP")
    with pytest.raises(ConfigError, match="repeats: found 0"):
        permutation_importance(linear(), lists, "AP", repeats=0)


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
def test_standardised_weights(layout):
    lists = some_lists(layout=layout)
    rows = standardised_weights(linear(), lists)
    X = lists.features.to_dense()
    means = np.add.reduceat(X, lists.offsets[:-1]) / lists.lengths[:, None]
    deviations = np.sqrt(np.mean((X - np.repeat(means, lists.lengths, axis=0)) ** 2, axis=0))
    products = linear().weights * deviations
    assert [row.feature for row in rows] == linear().feature_names
    np.testing.assert_allclose([row.deviation for row in rows], deviations, atol=1e-12)
    np.testing.assert_allclose([row.standardised for row in rows], products, atol=1e-12)
    np.testing.assert_allclose(
        [row.share for row in rows], np.abs(products) / np.abs(products).sum(), atol=1e-12
    )


def test_standardised_weights_do_not_depend_on_units():
    lists = some_lists()
    other = lists.with_features(
        features("dense", lists.features.values * [1, 10, 100, 1, 1, 0.1]), lists.names()
    )
    a, b = (
        [row.standardised for row in standardised_weights(fit(make_learner("perceptron", {}), some), some)]
        for some in (lists, other)
    )
    np.testing.assert_allclose(a, b, rtol=1e-9)


def test_models_without_weights_are_refused():
    model = fit(make_learner("rrf", {}), some_lists())
    with pytest.raises(
        ConfigError, match=r"kind rrf has no weight of each feature; .*rerank importance permute"
    ):
        standardised_weights(model, some_lists())
    lists = some_lists()
    huge = lists.with_features(features("dense", lists.features.values * 1e300), lists.names())
    with pytest.raises(DataError, match="the weight of feature 'a' times its deviation overflows"):
        standardised_weights(linear((1e300, 0, 0, 0, 0, 0)), huge)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_ablation_is_training_without_the_features(layout):
    train, dev, test = (some_lists(seed, layout) for seed in (1, 2, 3))
    learner = make_learner("perceptron", {"epochs": 4, "keep": "best"})
    options = options_of(learner, {"metric": "AP"})
    found = ablation(train, options, dev=dev, test=test, groups=["a", "a*,other"])
    whole = fit(learner, train, dev=dev, metric="AP")
    assert found.basis.value == rerank.evaluate(test, whole.score(test), ["AP"])["AP"]
    for one, without in zip(found.ablated, ("-a", "-a*,-other"), strict=True):
        parts = [selected(part, [without]) for part in (train, dev, test)]
        model = fit(learner, parts[0], dev=parts[1], metric="AP")
        scores = model.score(parts[2])
        assert one.value == rerank.evaluate(test, scores, ["AP"])["AP"]
        assert one.loss == found.basis.value - one.value
        pair = rerank.compare(test, {"whole": whole.score(test), "without": scores}, ["AP"]).pairs["AP"][0]
        assert (one.ci, one.p) == (pair.ci, pair.p_bootstrap)
        assert (one.wins, one.ties, one.losses) == (pair.wins, pair.ties, pair.losses)
    low, high = sorted(one.p for one in found.ablated)
    assert sorted(one.holm for one in found.ablated) == [min(1, 2 * low), max(min(1, 2 * low), high)]


def test_ablation_takes_what_train_takes(tmp_path):
    paths = [str(tmp_path / f"{seed}.store") for seed in (1, 2, 3)]
    for seed, path in enumerate(paths, 1):
        rerank.save(some_lists(seed), path)
    given, judging = {"metric": "AP", "epochs": 3}, {"samples": 50}
    whole, selected_only = options_of("perceptron", given), options_of("perceptron", given)
    selected_only = selected_only.with_settings(data=whole.data.with_settings(features=("a,ab,b",)))
    for options, names in ((whole, []), (selected_only, ["a,ab,b"])):
        learnt, dev, test = (selected(some_lists(seed), names) for seed in (1, 2, 3))
        wanted = ablation(learnt, whole, dev=dev, test=test, groups=["b"], judging=judging)
        found = ablation(paths[0], options, dev=paths[1], test=paths[2], groups=["b"], judging=judging)
        assert found.ablated == wanted.ablated
        model = rerank.train(learnt, "perceptron", dev=dev, **given)
        assert found.basis.value == rerank.evaluate(test, model.score(test), ["AP"])["AP"]
    more = {"test": some_lists(3), "groups": ["b"], "judging": judging}
    named = rerank.ablation(paths[0], "perceptron", **more, **given)
    assert named.as_json() == ablation(some_lists(), whole, **more).as_json()


def test_ablation_matches_columns_before_it_removes_any():
    train = some_lists()
    bare = replace(train, feature_names=None)
    options = options_of("perceptron", {"epochs": 2, "metric": "AP"})
    with pytest.warns(DataNote, match="matched by position"):
        found = ablation(train, options, test=bare, groups=["a"])
    assert found.ablated == ablation(train, options, test=train, groups=["a"]).ablated


def test_ablation_refuses_what_it_cannot_do():
    lists, options = some_lists(), options_of("perceptron", {"metric": "AP"})
    with pytest.raises(ConfigError, match="on test or development lists: give some"):
        ablation(lists, options)
    with pytest.raises(ConfigError, match="by a metric: give one"):
        ablation(lists, options_of("perceptron"), test=lists)
    with pytest.raises(ConfigError, match="no feature is left"):
        ablation(lists, options, test=lists, groups=["*"])


def test_ablation_of_a_metric_that_is_better_if_smaller():
    options = options_of("perceptron", {"epochs": 3, "metric": "loss@1"})
    found = ablation(some_lists(), options, test=some_lists(2))
    assert found.basis.judge.better == -1
    for one in found.ablated:
        assert one.loss == one.value - found.basis.value
