"""Bundles of features with the same column in a list, against a slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import features
from reference.bundles import bundles as slow_bundles
from scipy.sparse import csr_array

from rerank.data import blocks as bundles
from rerank.data.matrix import Sparse, as_features

SPARSE = ["sparse", "indicators", "mixed"]


def read(X, offsets, items):
    """The bundles of each list, as the twin has them."""
    room, found = bundles._bundled(X, offsets, items)
    lists = []
    for i in range(len(offsets) - 1):
        columns = [[] for _ in range(room.starts[i + 1] - room.starts[i])]
        for j in range(offsets[i], offsets[i + 1]):
            for at in range(room.indptr[j], room.indptr[j + 1]):
                columns[room.indices[at]].append((j - int(offsets[i]), float(room.data[at])))
        members = [
            room.members[room.member_indptr[b] : room.member_indptr[b + 1]].tolist()
            for b in range(room.starts[i], room.starts[i + 1])
        ]
        lists.append({tuple(c): sorted(m) for c, m in zip(columns, members, strict=True)})
    assert found.n_values == room.indptr[len(items)]
    assert found.n_members == room.member_indptr[found.n_bundles]
    return lists


@given(st.integers(0, 2**32), st.sampled_from(SPARSE), st.integers(1, 9), st.integers(1, 3))
def test_bundles_are_those_of_the_twin(seed, layout, n_features, n_values):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, rng.integers(1, 6))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(lengths.sum())
    pool = np.array([0.0, 1.0, -2.0, 0.5, 1e300])[: n_values + 1]
    X = pool[rng.integers(0, n_values + 1, (n, n_features))]
    if layout == "indicators":
        X = (X != 0).astype(float)
    items = rng.permutation(n)
    found = read(features(layout, X), offsets, items)
    for i, one in enumerate(found):
        columns = X[items[offsets[i] : offsets[i + 1]]].T.tolist()
        assert one == slow_bundles(columns)


@pytest.mark.parametrize("layout", SPARSE)
def test_every_value_of_a_list_can_be_numbered(layout):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (60, 12)).astype(float)
    found = bundles.bundle(features(layout, X), np.arange(0, 61, 10), np.arange(60))
    assert found.n_entries >= np.diff(found.starts).max()


def test_values_that_are_too_many_for_numbers_are_kept():
    rng = np.random.default_rng(3)
    X = features("sparse", rng.standard_normal((70, 1000)))
    assert bundles.bundle(X, np.array([0, 70]), np.arange(70)).n_entries == 0


def test_stored_zeros_are_as_good_as_absent():
    indptr, indices = np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32)
    X = Sparse(indptr, indices, np.array([0.0, 2.0, -0.0]), 2)
    assert read(X, np.array([0, 2]), np.array([0, 1])) == [{((0, 2.0),): [1]}]


def test_bundles_are_made_only_if_they_are_much_smaller():
    rng = np.random.default_rng(1)
    offsets, items = np.arange(0, 2001, 50), np.arange(2000)
    alike = np.repeat(rng.integers(0, 2, (2000, 20)), 10, axis=1).astype(float)
    random = csr_array(rng.random((2000, 200)) * (rng.random((2000, 200)) < 0.5))
    shared, apart = as_features(csr_array(alike)), as_features(random)
    assert shared.n_values > bundles.SMALL
    assert apart.n_values > bundles.SMALL
    assert bundles.worth_bundling(shared, offsets, items)
    assert not bundles.worth_bundling(apart, offsets, items)
    assert not bundles.worth_bundling(features("dense", alike), offsets, items)
    assert not bundles.worth_bundling(shared.take(slice(0, 50)), offsets[:2], items[:50])
