"""Counts of pairs by relation, and curves in one line."""

import itertools

import numpy as np
import pytest
from reference.pairs import pairs_of_list

from rerank.core.errors import ConfigError, DataError
from rerank.core.tables.text import text_lines
from rerank.data.labels import Quantiser, quantised
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Margin, PairRelation
from rerank.models.describe_training import sparkline
from rerank.models.pair_counts import (
    Scheme,
    pair_table,
    parse_relation,
    settings_of,
    standard_quantisers,
    standard_relations,
)


def some_lists(labels, group):
    return CandidateLists.from_arrays(np.zeros((len(labels), 1)), labels, group=group)


def test_rows_count_the_pairs_of_the_slow_relation():
    rng = np.random.default_rng(1)
    group = [30, 1, 12]
    labels = rng.integers(0, 4, 43).astype(float)
    lists = some_lists(labels, group)
    for relation in standard_relations(lists):
        row = Scheme(lists, relation).row()
        bounds = np.r_[0, np.cumsum(group)]
        slow = [
            len(pairs_of_list(relation, Margin(), labels[a:b].tolist()))
            for a, b in itertools.pairwise(bounds)
        ]
        assert (row["pairs"], row["lists"], row["most"]) == (sum(slow), sum(c > 0 for c in slow), max(slow))
        assert row["mean"] == pytest.approx(sum(slow) / max(1, row["lists"]))
        assert parse_relation(row["relation"]) == relation
        assert row["quantise"] is None


def test_few_grades_are_tried_with_each_difference_that_leaves_pairs():
    gaps = [r.label_gap for r in standard_relations(some_lists([0, 1, 3], [3])) if r.pairs == "all"]
    assert gaps == [1.0, 2.0]


def test_real_labels_are_tried_with_quartiles_of_their_differences():
    labels = np.linspace(0, 1, 101)
    gaps = [r.label_gap for r in standard_relations(some_lists(labels, [101])) if r.pairs == "all"]
    assert len(gaps) == 3
    assert gaps == sorted(gaps)
    assert 0 < gaps[0] < gaps[-1] < 1


def test_real_labels_are_tried_quantised_too_and_grades_are_not():
    assert standard_quantisers(some_lists(np.arange(10.0), [10])) == []
    tried = standard_quantisers(some_lists(np.arange(11.0), [11]))
    assert [str(quantiser) for quantiser in tried] == ["best", "top=30%", "kmeans=3"]


def test_labels_all_equal_give_no_pair_and_no_gap():
    lists = some_lists([1, 1], [2])
    assert all(Scheme(lists, r).row()["pairs"] == 0 for r in standard_relations(lists))
    assert standard_quantisers(lists) == []


def test_no_labels_is_an_error():
    with pytest.raises(DataError, match="no labels"):
        standard_relations(CandidateLists.from_arrays(np.zeros((2, 1))))


def test_lines_are_aligned():
    lists, best = some_lists([2, 1, 0], [3]), Quantiser("best")
    schemes = [Scheme(lists, PairRelation()), Scheme(lists, PairRelation("split", 1, 3))]
    lines = text_lines(pair_table([*schemes, Scheme(quantised(lists, best), PairRelation(), best)]))
    assert len({len(line) for line in lines[:4]}) == 1
    assert lines[3].split() == ["quantise=best", "pairs=ordinal", "2", "1/1", "2.0", "2"]
    assert lines[1].split() == ["pairs=ordinal", "3", "1/1", "3.0", "3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pairs=ordnal", "did you mean 'ordinal'"),
        ("split_tpo=3", "did you mean 'split_top'"),
        ("ordinal", "found 'ordinal', expected KEY=VALUE"),
        ("label_gap=x", "found 'x', expected a number"),
        ("label_gap=-1", "label_gap must be at least 0"),
    ],
)
def test_relations_that_cannot_be_read(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_relation(text)
    assert message in str(caught.value)


def test_a_relation_names_its_own_settings():
    assert settings_of(PairRelation("split", 300, 700)) == "pairs=split split_top=300 split_bottom=700"
    assert settings_of(PairRelation("ordinal", ordinal_factor=2, ordinal_gap=20)) == (
        "pairs=ordinal ordinal_factor=2 ordinal_gap=20"
    )


def test_sparkline_rises_with_the_values():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, 1.0]) == "▁▁"
    assert sparkline([0.0, float("nan"), 1.0]) == "▁ █"
    assert sparkline([]) == ""


def test_a_long_curve_is_thinned_and_keeps_its_ends():
    line = sparkline(list(range(1000)), width=10)
    assert len(line) == 10
    assert (line[0], line[-1]) == ("▁", "█")
