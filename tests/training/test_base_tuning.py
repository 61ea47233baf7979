"""The base score in training: its scale, and its weight tuned on dev or on out-of-fold scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from make import features
from reference import base_tuning as twin
from small_training import all_runs, fit, make_learner

import rerank
from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.workers import parallel
from rerank.data.base_scores import base_column
from rerank.data.folds import folds
from rerank.data.lists import CandidateLists
from rerank.data.overlap import copy_groups
from rerank.data.scaling import Scaling
from rerank.metrics.base import parse
from rerank.models.base import load_model
from rerank.models.describe import model_lines
from rerank.models.describe_training import base_lines
from rerank.training.steps.base_scale import ScaledColumn
from rerank.training.steps.tune_base import best_change

METRIC = "label@1"


def drawn(seed=0, n_lists=40, column=True, layout="dense"):
    """Lists whose base score says something about the labels; feature 2 is three times it."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n_lists)
    n = int(sizes.sum())
    X = rng.integers(-2, 3, (n, 5)).astype(float)
    base = rng.normal(-50, 2, n)
    if column:
        X[:, 2] = 3 * base
    y = np.round(X[:, 0] + 0.7 * base + rng.normal(0, 1, n), 1)
    lists = CandidateLists.from_arrays(features(layout, X), y, group=sizes, source=f"lists {seed}")
    return replace(lists, base_scores=base).with_first_best("input")


def trained(lists, dev=None, **more):
    return rerank.train(lists, dev=dev, metric=METRIC, scaling="none", epochs=4, pairs="ordinal", **more)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("metric", [METRIC, "ranking"])
@pytest.mark.parametrize("additive", [False, True])
def test_the_factor_is_the_best_of_all(seed, metric, additive):
    lists = drawn(seed, n_lists=6)
    rng = np.random.default_rng(seed)
    rest = np.round(rng.normal(0, 2, lists.n_items), rng.integers(0, 3))
    moving = np.round(rng.normal(0, 1, lists.n_items), 1) * (seed % 7 > 0)
    judge = parse(METRIC).prepare(lists)
    start = 0.0 if additive else 1.0
    found = best_change(lists, judge, rest + start * moving, None if additive else moving, moving)
    factor = found.added if additive else found.factor
    rest = rest + start * moving - start * moving  # as best_change rounds it
    values = twin.tried(lists, judge, rest, moving)
    at_start = twin.value(lists, judge, rest, moving, start)
    best = max([at_start, *(value for _, value in values)])
    assert found.before == pytest.approx(at_start, abs=1e-12)
    assert found.after == pytest.approx(best, abs=1e-12)
    assert twin.value(lists, judge, rest, moving, factor) == pytest.approx(best, abs=1e-12)
    if best <= at_start + 1e-9:
        assert factor == start


def test_of_equally_good_intervals_the_nearest_to_one_is_taken_and_its_middle():
    # Item 2 of the list is best where its lead begins, between the factors 2 and 4; 5 to 7 is as good.
    lists = CandidateLists.from_arrays(np.zeros((4, 1)), [0.0, 1.0, 0.0, 1.0], source="one list")
    rest, moving = np.array([0.0, -2.0, -6.0, -11.0]), np.array([0.0, 1.0, 2.0, 3.0])
    judge = parse(METRIC).prepare(lists)
    found = best_change(lists, judge, rest + moving, moving, moving)
    assert found.factor == pytest.approx(3.0)
    assert (found.before, found.after) == (0.0, 1.0)


def test_scores_that_no_factor_changes_stay():
    lists = drawn(1, n_lists=5)
    judge = parse(METRIC).prepare(lists)
    constant = np.repeat(np.arange(5.0), lists.lengths)
    assert best_change(lists, judge, lists.labels, constant, constant).factor == 1.0


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("scale", [3, "auto", 0.25])
def test_a_model_scores_raw_features_whatever_scale_it_learnt_with(layout, scale):
    lists = drawn(0, layout=layout)
    model = trained(lists, base_scale=scale)
    record = model.training.base_scale
    assert (record.feature, record.auto) == ("3", scale == "auto")
    X = lists.features.to_dense().copy()
    X[:, 2] *= record.factor
    by_hand = trained(lists.with_features(features(layout, X), None))
    np.testing.assert_allclose(model.weights[2], by_hand.weights[2] * record.factor, rtol=1e-12)
    np.testing.assert_array_equal(np.delete(model.weights, 2), np.delete(by_hand.weights, 2))
    assert trained(lists).training.base_scale is None
    assert trained(lists, base_scale=1.0).training.base_scale is None


