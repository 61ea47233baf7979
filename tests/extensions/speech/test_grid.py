"""The grid of scales: against a twin that judges each point, its ties, its notes, what it refuses."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from learners.test_line_search import drawn
from reference import grid as slow
from small_training import fit

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.data.lists import CandidateLists
from rerank.extensions.speech.grid import Grid
from rerank.metrics.base import parse
from rerank.models.linear import LinearModel

pytestmark = pytest.mark.filterwarnings("ignore:.*the best of .* point:rerank.core.errors.DataNote")


def fitted(lists: CandidateLists, scales: str, metric: str = "label@1", **inputs: object) -> LinearModel:
    settings = {key: inputs.pop(key) for key in ("init", "most") if key in inputs}
    model = Grid(scales=scales, **settings).fit(lists, judge=parse(metric).prepare(lists), **inputs)
    assert isinstance(model, LinearModel)
    return model


@pytest.mark.parametrize("metric", ["label@1", "WER", "BLEU"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_point_is_that_of_the_twin(metric: str, weighted: bool) -> None:
    for seed in range(4):
        lists = drawn(seed, n_lists=8)
        judge = parse(metric).prepare(lists)
        names = lists.names()
        text = f"{names[1]}=-1:1:0.5,{names[0]}=1,{names[2]}=0:0.7:0.1"
        rng = np.random.default_rng(seed)
        weights = rng.choice([0.0, 0.5, 2.0], lists.n_lists) if weighted else None
        of_lists = np.ones(lists.n_lists) if weights is None else weights
        start = np.zeros(lists.n_features)
        expected, found, points, tied = slow.best(lists, judge, text, start, of_lists)
        model = fitted(lists, text, metric, list_weights=weights, init="zero")
        assert model.weights.tolist() == found
        assert model.training.rounds.train == pytest.approx(judge.better * expected, rel=1e-12)
        assert (model.training.notes["points"], model.training.notes["best points"]) == (points, tied)


def test_values_are_decimals_and_the_last_is_included() -> None:
    lists = drawn(1, n_lists=6)
    name = lists.names()[0]
    assert slow.scales("x=0:2:0.1")[0][1] == [float(f"{i / 10:.1f}") for i in range(21)]
    assert fitted(lists, f"{name}=0.1:0.3:0.1,{lists.names()[1]}=1").training.notes["points"] == 3
    assert fitted(lists, f"{name}=0:1:0.3").training.notes["points"] == 4


def test_a_ranking_metric_is_judged_as_by_evaluation() -> None:
    lists = drawn(2, n_lists=8)
    a, b = lists.names()[:2]
    model = fitted(lists, f"{a}=-1:1:0.5,{b}=-1:1:0.5", "nDCG@3", init="zero")
    judge = parse("nDCG@3").prepare(lists)
    rows = [
        (float(judge.score_from_sums(judge.per_list(lists.features.scores(v)).sum(axis=0))), v.tolist())
        for x in np.arange(-1, 1.1, 0.5)
        for y in np.arange(-1, 1.1, 0.5)
        for v in [np.array([x, y, *[0.0] * (lists.n_features - 2)])]
    ]
    assert model.training.rounds.train == max(value for value, _ in rows)
    assert (model.training.rounds.train, model.weights.tolist()) in rows


def two_features(labels: list[float]) -> CandidateLists:
    """Two lists of two items, whose base score is the first feature."""
    X = np.array([[-1.0, 0.0], [-3.0, 4.0], [-2.0, 1.0], [-2.5, 0.0]])
    lists = CandidateLists.from_arrays(X, labels, group=[2, 2], feature_names=["am", "lm"], source="two")
    return replace(lists, base_scores=2 * X[:, 0])


def test_features_that_are_not_named_keep_the_weight_of_the_first_stage() -> None:
    lists = two_features([0, 1, 1, 0])
    model = fitted(lists, "lm=0:2:0.25")
    assert model.weights[0] == 2.0
    assert model.training.notes["other weights"] == "base"
    assert 4 * model.weights[1] > 2 * 2.0
    assert fitted(lists, "lm=1", init="zero").weights.tolist() == [0.0, 1.0]
    given = fitted(lists, "lm=1", initial=np.array([0.5, 9.0]))
    assert given.weights.tolist() == [0.5, 1.0]


def test_on_ties_the_point_nearest_to_the_middle_wins() -> None:
    lists = two_features([1, 1, 1, 0])  # every weight of the language model from -0.9 is as good
    assert fitted(lists, "lm=0:2:0.5").weights[1] == 1.0
    assert fitted(lists, "lm=0:1.5:0.5").weights[1] == 0.5  # of two the first
    assert fitted(lists, "lm=0:2:0.5").training.notes["best points"] == 5


def test_the_note_names_the_point_and_ends_of_ranges() -> None:
    lists = two_features([0, 1, 1, 0])
    for text, message in (
        ("lm=1:3:0.5", "two: the best of 5 points is lm=2, one of 4 with this value"),
        ("lm=0:1.5:0.75", "two: the best of 3 points is lm=1.5; lm=1.5 is an end of the range: a wider one"),
    ):
        with pytest.warns(DataNote, match=re.escape(message)):
            fitted(lists, text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Grid().fit(lists, judge=parse("label@1").prepare(lists))  # every feature -1:1:1


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ("lm", "found 'lm', expected NAME=START:STOP:STEP"),
        ("lm=0:1", "found 'lm=0:1', expected NAME=START:STOP:STEP"),
        ("lm=0:1:x", "found 'lm=0:1:x'"),
        ("lm=nan", "found 'lm=nan'"),
        ("lm=1e999", "found 'lm=1e999'"),
        ("=1", "found '=1'"),
        ("lm=0:1:0", "expected a step above 0"),
        ("lm=1:0:0.1", "STOP not below START"),
        ("lm=0:1:1e-9", "1,000,000,001 values, expected at most 100,000"),
        ("lm=1,am=1,lm=2", "found 'lm' twice"),
    ],
)
def test_scales_that_are_none(scales: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Grid(scales=scales)


def test_what_is_refused() -> None:
    lists = two_features([0, 1, 1, 0])
    with pytest.raises(FitError, match="two: scales: no feature 'ln'; did you mean 'lm'"):
        fitted(lists, "ln=1")
    with pytest.raises(FitError, match=r"the scales make 441 points \(21 x 21\), expected at most 400"):
        fitted(lists, "lm=0:2:0.1,am=0:2:0.1", most=400)
    lists = CandidateLists.from_arrays(np.ones((2, 2)), [0, 1], group=[2], feature_names=["a", "a"])
    with pytest.raises(FitError, match="two features are named 'a'"):
        fitted(lists, "a=1")


def test_scales_as_lists_and_mappings() -> None:
    expected = Grid(scales="lm=0:2:0.5,am=1")
    assert Grid(scales=["lm=0:2:0.5", " am=1"]) == expected
    assert Grid(scales={"lm": "0:2:0.5", "am": 1}) == expected


def test_it_is_trained_like_any_learner() -> None:
    lists = two_features([0, 1, 1, 0])
    model = fit(Grid(scales="lm=0:2:0.25"), lists, metric="label@1")
    assert model.training.settings["scales"] == ("lm=0:2:0.25",)
    assert model.score(lists).argmax() == 1 or model.score(lists)[1] > model.score(lists)[0]
