"""Gains with intervals, and seeds against lists: what is computed, and how it is reported."""

import json
import math

import numpy as np
import pytest
from small_judging import evaluate

from rerank.core.errors import ConfigError
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.evaluation.significance import SEED
from rerank.evaluation.variance import gain, of_values, variance
from rerank.metrics.base import parse


def judged(metric="label@1", n_lists=60, unjudged=0):
    rng = np.random.default_rng(1)
    labels = rng.normal(size=4 * n_lists)
    labels[: 4 * unjudged] = np.nan
    lists = CandidateLists.from_arrays(np.zeros((4 * n_lists, 1)), labels, group=[4] * n_lists)
    lists = lists.with_first_best("input")
    return lists, parse(metric).prepare(lists)


def scores(seed, n):
    return np.random.default_rng(seed).normal(size=n)


def test_a_gain_is_resampled_in_pairs():
    lists, judge = judged()
    before, after = (judge.per_list(scores(s, lists.n_items)) for s in (1, 2))
    found = gain("dev", "none", "first-best", judge, before, after)
    draws = np.random.Generator(np.random.PCG64(SEED)).integers(60, size=(1000, 60), dtype=np.int32)
    difference = (after[:, 0] - before[:, 0])[draws].mean(axis=1)
    assert [found.low, found.high] == pytest.approx(np.quantile(difference, [0.025, 0.975]))
    assert found.gain == pytest.approx((after - before)[:, 0].mean())
    assert gain("dev", "none", "first-best", judge, before, before).low == 0.0


def test_a_gain_in_errors_is_positive_if_they_fall():
    lists, judge = judged("loss@1")
    worst, best = judge.per_list(-lists.labels), judge.per_list(lists.labels)
    found = gain("dev", "none", "first-best", judge, worst, best)
    assert found.after < found.before
    assert 0 < found.low < found.gain < found.high


def test_lists_that_cannot_be_judged_are_not_drawn():
    lists, judge = judged(unjudged=10)
    rows = [judge.per_list(scores(s, lists.n_items)) for s in (1, 2)]
    found = gain("dev", "none", "first-best", judge, *rows)
    assert found.lists == 50
    rest = parse("label@1").prepare(lists.subset(np.arange(10, 60)))
    assert found == gain("dev", "none", "first-best", rest, rows[0][10:], rows[1][10:])


def test_no_value_is_no_gain():
    lists, judge = judged(n_lists=2, unjudged=2)
    rows = judge.per_list(scores(1, lists.n_items))
    assert gain("dev", "none", "first-best", judge, rows, rows) is None


def test_both_deviations_are_those_of_numpy():
    lists, judge = judged()
    runs = [judge.per_list(scores(s, lists.n_items)) for s in range(5)]
    found = variance(judge, runs)
    assert found.values == tuple(corpus_value(judge, rows) for rows in runs)
    assert found.sd_seeds == pytest.approx(np.std(found.values, ddof=1))
    draws = np.random.Generator(np.random.PCG64(SEED)).integers(60, size=(1000, 60), dtype=np.int32)
    sampled = np.array([rows[:, 0][draws].mean(axis=1) for rows in runs])
    assert found.sd_lists == pytest.approx(np.std(sampled, axis=1, ddof=1).mean())
    assert found.ci == pytest.approx(np.quantile(sampled.mean(axis=0), [0.025, 0.975]))
    assert found.of_one_run == pytest.approx(1.96 * math.sqrt(found.sd_seeds**2 + found.sd_lists**2))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.0, 1.0], "every seed gives the same value"),
        ([1.0, 1.1], "less than the choice of the lists"),
        ([1.0, 2.0], "about as much"),
        ([1.0, 9.0], "more than the choice of the lists"),
    ],
)
def test_the_verdict_weighs_seeds_against_lists(values, verdict):
    sampled = np.array(values)[:, None] + np.array([[-1.0, 0.0, 1.0]])
    lines = of_values("BLEU", values, sampled, 0.95).lines("dev ", 2)
    assert lines[0].startswith(f"2 runs: dev BLEU {values[0]:.2f} to {values[1]:.2f}, mean ")
    assert verdict in lines[2]
    assert len(lines) == (3 if values[0] == values[1] else 4)
    assert max(map(len, lines)) <= 100


def test_what_is_not_a_number_is_null_and_reported():
    found = of_values("WER", [math.nan, math.nan], np.full((2, 5), math.nan), 0.95)
    record = found.as_json()
    assert json.loads(json.dumps(record, allow_nan=False))["values"] == [None, None]
    assert (record["mean"], record["sd_seeds"], record["sd_lists"], record["ci"]) == (None, None, None, None)
    assert "too few lists" in "".join(found.lines("", 2))


