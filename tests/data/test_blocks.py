"""Packing sparse features: what cancels within a list goes, everything else stays."""

import itertools

import numpy as np
import pytest
from make import features as in_layout
from scipy.sparse import csr_array

from rerank.data.blocks import MANY_VISITS, ListNumbers, list_rows, pack_differing
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Mixed, Sparse
from rerank.data.pairs import PairRelation, make_pairs
from rerank.learners.perceptron import Perceptron
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
        fits.append(Perceptron(algorithm=algorithm, epochs=4, tau=1.0).fit(lists))
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


def numbered(features, offsets, items, monkeypatch, *, by_value):
    """ListNumbers of sparse or mixed features, and the kernel's answer."""
    monkeypatch.setattr("rerank.data.blocks.SHARED", 1)
    mixed = isinstance(features, Mixed)
    block = features.rows if mixed else features
    numbers = ListNumbers(block, len(offsets) - 1, len(features.places) if mixed else 0, by_value)
    return numbers, _blocks.number_by_list(features.matrix(), offsets, items, numbers)


def random_rows(seed):
    """Sparse or mixed features of 12 rows, lists of 10 of them, and the columns that all rows have."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((12, 9)) < 0.5, rng.integers(1, 3, (12, 9)), 0).astype(float)
    X[:, [2, 5]] = 0.0
    features = in_layout("sparse", X)
    columns = np.array([2, 5] if seed % 2 else [], dtype=np.int32)
    if len(columns):
        features = Mixed(np.ones((12, 2)), columns, features)
    return features, np.array([0, 1, 5, 10], dtype=np.int64), rng.permutation(12)[:10], columns.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_features_are_numbered_by_list(seed, monkeypatch):
    features, offsets, items, columns = random_rows(seed)
    block = features.rows if columns else features
    numbers, most = numbered(features, offsets, items, monkeypatch, by_value=False)
    expected, ends, of_lists = slow_numbers(block, columns, offsets, items)
    assert numbers.bounds.tolist() == [ends, ends]
    assert numbers.features[: ends[-1]].tolist() == of_lists
    assert {at: int(numbers.entry[at]) for at in expected} == expected
    assert most == np.diff(ends).max()


@pytest.mark.parametrize("seed", range(6))
def test_values_are_numbered_by_list(seed, monkeypatch):
    features, offsets, items, columns = random_rows(seed)
    block = features.rows if columns else features
    if seed == 4:  # so many values that not every other one is searched
        features = block = in_layout("sparse", np.tile(np.arange(1.0, 61)[:, None], (1, 2)))
        offsets, items = np.array([0, 60]), np.arange(60)
    numbers, most = numbered(features, offsets, items, monkeypatch, by_value=True)
    _, ends, of_lists = slow_numbers(block, columns, offsets, items)
    assert numbers.bounds[0].tolist() == ends
    assert numbers.features[: ends[-1]].tolist() == of_lists
    assert most == np.diff(numbers.bounds[1]).max()
    for i, (first, last) in enumerate(itertools.pairwise(offsets)):
        here = slice(*numbers.bounds[1, i : i + 2])
        of_list = of_lists[ends[i] : ends[i + 1]]
        entries = [(of_list[m], x) for m, x in zip(numbers.place[here], numbers.values[here], strict=True)]
        met = {(f, 1.0) for f in columns}
        for row in items[first:last]:
            for at in range(*block.indptr[row : row + 2]):
                assert entries[numbers.entry[at]] == (block.indices[at], block.data[at])
                met.add((block.indices[at], block.data[at]))
        assert entries[: len(columns)] == [(f, 1.0) for f in columns]
        assert set(entries) == met
        assert len(entries) == len(met)


def test_a_list_of_more_features_than_numbers_is_not_numbered(monkeypatch):
    indices = np.arange(65537, dtype=np.int32)
    features = Sparse(np.array([0, 65537]), indices, np.ones(65537), 65537)
    for by_value in (False, True):
        given = (features, np.array([0, 1]), np.array([0]), monkeypatch)
        assert numbered(*given, by_value=by_value)[1] == -1


def test_values_that_items_do_not_share_are_not_numbered():
    n, width = 64, 200
    indices = np.tile(np.arange(width, dtype=np.int32) * 50, n)
    indptr = np.arange(0, n * width + 1, width, dtype=np.int64)
    for values, shared in ((np.arange(1.0, n * width + 1), False), (np.ones(n * width), True)):
        features = Sparse(indptr, indices, values, 10_000)
        y = np.arange(n) % 4
        pairs = make_pairs(CandidateLists.from_arrays(features, y, group=[4] * 16), PairRelation())
        # Values of 1 that all items have are packed away; features of other values still get numbers.
        rows = list_rows(features, pairs, MANY_VISITS)
        assert rows.most == (0 if shared else width)


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
    for few, many in ((10**9, 3), (0, 3), (0, 6)):  # no numbers, of values, of features
        monkeypatch.setattr("rerank.data.blocks.FEW", few)
        monkeypatch.setattr("rerank.data.blocks.MANY_VISITS", many)
        pairs = make_pairs(lists, PairRelation())
        assert (list_rows(lists.features, pairs, 5).most > 0) == (few == 0)
        models.append(Perceptron(algorithm=algorithm, epochs=5, margin="uneven", tau=0.5).fit(lists))
    assert len({model.weights.tobytes() for model in models}) == 1
    updates = [[row["updates"] for row in model.curve] for model in models]
    assert updates[0] == updates[1] == updates[2]


@pytest.mark.parametrize("shared", [False, True])
def test_features_are_numbered_only_if_items_share_them(shared):
    n, width = 400, 30
    indices = np.arange(n * width, dtype=np.int32) % (width if shared else n * width)
    indptr = np.arange(0, n * width + 1, width, dtype=np.int64)
    features = Sparse(indptr, indices, np.arange(1.0, n * width + 1), n * width)
    lists = CandidateLists.from_arrays(features, np.arange(n) % 4, group=[4] * 100)
    assert (list_rows(features, make_pairs(lists, PairRelation()), 5).most > 0) == shared
