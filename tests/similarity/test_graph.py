"""Graphs of nearest lists beside those from the whole Gram matrix."""

import tracemalloc
import warnings

import numpy as np
import pytest
from reference import graphs as slow

from rerank import CandidateLists
from rerank.core.errors import ConfigError, DataError, DataNote, RerankError
from rerank.core.workers import parallel
from rerank.similarity import gram, nearest
from rerank.similarity.axes import ListKernel
from rerank.similarity.base import KERNELS
from rerank.similarity.graph import nearest_in, neighbour_graph

NAMES = ("list", "angles", "angles-subspace", "bhattacharyya")
pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")


def made(seed=0, n_lists=40, d=4, copies=0, equal=0, spread=1.0):
    """Lists of 2 to 7 items, some of them copies of the first one, or of equal items."""
    rng = np.random.default_rng(seed)
    parts = [
        rng.standard_normal((rng.integers(2, 8), d)) * rng.random(d) + spread * rng.standard_normal(d)
        for _ in range(n_lists - copies - equal)
    ]
    parts += parts[:1] * copies + [np.ones((3, d)) * i for i in range(equal)]
    order = rng.permutation(len(parts))
    return CandidateLists.from_arrays(
        np.concatenate([parts[i] for i in order]), group=[len(parts[i]) for i in order]
    )


def kernel(name):
    return KERNELS.get(name)()


def whole(lists, name, other=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gram(lists, other, name)


CASES = {
    "random": {},
    "copies": {"copies": 25},
    "equal": {"equal": 9},
    "all equal": {"n_lists": 6, "equal": 6},
    "one": {"n_lists": 1},
    "two": {"n_lists": 2},
    "far": {"spread": 1000.0},
    "one feature": {"d": 1},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_twin(name, case, monkeypatch):
    lists = made(**CASES[case])
    K = whole(lists, name)
    monkeypatch.setattr("rerank.similarity.gram_matrices._PAIRS", 3 * lists.n_lists)
    for k in (1, 3, 20, lists.n_lists - 2, lists.n_lists - 1, 100, "all"):
        if k != "all" and k < 1:
            continue
        for mutual in (False, True):
            found = neighbour_graph(lists, kernel(name), k, mutual=mutual)
            expected = slow.neighbour_graph(K, lists.n_lists if k == "all" else k, mutual)
            assert np.array_equal(found.matrix.toarray(), expected)
            assert (found.matrix.data > 0).all()
            assert found.matrix.has_canonical_format
            assert found.empty.tolist() == np.flatnonzero(K.diagonal() == 0).tolist()


def test_far_lists_have_no_edge_by_bhattacharyya():
    lists = made(spread=1000.0)
    assert neighbour_graph(lists, kernel("bhattacharyya"), 5).matrix.nnz < lists.n_lists
    assert neighbour_graph(lists, kernel("bhattacharyya"), "all").matrix.nnz < lists.n_lists


@pytest.mark.parametrize("name", NAMES)
def test_jobs_change_no_bit(name):
    lists = made(1, n_lists=90, copies=20)
    once = neighbour_graph(lists, kernel(name), 4).matrix
    for jobs in (2, 3, 7):
        with parallel.using(jobs):
            again = neighbour_graph(lists, kernel(name), 4).matrix
        for part in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(once, part), getattr(again, part))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_nearest_nodes_of_other_lists(name, case, monkeypatch):
    nodes, others = made(**CASES[case]), made(7, n_lists=11, equal=2, d=CASES[case].get("d", 4))
    monkeypatch.setattr("rerank.similarity.gram_matrices._PAIRS", 2 * nodes.n_lists)
    for k in (1, 3, 100):
        places, values = nearest_in(nodes, others, kernel(name), k)
        K = whole(nodes, name, others).T
        assert places.shape == values.shape == (11, min(k, nodes.n_lists))
        for i in range(11):
            row = values[i][places[i] >= 0]
            assert len(row) == min(k, np.count_nonzero(K[i]))
            np.testing.assert_allclose(row, -np.sort(-K[i])[: len(row)], rtol=1e-9)
            np.testing.assert_allclose(row, K[i][places[i][: len(row)]], rtol=1e-9)
            order = list(zip(-row, places[i], strict=False))
            assert order == sorted(order)


def test_a_list_has_the_same_nearest_nodes_in_any_company():
    nodes, others = made(2), made(3, n_lists=5)
    for name in NAMES:
        together = nearest_in(nodes, others, kernel(name), 6)
        for i in range(5):
            alone = nearest_in(nodes, others.subset([i]), kernel(name), 6)
            assert np.array_equal(alone[0][0], together[0][i])


def test_equally_near_nodes_come_in_their_order():
    lists = made(4, n_lists=3)
    nodes = lists.subset([1, 0, 1, 2, 1, 1])
    places, values = nearest_in(nodes, lists.subset([1]), kernel("list"), 3)
    assert places.tolist() == [[0, 2, 4]]
    assert (values[0] == values[0, 0]).all()


def test_nearest_beside_a_sort():
    rng = np.random.default_rng(0)
    for m in (1, 2, 9, 30):
        K = rng.integers(0, 5, (m, m)) / 4.0
        K[0] = 0.0
        for k in (1, 2, 5, 40):
            for square in (False, True):
                places, values = nearest(K, k, square=square)
                assert places.shape == (m, min(k, m - square))
                for i in range(m):
                    expected = slow.neighbours_of(K[i], k, i if square else None)
                    left = places.shape[1] - len(expected)
                    assert places[i].tolist() == expected + [-1] * left
                    assert values[i].tolist() == K[i, expected].tolist() + [0.0] * left


def test_the_gram_matrix_is_not_held():
    lists = made(n_lists=1500, d=2)
    tracemalloc.start()
    try:
        neighbour_graph(lists, kernel("angles"), 3)
        nearest_in(lists, lists, kernel("angles"), 3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 1500 * 1500 / 2


def test_refused(memory_left):
    lists = made()
    for wrong in (0, -1, "some", 2.5):
        with pytest.raises(ConfigError, match=r"neighbours: found .*, expected 1 or more, or 'all'"):
            neighbour_graph(lists, kernel("list"), wrong)
    with pytest.raises(DataError, match="found k = 0, and 4 and 4 features, expected 1 or more"):
        nearest_in(lists, lists, kernel("list"), 0)
    with pytest.raises(
        DataError, match="found k = 1, and 4 and 3 features, expected 1 or more, and the same"
    ):
        nearest_in(lists, made(d=3), kernel("list"), 1)
    memory_left(1000)
    with pytest.raises(RerankError, match=r"needs 32 kB for a graph of all pairs of 40 lists; 1 kB .* fewer"):
        neighbour_graph(lists, kernel("list"), "all")
    with pytest.raises(
        RerankError, match=r"needs 6\.4 kB for a graph of 40 lists with 2 neighbours each; 1 kB"
    ):
        neighbour_graph(lists, kernel("list"), 2)
    with pytest.raises(RerankError, match=r"needs 3\.2 kB for 1 neighbours of 40 lists"):
        nearest_in(lists, lists, kernel("list"), 1)


def test_axes_that_are_a_choice_are_reported():
    corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    lists = CandidateLists.from_arrays([*corners, [0, 0], [2, 1], [4, 3]], group=[4, 3])
    with pytest.warns(DataNote, match="1 of 2 lists that are compared have axes of equal variance"):
        neighbour_graph(lists, ListKernel(), 1)
    with pytest.warns(DataNote, match="axes of equal variance"):
        nearest_in(lists, lists, ListKernel(), 1)
