"""k-best batch MIRA against its slow twin; steps worked by hand; what it refuses and what it reports."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from make import LAYOUTS, features
from reference.mira import mira as slow_mira
from small_judging import values
from small_training import fit, make_learner

from rerank.core.errors import DataNote, FitError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.learners.tuning.mira import Mira
from rerank.metrics.base import parse
from rerank.metrics.chrf import ChrfJudge

METRICS = ["BLEU", "WER", "chrF", "label@1"]


def judged_lists(seed, layout="dense", lengths=(4, 1, 7, 3, 12, 5), n_features=5):
    """Lists with counts of BLEU, WER and chrF, and labels of which some are missing."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    X = np.where(rng.random((n, n_features)) < 0.4, 0.0, np.round(rng.standard_normal((n, n_features)), 2))
    length = rng.integers(4, 12, n)
    totals = np.maximum(length[:, None] - np.arange(4), 0)
    matches = np.minimum.accumulate(rng.integers(0, totals + 1), axis=1)
    reference = np.repeat(rng.integers(4, 12, len(lengths)), lengths)
    labels = rng.integers(0, 4, n).astype(np.float64)
    labels[rng.random(n) < 0.1] = np.nan
    return CandidateLists(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        features(layout, X),
        labels=labels,
        counts={
            "BLEU": np.column_stack([matches, totals, length, reference]).astype(np.float64),
            "chrF": np.tile(np.column_stack([length, reference, matches[:, 0]]), 6).astype(np.float64),
            "WER": np.column_stack([rng.integers(0, 9, n), reference]).astype(np.float64),
        },
        source="judged lists",
    )


def two(labels, X, **columns):
    """One list of as many candidates as there are labels."""
    return CandidateLists.from_arrays(np.array(X, dtype=float), labels, **columns)


def orders_of(learner, lists):
    rng = np.random.default_rng(learner.seed)
    for _ in range(learner.epochs):
        yield rng.permutation(lists.n_lists) if learner.shuffle else np.arange(lists.n_lists)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", ["background", "sentence"])
