"""The scale of the base score: the balancing one, columns that are multiplied, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from make import LAYOUTS, features, freeze
from reference import base_scale as twin

from rerank.core.errors import ConfigError, DataError
from rerank.data.lists import CandidateLists
from rerank.training.steps.base_scale import ScaleBase, ScaledColumn, balancing_scale, column_to_scale


def drawn(seed, layout="dense", shift=0.0, size=1.0):
    """Lists whose feature 3 is twice the base score."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 12)
    n = int(sizes.sum())
    X = np.where(rng.random((n, 7)) < 0.5, 0.0, np.round(rng.normal(0, 1, (n, 7)), 2)) * size
    X[:, 3] = 2 * rng.normal(shift, 2, n)
    lists = CandidateLists.from_arrays(features(layout, X), group=sizes, source="some lists")
    return freeze(replace(lists, base_scores=X[:, 3] / 2))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_the_balancing_scale_is_that_of_the_definition(layout, seed):
    lists = drawn(seed, layout)
    for column in range(7):
        if layout == "indicators" and column == 3:  # 1 for every item
            continue
        assert balancing_scale(lists, column) == pytest.approx(twin.balancing(lists, column), rel=1e-6)


def test_a_large_mean_loses_no_digits():
    lists = drawn(0, shift=-1e9)
    assert balancing_scale(lists, 3) == pytest.approx(twin.balancing(lists, 3), rel=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("column", [0, 1, 3])
def test_one_column_is_multiplied_and_nothing_else(layout, column):
    lists = drawn(1, layout)
    before = lists.features.to_dense().copy()
    after = ScaledColumn(column, 1.5).apply(lists)
    expected = before.copy()
    expected[:, column] *= 1.5
    np.testing.assert_allclose(after.features.to_dense(), expected, rtol=1e-6 if layout == "float32" else 0)
    np.testing.assert_array_equal(lists.features.to_dense(), before)
    if layout == "mixed":
        shared = after.features.rows is lists.features.rows
        assert shared == (column in lists.features.places)


def test_a_value_that_overflows_is_one_line():
    lists = drawn(1, size=1e300)
    with pytest.raises(
        DataError, match=r"^some lists: after base_scale 1e.10: feature '1' of list '1', item . is -?inf$"
    ):
        ScaledColumn(0, 1e10).apply(lists)


@pytest.mark.parametrize(("X", "found"), [(np.ones((4, 2)), "0 for '2'"), (None, "0 for all other")])
def test_without_differences_there_is_no_balance(X, found):
    base = np.array([1.0, 2.0, 3.0, 5.0])
    X = np.column_stack([np.ones(4), base]) if X is None else X
    lists = CandidateLists.from_arrays(X, group=[2, 2], source="some lists")
    with pytest.raises(DataError, match=f"^some lists: base_scale=auto: .*{found}"):
        balancing_scale(lists, 1)


def test_squares_that_overflow_are_one_line():
    with pytest.raises(DataError, match=r"base_scale=auto: squared deviations .* nan for all"):
        balancing_scale(drawn(1, size=1e300), 3)


def test_lists_without_the_column_are_told_what_to_do():
    lists = drawn(2)
    assert column_to_scale(lists) == 3
    other = replace(lists, base_scores=lists.base_scores**2)
    with pytest.raises(ConfigError, match=r"no feature is the first stage's score: add it .*'rerank append'"):
        column_to_scale(other)
    with pytest.raises(DataError, match="some lists: no first-stage scores; base_scale needs them"):
        column_to_scale(replace(lists, base_scores=None))


@pytest.mark.parametrize("value", [0, -1, "much", float("nan"), float("inf"), True, None, "1_0"])
def test_a_wrong_scale_is_refused(value):
    with pytest.raises(ConfigError, match=r"base_scale: found .*, expected (auto or )?a number"):
        ScaleBase().with_settings({"base_scale": value})


@pytest.mark.parametrize(("value", "scale"), [("auto", "auto"), ("3", 3.0), (2, 2.0), (0.5, 0.5)])
def test_a_scale_may_be_text(value, scale):
    assert ScaleBase().with_settings({"base_scale": value}) == ScaleBase(scale)
