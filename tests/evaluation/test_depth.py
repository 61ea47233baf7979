"""Metric against N: a plain twin that sorts lists of Python, and the ends of the curve."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reference.everything import judged_lists
from reference.metrics.ranking import of_order, orders
from small_judging import of_systems, part_of
from small_judging import results as results_

from rerank.data.judge import corpus_value
from rerank.evaluation.curves import by_depth, depths
from rerank.evaluation.results import FIRST_BEST, Run

METRICS = ["AP", "nDCG@2", "label@1", "WER"]


def scores_of(lists, seed, distinct=3):
    return np.random.default_rng(seed).integers(0, distinct, lists.n_items).astype(float)


def results_of(lists, metrics=METRICS, ties="input", systems=2, distinct=3):
    made = {f"s{i}": scores_of(lists, i, distinct) for i in range(systems)}
    return of_systems(lists, made, metrics, ties=ties)


def lists_as_reordered(lists, scores, size):
    """The items of each list: the first ``size`` of the first stage by score, then the others."""
    for start, stop in pairwise(lists.offsets.tolist()):
        first = sorted(range(start, stop), key=lambda i: (-lists.first_best[i], i))
        top = sorted(first[:size], key=lambda i: (-scores[i], i))
        yield top, first[size:]


def slow_values(lists, judge, scores, size):
    """The value, and those of a random and of the best order of the first candidates."""
    known = ~np.isnan(lists.labels)
    if judge.name == "label@1":
        own, low, high = [], [], []
        for top, _ in lists_as_reordered(lists, scores, size):
            own.append(judge.per_item[top[0]])
            low.append(judge.per_item[top].mean(axis=0))
            values = judge.better * judge.item_values()[top]
            high.append(judge.per_item[top[int(np.argmax(values))]])
        return [corpus_value(judge, np.array(rows)) for rows in (own, low, high)]
    name, cutoff = ("AP", None) if judge.name == "AP" else ("nDCG", 2)
    measure = of_order(name, cutoff, 1.0)
    found = []
    for top, rest in lists_as_reordered(lists, scores, size):
        if not known[[*top, *rest]].any():
            continue
        every = [
            measure(lists.labels[[*(top[j] for j in order), *rest]].tolist())
            for order in orders([0.0] * len(top))
        ]
        found.append((measure(lists.labels[[*top, *rest]].tolist()), np.mean(every), max(every)))
    return np.mean(found, axis=0).tolist()


@pytest.mark.parametrize("metric", ["AP", "nDCG@2", "label@1"])
@pytest.mark.parametrize("seed", range(4))
def test_each_value_is_that_of_the_first_candidates_reordered(metric, seed):
    lists = judged_lists(seed)
    results = results_of(lists, [metric])
    judge = results.metric(metric).judges[0]
    found = by_depth(results, metric, ["s0", "s1"])
    assert found.sizes == (1, 2, 3, 5)
    for i, size in enumerate(found.sizes):
        for name in ("s0", "s1"):
            value, low, high = slow_values(lists, judge, results.runs_of(name)[0][0].scores, size)
            assert found.systems[name][i] == pytest.approx(value, abs=1e-12)
            assert found.random[i] == pytest.approx(low, abs=1e-12)
            assert found.oracle[i] == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize("metric", [*METRICS, "BLEU", "P@1", "nDCG-exp"])
@pytest.mark.parametrize("ties", ["trec", "expected", "input"])
def test_the_ends_are_first_best_and_the_table(metric, ties):
    lists = judged_lists(7)
    results = results_of(lists, [metric], ties)
    judge = results.metric(metric).judges[0]
    found = by_depth(results, metric, list(results.runs))
    first = corpus_value(judge, results.bootstrap_table().rows[FIRST_BEST][0][0][0])
    assert found.first_best == first
    assert found.random[0] == pytest.approx(first, abs=1e-12)
    assert found.oracle[0] == pytest.approx(first, abs=1e-12)
    assert found.random[-1] == pytest.approx(judge.random(), abs=1e-12)
    assert found.oracle[-1] == pytest.approx(judge.oracle(), abs=1e-12)
    for name, values in found.systems.items():
        assert values[0] == pytest.approx(first, abs=1e-12)
        assert values[-1] == corpus_value(judge, results.bootstrap_table().rows[name][0][0][0])


def test_folds_and_seeds_are_averaged():
    parts, outcomes = [], []
    for fold in (1, 2):
        lists = judged_lists(fold)
        parts.append(part_of(str(fold), lists, ["AP"]))
        outcomes.append(tuple(Run(scores_of(lists, 10 * fold + s), seed=s) for s in (1, 2)))
    results = results_("two folds", tuple(parts), {"a": {100: tuple(outcomes)}})
    found = by_depth(results, "AP", ["a"])
    alone = []
    for fold, part in enumerate(parts):
        for outcome in outcomes[fold]:
            one = of_systems(part.lists, {"a": outcome.scores}, ["AP"])
            alone.append(by_depth(one, "AP", ["a"]).systems["a"])
    np.testing.assert_allclose(found.systems["a"], np.mean(alone, axis=0), rtol=1e-12)


def test_without_an_order_or_for_other_metrics_there_is_no_curve():
    lists = judged_lists(1)
    assert by_depth(results_of(lists, ["tau-b"]), "tau-b", ["s0"]) is None
    assert by_depth(results_of(lists, ["AP"], systems=0), "AP", []).systems == {}
    without = replace(lists, first_best=None)
    assert by_depth(results_of(without, ["AP"]), "AP", ["s0"]) is None


@pytest.mark.parametrize(
    ("longest", "expected"),
    [(1, (1,)), (2, (1, 2)), (50, (1, 2, 3, 5, 10, 20, 30, 50)), (7, (1, 2, 3, 5, 7))],
)
def test_steps_end_at_the_longest_list(longest, expected):
    assert depths(longest) == expected
