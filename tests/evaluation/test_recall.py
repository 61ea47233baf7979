"""Precision at eleven levels of recall: trec_eval's numbers, and thresholds between scores."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.everything import judged_lists
from small_judging import of_systems

from rerank.data.columns.offsets import Ragged
from rerank.evaluation.curves import LEVELS, mean_precision, precision_at_recall
from rerank.evaluation.results import FIRST_BEST
from rerank.metrics.relevance import Relevance


def found_by(lists, scores, ties):
    relevance = Relevance(lists, ties)
    return precision_at_recall(relevance, relevance.place(scores))


def slow(labels, scores, n_relevant, ties):
    """The definition: places below each item, or below each group of tied items; exact shares."""
    order = sorted(range(len(labels)), key=lambda i: (-scores[i], i))
    points = []
    for place in range(1, len(order) + 1):
        ends = place == len(order) or scores[order[place]] < scores[order[place - 1]]
        if ties == "expected" and not ends:
            continue
        hits = sum(labels[i] > 0 for i in order[:place])
        points.append((hits, Fraction(hits, place)))
    out = []
    for tenth in range(11):
        reached = [p for hits, p in points if 10 * hits >= tenth * n_relevant and hits]
        out.append(float(max(reached, default=0)))
    return out


@pytest.mark.parametrize("ties", ["expected", "input"])
@pytest.mark.parametrize("distinct", [1, 3, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_each_list_is_that_of_the_definition(ties, distinct, seed):
    rng = np.random.default_rng(seed)
    lists = judged_lists(seed, sizes=(1, 4, 3, 2, 25, 33, 14))
    lists = replace(lists, unretrieved=Ragged(np.array([1.0, 2.0]), np.array([0, 0, 0, 0, 0, 1, 2, 2])))
    scores = rng.integers(0, distinct, lists.n_items).astype(float)
    found = found_by(lists, scores, ties)
    for i, (a, b) in enumerate(itertools.pairwise(lists.offsets.tolist())):
        labels = lists.labels[a:b].tolist()
        n = sum(label > 0 for label in labels) + int(lists.unretrieved.lengths[i])
        np.testing.assert_allclose(found[i], slow(labels, scores[a:b], n, ties), atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_values_equal_those_of_trec_eval(seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(seed)
    lists = judged_lists(seed, sizes=(12, 40, 3, 27, 21))
    scores = rng.integers(0, 6, lists.n_items).astype(float)
    qrels, run = {}, {}
    for i, (a, b) in enumerate(itertools.pairwise(lists.offsets.tolist())):
        known = [j for j in range(a, b) if lists.labels[j] == lists.labels[j]]
        qrels[f"q{i}"] = {lists.item_ids[j]: int(lists.labels[j]) for j in known}
        run[f"q{i}"] = {lists.item_ids[j]: scores[j] for j in range(a, b)}
    judged = pytrec_eval.RelevanceEvaluator(
        {q: docs for q, docs in qrels.items() if docs}, {"iprec_at_recall"}
    ).evaluate(run)
    found = found_by(lists, scores, "trec")
    for i in range(lists.n_lists):
        if f"q{i}" in judged:
            theirs = [judged[f"q{i}"][f"iprec_at_recall_{level:.2f}"] for level in LEVELS]
            np.testing.assert_allclose(found[i], theirs, atol=1e-12)


def test_the_mean_is_over_lists_with_a_relevant_item():
    lists = judged_lists(3)
    scores = np.random.default_rng(3).standard_normal(lists.n_items)
    results = of_systems(lists, {"a": scores}, ["label@1", "AP"])
    rows = found_by(lists, scores, "trec")
    counted = Relevance(lists).known.lengths > 0
    assert 0 < counted.sum() < lists.n_lists
    np.testing.assert_allclose(mean_precision(results, "a"), rows[counted].mean(axis=0))
    first = found_by(lists, lists.first_best, "trec")
    np.testing.assert_allclose(mean_precision(results, FIRST_BEST), first[counted].mean(axis=0))


def test_other_metrics_have_no_precision_and_recall():
    lists = judged_lists(3)
    scores = np.zeros(lists.n_items)
    assert mean_precision(of_systems(lists, {"a": scores}, ["label@1"]), "a") is None
    bare = replace(lists, first_best=None)
    assert mean_precision(of_systems(bare, {"a": scores}, ["AP"]), FIRST_BEST) is None
    none = lists.replace_labels(np.zeros(lists.n_items))
    assert mean_precision(of_systems(none, {"a": scores}, ["AP"]), "a") is None


def test_a_run_without_a_list_has_the_values_that_it_has_alone():
    lists = judged_lists(5)
    run = np.random.default_rng(5).standard_normal(lists.n_items)
    run[lists.list_index == 4] = np.nan
    first = np.where(np.isnan(run), -100.0, run)
    lists = replace(lists, first_best=first, run_scores=run)
    results = of_systems(lists, {"a": first}, ["AP"], ties="trec")
    relevance = Relevance(lists, "trec")
    alone = precision_at_recall(relevance, relevance.place(np.nan_to_num(run, nan=-100.0)))
    alone[4] = 0.0
    counted = relevance.known.lengths > 0
    np.testing.assert_allclose(mean_precision(results, FIRST_BEST), alone[counted].mean(axis=0))