@pytest.mark.parametrize("metric", METRICS)
def test_weights_and_updates_are_those_of_the_twin(metric, value, layout):
    for seed in range(4):
        lists = judged_lists(seed, layout)
        judge = parse(metric).prepare(lists)
        start = np.random.default_rng(seed).standard_normal(lists.n_features)
        learner = Mira(
            value=value, epochs=4, seed=seed, shuffle=seed % 2 == 0, c=[0.001, 10.0][seed // 2], keep="last"
        )
        means, history = slow_mira(
            lists,
            judge if value == "background" else None,
            start,
            c=learner.c,
            decay=learner.decay,
            orders=orders_of(learner, lists),
        )
        model = learner.fit(lists, judge=judge, initial=start)
        np.testing.assert_allclose(model.weights, means[-1], rtol=1e-10, atol=1e-12)
        if learner.c < 1:  # after a whole step the loss is 0 except for rounding, whose sign is chance
            assert [row["updates"] for row in model.curve] == [updates for updates, _ in history]
        losses = [loss / lists.n_lists for _, loss in history]
        np.testing.assert_allclose([row["loss"] for row in model.curve], losses, rtol=1e-9, atol=1e-12)
        assert sum(updates for updates, _ in history) > 0
        assert model.training.rounds.init == "given"


@pytest.mark.parametrize("value", ["background", "sentence"])
@pytest.mark.parametrize("metric", METRICS)
def test_weights_of_lists_multiply_the_cap(metric, value):
    for seed in range(4):
        lists = judged_lists(seed, "dense")
        judge = parse(metric).prepare(lists)
        given = np.random.default_rng(seed).permutation([0.0, 1.0, 0.3, 2.0, 0.0, 7.0])
        learner = Mira(value=value, epochs=4, seed=seed, c=[0.001, 0.1][seed // 2], keep="last", init="zero")
        visited = np.flatnonzero(given)
        rng = np.random.default_rng(seed)
        means, history = slow_mira(
            lists,
            judge if value == "background" else None,
            np.zeros(lists.n_features),
            c=learner.c,
            decay=learner.decay,
            orders=[visited[rng.permutation(len(visited))] for _ in range(4)],
            list_weights=given,
        )
        model = learner.fit(lists, judge=judge, list_weights=given)
        np.testing.assert_allclose(model.weights, means[-1], rtol=1e-10, atol=1e-12)
        assert sum(updates for updates, _ in history) > 0


@pytest.mark.parametrize(("c", "step"), [(0.01, 0.01), (10.0, 2.0 / 25.0)])
def test_one_visit_moves_as_far_as_the_loss_asks_but_no_further_than_c(c, step):
    lists = two([3.0, 1.0], [[3, 0, 7], [0, 4, 7]])
    learner = make_learner("mira", {"value": "sentence", "epochs": 1, "init": "zero", "c": c})
    model = fit(learner, lists, metric="label@1")
    np.testing.assert_allclose(model.weights, step * np.array([3.0, -4.0, 0.0]), rtol=1e-15)


def test_with_a_margin_already_kept_nothing_moves_with_a_note():
    lists = two([3.0, 1.0], [[1, 0], [0, 0]])
    learner = make_learner("mira", {"value": "sentence", "epochs": 2})
    judge = parse("label@1").prepare(lists)
    with pytest.warns(DataNote, match=r"no update was made; the weights are the initial ones \(init given\)"):
        model = learner.fit(lists, judge=judge, initial=np.array([5.0, 0.5]))
    assert model.weights.tolist() == [5.0, 0.5]


def test_the_background_of_wer_counts_words():
    # One word less wrong is a margin of 1, whatever the background: the lists' lengths are all there is.
    lists = replace(
        two([0.0, 0.0], [[1.0], [0.0]]), counts={"WER": np.array([[2.0, 10.0], [3.0, 10.0]])}, labels=None
    )
    model = fit(make_learner("mira", {"epochs": 1, "c": 5.0, "init": "zero"}), lists, metric="WER")
    np.testing.assert_allclose(model.weights, [1.0], rtol=1e-12)


def test_the_round_that_is_best_on_the_training_lists_is_kept():
    lists = judged_lists(3)
    settings = {"epochs": 12, "c": 0.5}
    model = fit(make_learner("mira", settings), lists, metric="WER")
    train = [row["train"] for row in model.curve]
    assert model.training.rounds.kept == 1 + train.index(min(train)) < 12
    judge = parse("WER").prepare(lists)
    found = judge.score_from_sums(judge.per_list(model.score(lists)).sum(axis=0))
    assert found == pytest.approx(min(train), abs=1e-12)
    last = fit(make_learner("mira", {**settings, "keep": "last"}), lists, metric="WER")
    assert last.training.rounds.kept == 12
    assert not np.array_equal(last.weights, model.weights)


def test_a_feature_that_never_differs_within_a_list_keeps_its_weight():
    lists = judged_lists(2)
    X = lists.features.to_dense().copy()
    X[:, 1] = lists.list_index
    lists = lists.with_features(features("dense", X), None)
    model = fit(make_learner("mira", {"epochs": 3}), lists, metric="BLEU")
    assert model.weights[1] == pytest.approx(1 / 5, rel=1e-12)
    assert model.training.rounds.init == "even"


@pytest.mark.parametrize("layout", ["sparse", "indicators", "mixed"])
def test_features_numbered_by_list_give_the_same_weights(layout, monkeypatch):
    lists = judged_lists(3, layout)
    monkeypatch.setattr("rerank.data.blocks.SHARED", 0)
    weights = []
    for few in (10**9, 0):
        monkeypatch.setattr("rerank.data.blocks.FEW", few)
        weights.append(fit(make_learner("mira", {"epochs": 9}), lists, metric="BLEU").weights)
    assert weights[0].tobytes() == weights[1].tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_candidates_all_the_same_are_refused(layout):
    lists = judged_lists(0, layout)
    lists = replace(lists, labels=np.ones(lists.n_items), counts={"BLEU": np.full((lists.n_items, 10), 3.0)})
    for metric in ("BLEU", "label@1"):
        with pytest.raises(FitError, match=f"judged lists: {metric} is the same for all candidates"):
            fit(Mira(), lists, metric=metric)
    with pytest.raises(FitError, match="judged lists: no list has two different labels"):
        fit(Mira(value="sentence"), lists, metric="BLEU")


def test_candidates_without_a_value_are_refused(monkeypatch):
    lists = judged_lists(0)
    with pytest.raises(FitError, match=r"value=sentence needs labels \(--label sBLEU\)"):
        fit(Mira(value="sentence"), replace(lists, labels=None), metric="BLEU")
    strings = StringColumn.from_strings([f"text {i}" for i in range(lists.n_items)])
    texts = replace(lists, texts=strings, references=(strings.take(np.arange(lists.n_lists)),))
    monkeypatch.setattr(ChrfJudge, "sum_form", None)
    with pytest.raises(FitError, match=r"mira: no background for chrF; .* value=sentence"):
        fit(Mira(), texts, metric="chrF")
    assert fit(Mira(value="sentence", epochs=2), texts, metric="chrF").weights.any()


def test_features_of_no_use_are_refused():
    lists = judged_lists(0)
    empty = lists.with_features(features("sparse", np.zeros((lists.n_items, 3))), None)
    with pytest.raises(FitError, match="judged lists: all features are 0"):
        fit(Mira(), empty, metric="BLEU")
    for size in (1e155, 1e307):  # the least whose squares overflow, or nearly so
        huge = lists.with_features(features("dense", size * lists.features.to_dense()), None)
        with pytest.raises(FitError, match="squares of the features overflow; scale them"):
            fit(Mira(), huge, metric="BLEU")


@pytest.mark.parametrize("metric", ["BLEU", "WER", "TER"])
def test_empty_candidates_and_references_do_no_harm(metric):
    texts = ["", "", "a b c d e", "a b", "", "x", "a b c d", ""]
    lists = CandidateLists.from_arrays(np.arange(16.0).reshape(8, 2) % 5, group=[2, 3, 2, 1])
    lists = replace(
        lists,
        texts=StringColumn.from_strings(texts),
        references=(StringColumn.from_strings(["a", "a b c d e", "", "a"]),),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(Mira(epochs=5), lists, metric=metric)
    assert np.isfinite(model.weights).all()
    assert sum(row["updates"] for row in model.curve) > 0


def test_system_combination_gains_what_the_paper_s_method_gains(system_combination):
    train, test = system_combination
    model = fit(Mira(epochs=20), train, metric="BLEU")
    assert values(train, model.score(train), ["BLEU"])["BLEU"] > 19.5
    assert values(test, model.score(test), ["BLEU"])["BLEU"] > 18.8
