"""Linear assignment beside enumeration and scipy, its duals, and what it refuses."""

import numpy as np
import pytest
from reference.assignment import best_total
from scipy.optimize import linear_sum_assignment

from rerank.core.errors import DataError
from rerank.similarity import assign
from rerank.similarity.assignment import assign_with_duals

KINDS = {
    "uniform": lambda rng, n, m: rng.random((n, m)),
    "ties": lambda rng, n, m: rng.integers(0, 3, (n, m)).astype(float),
    "equal": lambda rng, n, m: np.full((n, m), 7.0),
    "product": lambda rng, n, m: np.outer(rng.random(n), rng.random(m)),
    "huge": lambda rng, n, m: rng.integers(-5, 6, (n, m)) * 2e299,
    "tiny": lambda rng, n, m: rng.random((n, m)) * 1e-300,
    "wide": lambda rng, n, m: np.exp(20.0 * rng.standard_normal((n, m))),
    "signs": lambda rng, n, m: rng.standard_normal((n, m)),
    "machol-wien": lambda rng, n, m: np.outer(np.arange(1.0, n + 1), np.arange(1.0, m + 1)),
    "zero product": lambda rng, n, m: np.outer(np.arange(0.0, n), np.arange(0.0, m)),
    "squares": lambda rng, n, m: -(np.subtract.outer(np.arange(n), np.arange(m)) ** 2.0),
    "powers": lambda rng, n, m: 0.5 ** np.minimum(np.outer(np.arange(1, n + 1), np.arange(1, m + 1)), 1000),
    "diagonal": lambda rng, n, m: 1.0 - np.eye(max(n, m))[rng.permutation(max(n, m))][:n, :m],
    "row offsets": lambda rng, n, m: rng.random((n, m)) + 100 * rng.random((n, 1)),
    "column offsets": lambda rng, n, m: rng.random((n, m)) + 100 * rng.random((1, m)),
}

# Columns are searched in blocks of 16.
SHAPES = [(1, 1), (1, 9), (9, 1), (12, 12), (16, 16), (17, 33), (40, 41), (41, 40), (7, 90), (150, 150)]


def total_of(costs, columns):
    rows = np.flatnonzero(columns >= 0)
    assert len(rows) == min(costs.shape)
    assert len(set(columns[rows].tolist())) == len(rows)
    return costs[rows, columns[rows]].sum()


def rounding(costs):
    return 1e-13 * max(costs.shape) * np.abs(costs).max() + 1e-320


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_enumeration(kind, maximize):
    rng = np.random.default_rng(5)
    for _ in range(150):
        n, m = rng.integers(1, 6, size=2)
        costs = KINDS[kind](rng, n, m)
        expected = best_total(costs.tolist(), maximize)
        assert abs(total_of(costs, assign(costs, maximize)) - expected) <= rounding(costs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_scipy(kind, shape):
    costs = KINDS[kind](np.random.default_rng(sum(shape)), *shape)
    rows, columns = linear_sum_assignment(costs)
    assert abs(total_of(costs, assign(costs)) - costs[rows, columns].sum()) <= rounding(costs)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4)])
@pytest.mark.parametrize("kind", KINDS)
def test_duals_prove_the_optimum(kind, shape, maximize):
    rng = np.random.default_rng(3)
    batch = np.stack([KINDS[kind](rng, *shape) for _ in range(20)])
    found = assign_with_duals(batch, maximize)
    sign = -1.0 if maximize else 1.0
    for costs, columns, u, v in zip(batch, found.columns, found.row_duals, found.column_duals, strict=True):
        slack = sign * (costs - u[:, None] - v[None, :])
        rows = np.flatnonzero(columns >= 0)
        near = 10 * rounding(costs)
        assert slack.min() >= -near
        assert np.abs(slack[rows, columns[rows]]).max() <= near
        lone_rows = np.setdiff1d(np.arange(shape[0]), rows)
        lone_columns = np.setdiff1d(np.arange(shape[1]), columns[rows])
        assert (u[lone_rows] == 0).all()
        assert (v[lone_columns] == 0).all()
        longer = v if shape[0] < shape[1] else u
        if shape[0] != shape[1]:
            assert (sign * longer <= near).all()


def test_a_batch_is_its_matrices():
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 4, (3, 5, 7, 7)).astype(float)
    whole = assign(batch)
    assert whole.shape == (3, 5, 7)
    assert whole.dtype == np.int32
    alone = [[assign(costs) for costs in part] for part in batch]
    assert np.array_equal(whole, alone)
    assert np.array_equal(assign(batch[:, ::-1]), whole[:, ::-1])
    assert np.array_equal(assign(batch.astype(np.float32)), whole)
    assert np.array_equal(assign(batch.astype(int)), whole)


