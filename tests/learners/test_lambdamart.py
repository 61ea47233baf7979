"""LambdaMART: LightGBM's own trees, rounds by our metric, labels of any size, refusals in one line."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.data.lists import CandidateLists
from rerank.learners.lambdamart import LambdaMart
from rerank.models.describe import model_lines
from rerank.training.train import fit

lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

SMALL = {"rounds": 5, "leaves": 6, "min_leaf": 3}


def some_lists(seed=0, n_lists=12, unjudged=0.0, missing=0.0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 15, n_lists)
    X = np.round(rng.normal(size=(sizes.sum(), 5)), 1)
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) / 2), 0, 4)
    X[rng.random(X.shape) < missing] = np.nan
    y[rng.random(len(y)) < unjudged] = np.nan
    return CandidateLists.from_arrays(X, y, group=sizes, source="some lists")


def test_the_trees_are_those_of_lightgbm():
    lists = some_lists(missing=0.1)
    model = LambdaMart(**SMALL).fit(lists)
    settings = {"objective": "lambdarank", "num_leaves": 6, "min_data_in_leaf": 3, "seed": 1, "verbosity": -1}
    settings |= {"deterministic": True, "force_row_wise": True, "num_threads": 1}
    data = lightgbm.Dataset(lists.features.values, lists.labels, group=lists.lengths)
    booster = lightgbm.train(settings, data, 5)
    assert model.n_rounds == 5
    assert all(len(tree.leaf) > 1 for tree in model.trees)
    theirs = booster.predict(lists.features.values, raw_score=True, num_threads=1)
    np.testing.assert_array_equal(model.score(lists), theirs)


def test_the_round_is_chosen_by_our_metric_on_dev():
    lists, dev = some_lists(1), some_lists(2)
    best = fit(LambdaMart(**SMALL | {"rounds": 20, "keep": "best"}), lists, dev=dev, metric="AP")
    values = [row["dev"] for row in best.curve]
    assert len(values) == 20
    assert best.n_rounds == best.training.rounds.kept == 1 + values.index(max(values))
    last = fit(LambdaMart(**SMALL | {"rounds": 20}), lists, dev=dev, metric="AP")
    assert last.prefix(best.n_rounds).text == best.text
    assert [row["dev"] for row in last.curve] == values


def test_patience_ends_training_early():
    lists, dev = some_lists(1), some_lists(2)
    settings = SMALL | {"rounds": 40, "keep": "best"}
    whole = fit(LambdaMart(**settings), lists, dev=dev, metric="AP")
    early = fit(LambdaMart(**settings, patience=3), lists, dev=dev, metric="AP")
    assert len(early.curve) < len(whole.curve)
    assert len(early.curve) == early.training.rounds.kept + 3
    assert early.curve == whole.curve[: len(early.curve)]
    with pytest.raises(ConfigError, match="patience is for keep=best, found keep=last"):
        LambdaMart(patience=3)


def test_unjudged_items_and_lists_without_weight_are_left_out():
    lists = some_lists(3, unjudged=0.3)
    judged = ~np.isnan(lists.labels)
    qid = lists.list_index
    bare = CandidateLists.from_arrays(lists.features.values[judged], lists.labels[judged], qid=qid[judged])
    model = LambdaMart(**SMALL).fit(lists)
    assert model.text == LambdaMart(**SMALL).fit(bare).text
    assert model.training.data.judged == judged.sum()
    weights = np.ones(lists.n_lists)
    weights[[0, 3]] = 0
    kept = lists.subset(weights > 0)
    assert LambdaMart(**SMALL).fit(lists, list_weights=weights).text == LambdaMart(**SMALL).fit(kept).text
    weights[5] = 2
    assert LambdaMart(**SMALL).fit(lists, list_weights=weights).text != LambdaMart(**SMALL).fit(kept).text
    with pytest.raises(FitError, match="every list with a judged item has weight 0"):
        LambdaMart(**SMALL).fit(lists, list_weights=0 * weights)


@pytest.mark.parametrize("factor", [1e-300, 0.25, 1e6, 1e300])
def test_gains_may_be_labels_of_any_size(factor):
    lists = some_lists(4)
    learner = LambdaMart(**SMALL, gain="label")
    large = lists.replace_labels((lists.labels - 2.5) * factor)
    scores = learner.fit(large).score(large)
    np.testing.assert_allclose(scores, learner.fit(lists).score(lists), rtol=1e-6, atol=1e-9)


def test_many_real_labels_are_their_own_gains():
    lists = some_lists(5)
    real = lists.replace_labels(lists.features.values[:, 0] + lists.features.values[:, 1] / 3 + 0.01)
    fit(LambdaMart(**SMALL, gain="label"), real)
    fit(LambdaMart(**SMALL), real)


def refused(match, labels, **settings):
    lists = CandidateLists.from_arrays([[0.0], [1.0], [3.0], [2.0]], labels, group=[2, 2], source="set")
    with pytest.raises(FitError, match=match):
        LambdaMart(**settings).fit(lists)


def test_labels_without_two_gains_are_refused():
    refused(r"set: label 1e\+06 is too large for the gain 2\^label - 1; use gain=label", [0, 1, 2, 1e6])
    refused(r"set: all judged items have the same gain \(gain=exp\)", [0, -1, -2, np.nan])
    refused(r"set: all judged items have the same gain \(gain=label\)", [3, 3, 3, 3], gain="label")
    refused("set: no list has two different labels", [0, 0, 1, 1])


def test_what_lightgbm_refuses_is_one_line():
    lists = CandidateLists.from_arrays(np.arange(10_001.0)[:, None], np.arange(10_001) % 2, source="set")
    with pytest.raises(FitError, match=r"^set: LightGBM: .*10000[^\n]*$"):
        LambdaMart(rounds=1).fit(lists)


def test_trees_that_cannot_split_are_reported():
    with pytest.warns(DataNote, match=r"lambdamart learnt nothing: no split of .* items leaves 500 or more"):
        model = LambdaMart(min_leaf=500).fit(some_lists())
    assert model.training.rounds.converged
    assert len(model.curve) == model.n_rounds == 1


def test_without_lightgbm_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        FitError, match=r"needs the extra rerank\[lightgbm\]: pip install 'rerank\[lightgbm\]'$"
    ):
        LambdaMart().fit(some_lists())


def test_show_prints_shares_of_gain_and_splits():
    model = fit(LambdaMart(**SMALL), some_lists())
    lines = model_lines(model)
    assert lines[0].split() == ["model", "trees"]
    name, share = model.explain()[0]
    splits = model.shares()["splits"][int(name) - 1]
    assert any(
        line.split() == [name, f"{share:.6g}", f"{splits:.1%}", "of", "the", "splits"] for line in lines
    )
