import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from make import features
from reference import lists as reference
from scipy.sparse import coo_array, csr_array, csr_matrix

from rerank.core.errors import DataError
from rerank.data.matrix import Dense, Mixed, Sparse, as_features

values = st.one_of(st.just(0.0), st.floats(-1e6, 1e6), st.sampled_from([1e300, -1e-300, 5e-324, -0.0]))
matrices = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=values)


@given(matrices, st.integers(0, 2**32))
def test_scores_of_every_layout_have_the_same_bits(X, seed):
    w = np.random.default_rng(seed).standard_normal(X.shape[1])
    expected = np.array(reference.scores(X, w))
    assert Dense(X).scores(w).tobytes() == expected.tobytes()
    assert as_features(csr_array(X)).scores(w).tobytes() == expected.tobytes()
    assert features("mixed", X).scores(w).tobytes() == expected.tobytes()


@given(matrices, st.integers(0, 2**32))
def test_transposed_products_are_sums_in_the_order_of_the_items(X, seed):
    c = np.random.default_rng(seed).integers(-2, 3, len(X)) / 3.0
    expected = np.array(reference.scores(X.T, c))
    np.testing.assert_array_equal(Dense(X).transposed_product(c), expected)
    np.testing.assert_array_equal(as_features(csr_array(X)).transposed_product(c), expected)
    np.testing.assert_array_equal(features("mixed", X).transposed_product(c), expected)
    ones = features("indicators", X)
    np.testing.assert_array_equal(
        ones.transposed_product(c), Dense((X != 0).astype(np.float64)).transposed_product(c)
    )
    single = Dense(X.astype(np.float32)) if np.abs(X).max() < 1e30 else Dense(X)
    np.testing.assert_array_equal(
        single.transposed_product(c), Dense(single.values.astype(np.float64)).transposed_product(c)
    )


@given(matrices)
def test_indicators_score_as_ones(X):
    w = np.linspace(-1, 1, X.shape[1])
    ones = features("indicators", X)
    assert ones.scores(w).tobytes() == Dense((X != 0).astype(np.float64)).scores(w).tobytes()


@given(matrices)
def test_csr_is_the_matrix(X):
    sparse = as_features(csr_array(X))
    indptr, indices, data = reference.csr(X)
    assert (sparse.indptr.tolist(), sparse.indices.tolist(), sparse.data.tolist()) == (indptr, indices, data)
    assert not sparse.check(nan_allowed=False)
    assert np.array_equal(sparse.to_dense(), X)
    assert sparse.n_values == len(data)
    for j in range(X.shape[1]):
        assert np.array_equal(sparse.column(j), X[:, j])
        assert np.array_equal(Dense(X).column(j), X[:, j])


@given(matrices, st.data())
def test_take_and_select_agree_with_numpy(X, data):
    n, d = X.shape
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=12)), dtype=np.int64)
    places = np.array(data.draw(st.permutations(range(d + 2))), dtype=np.int64)[:d]
    places[data.draw(st.integers(0, d - 1))] = -1
    moved = np.zeros((n, d + 2))
    for old, new in enumerate(places):
        if new >= 0:
            moved[:, new] = X[:, old]
    for made in (Dense(X), as_features(csr_array(X)), features("mixed", X)):
        assert np.array_equal(made.take(rows).to_dense(), X[rows])
        assert np.array_equal(made.take(slice(1, n)).to_dense(), X[1:])
        chosen = made.select(places, d + 2)
        assert not chosen.check(nan_allowed=False)
        assert chosen.n_features == d + 2
        assert np.array_equal(chosen.to_dense(), moved)


def test_indicators_keep_no_data_when_moved():
    ones = features("indicators", np.eye(3))
    assert ones.take(np.array([2, 0])).data is None
    assert ones.select(np.array([2, 1, 0]), 3).data is None
    assert np.array_equal(ones.select(np.array([2, 1, 0]), 3).to_dense(), np.eye(3)[:, ::-1])
    assert ones.column(1).tolist() == [0, 1, 0]


