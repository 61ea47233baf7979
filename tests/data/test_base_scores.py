"""The feature that is the base score: every layout, factors, rounding, several, none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import LAYOUTS, features
from reference import base_scores as twin

from rerank.core.errors import DataError
from rerank.data.base_scores import BaseColumn, base_column, base_scores_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Mixed, Sparse


def lists_of(sizes, X, base, layout="dense"):
    plain = CandidateLists.from_arrays(features(layout, np.asarray(X, dtype=float)), group=sizes)
    return replace(plain, base_scores=None if base is None else np.asarray(base, dtype=float))


def drawn(seed, place=2, factor=-1.5, digits=None, layout="dense"):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 30)
    n = int(sizes.sum())
    base = rng.normal(-100, 3, n)
    X = rng.integers(0, 2, (n, 7)) * rng.normal(0, 1, (n, 7))
    X[:, place] = factor * base + np.repeat(rng.normal(0, 10, 30), sizes)
    if digits is not None:
        X[:, place] = np.round(X[:, place], digits)
    return lists_of(sizes, X, base, layout)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "indicators"])
@pytest.mark.parametrize("seed", range(3))
def test_the_column_is_found_in_every_layout(layout, seed):
    lists = drawn(seed, place=2 + seed, layout=layout)
    found = base_column(lists)
    assert found is not None
    assert found.factor == pytest.approx(-1.5, rel=1e-6)
    assert found.index == 2 + seed
    assert (found.index, pytest.approx(found.factor, rel=1e-9)) == twin.base_column(lists)


def test_the_factor_of_a_negated_copy_is_exact():
    lists = drawn(0)
    base = lists.base_scores
    X = np.column_stack([lists.features.to_dense()[:, 0], -base])
    assert base_column(lists_of(lists.lengths, X, base)) == BaseColumn(1, -1.0)
    assert base_column(lists_of(lists.lengths, X, base, "sparse")) == BaseColumn(1, -1.0)


@pytest.mark.parametrize(("digits", "fits"), [(4, True), (3, True), (0, False)])
def test_scores_printed_with_few_digits_are_still_the_base_score(digits, fits):
    assert (base_column(drawn(1, digits=digits)) is not None) == fits


@given(st.data())
def test_the_answer_is_that_of_fractions(data):
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    n = sum(sizes)
    value = st.sampled_from([0.0, 0.0, 1.0, -1.0, 2.5, 1e-3, 1e300, -1e300])
    base = data.draw(st.lists(value, min_size=n, max_size=n))
    rows = [data.draw(st.lists(value, min_size=n, max_size=n)) for _ in range(2)]
    rows.append([data.draw(st.sampled_from([-2.0, 0.5])) * b + 0.25 for b in base])
    lists = lists_of(sizes, np.array(rows).T, base, data.draw(st.sampled_from(["dense", "sparse", "mixed"])))
    expected, found = twin.base_column(lists), base_column(lists)
    assert (expected is None) == (found is None)
    if found is not None:
        assert found.index == expected[0]
        assert found.factor == pytest.approx(expected[1], rel=1e-6)


def test_the_first_of_several_is_taken():
    lists = drawn(2)
    base = lists.base_scores
    X = np.column_stack([base * 0, 3 * base, base])
    found = base_column(lists_of(lists.lengths, X, base))
    assert found is not None
    assert (found.index, pytest.approx(found.factor)) == (1, 3.0)


def test_one_item_that_differs_is_noticed():
    lists = drawn(3)
    X = lists.features.to_dense().copy()
    last = int(np.flatnonzero(lists.lengths > 1)[-1])
    X[lists.offsets[last], 2] += 1.0
    assert base_column(lists_of(lists.lengths, X, lists.base_scores)) is None
    assert base_column(lists_of(lists.lengths, X, lists.base_scores, "mixed")) is None


@pytest.mark.parametrize("base", [None, [1.0, np.nan, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0]])
def test_without_usable_base_scores_there_is_none(base):
    X = np.array([[1.0], [2.0], [3.0], [4.0]]) if base is None else np.nan_to_num(np.array(base))[:, None]
    assert base_column(lists_of([2, 2], X, base)) is None


def test_indicators_missing_values_and_no_features_have_none():
    base = np.array([1.0, 2.0, 3.0])
    assert base_column(lists_of([3], [[1, 0], [1, 1], [0, 1]], base, "indicators")) is None
    assert base_column(lists_of([3], [[1.0], [np.nan], [3.0]], base)) is None
    assert base_column(lists_of([3], np.empty((3, 0)), base)) is None


def test_a_wide_sparse_set_is_searched_without_a_dense_copy():
    rng = np.random.default_rng(0)
    n, width = 3000, 400_000
    base = rng.normal(-200, 4, n)
    columns = np.sort(rng.integers(1, width, (n, 50)), axis=1)
    columns += np.arange(50)  # distinct in a row
    indices = np.column_stack([np.zeros(n, dtype=np.int64), columns]).astype(np.int32)
    data = np.column_stack([-base, np.ones((n, 50))])
    rows = Sparse(np.arange(0, 51 * n + 1, 51), indices.ravel(), data.ravel(), width + 50)
    lists = replace(CandidateLists.from_arrays(rows, group=[10] * (n // 10)), base_scores=base)
    assert base_column(lists) == BaseColumn(0, -1.0)
    beside = Mixed(base[:, None].copy(), np.array([0], dtype=np.int32), replace(rows.take(slice(None))))
    ones = Sparse(np.arange(0, 50 * n + 1, 50), indices[:, 1:].ravel().copy(), None, width + 50)
    beside = replace(beside, rows=ones)
    assert base_column(lists.with_features(beside, None)) == BaseColumn(0, 1.0)


def test_scores_that_are_needed_and_absent_are_one_line():
    plain = lists_of([2], [[1.0], [2.0]], None)
    with pytest.raises(DataError, match=r"^arrays: no first-stage scores; a test needs them$"):
        base_scores_of(plain, "a test")
    bad = replace(plain, base_scores=np.array([1.0, np.nan]))
    with pytest.raises(DataError, match=r"list '1', item 2 is nan; a test needs a number for each item"):
        base_scores_of(bad, "a test")
