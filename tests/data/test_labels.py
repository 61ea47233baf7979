"""Quantised labels: slow twins, the thesis' worked numbers, clusterings as good as any, wrong texts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import features
from make import lists as as_lists
from reference import quantise as slow

from rerank.core.errors import ConfigError, DataError
from rerank.data.describe import label_copies
from rerank.data.labels import Quantiser, parse_quantiser, quantised
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, make_pairs

NAN = float("nan")
label_lists = st.lists(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 4.0, NAN]), min_size=1, max_size=8), min_size=1, max_size=4
)


def by_list(lists: CandidateLists) -> list[list[float]]:
    return [lists.labels[a:b].tolist() for a, b in itertools.pairwise(lists.offsets)]


def pairs_of(labels: list[float], relation: PairRelation | None = None) -> list[tuple[int, int]]:
    """Pairs of one list, items numbered from 1 as the thesis does."""
    pairs = make_pairs(as_lists([labels]), relation or PairRelation())
    return sorted(
        (int(pairs.items[at]) + 1, int(pairs.items[other]) + 1)
        for at in range(len(pairs.items))
        for other in range(pairs.start[at], pairs.stop[at])
    )


@given(labels=label_lists, percent=st.sampled_from([1.0, 12.5, 30.0, 50.0, 70.0, 99.0]))
def test_levels_are_those_of_the_slow_twins(labels, percent):
    lists = as_lists(labels)
    for quantiser, twin in [
        (Quantiser("best"), slow.best),
        (Quantiser("above", 0.75), lambda part: slow.above(part, 0.75)),
        (Quantiser("above", 1.0), lambda part: slow.above(part, 1.0)),
        (Quantiser("top", percent), lambda part: slow.top(part, percent)),
    ]:
        np.testing.assert_array_equal(
            np.concatenate(by_list(quantised(lists, quantiser))), np.concatenate([twin(p) for p in labels])
        )


@given(labels=label_lists, data=st.data())
def test_labels_above_the_chosen_item(labels, data):
    lists = as_lists(labels)
    scores = [data.draw(st.lists(st.floats(-1, 1), min_size=len(p), max_size=len(p))) for p in labels]
    chosen = np.array([a + s.index(max(s)) for a, s in zip(lists.offsets[:-1], scores, strict=True)])
    found = quantised(lists, Quantiser("model", path="m"), chosen)
    expected = [slow.chosen(part, s) for part, s in zip(labels, scores, strict=True)]
    np.testing.assert_array_equal(found.labels, np.concatenate(expected))


def assert_best_clusters(labels: list[float], levels: list[float], k: int) -> None:
    """Clusters in the order of the labels, equal ones together, none better."""
    judged = [(y, c) for y, c in zip(labels, levels, strict=True) if not np.isnan(y)]
    assert [np.isnan(c) for c in levels] == [np.isnan(y) for y in labels]
    clusters = [[y for y, c in judged if c == level] for level in range(k)]
    distinct = len({y for y, _ in judged})
    assert sum(map(bool, clusters)) == min(k, distinct)
    assert max((c for _, c in judged), default=-1) == min(k, distinct) - 1
    for low, high in itertools.pairwise([c for c in clusters if c]):
        assert max(low) < min(high)
    least = slow.least_spread([y for y, _ in judged], k) if judged else 0
    found = sum(slow.spread(c) for c in clusters if c)
    span = max((y for y, _ in judged), default=0) - min((y for y, _ in judged), default=0)
    assert found - least <= 1e-12 * len(judged) * span**2


@given(labels=label_lists, k=st.integers(2, 4))
def test_k_means_of_each_list(labels, k):
    for part, levels in zip(
        labels, by_list(quantised(as_lists(labels), Quantiser("list-kmeans", k))), strict=True
    ):
        assert_best_clusters(part, levels, k)


@given(labels=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=12), k=st.integers(2, 4))
def test_k_means_of_all_lists_is_that_of_their_labels_together(labels, k):
    cut = max(1, len(labels) // 2)
    parts = [part for part in (labels[:cut], labels[cut:]) if part]
    found = np.concatenate(by_list(quantised(as_lists(parts), Quantiser("kmeans", k)))).tolist()
    assert_best_clusters(labels, found, k)


def test_k_means_weights_labels_by_their_frequency():
    assert quantised(as_lists([[0, 1, 2.1]]), Quantiser("kmeans", 2)).labels.tolist() == [0, 0, 1]
    assert quantised(as_lists([[0] * 50 + [1, 2.1]]), Quantiser("kmeans", 2)).labels[-2:].tolist() == [1, 1]


def test_clusters_of_equal_cost_take_the_lowest_boundary():
    assert quantised(as_lists([[0, 1, 2]]), Quantiser("kmeans", 2)).labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("shift", [0.0, 7.0])
def test_k_means_of_labels_of_any_size(scale, shift):
    labels = [(shift + y) * scale for y in (0.0, 0.1, 0.2, 3.0, 3.1, 9.0)]
    assert quantised(as_lists([labels]), Quantiser("kmeans", 3)).labels.tolist() == [0, 0, 0, 1, 1, 2]


def test_k_means_of_many_labels_finds_the_modes():
    rng = np.random.default_rng(3)
    mode = rng.integers(0, 4, 20_000)
    labels = 10.0 * mode + rng.uniform(-1, 1, len(mode)) - 1e5
    lists = CandidateLists.from_arrays(np.zeros((len(mode), 1)), labels, group=[50] * 400)
    np.testing.assert_array_equal(quantised(lists, Quantiser("kmeans", 4)).labels, mode)


def test_equal_or_missing_labels_are_one_level():
    for scheme in ("kmeans", "list-kmeans"):
        found = quantised(as_lists([[3, 3, NAN], [NAN]]), Quantiser(scheme, 3))
        np.testing.assert_array_equal(found.labels, [0, 0, NAN, NAN])


def test_pairs_of_the_threshold_and_of_the_quantised_labels():
    labels = [10.0, 6.0, 5.0, 4.0, 3.0]
    assert pairs_of(labels, PairRelation("all", label_gap=3)) == [(1, 2), (1, 3), (1, 4), (1, 5)]
    (few,) = by_list(quantised(as_lists([labels]), Quantiser("above", 4.5)))
    assert pairs_of(few) == [(1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5)]


def test_pairs_of_the_thesis_figure_4_2():
    """The figure leaves out (3, 5), which its rule gives, and has (2, 5), which is at its threshold of .3
    and not above it."""
    labels = [1.0, 0.6, 0.5, 0.4, 0.3]
    (few,) = by_list(quantised(as_lists([labels]), Quantiser("above", 0.45)))
    assert set(pairs_of(few)) - {(1, 4), (1, 5), (2, 4), (2, 5), (3, 4)} == {(3, 5)}
    gaps = {gap: set(pairs_of(labels, PairRelation("all", label_gap=gap))) for gap in (0.3, 0.29)}
    assert gaps[0.29] == {(1, 2), (1, 3), (1, 4), (1, 5), (2, 5)}
    assert gaps[0.29] - gaps[0.3] == {(2, 5)}


def test_a_top_share_and_the_share_below_it_give_as_many_pairs():
    labels = list(np.random.default_rng(5).permutation(40).astype(float))
    counts = [
        make_pairs(quantised(as_lists([labels]), Quantiser("top", p)), PairRelation()).n_pairs
        for p in (30.0, 70.0)
    ]
    assert counts == [12 * 28, 28 * 12]


def test_only_the_labels_change():
    lists = as_lists([[1.0, 2.0], [3.0, NAN]])
    found = quantised(lists, Quantiser("best"))
    assert found.features is lists.features
    assert lists.labels.tolist()[:3] == [1.0, 2.0, 3.0]


def test_lists_that_cannot_be_quantised_are_refused():
    bare = CandidateLists.from_arrays(np.zeros((2, 1)))
    with pytest.raises(DataError, match="no labels to quantise"):
        quantised(bare, Quantiser("best"))
    with pytest.raises(ConfigError, match="needs the items that the model chooses"):
        quantised(as_lists([[1.0]]), Quantiser("model", path="m"))


@pytest.mark.parametrize(
    "text",
    ["best", "above=40", "above=-0.5", "top=70%", "top=2.5%", "kmeans=3", "list-kmeans=12", "model=a=b"],
)
def test_a_scheme_prints_back(text):
    assert str(parse_quantiser(text)) == text
    assert parse_quantiser(str(parse_quantiser(text))) == parse_quantiser(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bets", "did you mean 'best'"),
        ("best=1", "expected best, without a value"),
        ("above", "expected above=T, a number"),
        ("above=x", "expected above=T, a number"),
        ("above=inf", "expected above=T, a number"),
        ("top=70", "expected top=P%"),
        ("top=0%", "expected top=P%"),
        ("top=100%", "below 100"),
        ("kmeans=1", "at least 2"),
        ("kmeans=2.5", "a whole number"),
        ("list-kmeans=", "a whole number"),
        ("model=", "expected model=FILE"),
    ],
)
def test_malformed_schemes_are_refused(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_quantiser(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_a_label_copied_into_a_feature_is_found(layout):
    rng = np.random.default_rng(1)
    y = np.append(rng.integers(0, 3, 1000).astype(float), np.nan)
    X = rng.normal(size=(1001, 6))
    X[:, 1], X[:, 2], X[:, 4] = np.nan_to_num(y), 7 - 0.1 * np.nan_to_num(y), np.nan_to_num(y)
    X[700, 4] += 1
    X[:, 5] = 3.0
    lists = CandidateLists.from_arrays(features(layout, X), y, group=[1001])
    assert label_copies(lists) == ["2", "3"]
    assert label_copies(lists.subset([0]).replace_labels(None)) == []
    assert label_copies(lists.replace_labels(np.ones(1001))) == []
    small = CandidateLists.from_arrays([[0.0], [1.0]], [0, 1])
    assert label_copies(small) == []