@pytest.mark.parametrize("scaling", ["zscore", "list-rank", "list-minmax"])
def test_the_scale_multiplies_the_column_after_scaling(scaling):
    lists = drawn(0)
    plain = fit(make_learner("perceptron", {"epochs": 3}), lists, scaling=scaling)
    model = fit(make_learner("perceptron", {"epochs": 3}), lists, scaling=scaling, base_scale=4)
    assert base_column(lists).index == 2
    assert model.scaling_name == scaling
    assert not np.array_equal(model.weights, plain.weights)
    assert np.isfinite(model.score(lists)).all()


def test_initial_weights_mean_raw_features_with_a_base_scale():
    lists = drawn(0)
    from rerank.models.weights import NamedWeights

    start = NamedWeights(lists.names(), np.array([0.0, 0, 1.0, 0, 0]), "start")
    learner = make_learner("mira", {"epochs": 1, "c": 1e-9, "value": "sentence"})
    model = fit(learner, lists, metric=METRIC, scaling="none", initial=start, base_scale=8)
    np.testing.assert_allclose(model.initial, start.weights)
    np.testing.assert_allclose(model.weights, start.weights, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "message"),
    [("mert", "the units of features do not matter to it"), ("random", "it reads no features")],
)
def test_a_scale_without_effect_is_refused(name, message):
    with pytest.raises(ConfigError, match=f"base_scale has no effect on learner {name}: {message}"):
        rerank.train(drawn(0), name, metric=METRIC, base_scale=2)


def test_voted_weights_take_a_scale_but_no_tuning():
    lists = drawn(0, n_lists=8)
    model = trained(lists, average="voted", base_scale=2)
    assert np.isfinite(model.score(lists)).all()
    with pytest.raises(FitError, match="a score that is a weighted sum, found a model of kind voted"):
        trained(lists, average="voted", tune_base="folds", folds=2)


def test_the_weight_is_tuned_on_dev():
    lists, dev = drawn(0), drawn(1)
    before, model = (trained(lists, dev, tune_base=tune, keep="last") for tune in ("none", "dev"))
    record = model.training.tune_base
    judge = parse(METRIC).prepare(dev)
    for one, expected in ((before, record.before), (model, record.after)):
        assert judge.score_from_sums(judge.per_list(one.score(dev)).sum(axis=0)) == pytest.approx(expected)
    assert record.after > record.before
    np.testing.assert_array_equal(np.delete(model.weights, 2), np.delete(before.weights, 2))
    assert model.weights[2] == before.weights[2] * record.factor
    assert [gain.use for gain in model.training.gains if gain.part == "dev"] == ["choice"]
    assert [gain.use for gain in before.training.gains if gain.part == "dev"] == ["none"]


def test_a_negative_weight_is_multiplied_too():
    lists, dev = drawn(0), drawn(1)
    lists, dev = (replace(one, labels=-one.labels) for one in (lists, dev))
    before, model = trained(lists, dev), trained(lists, dev, tune_base="dev")
    record = model.training.tune_base
    assert before.weights[2] < 0
    assert record.added is None
    assert model.weights[2] == before.weights[2] * record.factor


def test_dev_lists_with_the_feature_need_no_base_scores():
    lists, dev = drawn(0), drawn(1)
    bare = replace(dev, base_scores=None)
    a, b = (trained(lists, some, tune_base="dev") for some in (dev, bare))
    np.testing.assert_array_equal(a.weights, b.weights)
    without = drawn(0, column=False)
    with pytest.raises(DataError, match="lists 1: no first-stage scores; tune_base=dev needs them"):
        trained(without, bare, tune_base="dev")


