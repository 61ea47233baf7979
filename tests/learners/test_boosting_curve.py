"""The metric after every round, from one pass over the rounds, and the round that is kept by it."""

import dataclasses

import numpy as np
import pytest
from make import LAYOUTS, features

from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.learners.boosting import Boosting
from rerank.learners.boosting import rounds as curve
from rerank.metrics.base import parse


def lists_of(seed, layout="dense", base=True):
    rng = np.random.default_rng(seed)
    sizes = [1, 6, 5, 9, 4, 7, 12, 2]
    n = sum(sizes)
    X = rng.integers(0, 2 if layout == "indicators" else 3, (n, 7)).astype(float)
    y = np.round(np.clip(X[:, 1] - X[:, 3] + rng.normal(0, 1, n), 0, 3))
    y[10] = np.nan
    lists = CandidateLists.from_arrays(features(layout, X), y, group=sizes)
    return dataclasses.replace(lists, base_scores=rng.normal(0, 2, n)) if base else lists


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("metric", ["label@1", "nDCG@5", "MAP(rel=1)"])
@pytest.mark.parametrize("base", [True, False])
def test_every_value_of_the_curve_is_that_of_the_model_of_so_many_rounds(layout, metric, base):
    train, dev = (lists_of(seed, layout, base) for seed in (1, 2))
    judges = [parse(metric).prepare(lists) for lists in (train, dev)]
    model = Boosting(rounds=40).fit(train, judge=judges[0], dev=(dev, judges[1]))
    for n, row in enumerate(model.curve, 1):
        for name, lists, judge in (("train", train, judges[0]), ("dev", dev, judges[1])):
            scores = model.prefix(n).score_items(lists)
            assert row[name] == pytest.approx(corpus_value(judge, judge.per_list(scores)), abs=1e-12)


@pytest.mark.parametrize("keep", ["best", "train"])
def test_the_first_of_the_best_rounds_is_kept(keep):
    for seed in range(5):
        train, dev = lists_of(seed), lists_of(seed + 50)
        judges = [parse("label@1").prepare(lists) for lists in (train, dev)]
        model = Boosting(rounds=60, keep=keep).fit(train, judge=judges[0], dev=(dev, judges[1]))
        values = [row["dev" if keep == "best" else "train"] for row in model.curve]
        kept = model.training.rounds.kept
        assert kept == 1 + values.index(max(values)) == model.n_rounds
        assert model.training.notes["features"] == model.curve[kept - 1]["features"]
        value = corpus_value(judges[1], judges[1].per_list(model.score_items(dev)))
        assert value == pytest.approx(model.training.rounds.dev, abs=1e-12)


def test_metrics_that_are_better_if_smaller_keep_the_smallest():
    train, dev = lists_of(3), lists_of(4)
    judges = [parse("label@1").prepare(lists) for lists in (train, dev)]
    judges[1].better = -1
    model = Boosting(rounds=60, keep="best").fit(train, judge=judges[0], dev=(dev, judges[1]))
    values = [row["dev"] for row in model.curve]
    assert model.training.rounds.kept == 1 + values.index(min(values))


def test_few_changes_at_once_give_the_same_values(monkeypatch):
    train, dev = lists_of(5), lists_of(6)
    judges = [parse("label@1").prepare(lists) for lists in (train, dev)]
    fit = [Boosting(rounds=60).fit(train, judge=judges[0], dev=(dev, judges[1]))]
    monkeypatch.setattr(curve, "_EVENTS", 1)
    fit.append(Boosting(rounds=60).fit(train, judge=judges[0], dev=(dev, judges[1])))
    assert fit[0].curve == fit[1].curve


def test_equal_items_stay_tied_and_the_first_is_chosen():
    """Steps are added exactly, so that scores are equal whenever sums of steps are."""
    X = np.array([[1.0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    train = CandidateLists.from_arrays(X, [1, 0, 0, 1, 0, 1], group=[3, 3])
    judge = parse("label@1").prepare(train)
    model = Boosting(rounds=200, epsilon=0.01).fit(train, judge=judge)
    for n, row in enumerate(model.curve, 1):
        assert row["train"] == corpus_value(judge, judge.per_list(model.prefix(n).score_items(train)))
