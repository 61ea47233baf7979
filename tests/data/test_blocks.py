"""Packing sparse features: what cancels within a list goes, everything else stays."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from reference.make import features as in_layout
from scipy.sparse import csr_array

from rerank.data.blocks import list_rows, pack_differing
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Mixed, Sparse
from rerank.data.pairs import PairRelation, make_pairs
from rerank.learners.perceptron.perceptron import Perceptron
from rerank.native.data import _blocks


def shared_lists(seed: int, *, indicators: bool, n_lists: int = 90) -> CandidateLists:
    """Lists whose items share 40 of their features and differ in few."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n_lists)
    rows = []
    for size in sizes:
        common = np.where(rng.random(200) < 0.2, rng.integers(1, 4, 200), 0)
        for _ in range(size):
            row = common.copy()
            row[rng.integers(0, 200, 3)] = rng.integers(0, 3, 3)
            rows.append(row)
    X = np.array(rows, dtype=float)
    y = rng.integers(0, 3, len(X)).astype(float)
    y[::17] = np.nan
    X = (X > 0).astype(float) if indicators else X
    features = csr_array(X)
    sparse = Sparse(features.indptr.astype(np.int64), features.indices.astype(np.int32), None, 200)
    return CandidateLists.from_arrays(sparse if indicators else features, y, group=sizes)


@pytest.mark.parametrize("indicators", [False, True])
def test_packed_rows_hold_what_differs_and_nothing_else(indicators):
    lists = shared_lists(1, indicators=indicators)
    pairs = make_pairs(lists, PairRelation())
    packed, rows = pack_differing(lists.features, pairs)
    assert packed is not lists.features
    assert packed.n_values < 0.2 * lists.features.n_values
    assert (packed.data is None) == indicators
    packed.check(nan_allowed=False)
    X, P = lists.features.to_dense(), packed.to_dense()
    for i in range(pairs.n_lists):
        here = slice(pairs.offsets[i], pairs.offsets[i + 1])
        full = X[pairs.items[here]]
        constant = (full == full[0]).all(axis=0)
        np.testing.assert_array_equal(P[rows[here]], np.where(constant, 0, full))


@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("indicators", [False, True])
def test_a_pairwise_learner_loses_nothing(algorithm, indicators, monkeypatch):
    lists = shared_lists(2, indicators=indicators)
    fits = []
    for worth in (0.2, 0.0):
        monkeypatch.setattr("rerank.data.blocks.WORTH", worth)
        fits.append(Perceptron(algorithm=algorithm, rounds=4, tau=1.0).fit(lists))
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)
    assert fits[0].curve == fits[1].curve


def test_features_that_mostly_differ_are_left_as_they_are():
    rng = np.random.default_rng(3)
    X = csr_array(rng.random((60, 30)))
    lists = CandidateLists.from_arrays(X, rng.integers(0, 3, 60), group=[10] * 6)
    pairs = make_pairs(lists, PairRelation())
    packed, rows = pack_differing(lists.features, pairs)
    assert packed is lists.features
    assert rows is pairs.items


def test_a_set_whose_sample_misleads_is_left_as_it_is():
    # The sampled lists (evenly spaced) share everything, those between differ.
    n_lists = 63 * 4 + 1
    rows = []
    for i in range(n_lists):
        for item in range(2):
            row = np.zeros(50)
            row[: 40 if i % 4 == 0 else 20] = 1
            row[40 + item] = 1
            if i % 4:
                row[20 + 10 * item : 30 + 10 * item] = 1
            rows.append(row)
    lists = CandidateLists.from_arrays(csr_array(np.array(rows)), [1, 0] * n_lists, group=[2] * n_lists)
    pairs = make_pairs(lists, PairRelation())
    assert pack_differing(lists.features, pairs)[0] is lists.features


def test_dense_features_and_empty_rows_are_left_as_they_are():
    lists = CandidateLists.from_arrays(np.eye(4), [1, 0, 1, 0], group=[2, 2])
    pairs = make_pairs(lists, PairRelation())
    assert pack_differing(lists.features, pairs)[0] is lists.features
    empty = CandidateLists.from_arrays(csr_array((4, 3)), [1, 0, 1, 0], group=[2, 2])
    assert pack_differing(empty.features, pairs)[0] is empty.features


@pytest.mark.parametrize("indicators", [False, True])
def test_columns_added_after_sparse_and_dense_features(indicators):
    lists = shared_lists(5, indicators=indicators, n_lists=6)
    added = np.random.default_rng(5).integers(0, 2, (lists.n_items, 3)).astype(float)
    expected = np.hstack([lists.features.to_dense(), added])
    sparse = lists.features.with_columns(added)
    sparse.check(nan_allowed=False)
    np.testing.assert_array_equal(sparse.to_dense(), expected)
    dense = CandidateLists.from_arrays(lists.features.to_dense()).features.with_columns(added)
    np.testing.assert_array_equal(dense.values, expected)