def test_the_weight_is_tuned_on_models_that_did_not_see_the_lists(tmp_path):
    lists = drawn(0)
    model = trained(lists, tune_base="folds", folds=4, seed=3)
    record, plain = model.training.tune_base, trained(lists, seed=3)
    scores, term = np.empty(lists.n_items), np.empty(lists.n_items)
    for fold in folds(lists, 4, 3):
        test = lists.subset(fold.test)
        part = trained(lists.subset(fold.train), seed=3)
        items = np.flatnonzero(np.isin(lists.list_index, fold.test))
        scores[items] = part.score_items(test)
        term[items] = part.weights[2] * test.features.column(2)
    expected = best_change(lists, parse(METRIC).prepare(lists), scores, term, term)
    assert (record.factor, record.before, record.after) == (expected.factor, expected.before, expected.after)
    assert (record.on, record.folds, record.metric) == ("folds", 4, METRIC)
    assert model.weights[2] == plain.weights[2] * record.factor
    with parallel.using(3):
        again = trained(lists, tune_base="folds", folds=4, seed=3)
    model.save(str(tmp_path / "a"))
    again.save(str(tmp_path / "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert load_model(str(tmp_path / "a")).training == model.training
    (line,) = base_lines(model.training)
    assert line.startswith("weight of the base score times ")
    assert line.endswith("on out-of-fold scores of 4 folds")
    assert any(shown.startswith("base ") for shown in model_lines(model))


def test_nothing_of_a_folds_test_lists_reaches_its_model(monkeypatch):
    """Scaling and automatic scale are fitted to the training lists of the fold."""
    from rerank.training import out_of_fold as module

    lists, seen = drawn(0), []
    real = module.prepare

    def spy(pipeline, train, test, side):
        prepared = real(pipeline, train, test, side)
        seen.append((pipeline, prepared, train, test))
        return prepared

    monkeypatch.setattr(module, "prepare", spy)
    learner = make_learner("perceptron", {"epochs": 2})
    fit(learner, lists, metric=METRIC, scaling="zscore", base_scale="auto", tune_base="folds", folds=3)
    assert len(seen) == 3
    for pipeline, prepared, train, test in seen:
        alone = real(pipeline, train)
        assert alone.view == prepared.view
        one, other = (data.chain.get(Scaling).values["divisor"] for data in (alone, prepared))
        np.testing.assert_array_equal(one, other)
        assert train.n_lists + test.n_lists == lists.n_lists
    assert len({prepared.view.get(ScaledColumn).factor for _, prepared, *_ in seen}) == 3


def test_copies_of_a_list_stay_in_one_fold():
    lists = drawn(0, n_lists=9)
    twice = lists.subset(np.concatenate([np.arange(9), np.arange(9)]))
    groups = copy_groups(twice)
    rich = lists.lengths > 2
    for i in np.flatnonzero(rich).tolist():
        assert groups[i + 9] == groups[i]
    prompts = rerank.data.columns.strings.StringColumn.from_strings(["same"] * 9)
    assert copy_groups(replace(lists, prompts=prompts)) == [0] * 9


def test_base_scores_that_are_no_feature_get_a_weight_of_their_own():
    lists, dev = drawn(0, column=False), drawn(1, column=False)
    model = trained(lists, dev, tune_base="dev")
    record = model.training.tune_base
    assert record.factor is None
    assert model.base_weight == record.added
    assert record.after > record.before
    with pytest.raises(DataError, match="no first-stage scores; the model, which weights them by"):
        model.score(replace(dev, base_scores=None))


def test_base_scores_that_features_give_together_need_no_weight_of_their_own():
    def made(seed):
        lists = drawn(seed, column=False)
        return replace(lists, base_scores=lists.features.to_dense() @ np.array([1.0, 0, -2.0, 0, 0.5]))

    lists, dev = made(0), made(1)
    model = trained(lists, dev, tune_base="dev")
    assert model.base_weight is None
    judge, record = parse(METRIC).prepare(dev), model.training.tune_base
    value = judge.score_from_sums(judge.per_list(model.score(replace(dev, base_scores=None))).sum(axis=0))
    assert record.added != 0
    assert value == pytest.approx(record.after, abs=1e-12)


def test_a_weight_of_zero_is_added_to():
    lists, dev = drawn(0), drawn(1)
    X = lists.features.to_dense().copy()
    learner = make_learner("best-feature", {})
    model = fit(learner, lists, dev=dev, metric=METRIC, scaling="none", tune_base="dev")
    assert X.shape[1] == len(model.weights)
    record = model.training.tune_base
    assert (record.factor is None) != (record.added is None)
    assert record.after >= record.before


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"tune_base": "dev"}, ConfigError, "tune_base=dev is tuned on development lists: give some"),
        ({"tune_base": "folds", "metric": None}, ConfigError, "tune_base=folds is tuned by a metric"),
        ({"tune_base": "folds", "metric": "nDCG"}, ConfigError, "a metric of single .* nDCG judges rank"),
        ({"tune_base": "fold"}, ConfigError, "tune_base: found 'fold', expected 'none', 'dev' or 'folds'"),
        ({"folds": 3}, ConfigError, "folds=3 has no effect without tune_base=folds"),
        ({"base_scale": 0}, ConfigError, "base_scale: found 0, expected auto or a number above 0"),
        ({"tune_base": "folds", "folds": 99}, DataError, "99 folds of 40 lists: too few"),
    ],
)
def test_what_cannot_be_tuned_is_refused_in_one_line(more, error, message):
    given = {"metric": METRIC, "epochs": 2} | more
    with pytest.raises(error, match=message):
        rerank.train(drawn(0), "perceptron", **given)
    with pytest.raises(DataError, match="no first-stage scores; tune_base=folds needs them"):
        trained(replace(drawn(0), base_scores=None), tune_base="folds")


def test_every_run_over_seeds_is_tuned_before_its_margin():
    learner = make_learner("perceptron", {"epochs": 3})
    given = {"metric": METRIC, "scaling": "none", "base_scale": "auto"}
    given |= {"seeds": 2, "keep_margin": "auto", "tune_base": "dev"}
    for model in all_runs(learner, drawn(0), drawn(1), **given).by_seed.values():
        assert model.training.tune_base.after == pytest.approx(model.training.keep.without, abs=1e-12)
