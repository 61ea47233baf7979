"""Propagated values beside dense and exact algebra, and their properties."""

import numpy as np
import pytest
from reference import graphs as slow
from scipy.sparse import csr_array

from rerank import CandidateLists
from rerank.core.errors import DataError, RerankError
from rerank.extensions.transductive.propagation import harmonic as walks
from rerank.extensions.transductive.propagation.harmonic import harmonic
from rerank.similarity.base import KERNELS
from rerank.similarity.graph import neighbour_graph


def random_graph(rng, n, degree=4, exponents=(0, 0)):
    """Similarities of some pairs, 10 to the power of a number between the exponents times a uniform one."""
    K = rng.random((n, n)) * 10.0 ** rng.uniform(*exponents, (n, n))
    K[rng.random((n, n)) > degree / n] = 0.0
    K = np.triu(K, 1)
    return K + K.T


def problem(seed, n=30, n_labelled=8, d=3, **settings):
    rng = np.random.default_rng(seed)
    K = random_graph(rng, n, **settings)
    labelled = np.zeros(n, dtype=bool)
    labelled[rng.choice(n, n_labelled, replace=False)] = True
    return K, labelled, rng.standard_normal((n_labelled, d))


def solved(K, labelled, values):
    return harmonic(csr_array(K), labelled, values)


@pytest.fixture(params=["elimination", "gradients"])
def by_both(request, monkeypatch):
    """Solve small systems by the method of large ones, too."""
    if request.param == "gradients":
        monkeypatch.setattr(walks, "_FEW", 0)
    return request.param


@pytest.mark.parametrize("n_labelled", [1, 2, 8, 29, 30])
@pytest.mark.parametrize("degree", [0.5, 2, 4, 30])
def test_twin(by_both, degree, n_labelled):
    for seed in range(5):
        K, labelled, values = problem(seed, n_labelled=n_labelled, degree=degree)
        found = solved(K, labelled, values)
        np.testing.assert_allclose(found.values, slow.harmonic(K, labelled, values), rtol=0, atol=1e-10)
        assert np.array_equal(found.values[labelled], values)
        assert np.array_equal(found.reached, slow.reached(K, labelled))
        assert np.array_equal(found.reached, ~np.isnan(found.values[:, 0]))
        np.testing.assert_allclose(found.degree, K.sum(axis=1))
        share = K[:, labelled].sum(axis=1) / np.maximum(K.sum(axis=1), 1e-300)
        np.testing.assert_allclose(found.labelled_share, share, rtol=1e-12)
        assert found.smoothness == pytest.approx(slow.smoothness(K, found.values))
        assert found.residual < 1e-10


def test_systems_of_several_blocks():
    for n in (129, 400):
        K, labelled, values = problem(1, n=n, n_labelled=20, degree=6)
        expected = slow.harmonic(K, labelled, values)
        np.testing.assert_allclose(solved(K, labelled, values).values, expected, rtol=0, atol=1e-12)