def test_replicas_of_an_evaluation_are_its_systems_but_the_baseline():
    lists, judge = judged(unjudged=3)
    systems = {str(s): scores(s, lists.n_items) for s in range(4)}
    found = evaluate(lists, systems, ["label@1", "loss@1"], baseline="0", replicas=True)
    assert list(found.variances) == ["label@1", "loss@1"]
    runs = [judge.per_list(systems[str(s)]) for s in (1, 2, 3)]
    own = found.variances["label@1"]
    assert own.values == tuple(found.systems[str(s)]["label@1"].value for s in (1, 2, 3))
    assert own.sd_lists == pytest.approx(variance(judge, runs).sd_lists, rel=0.1)  # other draws of the lists
    assert found.as_json()["replicas"]["label@1"] == own.as_json()
    assert "3 runs: label@1 " in found.text()
    assert "replicas" not in evaluate(lists, systems, ["label@1"]).as_json()


def test_one_run_is_no_replica():
    lists, _ = judged()
    for systems, baseline in (
        ({"a": scores(1, 240)}, None),
        ({"a": scores(1, 240), "b": scores(2, 240)}, "b"),
    ):
        with pytest.raises(ConfigError, match="replicas: found 1, expected two or more"):
            evaluate(lists, systems, ["label@1"], baseline=baseline, replicas=True)


def test_switched_lists_are_counted_if_something_is_chosen():
    lists, _ = judged(unjudged=10)
    moved = -np.arange(lists.n_items, dtype=float)
    moved[[0, 41, 50, 53]] = 9.0  # of an unjudged list, and of three others
    moved[[44, 48]] = 5.0  # which are first anyway
    found = evaluate(lists, {"s": moved}, ["label@1", "nDCG@5", "oracle2.label@1"], samples=20)
    results = found.systems["s"]
    assert results["label@1"].switched == 3
    assert found.as_json()["systems"][0]["metrics"]["label@1"]["switched"] == 3
    assert results["nDCG@5"].switched is results["oracle2.label@1"].switched is None
    assert "switched" not in found.as_json()["systems"][0]["metrics"]["nDCG@5"]
    assert "switched" in found.text()
    bare = CandidateLists.from_arrays(np.zeros((240, 1)), lists.labels, group=[4] * 60)
    assert "switched" not in evaluate(bare, {"s": moved}, ["label@1"], samples=20).text()


def labels_of(*labels):
    """A judge of label@1 for lists of one item each, and its statistics."""
    lists = CandidateLists.from_arrays(np.zeros((len(labels), 1)), labels, group=[1] * len(labels))
    judge = parse("label@1").prepare(lists)
    return judge, judge.per_list(np.zeros(len(labels)))


def test_exactly_two_runs_and_two_samples_by_hand():
    found = of_values("M", [1.0, 4.0], np.array([[1.0, 3.0], [4.0, 4.0]]), 0.5)
    assert (found.values, found.mean) == ((1.0, 4.0), 2.5)
    assert found.sd_seeds == pytest.approx(3 / math.sqrt(2))
    assert found.sd_lists == pytest.approx(math.sqrt(2) / 2)  # of runs with deviations of √2 and 0
    assert found.ci == pytest.approx((2.75, 3.25))  # quartiles of the samples' means, 2.5 and 3.5
    assert found.within_seeds == pytest.approx(1.96 * 3)
    assert found.of_one_run == pytest.approx(1.96 * math.sqrt(4.5 + 0.5))


def test_one_sample_has_no_deviation_over_lists():
    found = of_values("M", [1.0, 4.0], np.array([[1.0], [4.0]]), 0.95)
    assert math.isnan(found.sd_lists)
    assert found.ci == (2.5, 2.5)
    two_of_three = np.array([[1.0, math.nan, 3.0], [4.0, 0.0, 4.0]])
    assert of_values("M", [1.0, 4.0], two_of_three, 0.95).sd_lists == pytest.approx(math.sqrt(2) / 2)


def test_exactly_two_lists_by_hand():
    judge, rows = labels_of(0.0, 2.0)
    found = variance(judge, [rows, np.add(rows, [1.0, 0.0])])
    draws = np.random.Generator(np.random.PCG64(SEED)).integers(2, size=(1000, 2), dtype=np.int32)
    means = draws.sum(axis=1)  # labels 0 and 2: the mean of two draws is their number of the second list
    assert found.values == (1.0, 2.0)
    assert found.sd_seeds == pytest.approx(math.sqrt(0.5))
    assert found.sd_lists == pytest.approx(np.sqrt(((means - means.mean()) ** 2).sum() / 999))
    assert found.sd_lists == pytest.approx(math.sqrt(0.5), abs=0.05)  # 0, 1, 2 with chances 1/4, 1/2, 1/4
    assert found.ci == (0.5, 2.5)


def test_exactly_one_list_has_no_variance():
    judge, rows = labels_of(3.0)
    found = variance(judge, [rows, rows * np.array([2.0, 1.0])])
    assert found.values == (3.0, 6.0)
    assert found.sd_lists == 0.0
    assert found.ci == (4.5, 4.5)
    assert gain("dev", "none", "first-best", judge, rows, rows * np.array([2.0, 1.0])).low == 3.0
