"""Metrics of classes after each round of Predtron: they are those of the predictions that are written."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from small_training import all_runs, make_learner, saved

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote, FitError
from rerank.data.classes import Predictions, class_lists
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse
from rerank.models.classes import ClassesModel
from rerank.training.ablation import ablation
from rerank.training.class_metrics import WatchedClasses
from rerank.training.options import options_of

NAMES = {"binary": 2, "multiclass": 4, "ordinal": 4, "multilabel": 4, "multilabel-ranking": 4}
SETS = ("zero-one", "Hamming", "error-set")
ONE = ("zero-one", "zero-one(reject=0.25)", "difference", "error-set")
METRICS = {
    "binary": ONE,
    "multiclass": ONE,
    "ordinal": ("difference", "difference(reject=2)"),
    "multilabel": SETS,
    "multilabel-ranking": ("nDCG", "AP", "RR", "P@1", "nDCG@2"),
}
CASES = [
    (task, metric, more)
    for task, metrics in METRICS.items()
    for metric in metrics
    for more in ({}, {"reject": 0.4})
    if not more or (task in ("binary", "multiclass", "ordinal") and metric != "error-set")
]


def examples(task, seed, n=40, extra=0, group=False, scale=1.0):
    """Noisy examples of a task, some alike in groups whose rows are apart; ``extra`` more classes."""
    rng = np.random.default_rng(seed)
    m = NAMES[task] + extra
    X = scale * rng.normal(size=(n, 3)).round(1)
    t = (X / scale) @ np.random.default_rng(9).normal(size=(3, m)) + rng.normal(size=(n, m))
    if task.startswith("multilabel"):
        classes = [[str(c + 1) for c in np.flatnonzero(row > 0.3)] for row in t]
    else:
        classes = [str(c + 1) for c in t.argmax(axis=1)]
    qid = rng.permutation(n) // 2 if group else None
    return CandidateLists.from_arrays(X, classes=classes, qid=qid, source=f"examples {seed}")


def value(lists, predicted, metric):
    return rerank.evaluate(lists, predicted, [metric])[metric]


@pytest.mark.parametrize(("task", "metric", "more"), CASES)
@pytest.mark.parametrize(
    ("average", "kernel"), [("last", "none"), ("average", "none"), ("average", "gaussian")]
)
@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_values_are_those_of_what_the_model_predicts(tmp_path, task, metric, more, average, kernel):
    train, dev = examples(task, 1, group=True), examples(task, 2, n=25, group=True)
    settings = {"learner": "predtron", "task": task, "average": average, "kernel": kernel, **more}
    given = {"metric": metric, "dev": dev, **settings}
    for keep in ("last", "best", "train"):
        model = rerank.train(train, keep=keep, epochs=3, **given)
        loaded, rounds = saved(model, tmp_path), model.training.rounds
        kept = model.curve[rounds.kept - 1]
        assert rounds.dev == kept["dev"] == value(dev, loaded.predicted(dev), metric)
        assert kept["train"] == value(train, loaded.predicted(train), metric)
        assert rounds.metric == metric
    for row in model.curve:  # so is every round
        same = rerank.train(train, keep="last", epochs=row["round"], **given)
        assert row["dev"] == value(dev, same.predicted(dev), metric)
        assert list(row) == ["round", "updates", "loss", "train", "dev"]


@pytest.mark.parametrize("keep", ["best", "train"])
def test_the_first_best_round_is_kept(keep):
    train, dev = examples("multilabel", 1), examples("multilabel", 2)
    settings = {"task": "multilabel", "average": "last", "epochs": 12}
    model = rerank.train(train, "predtron", dev=dev, metric="Hamming", keep=keep, **settings)
    values = [row["dev" if keep == "best" else "train"] for row in model.curve]
    assert len(set(values)) > 2
    assert model.training.rounds.kept == 1 + values.index(min(values))


@pytest.mark.parametrize("scaling", ["none", "zscore"])
def test_dev_columns_are_found_by_name_and_scaled_as_the_model_scales_them(scaling):
    train, dev = examples("multiclass", 1, scale=50.0), examples("multiclass", 2)
    names = train.names()
    turned = dev.with_features(type(dev.features)(dev.features.to_dense()[:, ::-1].copy()), names[::-1])
    model = rerank.train(
        train, "predtron", dev=turned, metric="zero-one", scaling=scaling, task="multiclass", keep="best"
    )
    assert model.training.rounds.dev == value(turned, model.predicted(turned), "zero-one")
    plain = rerank.train(
        train, "predtron", dev=dev, metric="zero-one", scaling=scaling, task="multiclass", keep="best"
    )
    assert [row["dev"] for row in plain.curve] == [row["dev"] for row in model.curve]


@pytest.mark.parametrize("more", [{}, {"reject": 0.4}])
def test_a_class_that_only_dev_has_is_a_mistake_and_reported(more):
    train, dev = examples("multiclass", 1), examples("multiclass", 2, extra=1)
    with pytest.warns(DataNote, match=r"examples 2: 1 class that no training example has: 5 .*example"):
        model = rerank.train(train, "predtron", dev=dev, metric="zero-one", task="multiclass", **more)
    assert model.classes == ("1", "2", "3", "4")
    assert model.training.rounds.dev == value(dev, model.predicted(dev), "zero-one")
    ordinal = {"task": "ordinal", "metric": "difference(reject=9)", **more}
    with pytest.warns(DataNote, match="no prediction can have them"):
        model = rerank.train(train, "predtron", dev=dev, **ordinal)
    assert model.training.rounds.dev == value(dev, model.predicted(dev), "difference(reject=9)")


def test_a_ranking_cannot_lack_a_class_of_dev():
    train, dev = examples("multilabel-ranking", 1), examples("multilabel-ranking", 2, extra=2)
    with pytest.raises(DataError, match=r"2 classes that no training example has: 5, 6 .*ranking"):
        rerank.train(train, "predtron", dev=dev, metric="AP", task="multilabel-ranking")


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_classes_that_dev_lacks_count_where_rankings_or_shares_are_judged():
    train = CandidateLists.from_arrays([[1.0], [2.0], [-1.0]], classes=["1", "2", "3"])
    dev = CandidateLists.from_arrays([[2.0], [1.0]], classes=["2", "1"])
    ranked = {"task": "multilabel-ranking", "metric": "RR"}
    model = rerank.train(train, "predtron", dev=dev, **ranked)
    assert model.training.rounds.dev == value(dev, model.predicted(dev), "RR")
    share = rerank.train(train, "predtron", dev=dev, metric="Hamming(per=class)", task="multilabel")
    number = rerank.train(train, "predtron", dev=dev, metric="Hamming", task="multilabel")
    assert share.training.rounds.dev == pytest.approx(number.training.rounds.dev / 3)


def test_spellings_of_numbers_are_one_class():
    train = CandidateLists.from_arrays([[1.0], [-1.0]], classes=["+1", "-1"])
    dev = CandidateLists.from_arrays([[1.0], [-2.0]], classes=["1.0", "-01"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNote)
        model = rerank.train(train, "predtron", dev=dev, metric="zero-one", scaling="none", task="binary")
    assert model.training.rounds.dev == 0


def test_settings_and_seeds_are_chosen_on_dev():
    train, dev = examples("multilabel", 1), examples("multilabel", 2)
    grid = {"eta": [0.01, 1.0], "loss": ["Hamming", "zero-one"], "scaling": ["none", "zscore"]}
    given = {"learner": "predtron", "task": "multilabel", "metric": "Hamming"}
    model = rerank.train(train, dev=dev, select="dev", grid=grid, **given)
    cells = model.training.choice.cells
    values = [cell.value for cell in cells]
    for cell in cells:
        settings = {**cell.settings, "keep": "best"}
        assert cell.value == rerank.train(train, dev=dev, **given, **settings).training.rounds.dev
    assert model.training.choice.chosen == 1 + values.index(min(values))
    assert model.training.rounds.dev == min(values)
    learner = make_learner("predtron", {"task": "multilabel", "epochs": 2})
    found = all_runs(learner, train, dev, metric="zero-one", seeds=3)
    by_seed = [value(dev, model.predicted(dev), "zero-one") for model in found.by_seed.values()]
    assert list(found.model.training.seeds.values) == by_seed
    assert found.model.training.rounds.dev == min(by_seed)


@pytest.mark.parametrize(
    ("task", "more", "message"),
    [
        ("multilabel", {"metric": "AP"}, "found AP, expected zero-one, Hamming, error-set or difference: "),
        ("multilabel-ranking", {"metric": "Hamming"}, r"found Hamming, expected a metric of rankings"),
        ("multilabel", {"metric": "difference"}, "classes, difference needs one"),
        ("multilabel", {"select": "cv", "metric": "Hamming", "grid": {"eta": [1, 2]}}, "select=dev"),
        ("multilabel", {"select": "dev", "metric": "Hamming", "grid": {"base_scale": [1, 2]}}, "not used"),
        ("multilabel", {"select": "dev", "metric": "Hamming", "grid": {"scaling": ["list-zscore"]}}, "list-"),
        ("multilabel", {"keep": "best"}, "needs a development set and a metric"),
        ("multilabel", {"keep": "train"}, "keep=train needs a metric"),
    ],
)
def test_what_cannot_be_watched_is_refused(task, more, message):
    lists = examples(task, 1)
    dev = lists if "choose" in more else None
    with pytest.raises((ConfigError, DataError, FitError), match=message):
        rerank.train(lists, "predtron", dev=dev, task=task, **more)


@pytest.mark.parametrize("kernel", ["none", "polynomial"])
def test_predictions_that_overflow_are_one_error(kernel):
    train = examples("multiclass", 1)
    dev = train.with_features(type(train.features)(np.full((40, 3), 1e308)), train.names())
    message = "score 1 of .* feature is missing, or too large"
    with pytest.raises(DataError, match=message):
        rerank.train(
            train, "predtron", dev=dev, metric="zero-one", scaling="none", task="multiclass", kernel=kernel
        )


def test_cells_have_data_and_metrics_of_one_kind():
    lists = examples("multilabel", 1)
    more = {"metric": "nDCG", "select": "dev", "grid": {"task": ["multilabel"]}}
    with pytest.raises(ConfigError, match="these settings need other data, or another metric"):
        rerank.train(lists, "predtron", dev=lists, **more)


def test_ablation_refuses_classes():
    lists = examples("multilabel", 1)
    options = options_of("predtron", {"metric": "Hamming", "task": "multilabel"})
    with pytest.raises(ConfigError, match="ablation: not used by learner predtron for tasks with classes"):
        ablation(lists, options, dev=lists)


@pytest.mark.parametrize("task", NAMES)
@pytest.mark.parametrize("reject", [False, True])
def test_predictions_as_scores_are_those_of_their_text(task, reject):
    rng = np.random.default_rng(0)
    m, reject = NAMES[task], reject and task in ("multiclass", "ordinal")
    names = tuple(str(c) for c in range(m))
    k = 1 if task == "binary" else m
    model = ClassesModel(["x"], np.zeros((k, 1)), names, task, reject=reject)
    scores = rng.integers(-2, 3, size=(200, k)).astype(float)  # with ties
    truth = CandidateLists.from_arrays(np.zeros((200, 1)), classes=[str(i % m) for i in range(200)])
    ranked = task == "multilabel-ranking"
    texts = model.decoded(scores)
    _, expected = class_lists(truth, {"p": Predictions("p", texts)}, ranked=ranked)
    np.testing.assert_array_equal(model.candidates(scores).ravel(), expected["p"])
    assert reject == ("REJECT" in texts)


def test_a_judge_takes_a_score_of_every_class():
    lists = examples("multilabel", 1)
    metric = WatchedClasses(parse("Hamming"), ("1", "2", "3", "4"))
    judge = metric.prepare(lists)
    assert (judge.name, judge.better, metric.name) == ("Hamming", -1, "Hamming")
    assert "classes:4" in judge.signature
    with pytest.raises(DataError, match=r"scores have shape \(40,\), expected \(40, 4\)"):
        judge.per_list(np.zeros(40))
