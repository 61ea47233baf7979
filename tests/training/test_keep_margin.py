"""The tuned keep margin: exact against brute force, ties, lists of one, metrics without a value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import keep_first as twin
from reference.texts import drawn_groups, lists_of

from rerank.core.errors import DataError
from rerank.data.first_best import with_margin
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse
from rerank.training.steps.keep_margin import margin_effect, tune_margin

METRICS = ["BLEU", "WER", "sBLEU", "label@1", "loss@1"]


def drawn(seed, n_lists=8):
    """Lists of text with references and labels, and the first stage's order."""
    rng = np.random.default_rng(seed)
    lists = lists_of(drawn_groups(seed, n_lists))
    labels = rng.integers(0, 3, lists.n_items).astype(float)
    labels[rng.random(lists.n_items) < 0.2] = np.nan
    labels[0] = 1.0
    return replace(lists, labels=labels, first_best=rng.integers(0, 3, lists.n_items).astype(float))


@pytest.mark.parametrize("metric", METRICS)
@given(seed=st.integers(0, 10_000), spread=st.sampled_from([2, 5, 1000]))
def test_the_sweep_is_brute_force(metric, seed, spread):
    lists = drawn(seed)
    scores = np.random.default_rng(seed).integers(0, spread, lists.n_items) / 7.0
    judge = parse(metric).prepare(lists)
    tuned = tune_margin(lists, judge, scores)
    found = margin_effect(lists, judge, scores, tuned)
    margin, value = twin.best_margin(lists, judge, scores)
    assert tuned == pytest.approx(margin, rel=1e-12)
    assert found.value == pytest.approx(value, rel=1e-12)
    kept = with_margin(lists, scores, tuned)
    assert corpus_value(judge, judge.per_list(kept)) == pytest.approx(value, rel=1e-12)
    assert found.without == corpus_value(judge, judge.per_list(scores))
    assert found.switched == twin.switched(lists, scores, margin)
    assert found.leading == twin.switched(lists, scores, 0.0)
    assert found.gained + found.lost + found.unvalued <= found.switched
    assert judge.better * (value - corpus_value(judge, judge.per_list(lists.first_best))) >= -1e-9


def labelled(labels, first_best=None):
    """Two items a list, the first stage's first; labels in order."""
    n = len(labels)
    lists = CandidateLists.from_arrays(np.zeros((n, 1)), labels, group=[2] * (n // 2), source="pairs")
    return lists.with_first_best("input")


def tuned(lists, scores, metric="label@1"):
    return tune_margin(lists, parse(metric).prepare(lists), np.asarray(scores, dtype=float))


def tuned_effect(lists, scores, metric="label@1"):
    """The tuned margin and its effect."""
    margin = tuned(lists, scores, metric)
    judge = parse(metric).prepare(lists)
    return margin, margin_effect(lists, judge, np.asarray(scores, dtype=float), margin, tuned=True)


def test_the_margin_is_midway_between_two_leads():
    lists = labelled([0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    # leads 4, 1, 3: to switch the lists that gain, 1 < m < 3
    margin, found = tuned_effect(lists, [0, 4, 0, 1, 0, 3])
    assert margin == 2.0
    assert (found.switched, found.gained, found.lost, found.unvalued) == (2, 2, 0, 0)
    assert (found.value, found.without, found.leading, found.lists) == (1.0, 2 / 3, 3, 3)


def test_if_all_leads_gain_the_margin_is_half_the_smallest():
    assert tuned(labelled([0.0, 1.0, 0.0, 1.0]), [0, 4, 0, 1]) == 0.5


def test_if_nothing_is_gained_every_first_best_is_kept():
    margin, found = tuned_effect(labelled([1.0, 0.0, 1.0, 1.0]), [0, 4, 0, 1])
    assert margin == np.inf
    assert (found.switched, found.gained, found.lost) == (0, 0, 0)
    assert found.value == 1.0


def test_of_equal_values_the_fewest_switches_are_taken():
    lists = labelled([0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    assert tuned(lists, [0, 4, 0, 3, 0, 2, 0, 1]) == 3.5  # + 0 - +: one switch is as good as all four


def test_equal_leads_switch_together():
    lists = labelled([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    assert tuned(lists, [0, 2, 0, 2, 0, 2]) == np.inf
    assert tuned(labelled([0.0, 1.0, 1.0, 0.0, 0.0, 1.0]), [0, 2, 0, 2, 0, 2]) == 1.0


def test_leads_next_to_each_other_are_distinguished():
    low = 1.0
    high = np.nextafter(low, 2)
    assert low <= tuned(labelled([0.0, 1.0, 1.0, 0.0]), [0, high, 0, low]) < high


@pytest.mark.parametrize("size", [1, 3])
def test_lists_of_one_item_or_of_ties_switch_nothing(size):
    lists = CandidateLists.from_arrays(np.zeros((3 * size, 1)), np.zeros(3 * size), group=[size] * 3)
    margin, found = tuned_effect(lists.with_first_best("input"), np.zeros(3 * size))
    assert (margin, found.switched, found.leading) == (np.inf, 0, 0)


def test_lists_without_a_value_of_their_own_are_counted():
    lists = replace(labelled([0.0, 1.0, np.nan, np.nan]), source="half judged")
    found = margin_effect(lists, parse("label@1").prepare(lists), np.array([0.0, 1, 0, 1]), 0.5)
    assert (found.switched, found.gained, found.lost, found.unvalued) == (2, 1, 0, 1)


def test_a_metric_without_a_value_tunes_nothing():
    lists = replace(labelled([np.nan] * 4), source="no judgement")
    with pytest.raises(DataError, match="no judgement: label@1 has no value, so"):
        tuned(lists, [0, 1, 0, 1])


def test_margins_that_lose_the_value_are_not_chosen():
    class Picky:
        """The sum of the values, none if it is even."""

        name, signature, better, sum_form = "picky", "picky", 1, None
        per_item = np.array([[1.0], [2.0], [0.0], [1.0]])

        def per_list(self, scores):
            return self.per_item[[1, 3]] + 0 * scores[:2, None]

        def score_from_sums(self, sums):
            return np.where(sums[..., 0] % 2 == 0, np.nan, sums[..., 0])

    lists, scores = labelled([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 2.0, 0.0, 1.0])
    margin = tune_margin(lists, Picky(), scores)
    assert (margin, margin_effect(lists, Picky(), scores, margin).value) == (0.5, 3.0)


def test_without_a_first_stage_nothing_is_tuned():
    lists = CandidateLists.from_arrays(np.zeros((2, 1)), [0.0, 1.0])
    with pytest.raises(DataError, match="--first-best"):
        tuned(lists, [0, 1])


def test_a_lead_of_exactly_the_margin_switches_nothing():
    lists = labelled([0.0, 1.0, 1.0, 0.0])
    judge = parse("label@1").prepare(lists)
    found = margin_effect(lists, judge, np.array([0.0, 2.0, 0.0, 3.0]), 2.0)  # leads 2 and 3
    assert (found.switched, found.gained, found.lost) == (1, 0, 1)
    assert found.value == 0.0


def test_a_switch_between_ties_neither_gains_nor_loses():
    lists = labelled([1.0, 1.0, 0.0, 1.0])
    found = margin_effect(lists, parse("label@1").prepare(lists), np.array([0.0, 1.0, 0.0, 1.0]), 0.5)
    assert (found.switched, found.gained, found.lost, found.unvalued) == (2, 1, 0, 0)
