"""What every metric of classes must do; a new one is tested by being registered."""

import math
from dataclasses import replace

import numpy as np
import pytest
from contracts.test_metrics import ALL, twin_of
from small_judging import evaluate, values

from rerank.core.errors import DataError
from rerank.data.classes import Predictions, class_lists
from rerank.data.judge import PreparedMetric, corpus_value
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")

EXAMPLES = [example for example in ALL if parse(example).of_classes]
NAMES = ("-1", "0", "1.5", "3", "10")
SINGLE, SETS, ONE, EMPTY = "one class each", "sets", "one example", "no class and all classes"


def examples_of(kind, seed=0):
    """(lists, sets of true names, predicted ones) of random examples; a third of predictions is right."""
    rng = np.random.default_rng(seed)
    n = 1 if kind == ONE else 12

    def draw():
        if kind in (SINGLE, ONE):
            return frozenset([NAMES[rng.integers(len(NAMES))]])
        if kind == EMPTY:
            return frozenset(NAMES if rng.random() < 0.5 else ())
        return frozenset(name for name in NAMES if rng.random() < 0.4)

    truth = [draw() for _ in range(n)]
    truth[0] = truth[0] or frozenset(NAMES[:1])
    found = [true if rng.random() < 0.3 else draw() for true in truth]
    lists = CandidateLists.from_arrays(
        np.zeros((n, 1)), classes=[sorted(one) for one in truth], source="made"
    )
    return lists, truth, found


def predictions(found):
    return Predictions("p", ["REJECT" if one == "REJECT" else ",".join(sorted(one)) for one in found])


@pytest.mark.parametrize("kind", [SINGLE, SETS, ONE, EMPTY])
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_value_is_that_of_the_slow_twin(example, kind):
    metric = parse(example)
    for seed in range(5):
        lists, truth, found = examples_of(kind, seed)
        rejects = hasattr(metric, "reject") and len(found) > 1
        if rejects:
            found[1] = "REJECT"
        expanded, scores = class_lists(lists, {"p": predictions(found)})
        if metric.family == "difference" and kind not in (SINGLE, ONE):
            with pytest.raises(DataError, match="classes, difference needs one"):
                values(expanded, scores["p"], [example])
            continue
        names = {name for one in (*truth, *found) if one != "REJECT" for name in one}
        judge = metric.prepare(expanded)
        rows = judge.per_list(scores["p"])
        expected = twin_of(metric)(metric, truth, found, names)
        assert isinstance(judge, PreparedMetric)
        assert corpus_value(judge, rows) == pytest.approx(expected, rel=1e-12)
        assert values(expanded, scores["p"], [example])[example] == corpus_value(judge, rows)
        assert rows.shape == (len(truth), 2)
        assert judge.judged.all()


@pytest.mark.parametrize("example", EXAMPLES)
def test_lower_is_better_and_truth_is_the_oracle(example):
    lists, truth, _ = examples_of(SINGLE)
    expanded, scores = class_lists(lists, {"p": predictions(truth)})
    judge = parse(example).prepare(expanded)
    assert judge.better == parse(example).better == -1
    assert judge.oracle() == 0.0
    assert corpus_value(judge, judge.per_list(scores["p"])) == 0.0
    assert math.isnan(judge.random())
    assert judge.first_best() is None
    assert parse(example).name in judge.signature


@pytest.mark.parametrize("example", EXAMPLES)
def test_systems_are_compared_with_intervals_and_tests(example):
    lists, truth, found = examples_of(SINGLE)
    expanded, scores = class_lists(lists, {"right": predictions(truth), "other": predictions(found)})
    result = evaluate(expanded, scores, [example], baseline="right", samples=50)
    own = result.systems["other"][parse(example).name]
    assert own.ci[0] <= own.value <= own.ci[1]
    assert own.test.wins == 0
    assert own.test.losses == sum(a != b for a, b in zip(truth, found, strict=True))
    assert result.as_json()["metrics"][parse(example).name]["random"] is None


@pytest.mark.parametrize("example", EXAMPLES)
def test_other_lists_are_refused(example):
    lists, truth, _ = examples_of(SINGLE)
    expanded, _ = class_lists(lists, {"p": predictions(truth)})
    for column in parse(example).needs:
        with pytest.raises(DataError, match=r"made: no (labels|classes) to measure against"):
            parse(example).prepare(replace(expanded, **{column: None}))
    with pytest.raises(DataError, match="lists of different classes"):
        parse(example).prepare(replace(expanded, classes=expanded.classes.take(np.arange(60)[::-1] // 2)))
    with pytest.raises(DataError, match="lists of different classes"):
        parse(example).prepare(expanded.regrouped(["a"] * 6 + ["b"] * 54))


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_rejection_needs_a_cost(example):
    lists, truth, _ = examples_of(SINGLE)
    expanded, scores = class_lists(lists, {"p": predictions([*truth[:4], "REJECT", *truth[5:]])})
    judge = parse(example).prepare(expanded)
    if hasattr(parse(example), "reject"):
        assert judge.per_list(scores["p"])[4, 0] == parse(example).reject
    else:
        with pytest.raises(DataError, match="made: example 5 is REJECT"):
            judge.per_list(scores["p"])
