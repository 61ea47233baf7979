"""Top-k oracles: the thesis' numbers, brute force, expectations over random orders, names."""

import itertools

import numpy as np
import pytest
from make import lists as lists_of
from reference.texts import some_lists
from small_judging import evaluate, values

from rerank.core.errors import DataError
from rerank.data.judge import corpus_value
from rerank.metrics.base import parse

NAN = float("nan")


def test_the_worked_list_of_the_thesis():
    lists = lists_of([[0.53, 0.42, 0.41, 1.0, 0.65, 0.43, 0.35]])
    names = [f"oracle{k}.label@1" for k in range(1, 6)]
    found = values(lists, np.arange(7.0, 0.0, -1.0), names)
    assert list(found.values()) == [0.53, 0.53, 0.53, 1.0, 1.0]


@pytest.mark.parametrize("inner", ["label@1", "loss@1", "z@1"])
@pytest.mark.parametrize("size", [1, 2, 5, 99])
def test_means_are_exact_over_the_first_items(inner, size):
    rng = np.random.default_rng(size)
    lists = lists_of([*(rng.integers(0, 9, rng.integers(1, 8)).astype(float) for _ in range(20))])
    scores = rng.integers(0, 4, lists.n_items).astype(float)  # ties: the earlier item ranks higher
    judge = parse(f"oracle{size}.{inner}").prepare(lists)
    own = parse(inner).prepare(lists)
    best = max if own.better > 0 else min
    for i, row in enumerate(judge.per_list(scores)):
        items = range(lists.offsets[i], lists.offsets[i + 1])
        first = sorted(items, key=lambda j: -scores[j])[:size]
        assert row[0] == best(own.per_item[j, 0] for j in first)
    if size == 1:
        assert np.array_equal(judge.per_list(scores), own.per_list(scores))
    if size == 99:
        assert corpus_value(judge, judge.per_list(scores)) == own.oracle() == judge.oracle()


@pytest.mark.parametrize("inner", ["label@1", "loss@1"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_random_is_the_mean_over_all_orders(inner, size):
    lists = lists_of([[3.0, 1.0, NAN, 1.0], [5.0], [NAN, NAN], [0.0, 2.0, 7.0]])
    judge = parse(f"oracle{size}.{inner}").prepare(lists)
    own = parse(inner).prepare(lists)
    best = max if own.better > 0 else min
    expected = []
    for i in np.flatnonzero(lists.judged_lists()):
        part = own.per_item[lists.offsets[i] : lists.offsets[i + 1], 0]
        expected.append(np.mean([best(order[:size]) for order in itertools.permutations(part)]))
    assert judge.random() == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("name", ["BLEU", "sBLEU"])
def test_oracles_of_texts_lie_between_the_choice_and_the_best(name):
    lists = some_lists(3, n_lists=60)
    scores = np.random.default_rng(0).random(lists.n_items)
    found = list(values(lists, scores, [name, *(f"oracle{k}.{name}" for k in (1, 2, 3, 9))]).values())
    assert found[0] == found[1]
    assert found == sorted(found)
    judge = parse(f"oracle2.{name}").prepare(lists)
    assert found[-1] == judge.oracle()
    assert found[1] < judge.random() < judge.oracle()
    assert judge.random() == judge.random()


def test_an_evaluation_holds_choice_and_oracles_together():
    lists = lists_of([*([1.0, float(i), 3.0] for i in range(8))]).with_first_best("input")
    names = ["label@1", "oracle2.label@1", "oracle2.loss@1", "AP"]
    found = evaluate(lists, {"s": np.tile([0.0, 1.0, 2.0], 8)}, names, samples=20)
    record = found.as_json()
    metrics = record["systems"][0]["metrics"]
    assert metrics["label@1"]["value"] == 3.0
    assert metrics["oracle2.label@1"]["value"] == np.mean([max(3, i) for i in range(8)])
    assert record["metrics"]["oracle2.label@1"]["first_best"] == np.mean([max(1, i) for i in range(8)])
    assert metrics["oracle2.label@1"]["value"] <= record["metrics"]["oracle2.label@1"]["oracle"]
    assert "oracle2.loss@1 (lower is better)" in found.text()
    assert record["metrics"]["oracle2.label@1"]["signature"].startswith("oracle:2|label@1|")


def test_lists_without_judged_items_are_left_out_and_nan_is_refused():
    lists = lists_of([[NAN, NAN], [1.0, 2.0]])
    judge = parse("oracle2.label@1").prepare(lists)
    assert judge.judged.tolist() == [False, True]
    assert judge.per_list(np.zeros(4)).tolist() == [[0.0, 0.0], [2.0, 1.0]]
    with pytest.raises(DataError, match="NaN"):
        judge.per_list([0.0, NAN, 0.0, 0.0])