def test_mixed_features_pack_their_sparse_block():
    lists = shared_lists(3, indicators=True)
    more = np.random.default_rng(3).standard_normal((lists.n_items, 2))
    mixed = lists.features.with_columns(more)
    pairs = make_pairs(lists, PairRelation())
    packed, rows = pack_differing(mixed, pairs)
    alone, _ = pack_differing(lists.features, pairs)
    assert isinstance(packed, Mixed)
    assert not packed.check(nan_allowed=False)
    np.testing.assert_array_equal(packed.to_dense()[rows, :200], alone.to_dense())
    np.testing.assert_array_equal(packed.values, more[pairs.items])


def slow_numbers(features, columns, offsets, items):
    """Numbers of features within lists in the order of their appearance, and the features of each list."""
    local, bounds, own = {}, [0], []
    for first, last in itertools.pairwise(offsets):
        numbers = {f: m for m, f in enumerate(columns)}
        for item in items[first:last]:
            for at in range(features.indptr[item], features.indptr[item + 1]):
                local[at] = numbers.setdefault(features.indices[at], len(numbers))
        own += numbers
        bounds.append(len(own))
    return local, bounds, own


@pytest.mark.parametrize("seed", range(5))
def test_features_are_numbered_by_list(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((12, 9)) < 0.4, 1.0, 0.0)
    X[:, [2, 5]] = 0.0
    features = in_layout("sparse", X)
    columns = np.array([2, 5] if seed % 2 else [], dtype=np.int32)
    offsets = np.array([0, 1, 5, 10], dtype=np.int64)
    items = rng.permutation(12)[:10]
    local = np.zeros(features.n_values, dtype=np.uint16)
    bounds = np.empty(4, dtype=np.int64)
    own = np.empty(100, dtype=np.int32)
    number = np.full(9, -1, dtype=np.int32)
    most = _blocks.number_by_list(
        features.indptr, features.indices, columns, offsets, items, number, local, bounds, own
    )
    expected, ends, of_lists = slow_numbers(features, columns.tolist(), offsets, items)
    assert bounds.tolist() == ends
    assert own[: ends[-1]].tolist() == of_lists
    assert {at: int(local[at]) for at in expected} == expected
    assert most == np.diff(ends).max()
    assert (number == -1).all()


def test_a_list_of_more_features_than_numbers_is_not_numbered():
    indices = np.arange(65537, dtype=np.int32)
    given = (np.array([0, 65537]), indices, np.empty(0, np.int32), np.array([0, 1]), np.array([0]))
    scratch = (
        np.full(65537, -1, np.int32),
        np.empty(65537, np.uint16),
        np.empty(2, np.int64),
        indices.copy(),
    )
    assert _blocks.number_by_list(*given, *scratch) == -1


@pytest.mark.parametrize("layout", ["sparse", "indicators", "mixed", "packed"])
@pytest.mark.parametrize("algorithm", [1, 2])
def test_numbered_features_train_the_same_model(algorithm, layout, monkeypatch):
    if layout == "packed":
        lists = shared_lists(4, indicators=True)
        more = np.random.default_rng(4).standard_normal((lists.n_items, 1))
        lists = lists.with_features(lists.features.with_columns(more), None)
    else:
        rng = np.random.default_rng(4)
        X = np.where(rng.random((60, 30)) < 0.3, rng.integers(-3, 4, (60, 30)), 0).astype(float)
        y = rng.integers(0, 4, 60).astype(float)
        lists = CandidateLists.from_arrays(in_layout(layout, X), y, group=[1, 9, 20, 2, 28])
    models = []
    monkeypatch.setattr("rerank.data.blocks.SHARED", 0)
    for few in (0, 10**9):
        monkeypatch.setattr("rerank.data.blocks.FEW", few)
        pairs = make_pairs(lists, PairRelation())
        assert (list_rows(lists.features, pairs, 5).most > 0) == (few == 0 and layout != "indicators")
        models.append(Perceptron(algorithm=algorithm, rounds=5, margin="uneven", tau=0.5).fit(lists))
    assert models[0].weights.tobytes() == models[1].weights.tobytes()
    updates = [[row["updates"] for row in model.curve] for model in models]
    assert updates[0] == updates[1]


@pytest.mark.parametrize("shared", [False, True])
def test_features_are_numbered_only_if_items_share_them(shared):
    n, width = 400, 30
    indices = np.arange(n * width, dtype=np.int32) % (width if shared else n * width)
    indptr = np.arange(0, n * width + 1, width, dtype=np.int64)
    features = Sparse(indptr, indices, np.arange(1.0, n * width + 1), n * width)
    lists = CandidateLists.from_arrays(features, np.arange(n) % 4, group=[4] * 100)
    assert (list_rows(features, make_pairs(lists, PairRelation()), 5).most > 0) == shared
