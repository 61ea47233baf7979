"""Missing values: a slow twin, degenerate input, layouts, what a file of a model may hold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import missing as reference
from scipy.sparse import csr_array

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.missing import POLICIES, Imputation, first_missing, fit_missing, note_fills
from rerank.data.reading import FITTED

FILLING = ("zero", *FITTED)
values = st.one_of(st.just(np.nan), st.sampled_from([0.0, 1.0, -2.5]), st.floats(-1e3, 1e3))


@st.composite
def sets(draw, n_features=3):
    """(X, lengths of lists), many values missing."""
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    return draw(hnp.arrays(np.float64, (sum(lengths), n_features), elements=values)), lengths


def lists_of(X, lengths, **more):
    return CandidateLists.from_arrays(X, group=lengths, source="set", **more)


@pytest.mark.parametrize("policy", FILLING)
@given(train=sets(), test=sets())
def test_filling_agrees_with_its_definition(policy, train, test):
    fitted = fit_missing(policy, lists_of(*train))
    for X, lengths in (train, test):
        made = fitted.apply(lists_of(X, lengths))
        expected = reference.filled(policy, train[0].tolist(), X.tolist(), offsets_of(lengths).tolist())
        np.testing.assert_allclose(made.features.values, expected, rtol=1e-12, atol=1e-10)
        assert made.n_features == fitted.width
        assert not made.has_missing


def test_indicators_follow_all_features_and_have_names_of_their_own():
    X = np.array([[1, np.nan, 5, np.nan], [3, 4, np.nan, np.nan]])
    lists = lists_of(X, [2], feature_names=["a", "b", "c", "d"])
    made = fit_missing("indicator", lists).apply(lists)
    assert made.names() == ["a", "b", "c", "d", "b?missing", "c?missing"]
    assert made.features.values.tolist() == [[1, 4, 5, 0, 1, 0], [3, 4, 5, 0, 0, 1]]
    unnamed = lists_of(X, [2])
    assert fit_missing("indicator", unnamed).apply(unnamed).names()[-2:] == ["2?missing", "3?missing"]
    clash = lists_of(X, [2], feature_names=["a", "b", "b?missing", "d"])
    with pytest.raises(DataError, match=r"set: feature 'b\?missing' has the name of an indicator; rename it"):
        fit_missing("indicator", clash).apply(clash)


def test_what_is_missing_at_prediction_alone_is_reported_if_an_indicator_would_tell_it():
    fitted = fit_missing("indicator", lists_of(np.array([[1.0, np.nan], [3.0, 2.0]]), [2]))
    test = lists_of(np.array([[np.nan, np.nan]]), [1])
    with pytest.warns(DataNote, match=r"values of 1 feature \(1\) are missing, but none was in training"):
        made = fitted.apply(test, warn=True)
    assert made.features.values.tolist() == [[2.0, 2.0, 1.0]]


def test_a_feature_without_any_value_is_zero_and_is_reported():
    lists = lists_of(np.array([[np.nan, 1.0], [np.nan, 2.0]]), [1, 1])
    for policy in FITTED:
        fitted = fit_missing(policy, lists)
        assert fitted.apply(lists_of(np.array([[7.0, 5.0]]), [1])).features.values.tolist() == [[0.0, 5.0]]
        with pytest.warns(DataNote, match=r"set: no item has a value of 1 feature \(1\): taken as 0"):
            note_fills(fitted, lists)


@pytest.mark.parametrize("policy", FITTED)
def test_huge_values_have_a_finite_mean_and_float32_stays(policy):
    most = np.finfo(np.float64).max
    lists = lists_of(np.array([[most], [most], [np.nan], [-most], [-most], [-most], [np.nan]]), [3, 4])
    assert np.isfinite(fit_missing(policy, lists).apply(lists).features.values).all()
    small = lists_of(np.array([[1], [2], [np.nan]], dtype=np.float32), [3])
    made = fit_missing(policy, small).apply(small).features.values
    assert made.dtype == np.float32
    assert made[2, 0] == (1.0 if policy == "list-min" else 1.5)


def test_layouts():
    X = np.array([[1.0, np.nan], [0.0, 2.0]])
    sparse = lists_of(csr_array(X), [2])
    for policy in FITTED:
        with pytest.raises(
            ConfigError, match=f"missing={policy}: set has sparse features, of which an absent"
        ):
            fit_missing(policy, sparse)
    assert fit_missing("zero", sparse).apply(sparse).features.to_dense().tolist() == [[1, 0], [0, 2]]
    dense = fit_missing("mean", lists_of(X, [2]))
    assert dense.apply(sparse).features.to_dense().tolist() == [[1, 2], [0, 2]]


def test_error_names_the_first_missing_value_and_what_works():
    lists = lists_of(np.array([[1, 2.0], [3.0, np.nan], [np.nan, np.nan]]), [1, 2], feature_names=["a", "b"])
    with pytest.raises(DataError) as caught:
        fit_missing("error", lists).apply(lists)
    assert str(caught.value) == (
        "set: 3 of 6 values are missing (NaN), of 2 features; the first is 'b' of list '2', item 1; "
        "in training, --missing mean, list-mean, list-min, indicator or zero fills missing values, "
        "--missing nan keeps them for learners that accept them"
    )
    sparse = replace(lists, features=lists.features.compressed())
    assert first_missing(sparse) == first_missing(lists)
    whole = lists.subset([0])
    assert fit_missing("error", whole).apply(whole) is whole
    assert fit_missing("nan", lists).apply(lists) is lists
    with pytest.raises(ConfigError, match="unknown missing 'men'; did you mean 'mean'"):
        fit_missing("men", lists)
    with pytest.raises(DataError, match="set: 1 features, missing=mean was fitted on 2"):
        fit_missing("mean", lists).apply(lists_of(np.ones((2, 1)), [2]))


@pytest.mark.parametrize("policy", POLICIES)
def test_what_a_model_file_keeps(policy):
    lists = lists_of(np.array([[1, np.nan], [3.0, np.nan], [np.nan, np.nan]]), [1, 2])
    fitted = fit_missing(policy, lists)
    again = Imputation.restore(fitted.to_meta(), fitted.arrays())
    assert (again.name, again.n_features, again.n_items) == (policy, 2, 3)
    assert again.after == fitted.after == (policy in ("zero", "list-min"))
    for name, array in fitted.arrays().items():
        assert np.array_equal(again.arrays()[name], array, equal_nan=True)
        with pytest.raises(DataError, match="found the arrays"):
            Imputation.restore(fitted.to_meta(), {name: array})
    if policy in FITTED:
        for bad in ({"means": np.array([np.inf, np.nan])}, {"counts": np.array([3, 3])}):
            with pytest.raises(DataError, match="numbers that no fit gives"):
                Imputation.restore(fitted.to_meta(), {**fitted.arrays(), **bad})