def test_nan_is_found_and_refused_if_it_is_not_allowed():
    X = np.zeros((1100, 2))
    X[1050, 1] = np.nan
    sparse = Sparse(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([1.0, np.nan]), 2)
    assert Dense(X).check(nan_allowed=True)
    assert sparse.check(nan_allowed=True)
    with pytest.raises(DataError, match="item 1050, feature column 1: value is nan"):
        Dense(X).check(nan_allowed=False)
    with pytest.raises(DataError, match="item 1, feature column 1: value is nan"):
        sparse.check(nan_allowed=False)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_infinite_values_are_refused_with_their_place(value, dtype):
    X = np.ones((3, 4), dtype=dtype)
    X[2, 1] = value
    with pytest.raises(DataError, match=r"item 2, feature column 1: value is -?inf"):
        Dense(X).check(nan_allowed=True)
    with pytest.raises(DataError, match=r"item 2, feature column 1: value is -?inf"):
        as_features(csr_array(X)).check(nan_allowed=True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((4, 4))[:, ::2], "C-contiguous"),
        (np.zeros(4), "C-contiguous"),
        (np.zeros((2, 2), np.int64), "float64 or float32, got int64"),
    ],
)
def test_dense_invariants(values, message):
    with pytest.raises(DataError, match=message):
        Dense(values).check(nan_allowed=True)


@given(matrices)
def test_every_layout_holds_the_same_matrix(X):
    for layout in ("dense", "sparse", "mixed"):
        made = features(layout, X)
        assert not made.check(nan_allowed=False)
        assert made.n_items, made.n_features == X.shape
        assert np.array_equal(made.to_dense(), X)
        assert np.array_equal(made.compressed().to_dense(), X)
        assert not made.compressed().check(nan_allowed=False)
        assert made.largest() == np.abs(X).max()
        assert set(np.flatnonzero(X.any(axis=0))) <= set(made.occurring().tolist())
        assert all(np.array_equal(column, X[:, j]) for j, column in enumerate(made.columns()))
        assert all(np.array_equal(made.column(j), X[:, j]) for j in range(X.shape[1]))
        wider = made.with_columns(X[:, :1] + 1)
        assert not wider.check(nan_allowed=False)
        assert np.array_equal(wider.to_dense(), np.hstack([X, X[:, :1] + 1]))


@given(matrices, st.integers(0, 2**32))
def test_columns_added_to_indicators_leave_them_without_data(X, seed):
    ones = features("indicators", X)
    more = np.random.default_rng(seed).standard_normal((len(X), 2))
    made = ones.with_columns(more).with_columns(more[:, :1])
    assert made.rows.data is None
    whole = np.hstack([X != 0, more, more[:, :1]])
    assert np.array_equal(made.to_dense(), whole)
    w = np.linspace(-1, 1, whole.shape[1])
    assert made.scores(w).tobytes() == Dense(whole).scores(w).tobytes()
    first = made.select(np.roll(np.arange(whole.shape[1]), -3), whole.shape[1])
    assert first.places.tolist() == [0, 1, 2]
    assert first.rows.data is None
    assert np.array_equal(first.to_dense(), np.hstack([more, more[:, :1], X != 0]))


def test_a_mixed_matrix_of_no_dense_column_or_no_sparse_value():
    X = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    w = np.array([0.5, 0.25])
    none = Mixed(np.empty((3, 0)), np.empty(0, np.int32), features("sparse", X))
    empty = Sparse(np.zeros(4, np.int64), np.empty(0, np.int32), None, 2)
    every = Mixed(X, np.array([0, 1], np.int32), empty)
    for made in (none, every):
        assert not made.check(nan_allowed=False)
        assert made.scores(w).tolist() == (X @ w).tolist()
        assert np.array_equal(made.compressed().to_dense(), X)
        assert np.array_equal(made.take(np.array([1])).to_dense(), X[1:2])


I64, I32 = np.int64, np.int32


