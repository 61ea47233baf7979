"""Pair relations: ranges against every pair looked at, worked numbers, bad settings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import lists as as_lists
from reference.pairs import pairs_of_list, ranks

from rerank.core.errors import ConfigError, DataError
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Margin, PairRelation, make_pairs

RELATIONS = [
    PairRelation("best-rest"),
    PairRelation("split"),
    PairRelation("split", split_top=2),
    PairRelation("split", split_top=2, split_bottom=4),
    PairRelation("ordinal"),
    PairRelation("ordinal", ordinal_factor=2, ordinal_gap=1),
    PairRelation("ordinal", ordinal_factor=1.5, ordinal_gap=0.5),
    PairRelation("neighbours"),
    PairRelation("all"),
    PairRelation("all", label_gap=1),
]
MARGINS = [Margin("even"), Margin("uneven"), Margin("uneven", 0.5), Margin("label")]


def expand(pairs) -> dict[int, dict[tuple[int, int], float]]:
    """{list: {(item, other item): g}} of a Pairs."""
    out = {}
    for i, number in enumerate(pairs.lists):
        first, last = pairs.offsets[i], pairs.offsets[i + 1]
        found = {}
        for at in range(first, last):
            for other in range(first + pairs.start[at], first + pairs.stop[at]):
                g = pairs.h[at] - pairs.h[other] + pairs.c
                found[int(pairs.items[at]), int(pairs.items[other])] = g
        out[int(number)] = found
    return out


label_lists = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, float("nan")]), min_size=1, max_size=9),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@given(labels=label_lists)
def test_explicit_pairs_are_those_of_the_ranges_in_order(relation, labels):
    pairs = make_pairs(as_lists(labels), relation)
    better, worse = pairs.explicit()
    expected = [pair for part in expand(pairs).values() for pair in part]
    assert list(zip(pairs.items[better].tolist(), pairs.items[worse].tolist(), strict=True)) == expected
    assert len(better) == pairs.n_pairs
    assert sorted(zip(better, worse, strict=True)) == list(zip(better, worse, strict=True))


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@given(labels=label_lists)
def test_ranges_hold_exactly_the_related_pairs(relation, labels):
    lists = as_lists(labels)
    for function in MARGINS:
        pairs = make_pairs(lists, relation, function)
        expected = {}
        for i, part in enumerate(labels):
            here = pairs_of_list(relation, function, part)
            first = int(lists.offsets[i])
            if here:
                expected[i] = {(first + j, first + l): g for (j, l), g in here.items()}
        found = expand(pairs)
        assert {i: set(jl) for i, jl in found.items()} == {i: set(jl) for i, jl in expected.items()}
        for i, part in expected.items():
            for jl, g in part.items():
                assert found[i][jl] == pytest.approx(g, abs=1e-15)
        assert pairs.n_pairs == sum(map(len, expected.values()))
        assert pairs.counts.tolist() == [len(expected[i]) for i in sorted(expected)]
        assert pairs.n_skipped == lists.n_lists - len(expected)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@given(labels=label_lists)
def test_ranges_never_move_back(relation, labels):
    pairs = make_pairs(as_lists(labels), relation)
    for i in range(pairs.n_lists):
        here = slice(pairs.offsets[i], pairs.offsets[i + 1])
        assert np.all(np.diff(pairs.start[here]) >= 0)
        assert np.all(np.diff(pairs.stop[here]) >= 0)
        assert np.all(pairs.start[here] <= pairs.stop[here])


def test_ranks_of_the_papers_example():
    pairs = make_pairs(as_lists([[4.2, 9.0, 6.5, 8.8]]), PairRelation())
    assert pairs.items.tolist() == [1, 3, 2, 0]
    assert pairs.rank.tolist() == [1, 2, 3, 4]
    assert ranks([4.2, 9.0, 6.5, 8.8]) == [4, 1, 3, 2]


def test_pairs_of_labels_with_a_threshold():
    pairs = make_pairs(as_lists([[10, 6, 5, 4, 3]]), PairRelation("all", label_gap=3))
    assert sorted(expand(pairs)[0]) == [(0, 1), (0, 2), (0, 3), (0, 4)]


def test_983_items_make_482653_pairs():
    assert make_pairs(as_lists([list(range(983))]), PairRelation()).n_pairs == 482_653


def test_best_rest_takes_the_first_of_those_tied_for_best_and_drops_the_others():
    assert sorted(expand(make_pairs(as_lists([[1, 2, 2, 0]]), PairRelation("best-rest")))[0]) == [
        (1, 0),
        (1, 3),
    ]


def test_a_list_shorter_than_the_split_gives_no_pair():
    pairs = make_pairs(as_lists([[3, 2, 1], [0, 1, 2, 3, 4]]), PairRelation("split", 2, 5))
    assert pairs.lists.tolist() == [1]
    assert pairs.n_skipped == 1


def test_no_labels_is_an_error():
    with pytest.raises(DataError, match="no labels"):
        make_pairs(CandidateLists.from_arrays(np.zeros((2, 1))), PairRelation())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split_top": 0}, "split_top"),
        ({"split_top": 3, "split_bottom": 3}, "split_bottom"),
        ({"ordinal_factor": 0.5}, "ordinal_factor"),
        ({"ordinal_gap": -1.0}, "ordinal_gap"),
        ({"label_gap": float("nan")}, "label_gap"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        PairRelation(**settings)


def test_a_margin_power_must_be_positive():
    with pytest.raises(ConfigError, match="margin_power"):
        Margin("uneven", 0.0)
