"""best@k and pass@k: closed forms against all subsets, lists that are short, what is refused."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from make import lists as lists_of
from small_judging import evaluate, value, values

from rerank.core.errors import ConfigError, DataError
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse
from rerank.metrics.draws import Subsets, best_chances
from rerank.training.train import train

NAN = float("nan")


def test_the_closed_forms_are_the_means_over_all_subsets() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 9):
        for most in (2, 100):  # with many ties, without
            labels, scores = rng.integers(0, 2, n).astype(float), rng.integers(0, most, n).astype(float)
            lists = lists_of([labels.tolist()])
            for k in range(1, n + 1):
                best, passed = [], []
                for draw in itertools.combinations(range(n), k):
                    top = [i for i in draw if scores[i] == max(scores[list(draw)])]
                    best.append(Fraction(int(labels[top].sum()), len(top)))
                    passed.append(max(labels[list(draw)]))
                assert value(lists, scores, f"best@{k}") == pytest.approx(
                    float(sum(best) / len(best)), abs=1e-12
                )
                assert value(lists, scores, f"pass@{k}") == pytest.approx(np.mean(passed), abs=1e-12)
            assert value(lists, scores, "best") == value(lists, scores, f"best@{n}")


def test_pass_is_the_estimator_of_the_paper() -> None:
    for n, c, k in itertools.product(range(1, 9), range(9), range(1, 9)):
        if c <= n and k <= n:
            found = value(lists_of([[1.0] * c + [0.0] * (n - c)]), np.zeros(n), f"pass@{k}")
            assert found == pytest.approx(1 - math.comb(n - c, k) / math.comb(n, k), abs=1e-14)


def test_long_lists_lose_no_precision() -> None:
    n = 100_000
    for k in (1, 2, 1000, n // 2, n):
        chances = best_chances(n, k)
        assert chances.sum() == pytest.approx(1, rel=1e-11)
        places = [0, 1, min(9, n - k)]
        exact = [
            Fraction(k, n) if i == 0 else Fraction(math.comb(n - 1 - i, k - 1), math.comb(n, k))
            for i in places[:1]
        ]
        assert chances[0] == pytest.approx(float(exact[0]), rel=1e-12)
    lists = lists_of([[1.0] + [0.0] * (n - 1)])
    assert value(lists, np.arange(n), "pass@1000") == pytest.approx(0.01, rel=1e-12)
    assert value(lists, -np.arange(n), "best@1000") == pytest.approx(0.01, rel=1e-12)


def test_short_lists_are_an_error_or_counted_or_left_out() -> None:
    lists = lists_of([[0.0, 1.0, 0.0], [1.0, 1.0], [NAN]])
    scores = [3.0, 2.0, 1.0, 0.0, 0.0, 0.0]
    message = (
        "some lists: list '2' has 2 samples, expected 3 at least for best@3 (1 lists have fewer); "
        "best(short=all)@3 takes all of theirs, best(short=skip)@3 leaves them out"
    )
    with pytest.raises(DataError) as caught:
        value(lists, scores, "best@3")
    assert str(caught.value) == message
    with pytest.raises(DataError, match=r"pass\(rel=2, short=all\)@3 takes"):
        value(lists, scores, "pass(rel=2)@3")
    assert value(lists, scores, "best(short=all)@3") == 0.5
    assert value(lists, scores, "best(short=skip)@3") == 0.0
    assert value(lists, scores, "pass(short=skip)@3") == 1.0
    assert value(lists, scores, "best(draw=first)@2") == 0.5
    assert value(lists, scores, "best@2") == pytest.approx((1 / 3 + 1) / 2)


def test_labels_below_0_and_missing_ones() -> None:
    lists = lists_of([[-1.0, NAN, 3.0]])
    assert value(lists, [0.0, 1.0, 0.0], "best") == -1.0
    assert value(lists, [0.0, 0.0, 0.0], "best") == pytest.approx(1 / 3)
    assert value(lists, [0.0, 0.0, 0.0], "pass@1") == pytest.approx(1 / 3)
    assert value(lists, [0.0, 0.0, 0.0], "pass(rel=4)@3") == 0.0
    assert value(lists, [-np.inf, np.inf, np.inf], "best@2") == pytest.approx((1.0 + 3.0 - 1.0) / 3)


def test_success_looks_at_a_ranking_and_pass_at_none() -> None:
    lists = lists_of([[0.5, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    found = values(lists, np.array([1.0, 0.0] * 3), ["pass@1", "pass@2", "pass(rel=1)@2", "Success@1"])
    assert found == pytest.approx(dict(zip(found, (1 / 3, 2 / 3, 1 / 3, 0.0), strict=True)))
    assert "|rel:>0|" in parse("pass@1").prepare(lists).signature
    with pytest.raises(ConfigError, match="pass@1 is the same for every ranking; watch best@k or Success@k"):
        train(lists, "perceptron", metric="pass@1")
    assert evaluate(lists, {"a": np.arange(6.0)}, ["pass@1"], samples=20).metrics["pass@1"].first_best is None


def test_subsets_are_all_or_balanced_and_depend_on_the_list_alone() -> None:
    assert Subsets(6).of(4, 2, b"x").tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert [Subsets(6).is_drawn(n, 2) for n in (1, 2, 4, 5)] == [False, False, False, True]
    assert Subsets(200).is_drawn(10**9, 5 * 10**8)  # C(n, k) itself would take hours
    table = Subsets(40).of(9, 4, b"x")
    assert table.shape == (40, 4)
    assert all(len(set(row)) == 4 for row in table.tolist())
    counts = np.bincount(table.ravel(), minlength=9)
    assert counts.sum() == 160
    assert counts.min() >= 15
    again, other = Subsets(40), Subsets(40)
    other.of(7, 3, b"y")
    assert np.array_equal(again.of(9, 4, b"x"), other.of(9, 4, b"x"))
    assert not np.array_equal(again.of(9, 4, b"x"), again.of(9, 4, b"z"))


def test_rows_of_a_list_that_are_far_apart() -> None:
    labels, qid = [1.0, 0.0, 0.0, 1.0], ["a", "b", "a", "b"]
    lists = CandidateLists.from_arrays(np.zeros((4, 1)), labels, qid=qid)
    assert values(lists, np.array([2.0, 2.0, 1.0, 1.0]), ["best"]) == {"best": 0.5}
    assert value(replace(lists, rows=None), [2.0, 1.0, 1.0, 2.0], "best") == 1.0