@pytest.mark.parametrize(
    ("values", "places", "message"),
    [
        (np.ones((2, 1), np.float32), np.array([0], I32), "C-contiguous float64"),
        (np.ones((2, 4))[:, ::2], np.array([0, 1], I32), "C-contiguous float64"),
        (np.ones((2, 1)), np.array([0], I64), "contiguous int32"),
        (np.ones((2, 1)), np.array([0, 2], I32), "one for each dense column"),
        (np.ones((3, 1)), np.array([0], I32), "3 dense rows, but 2 sparse ones"),
        (np.ones((2, 2)), np.array([2, 0], I32), r"must rise within 0\.\.2"),
        (np.ones((2, 1)), np.array([3], I32), r"must rise within 0\.\.2"),
        (np.ones((2, 1)), np.array([1], I32), "item 1 has a sparse value of the dense column 1"),
        (
            np.array([[1.0, 2.0], [3.0, np.inf]]),
            np.array([0, 2], I32),
            "item 1, feature column 2: value is inf",
        ),
    ],
)
def test_mixed_invariants(values, places, message):
    rows = Sparse(np.array([0, 0, 1]), np.array([1], I32), None, 3)
    with pytest.raises(DataError, match=message):
        Mixed(values, places, rows).check(nan_allowed=True)


@pytest.mark.parametrize(
    ("indptr", "indices", "data", "message"),
    [
        (np.array([0, 1], I32), np.array([0], I32), None, "contiguous int64 vector"),
        (np.array([0, 1], I64), np.array([0], I64), None, "contiguous int32 vector"),
        (np.array([0, 2], I64), np.array([0], I32), None, "indptr must run from 0"),
        (np.array([1, 1], I64), np.array([0], I32), None, "indptr must run from 0"),
        (np.array([], I64), np.array([], I32), None, "indptr must run from 0"),
        (np.array([0, 2, 1, 2], I64), np.array([0, 1], I32), None, "must not fall"),
        (np.array([0, 1, 3], I64), np.array([0, 1, 1], I32), None, "indices of item 1 are not rising"),
        (np.array([0, 1, 3], I64), np.array([0, 2, 1], I32), None, "indices of item 1 are not rising"),
        (np.array([0, 1], I64), np.array([3], I32), None, r"within 0\.\.2"),
        (np.array([0, 1], I64), np.array([-1], I32), None, r"within 0\.\.2"),
        (np.array([0, 1], I64), np.array([0], I32), np.ones(2), "as long as indices"),
        (np.array([0, 1], I64), np.array([0], I32), np.ones(1, np.float32), "contiguous float64"),
        (np.array([0, 2], I64), np.array([0, 1], I32), np.ones(4)[::2], "contiguous float64"),
    ],
)
def test_csr_invariants(indptr, indices, data, message):
    with pytest.raises(DataError, match=message):
        Sparse(indptr, indices, data, 3).check(nan_allowed=True)


def test_scipy_matrices_are_taken_in_any_form_and_left_as_they_are():
    X = np.array([[0.0, 2.0], [3.0, 0.0]])
    twice = coo_array(([1.0, 1.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    for made in (csr_matrix(X), csr_array(X.astype(np.float32)), csr_array(X).tocsc(), twice):
        assert np.array_equal(as_features(made).to_dense(), X)
    unsorted = csr_array((np.array([2.0, 1.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert as_features(unsorted).indices.tolist() == [0, 1]
    assert unsorted.indices.tolist() == [1, 0]
    sparse = as_features(X)
    assert as_features(sparse) is sparse


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], "must be .n_items, n_features., got shape .2,."),
        ([["a", "b"]], "must be numbers"),
        (np.array([[1j]]), "real numbers"),
        (csr_array(np.array([[1j]])), "real numbers"),
        (csr_array((1, 2**40)), "sparse features"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(X, message):
    with pytest.raises(DataError, match=message):
        as_features(X)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, bool, np.float16])
def test_other_numbers_become_float64(dtype):
    assert as_features(np.ones((2, 2), dtype=dtype)).values.dtype == np.float64