@pytest.mark.parametrize("maximize", [False, True])
def test_starting_duals_change_no_total(maximize):
    rng = np.random.default_rng(9)
    for scale in (0.0, 1e-3, 1.0, 1e6, 1e300):
        batch = rng.random((30, 8, 8))
        cold = assign_with_duals(batch, maximize)
        near = cold.column_duals + scale * rng.standard_normal(cold.column_duals.shape)
        warm = assign_with_duals(batch, maximize, start=np.clip(near, -1e300, 1e300))
        for costs, a, b in zip(batch, cold.columns, warm.columns, strict=True):
            # Duals of magnitude s take the digits below s * 1e-16 from costs.
            allowed = rounding(costs) + (8 * scale * 1e-15 if scale <= 1e6 else np.inf)
            assert abs(total_of(costs, a) - total_of(costs, b)) <= allowed


def test_a_row_of_forbidden_pairs_beside_row_offsets():
    rng = np.random.default_rng(6)
    costs = KINDS["row offsets"](rng, 20, 20)
    costs[rng.random((20, 20)) < 0.3] = np.inf
    rows, columns = linear_sum_assignment(costs)
    assert abs(total_of(costs, assign(costs)) - costs[rows, columns].sum()) <= rounding(
        np.full((20, 20), 101.0)
    )
    costs[7] = np.inf
    with pytest.raises(DataError, match="every assignment contains a forbidden pair"):
        assign(costs)


@pytest.mark.parametrize("maximize", [False, True])
def test_forbidden_pairs(maximize):
    rng = np.random.default_rng(4)
    forbidden = -np.inf if maximize else np.inf
    impossible = 0
    for _ in range(600):
        n, m = rng.integers(1, 6, size=2)
        costs = np.where(rng.random((n, m)) < 0.5, forbidden, rng.integers(0, 5, (n, m)))
        expected = best_total(costs.tolist(), maximize)
        if expected is None:
            impossible += 1
            with pytest.raises(DataError, match="every assignment contains a forbidden pair"):
                assign(costs, maximize)
        else:
            assert total_of(costs, assign(costs, maximize)) == expected
    assert 100 < impossible < 500


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0, 4, 4), (2, 0, 3), (2, 3, 0)])
def test_nothing_to_assign(shape):
    found = assign_with_duals(np.zeros(shape))
    assert found.columns.shape == shape[:-1]
    assert (found.columns == -1).all()
    assert found.row_duals.shape == shape[:-1]
    assert found.column_duals.shape == (*shape[:-2], shape[-1])


@pytest.mark.parametrize(
    ("costs", "maximize", "message"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], False, r"found NaN at \(0, 1\)"),
        ([[[1.0, 2.0], [0.0, 1.0]], [[1.0, 2.0], [np.nan, 1.0]]], False, r"found NaN at \(1, 1, 0\)"),
        ([[1.0, -np.inf]], False, "found -inf, expected finite numbers, or inf for a forbidden pair"),
        ([[1.0, np.inf]], True, "found inf, expected finite numbers, or -inf for a forbidden pair"),
        ([[np.inf, np.inf]], False, "every assignment contains a forbidden pair"),
        ([[1.0, 1e301]], False, r"found 1e\+301 in magnitude"),
        ([[np.inf, -1e301]], False, r"found 1e\+301 in magnitude"),
        ([1.0, 2.0], False, "found 1 dimensions, expected a matrix or a batch of them"),
        ([["a", "b"]], False, "expected real numbers"),
        ([[1j]], False, "found complex128, expected real numbers"),
    ],
)
def test_refused(costs, maximize, message):
    with pytest.raises(DataError, match=message):
        assign(costs, maximize)


def test_the_matrix_at_fault_is_named():
    batch = np.zeros((4, 2, 2))
    batch[2, :, 1] = np.inf
    with pytest.raises(DataError, match="matrix 3: every assignment"):
        assign(batch)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0.0], "found shape"),
        ([0.0, np.nan], "not finite"),
        ([0.0, np.inf], "not finite"),
        ([[0.0, 0.0]], "found shape"),
    ],
)
def test_refused_starts(start, message):
    with pytest.raises(DataError, match=message):
        assign_with_duals(np.eye(2), start=start)
    with pytest.raises(DataError, match="found shape"):
        assign_with_duals(np.zeros((2, 3)), start=[0.0, 0.0, 0.0])
