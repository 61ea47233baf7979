"""The line search against its definition, against grids, and on degenerate lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reference.mert import best_interval, intervals
from reference.texts import drawn_groups, lists_of

from rerank.core.errors import FitError
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.learners.sums.lines import LineProblem
from rerank.learners.tuning.line_search import Climb
from rerank.metrics.base import parse
from rerank.native.learners import _mert

METRICS = ["BLEU", "BLEU(smooth=add-k)", "BLEU(smooth=none)", "sBLEU", "WER", "PER", "TER", "chrF", "label@1"]


def drawn(seed, n_lists=6, n_features=3, levels=4):
    """Lists of texts with few distinct feature values, so that slopes, scores and crossings tie."""
    rng = np.random.default_rng(seed)
    lists = lists_of(drawn_groups(seed, n_lists=n_lists))
    X = rng.integers(-levels, levels + 1, (lists.n_items, n_features)).astype(float)
    return replace(lists, features=Dense(X), labels=rng.integers(0, 3, lists.n_items).astype(float))


def prepared(lists, metric="BLEU", weights=None):
    return LineProblem(lists, parse(metric).prepare(lists), weights)


def searched(problem, start, direction, *, native=True, l2=0.0):
    """What one search finds: objective, lower, upper; the point that represents it; the climb."""
    climb = Climb(problem, start, l2=l2)
    climb.settle(start)
    rise = problem.towards(direction)
    length = float(np.sqrt(start @ start))
    unit = length / float(np.sqrt(direction @ direction)) if length > 0 else 1.0
    climb._search.gather(*rise, *climb._here, unit)
    if native:
        found = climb._best(direction, unit, -np.inf)
    else:
        ends, sums = climb._search.intervals()
        values = np.asarray(problem.judge.score_from_sums(sums), dtype=float)
        found = _mert.best_of(ends, values, unit, problem.judge.better, climb._penalty(direction))
    return found, _mert.point_in(*found[1:], unit), climb


def value_at(lists, metric, weights, list_weights=None):
    judge = parse(metric).prepare(lists)
    per_list = judge.per_list(lists.features.scores(weights))
    if list_weights is not None:
        per_list = per_list * list_weights[:, None]
    return judge.better * float(judge.score_from_sums(per_list.sum(axis=0)))


@pytest.mark.parametrize("metric", METRICS)
def test_the_best_interval_is_that_of_the_definition(metric):
    for seed in range(12):
        lists = drawn(seed)
        rng = np.random.default_rng(seed)
        start, direction = rng.integers(-3, 4, (2, 3)).astype(float)
        judge = parse(metric).prepare(lists)
        X = lists.features.values
        found = intervals(X @ start, X @ direction, lists.offsets, judge.per_item)
        wanted = best_interval(found, judge.score_from_sums, judge.better)
        problem = prepared(lists, metric)
        problem.scale[:] = 1.0  # the twin knows no scales
        if not direction.any():
            continue
        for native in (True, False):
            got = searched(problem, start, direction, native=native)[0]
            if wanted is None:
                assert got[0] == -np.inf
                continue
            assert got[0] == pytest.approx(wanted[0], rel=1e-12)
            np.testing.assert_allclose(got[1:], wanted[1:], rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")


@pytest.mark.parametrize("metric", METRICS)
def test_no_point_of_a_grid_is_better_and_the_value_holds_at_the_point(metric):
    for seed in range(4):
        lists = drawn(100 + seed, n_lists=12, levels=40)
        rng = np.random.default_rng(seed)
        lists = replace(lists, features=Dense(rng.normal(size=(lists.n_items, 3))))
        start, direction = rng.normal(size=(2, 3))
        problem = prepared(lists, metric)
        (objective, _, _), gamma, _ = searched(problem, start, direction)
        if objective == -np.inf:
            continue
        here = value_at(lists, metric, (start + gamma * direction) / problem.scale)
        assert here == pytest.approx(objective, rel=1e-12)
        for g in np.concatenate([np.linspace(-3, 3, 100), [-1e3, -30, 30, 1e3]]):
            assert not value_at(lists, metric, (start + g * direction) / problem.scale) > objective + 1e-9


@pytest.mark.parametrize("wrong", [np.ones(2), np.array([1.0, -1, 1, 1, 1, 1]), np.full(6, np.nan)])
def test_wrong_list_weights_are_refused(wrong):
    with pytest.raises(FitError, match="list weights must be 6 finite numbers"):
        prepared(drawn(1), weights=wrong)


def test_scaling_changes_no_bit_of_a_score():
    rng = np.random.default_rng(3)
    lists = drawn(3)
    features = Dense(rng.normal(size=(lists.n_items, 3)) * np.array([1e-9, 1.0, 1e12]))
    lists = replace(lists, features=features)
    problem = prepared(lists, "label@1")
    weights = rng.normal(size=3)
    scores = problem.scores(weights * problem.scale)
    np.testing.assert_array_equal(scores, lists.features.scores(weights))
    assert (np.log2(problem.scale) % 1 == 0).all()
    ranges = [np.ptp(np.concatenate([problem.along(j).slopes])) for j in range(3)]
    assert max(ranges) < 30 * min(ranges)


def test_listed_features_without_values_are_ones():
    indptr, indices = np.array([0, 1, 1, 2, 3]), np.array([0, 1, 0], dtype=np.int32)
    lists = CandidateLists.from_arrays(Sparse(indptr, indices, None, 2), [1.0, 0, 0, 1], group=[2, 2])
    rise = prepared(lists, "label@1").along(0)
    assert rise.lists.tolist() == [0, 1]
    assert rise.order.tolist() == [1, 0, 0, 1]
    assert rise.slopes.tolist() == [0, 2, 0, 2]  # half the range is 1/2


def labelled(X, y, group):
    return CandidateLists.from_arrays(np.asarray(X, dtype=float), y, group=group)


def test_equal_breakpoints_of_different_lists_leave_no_interval_between():
    """Both lists turn at 0; between the turns only would both be right."""
    lists = labelled([[0, 1], [0, -1], [0, 1], [0, -1]], [1.0, 0, 0, 1], [2, 2])
    problem = prepared(lists, "label@1")
    (objective, lower, upper), _, climb = searched(problem, np.array([1.0, 0]), np.array([0.0, 1]))
    assert objective == 0.5
    assert {lower, upper} & {np.inf, -np.inf}
    assert not climb.step(np.array([0.0, 1]), problem.along(1))


def test_intervals_of_rounding_are_not_chosen():
    tiny = 1e-14
    lists = labelled([[0, 1], [0, -1], [0, 1], [tiny, -1]], [1.0, 0, 0, 1], [2, 2])
    problem = prepared(lists, "label@1")
    problem.scale[:] = 1.0
    (objective, _, _), _, _ = searched(problem, np.array([1.0, 0]), np.array([0.0, 1]))
    assert objective == 0.5


def test_from_zero_weights_the_search_moves():
    lists = labelled([[1, 0], [0, 1], [2, 5]], [0.0, 1, 0], [2, 1])
    problem = prepared(lists, "label@1")
    climb = Climb(problem, np.zeros(2))
    climb.settle(np.zeros(2))
    assert climb.step(np.array([0.0, 1]), problem.along(1))
    assert climb.value == 0.5
    assert climb.weights[1] > 0


@pytest.mark.parametrize("l2", [0.0, 0.3, 5.0])
def test_the_penalty_is_that_of_the_point(l2):
    lists = drawn(11, n_lists=8)
    rng = np.random.default_rng(11)
    for _ in range(10):
        start, direction = rng.normal(size=(2, 3))
        near = start / np.linalg.norm(start)
        problem = prepared(lists, "WER")
        climb = Climb(problem, near, l2=l2)
        climb.settle(rng.normal(size=3))
        length = np.sqrt(climb.weights @ climb.weights) / np.sqrt(direction @ direction)
        rise = problem.towards(direction)
        climb._search.gather(*rise, *climb._here, float(length))
        objective, lower, upper = climb._best(direction, float(length), -np.inf)
        there = climb.weights + _mert.point_in(lower, upper, float(length)) * direction
        cost = l2 * np.sum((there / np.linalg.norm(there) - near) ** 2)
        assert objective == pytest.approx(value_at(lists, "WER", there / problem.scale) - cost, rel=1e-9)
        climb._search.gather(*rise, *climb._here, float(length))
        ends, sums = climb._search.intervals()
        values = np.asarray(problem.judge.score_from_sums(sums), dtype=float)
        penalty = climb._penalty(direction)
        again = _mert.best_of(ends, values, float(length), -1, penalty)
        assert again == pytest.approx((objective, lower, upper), rel=1e-12)


def test_the_climb_never_falls_and_reports_the_true_value():
    for seed in range(5):
        lists = drawn(seed, n_lists=20)
        problem = prepared(lists)
        climb = Climb(problem, np.ones(3), min_gain=1e-9)
        climb.settle(np.ones(3))
        before = climb.objective
        climb.climb(np.random.default_rng(seed), 50, True, 3)
        assert climb.objective >= before
        assert climb.objective == pytest.approx(value_at(lists, "BLEU", climb.weights / problem.scale))
        assert (climb.steps > 0) == (climb.objective > before)


def test_scores_that_overflow_are_refused():
    lists = labelled([[1e308, 1e308], [-1e308, 1]], [1.0, 0], [2])
    climb = Climb(prepared(lists, "label@1"), np.ones(2))
    with pytest.raises(FitError, match="the scores overflow; scale the features"):
        climb.settle(100 * climb.problem.scale)


def test_huge_and_tiny_values_rise():
    lists = labelled([[1e300, 1e-300], [-1e300, 3e-300], [0, 2e-300]], [0.0, 0, 1], [3])
    problem = prepared(lists, "label@1")
    assert problem.varying.tolist() == [0, 1]
    for j in (0, 1):
        slopes = problem.along(j).slopes
        assert np.isfinite(slopes).all()
        assert 0.1 < np.ptp(slopes) < 10
    climb = Climb(problem, np.ones(2))
    climb.settle(np.ones(2))
    climb.climb(np.random.default_rng(1), 10, True, 10)
    assert climb.value in (0.0, 1.0)
