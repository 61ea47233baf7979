from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from make import full_lists, same
from reference import scaling as reference
from scipy.sparse import csr_array

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Mixed, as_features
from rerank.data.scaling import MAX_KNOTS, SCALINGS, Scaling, fit_scaling

FITTED = ("minmax", "zscore", "rank")
DENSE_ONLY = ("rank", "list-rank")
REAL = [name for name in SCALINGS if name != "none"]
DIVIDING = [name for name in REAL if name not in DENSE_ONLY]

rounded = st.floats(-1e3, 1e3).map(lambda v: round(v, 2))
values = st.one_of(st.sampled_from([0.0, 0.0, 1.0, -2.5, np.nan]), rounded)


@st.composite
def sets(draw):
    """(X, lengths of lists): with NaN, ties, constant columns, lists of one item."""
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    X = draw(hnp.arrays(np.float64, (sum(lengths), 3), elements=values))
    if draw(st.booleans()):
        X[:, 1] = draw(values)
    return X, lengths


def lists_of(X, lengths, sparse=False):
    return CandidateLists.from_arrays(csr_array(X) if sparse else X, group=lengths)


def check(made, expected, scale=1.0):
    assert np.array_equal(np.isnan(made), np.isnan(expected))
    np.testing.assert_allclose(made, expected, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("name", REAL)
@given(train=sets(), test=sets())
def test_dense_scaling_agrees_with_its_definition(name, train, test):
    fitted = fit_scaling(name, lists_of(*train))
    for X, lengths in (train, test):
        if name == "rank" and X is test[0]:
            continue  # between training values it is interpolated: see the tests of rank
        made = fitted.apply(lists_of(X, lengths)).features.values
        expected = reference.scaled(name, train[0], X, test_offsets=offsets_of(lengths))
        check(made, expected, np.nanmax(np.abs(expected), initial=1.0))


@pytest.mark.parametrize("name", DIVIDING)
@given(train=sets(), test=sets())
def test_sparse_scaling_divides_by_dense_statistics(name, train, test):
    fitted = fit_scaling(name, lists_of(*train, sparse=True))
    expected = reference.scaled(name, train[0], test[0], test_offsets=offsets_of(test[1]), shifts=False)
    before = lists_of(*test, sparse=True)
    after = fitted.apply(before)
    check(after.features.to_dense(), expected, np.nanmax(np.abs(expected), initial=1.0))
    assert after.features.indices is before.features.indices
    # Dense lists under a scaling that was fitted on sparse ones get the same values.
    dense = fitted.apply(lists_of(*test)).features.values
    check(dense, expected, np.nanmax(np.abs(expected), initial=1.0))


@pytest.mark.parametrize("name", REAL)
def test_features_in_float32_stay_so(name):
    X = np.round(np.random.default_rng(5).random((40, 4)), 2).astype(np.float32)
    made = fit_scaling(name, lists_of(X, [15, 25])).apply(lists_of(X, [15, 25])).features.values
    assert made.dtype == np.float32
    expected = reference.scaled(name, X, X, test_offsets=[0, 15, 40], eps=2.0**-23)
    np.testing.assert_allclose(made, expected, rtol=1e-6, atol=1e-6)


def test_indicators_are_divided_as_ones():
    lists = full_lists("indicators")
    ones = replace(lists, features=replace(lists.features, data=np.ones(lists.features.n_values)))
    for name in DIVIDING:
        a, b = (fit_scaling(name, one).apply(one).features.to_dense() for one in (lists, ones))
        np.testing.assert_array_equal(a, b)


def beside_indicators(seed=3, lengths=(4, 1, 5)):
    """Two dense columns around three of indicators."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    rows = as_features(csr_array(np.pad(rng.integers(0, 2, (n, 3)), ((0, 0), (1, 1)))))
    places = np.array([0, 4], dtype=np.int32)
    values = np.round(rng.normal(-50, 20, (n, 2)), 2)
    return CandidateLists.from_arrays(Mixed(values, places, replace(rows, data=None)), group=lengths)


@pytest.mark.parametrize("name", DIVIDING)
def test_of_dense_columns_beside_indicators_only_the_columns_are_divided(name):
    lists, other = beside_indicators(), beside_indicators(seed=4, lengths=(3, 3))
    fitted = Scaling.restore((made := fit_scaling(name, lists)).to_meta(), made.arrays())
    X = lists.features.to_dense()
    for some in (lists, other):
        features = fitted.apply(some).features
        assert features.rows is some.features.rows
        raw = some.features.to_dense()
        expected = reference.scaled(name, X, raw, test_offsets=some.offsets, shifts=False)
        expected[:, 1:4] = raw[:, 1:4]
        check(features.to_dense(), expected, np.abs(expected).max())
        # Lists of the other layouts get the same values.
        for layout in (some.features.compressed(), Dense(raw)):
            there = fitted.apply(replace(some, features=layout)).features.to_dense()
            np.testing.assert_allclose(there, features.to_dense(), rtol=1e-12)


def test_too_large_values_beside_indicators_are_refused_by_name():
    lists = beside_indicators()
    lists.features.values[:2, 1] = 1e308, -1e308
    for name in DIVIDING:
        with pytest.raises(DataError, match="feature '5' has values too large"):
            fit_scaling(name, lists).apply(lists)


@pytest.mark.parametrize("name", DENSE_ONLY)
def test_ranks_of_sparse_features_are_refused(name):
    with pytest.raises(ConfigError, match=f"scaling {name} needs dense features.*--layout dense"):
        fit_scaling(name, full_lists("sparse"))


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="unknown scaling 'min-max'; did you mean 'minmax'"):
        fit_scaling("min-max", full_lists())


def test_none_changes_nothing():
    lists = full_lists()
    assert fit_scaling("none", lists).apply(lists) is lists


@pytest.mark.parametrize("name", REAL)
def test_other_columns_stay(name):
    lists = full_lists()
    after = fit_scaling(name, lists).apply(lists)
    assert same(replace(after, features=lists.features), lists)
    assert after.source == "made"


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("constant", [0.0, 5.0, -1e300, 0.1 + 0.2])
def test_a_constant_feature_is_0_and_stays_0_at_other_values(name, constant):
    train = np.array([[constant], [constant], [np.nan]])
    fitted = fit_scaling(name, lists_of(train, [3]))
    test = fitted.apply(lists_of(np.array([[constant], [1e9], [-3.0], [np.nan]]), [4]))
    made = test.features.values[:, 0]
    assert made[:3].tolist() == [0, 0, 0]
    assert not np.signbit(made[:3]).any()
    assert np.isnan(made[3])


@pytest.mark.parametrize("name", REAL)
def test_a_feature_that_varies_by_rounding_only_counts_as_constant(name):
    if name == "list-rank":
        pytest.skip("an order needs no scale")
    for values_of_feature in ([0.1 + 0.2, 0.3], [0.0, 5e-324], [-1e-301, 0.0]):
        lists = lists_of(np.array(values_of_feature)[:, None], [2])
        assert fit_scaling(name, lists).apply(lists).features.values.tolist() == [[0], [0]]


@pytest.mark.parametrize("name", DIVIDING)
@pytest.mark.parametrize("unit", [1e-290, 1e-160, 1e150, 1e300])
def test_tiny_and_huge_units_scale_as_ones_do(name, unit):
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    for sparse in (False, True):
        plain, scaled = lists_of(X, [4], sparse), lists_of(X * unit, [4], sparse)
        expected = fit_scaling(name, plain).apply(plain).features.to_dense()
        made = fit_scaling(name, scaled).apply(scaled).features.to_dense()
        np.testing.assert_allclose(made, expected, rtol=1e-12)


def test_a_large_offset_does_not_spoil_the_deviation():
    X = 1e9 + np.array([[0.0], [1.0], [2.0], [3.0]])
    made = fit_scaling("zscore", lists_of(X, [4])).apply(lists_of(X, [4])).features.values[:, 0]
    np.testing.assert_allclose(made, (np.arange(4) - 1.5) / np.sqrt(1.25), rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in REAL if n != "list-rank"])
def test_values_too_large_for_sums_are_refused(name):
    lists = lists_of(np.array([[1.0, 1e308], [2.0, -1e308]]), [2])
    with pytest.raises(DataError, match=f"feature '2' has values too large for scaling {name}"):
        fit_scaling(name, lists).apply(lists)
    if name in DIVIDING:
        sparse = lists_of(lists.features.values, [2], sparse=True)
        with pytest.raises(DataError, match="too large"):
            fit_scaling(name, sparse).apply(sparse)


def test_a_test_value_that_overflows_is_refused_with_its_place():
    fitted = fit_scaling("minmax", lists_of(np.array([[0.0], [1e-290]]), [2]))
    place = "arrays: after scaling minmax: feature '1' of list '1', item 2 is inf"
    with pytest.raises(DataError, match=place):
        fitted.apply(lists_of(np.array([[0.0], [1e30]]), [2]))


def test_another_number_of_features_is_refused():
    fitted = fit_scaling("minmax", full_lists())
    with pytest.raises(DataError, match="made: 4 features, the scaling minmax was fitted on 5"):
        fitted.apply(full_lists(n_features=4))


@given(
    st.lists(st.integers(-20, 20), min_size=2, max_size=60),
    st.lists(st.floats(-30, 30), min_size=1, max_size=9),
)
def test_rank_lies_between_the_shares_below_and_up_to_a_value(train, test):
    known = np.array(train, dtype=np.float64)
    fitted = fit_scaling("rank", lists_of(known[:, None], [len(known)]))
    made = fitted.apply(lists_of(np.array(test)[:, None], [len(test)])).features.values[:, 0]
    for x, level in zip(test, made, strict=True):
        if known.min() == known.max():
            assert level == 0
            continue
        # Between the mid-ranks of the neighbours, and exact at training values.
        below, above = known[known < x], known[known > x]
        low = 0.0 if len(below) == 0 else np.mean(known < below.max()) + np.mean(known == below.max()) / 2
        high = 1.0 if len(above) == 0 else np.mean(known < above.min()) + np.mean(known == above.min()) / 2
        if x in known:
            low = high = np.mean(known < x) + np.mean(known == x) / 2
        assert low - 1e-12 <= level <= high + 1e-12


@pytest.mark.parametrize("kind", ["uniform", "heavy", "two heavy", "skewed"])
def test_rank_by_knots_is_near_the_exact_one(kind):
    rng = np.random.default_rng(7)
    x = rng.random(20000)
    if kind == "heavy":
        x[:9000] = 0.5
    if kind == "two heavy":
        x[:9000], x[9000:18000] = 0.5, np.nextafter(0.5, 1)
    if kind == "skewed":
        x = np.exp(20 * x)
    fitted = fit_scaling("rank", lists_of(x[:, None], [len(x)]))
    assert len(fitted.values["knots"]) <= MAX_KNOTS
    made = fitted.apply(lists_of(x[:, None], [len(x)])).features.values[:, 0]
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    exact = ((np.cumsum(counts) - counts / 2) / len(x))[place]
    assert np.abs(made - exact).max() <= 1 / 499
    order = np.argsort(x, kind="stable")
    assert np.all(np.diff(made[order]) >= 0)


def test_rank_is_exact_up_to_1001_distinct_values():
    x = np.repeat(np.arange(MAX_KNOTS) ** 2.0, 3)
    lists = lists_of(x[:, None], [len(x)])
    made = fit_scaling("rank", lists).apply(lists).features.values
    np.testing.assert_allclose(made[:, 0], (np.repeat(np.arange(MAX_KNOTS), 3) + 0.5) / MAX_KNOTS, rtol=1e-12)


@given(st.lists(st.one_of(st.integers(-5, 5), st.just(np.nan)), min_size=1, max_size=80))
def test_list_ranks_of_long_lists(column):
    X = np.array(column, dtype=np.float64)[:, None]
    made = fit_scaling("list-rank", lists_of(X, [len(X)])).apply(lists_of(X, [len(X)])).features.values
    check(made, reference.scaled("list-rank", X, X, test_offsets=[0, len(X)]))


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "mixed"])
@pytest.mark.parametrize("name", SCALINGS)
def test_a_saved_scaling_is_the_same_and_has_the_same_bytes_each_time(name, layout):
    if layout in ("sparse", "mixed") and name in DENSE_ONLY:
        pytest.skip("refused")
    lists, other = full_lists(layout), full_lists(layout, seed=1)
    fitted, again = fit_scaling(name, lists), fit_scaling(name, lists)
    assert fitted.to_meta() == again.to_meta()
    assert {k: a.tobytes() for k, a in fitted.arrays().items()} == {
        k: a.tobytes() for k, a in again.arrays().items()
    }
    restored = Scaling.restore(fitted.to_meta(), fitted.arrays())
    for array in restored.values.values():
        array.flags.writeable = False
    assert same(restored.apply(other), fitted.apply(other))


META = {"name": "minmax", "n_features": 2, "shifts": True}
LIST = {"name": "list-zscore", "n_features": 2, "shifts": False}
TWO = {"shift": np.zeros(2), "divisor": np.ones(2)}
RANKS = {"bounds": np.array([0, 1, 2]), "knots": np.zeros(2), "levels": np.zeros(2)}


@pytest.mark.parametrize(
    ("meta", "arrays", "message"),
    [
        ({**META, "name": "cube"}, TWO, "not the description of a scaling"),
        ({**META, "n_features": True}, TWO, "not the description"),
        ({**META, "shifts": 1}, TWO, "not the description"),
        ({"name": "minmax"}, TWO, "not the description"),
        (META, {"divisor": np.ones(2)}, r"found \['divisor'\], expected \['divisor', 'shift'\]"),
        ({**META, "shifts": False}, TWO, "expected .'divisor'."),
        (META, {**TWO, "shift": np.zeros(3)}, "do not fit 2 features"),
        ({**LIST, "shifts": True}, {"places": np.array([0])}, r"expected \[\]"),
        (LIST, {"places": np.array([0, 2])}, "do not fit 2 features"),
        (LIST, {"places": np.array([-1])}, "do not fit 2 features"),
        (LIST, {"places": np.array([0.0])}, "places is 1-dimensional float64"),
        (META, {**TWO, "shift": np.zeros(2, np.float32)}, "shift is 1-dimensional float32"),
        (META, {**TWO, "shift": np.zeros((2, 1))}, "shift is 2-dimensional float64"),
        ({**META, "name": "rank"}, {**RANKS, "bounds": np.array([0, 1, 3])}, "do not fit"),
        ({**META, "name": "rank"}, {**RANKS, "bounds": np.array([0, 2, 2])}, "do not fit"),
        ({**META, "name": "rank"}, {**RANKS, "bounds": np.array([0, 2])}, "do not fit"),
        ({**META, "name": "rank"}, {**RANKS, "levels": np.zeros(1)}, "do not fit"),
    ],
)
def test_a_broken_saved_scaling_is_refused(meta, arrays, message):
    with pytest.raises(DataError, match=message):
        Scaling.restore(meta, arrays)


def test_both_kinds_of_ranks_are_as_they_are_described():
    lists = CandidateLists.from_arrays([[1.0], [2.0], [2.0], [5.0]], group=[4])
    found = {
        name: fit_scaling(name, lists).apply(lists).features.to_dense()[:, 0]
        for name in ("rank", "list-rank")
    }
    assert found["rank"].tolist() == [0.5 / 4, 2 / 4, 2 / 4, 3.5 / 4]  # (below + half of equal) / n
    assert found["list-rank"].tolist() == [0.0, 1.5 / 3, 1.5 / 3, 1.0]  # (rank - 1) / (n - 1)
    assert "half of those equal" in SCALINGS["rank"]
    assert "(rank in the list - 1) / (items of the list - 1)" in SCALINGS["list-rank"]
