"""Searches that pass over parts of a line: the same bits as when every interval is evaluated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rerank.native.learners._statistics import Statistics

from rerank.data.lists import CandidateLists
from rerank.learners.sums.lines import LineProblem
from rerank.learners.tuning.line_search import Climb
from rerank.metrics.base import parse
from rerank.metrics.selecting import RatioJudge, Selection
from rerank.native.learners import _mert, _statistics


def bleu_counts(rng, n, best):
    totals = np.maximum(rng.integers(1, 30, n)[:, None] - np.arange(4), 0)
    matches = np.floor(totals * rng.random((n, 1)) ** np.arange(1, 5) * best)
    return np.column_stack([matches, totals, totals[:, 0], rng.integers(1, 30, n)]).astype(np.float64)


def chrf_counts(rng, n, orders=8):
    """Those of six orders of characters and two of words; of a few items there are no words."""
    sides = rng.integers(0, 20, (n, orders, 2)) + np.array([2, 2])
    sides[rng.random(n) < 0.05, -2:] = 0
    matches = np.floor(sides.min(axis=2) * rng.random((n, 1)))
    return np.concatenate([sides, matches[:, :, None]], axis=2).reshape(n, -1).astype(np.float64)


def drawn(seed, n_lists=300, width=3):
    """Lists of various lengths; in every second draw features have few values, so that everything ties."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, n_lists)
    n = int(lengths.sum())
    X = rng.normal(size=(n, width)) if seed % 2 else rng.integers(-3, 4, (n, width)).astype(float)
    lists = CandidateLists.from_arrays(X, rng.integers(0, 3, n).astype(float), group=lengths)
    bleu = bleu_counts(rng, n, 0.0 if seed % 7 == 5 else 0.9)
    return replace(lists, counts={"BLEU": bleu, "chrF(nw=2)": chrf_counts(rng, n)}), rng


def judged(lists, metric, rng):
    """A judge of lists, of a metric's name or a ratio whose denominator may be zero or negative."""
    if metric != "ratio":
        return parse(metric).prepare(lists)
    counts = rng.integers(-1, 4, (lists.n_items, 2)).astype(float)
    return RatioJudge("ratio", "ratio", Selection(lists), counts, better=int(rng.choice([-1, 1])))


def every_interval(climb, penalty, unit):
    """The best of all intervals, each evaluated by itself."""
    problem, form = climb.problem, climb.problem.form
    ends, sums = climb._search.intervals()
    values = np.array([_mert.value_of(row, form.number, *form.parameters) for row in sums])
    return _mert.best_of(ends, values, unit, problem.judge.better, penalty)


METRICS = [
    "BLEU",
    "BLEU(smooth=add-k)",
    "BLEU(smooth=none)",
    "BLEU(smooth=exp)",
    "label@1",
    "ratio",
    "chrF++",
]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("weighted", [False, True])
def test_no_interval_that_counts_is_passed_over(metric, weighted):
    for seed in range(14):
        lists, rng = drawn(seed)
        weights = rng.uniform(0, 2, lists.n_lists) if weighted else None
        problem = LineProblem(lists, judged(lists, metric, rng), weights)
        assert problem.stats.exact is not weighted
        climb = Climb(problem, np.zeros(3))
        start, direction = rng.integers(-3, 4, (2, 3)) + 0.25
        climb.settle(start)
        unit = float(rng.choice([1e-3, 1.0, 1e4, np.inf]))
        climb._search.gather(*problem.towards(direction), *climb._here, unit)
        wanted = every_interval(climb, climb._penalty(direction), unit)
        assert climb._best(direction, unit, -np.inf) == wanted
        assert climb._best(direction, unit, np.nan) == wanted
        for least in (wanted[0] - 0.1, np.nextafter(wanted[0], -np.inf)):
            assert climb._best(direction, unit, least) == wanted
        for least in (wanted[0], wanted[0] + 0.1):
            assert not climb._best(direction, unit, least)[0] > least


def test_counts_that_do_not_fit_are_added_as_doubles_to_the_same_choice():
    lists, _ = drawn(1)
    counts = lists.counts["BLEU"]
    found = []
    for factor in (1.0, 2.0**20, 2.0**31, 0.5):
        scaled = replace(lists, counts={"BLEU": counts * factor})
        problem = LineProblem(scaled, parse("BLEU").prepare(scaled), None)
        assert problem.stats.exact is (factor in (1.0, 2.0**20))
        climb = Climb(problem, np.zeros(3))
        climb.settle(np.ones(3))
        climb.climb(np.random.default_rng(0), 9, True, 3)
        found.append((climb.weights.tolist(), climb.value, climb.steps))
    assert all(one == found[0] for one in found)


def test_int32_statistics_are_taken_as_they_are():
    rows = np.array([[1, 2], [1, 2], [3, -4], [0, 0]], dtype=np.int32)
    held = Statistics(rows, 2)
    assert held.rows is rows
    differ = np.empty(3, dtype=np.uint8)
    held.differing(np.array([0, 2, 3, 4]), differ)
    assert differ.tolist() == [0, 0, 0]
    held.differing(np.array([0, 1, 3, 4]), differ)
    assert differ.tolist() == [0, 1, 0]
    large = np.array([[2**30 + 1, 0]], dtype=np.int32)
    assert Statistics(large, 1).rows.dtype == np.float64
    for odd in (0.5, 2.0**31, np.nan, np.inf, -np.inf):
        assert not Statistics(np.array([[odd, 1.0]]), 1).exact
    assert Statistics(np.array([[2.0**30, -0.0]]), 2**21).rows.tolist() == [[2**30, 0]]
    assert not Statistics(np.array([[2.0**30, -0.0]]), 2**22).exact


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("place", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize("single", [True, False])
def test_a_step_is_that_of_its_definition(exact, place, single):
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 6, 40)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    stats = rng.integers(0, 9, (offsets[-1], 3)) * (1.0 if exact else 0.1)
    held = Statistics(stats, 40)
    searched = np.sort(rng.permutation(40)[:30]).astype(np.int32)
    rising = np.sort(rng.permutation(searched)[:20]).astype(np.int32)
    scores = rng.integers(-2, 3, offsets[-1]).astype(float)
    order = np.concatenate([rng.permutation(lengths[i]) for i in rising]).astype(place)
    slopes = np.sort(rng.normal(size=len(order))).astype(np.float32 if single else np.float64)
    chosen, sums = np.zeros(40, dtype=np.int32), np.empty(3)
    assert _statistics.choose(held, searched, offsets, scores, chosen, sums)
    after = scores.copy()
    _statistics.advance(held, searched, offsets, rising, order, slopes, 0.3, after, chosen, sums)
    items = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in rising])
    starts = np.repeat(offsets[rising], lengths[rising])
    wanted = scores.copy()
    wanted[starts + order] += 0.3 * slopes.astype(np.float64)
    np.testing.assert_array_equal(after, wanted)
    assert len(items) == len(order)
    best = [offsets[i] + np.argmax(wanted[offsets[i] : offsets[i + 1]]) for i in searched]
    assert chosen[searched].tolist() == best
    total = np.zeros(3)
    for item in best:
        total += stats[item]
    np.testing.assert_array_equal(sums, total)
    wanted[offsets[searched[3]]] = np.inf
    assert not _statistics.choose(held, searched, offsets, wanted, chosen, sums)
