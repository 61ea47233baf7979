"""Thresholds moved between scales and precisions, against bisection and brute force."""

import numpy as np
import pytest

from rerank.models.exchange.trees import (
    LARGEST,
    doubles_of,
    float32_below,
    largest_below,
    next_double,
    ordered_bits,
    raw_thresholds,
    rounds_at_most,
    rounds_below,
    scaled,
    step_tree,
)

EDGES = [
    0.0, -0.0, 1.0, -1.0, 0.1, 1e-45, -1e-45, 1e-40, 1e30, -1e30, 5e-324, 1e-300, 16777217.0, 3.4e38,
    -3.4e38,
]  # fmt: skip


def values():
    draw = np.random.default_rng(1)
    return np.concatenate(
        [EDGES, draw.normal(size=200), draw.normal(size=100) * 10.0 ** draw.integers(-40, 38, 100)]
    )


def test_doubles_are_ordered_as_integers():
    x = np.sort(np.concatenate([values(), [LARGEST, -LARGEST]]))
    assert np.all(np.diff(ordered_bits(x)) >= 0)
    assert np.array_equal(doubles_of(ordered_bits(x)), x)


def test_rounding_to_single_precision_is_that_of_bisection():
    single = values().astype(np.float32).astype(np.float64)

    def rounded(x):
        with np.errstate(over="ignore"):
            return x.astype(np.float32).astype(np.float64)

    assert np.array_equal(rounds_below(single), largest_below(lambda x: rounded(x) < single, len(single)))
    limit = values()
    assert np.array_equal(rounds_at_most(limit), largest_below(lambda x: rounded(x) <= limit, len(limit)))


def test_the_float32_below_is_the_largest():
    x = values()
    below = float32_below(x)
    assert np.all(below <= x)
    assert np.all(np.nextafter(below.astype(np.float32), np.float32(np.inf)).astype(np.float64) > x)


@pytest.mark.parametrize("divisor", [1.0, 3.0, 1e-5, 7e10, np.inf])
@pytest.mark.parametrize("shift", [0.0, 0.1, -1e9, 1.7e9])
def test_raw_thresholds_send_every_double_the_same_way(shift, divisor):
    t = np.concatenate([np.random.default_rng(2).normal(size=50), [0.0]])
    s, d = np.full(len(t), shift), np.full(len(t), divisor)
    raw = raw_thresholds(t, s, d)
    known = np.isfinite(raw) & (raw < LARGEST)
    near = [raw]
    for _ in range(4):
        near += [next_double(near[-1], np.inf), next_double(near[0], -np.inf)]
    for x in near:
        x = np.where(known, x, 1.0)
        assert np.array_equal(x <= raw, scaled(x, s, d) <= t)


@pytest.mark.parametrize("missing", [0.0, 2.0, 7.0, np.nan])
def test_a_tree_of_steps_is_the_step_function(missing):
    at, steps = np.array([-1.0, 0.0, 0.0, 2.5]), np.array([-2.0, 0.0, 1.0, 2.0, 5.0])
    x = np.array([-np.inf, -2.0, -1.0, np.nextafter(-1.0, -2), -0.5, 0.0, -5e-324, 2.5, 3.0, LARGEST, np.nan])
    for low in (at, np.concatenate([[-LARGEST], at[1:]])):
        tree = step_tree(0, low, steps, missing)
        expected = np.where(np.isnan(x), missing, steps[np.searchsorted(low, x, side="right")])
        known = ~np.isnan(expected) & np.isfinite(np.where(np.isnan(x), 0.0, x))
        assert np.array_equal(tree.scores(x[:, None])[known], expected[known])