def test_large_systems_are_solved_by_gradients(monkeypatch):
    K, labelled, values = problem(2, n=1150, n_labelled=100, degree=12)
    monkeypatch.setattr(walks.Walks, "_by_elimination", None)
    expected = slow.harmonic(K, labelled, values)
    np.testing.assert_allclose(solved(K, labelled, values).values, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("lowest", [-4, -20, -100, -280])
def test_weights_of_all_magnitudes(by_both, lowest):
    """A dense solver fails here, as 1e-100 is lost in a degree of 1; fractions give the value."""
    for seed in range(10):
        K, labelled, values = problem(seed, n=12, n_labelled=3, d=2, degree=3 + seed, exponents=(lowest, 0))
        expected = slow.exact_harmonic(K, labelled, values)
        np.testing.assert_allclose(solved(K, labelled, values).values, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("weak", [1e-3, 1e-9, 1e-17, 1e-200, 1e-289])
def test_twins_far_from_all_others(by_both, weak):
    """Two lists that are alike, with nothing but weak edges to two labelled ones, of which one is twice."""
    K = np.zeros((4, 4))
    K[0, 1], K[0, 2], K[1, 3] = 1.0, weak, 2 * weak
    found = solved(K + K.T, np.array([False, False, True, True]), np.array([[3.0], [0.0]]))
    expected = slow.exact_harmonic(K + K.T, np.array([0, 0, 1, 1], dtype=bool), np.array([[3.0], [0.0]]))
    np.testing.assert_allclose(found.values, expected, rtol=1e-10)
    assert found.values[0, 0] == pytest.approx(1.0, abs=0.01)


def test_smoothness_of_several_blocks_of_rows(monkeypatch):
    K, labelled, values = problem(13, degree=1.5)
    expected = slow.smoothness(K, slow.harmonic(K, labelled, values))
    for edges in (1, 7, 20):
        monkeypatch.setattr("rerank.extensions.transductive.propagation.harmonic._EDGES", edges)
        assert solved(K, labelled, values).smoothness == pytest.approx(expected)


def test_equal_values_are_propagated_to_the_last_bit(by_both):
    K, labelled, _ = problem(3, degree=2)
    row = np.array([0.1, -1 / 3, 0.0])
    found = solved(K, labelled, np.tile(row, (8, 1)))
    assert (found.values[found.reached] == row).all()
    assert found.reached.sum() > 8
    assert found.smoothness == 0.0


def test_copies_of_lists():
    """The graph of copies has similarities of 1 and others; each copy has the values of the first."""
    rng = np.random.default_rng(10)
    parts = [rng.standard_normal((5, 3)) for _ in range(6)]
    lists = CandidateLists.from_arrays(np.concatenate(parts + [parts[5]] * 3), group=[5] * 9)
    for name in ("list", "angles", "angles-subspace", "bhattacharyya"):
        graph = neighbour_graph(lists, KERNELS.get(name)(), "all").matrix
        labelled = np.arange(9) < 3
        found = harmonic(graph, labelled, np.eye(3))
        np.testing.assert_allclose(found.values[5:], found.values[[5] * 4], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.values.sum(axis=1), 1.0)
        expected = slow.harmonic(graph.toarray(), labelled, np.eye(3))
        np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-10)


def test_all_labelled_and_no_edges():
    values = np.arange(6.0).reshape(3, 2)
    for K in (np.ones((3, 3)) - np.eye(3), np.zeros((3, 3))):
        found = solved(K, np.ones(3, dtype=bool), values)
        assert np.array_equal(found.values, values)
        assert found.reached.all()
        assert found.residual == 0.0
    found = solved(np.zeros((3, 3)), np.array([False, True, False]), values[:1])
    assert found.reached.tolist() == [False, True, False]
    assert found.smoothness == 0.0
    no_columns = solved(np.ones((3, 3)) - np.eye(3), np.array([True, False, False]), np.empty((1, 0)))
    assert no_columns.values.shape == (3, 0)
    assert no_columns.reached.all()


def test_gradients_that_are_not_accurate_are_followed_by_elimination(monkeypatch, memory_left):
    K, labelled, values = problem(11, n=100, degree=8)
    monkeypatch.setattr(walks, "_FEW", 0)
    monkeypatch.setattr(walks, "_MOST_ITERATIONS", 1)
    expected = slow.harmonic(K, labelled, values)
    np.testing.assert_allclose(solved(K, labelled, values).values, expected, rtol=0, atol=1e-10)
    memory_left(10_000)
    with pytest.raises(RerankError, match=r"needs \d+ kB for the propagation of 3 weights among 100 lists"):
        solved(K, labelled, values)
    memory_left(100_000)
    with pytest.raises(RerankError, match=r"needs .* for the elimination of 9\d unlabelled lists"):
        solved(K, labelled, values)


def test_refused():
    K, labelled, values = problem(12)
    graph = csr_array(K)
    with pytest.raises(DataError, match="found no labelled list, expected 1 or more"):
        harmonic(graph, np.zeros(30, dtype=bool), values[:0])
    with pytest.raises(DataError, match=r"found a graph \(30, 30\) and values \(7, 3\) for 8 of 30 nodes"):
        harmonic(graph, labelled, values[:7])
    with pytest.raises(DataError, match=r"found a graph \(29, 29\)"):
        harmonic(graph[:29, :29], labelled, values)
    values[0, 0] = np.nan
    with pytest.raises(DataError, match="a value that is not finite"):
        harmonic(graph, labelled, values)
    for wrong in (0.0, -1.0, np.inf, np.nan):
        graph.data[3] = wrong
        with pytest.raises(DataError, match="a similarity of an edge that is not finite and above 0"):
            harmonic(graph, labelled, np.zeros((8, 3)))
    K = np.zeros((5, 5))
    K[0, 1], K[1, 2], K[2, 3], K[2, 4] = 1.0, 1e-300, 1.0, 1.0
    with pytest.raises(DataError, match="similarities of lists differ so much that their ratios underflow"):
        solved(K + K.T, np.arange(5) > 2, np.array([[1.0], [0.0]]))
