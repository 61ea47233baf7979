"""LambdaMART: LightGBM's own trees, rounds by our metric, labels of any size, refusals in one line."""

import importlib.util
from functools import partial

import numpy as np
import pytest
from make import drawn
from small_training import fit

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.data.lists import CandidateLists
from rerank.learners.lambdamart import LambdaMart
from rerank.models.describe import model_lines

lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

SMALL = {"rounds": 5, "leaves": 6, "min_leaf": 3}


some_lists = partial(drawn, sizes=(3, 14, 9, 1, 7, 12, 5, 2, 10, 8, 6, 11), d=5, grades=(0, 4), unjudged=0.0)


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


def test_weights_of_lists_multiply_their_gradients():
    lists, weights = some_lists(3, unjudged=0.3), np.ones(12)
    model = LambdaMart(**SMALL).fit(lists)
    assert model.training.data.judged == np.count_nonzero(~np.isnan(lists.labels))
    weights[5] = 2
    assert LambdaMart(**SMALL).fit(lists, list_weights=weights).text != model.text


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
