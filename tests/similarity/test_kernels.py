"""Kernels on lists beside their slow twins, their invariances (thesis, Table 8.1), and degenerate lists."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from reference import list_kernels as slow
from scipy.stats import special_ortho_group

from rerank import CandidateLists
from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.data.matrix import Dense, Mixed, Sparse
from rerank.similarity import gram
from rerank.similarity.axes import axes_of, principal_axes

NAMES = ("list", "angles", "angles-subspace", "bhattacharyya")
ON_AXES = NAMES[:3]
TWINS = {
    "list": slow.list_kernel,
    "angles": slow.angles,
    "angles-subspace": slow.subspace_angles,
    "bhattacharyya": lambda X, Y, _: slow.bhattacharyya(X, Y, 0.01),
}


def made(parts):
    return CandidateLists.from_arrays(np.concatenate(parts), group=[len(part) for part in parts])


def settings(kernel, m=5):
    return {} if kernel == "bhattacharyya" else {"components": m}


def value(kernel, X, Y, m=5):
    return float(gram(made([X]), made([Y]), kernel, **settings(kernel, m))[0, 0])


def random_parts(seed, n_lists=8, d=5, sizes=(1, 12)):
    rng = np.random.default_rng(seed)
    spread = rng.random(d) * 3
    return [
        rng.standard_normal((rng.integers(*sizes), d)) @ np.diag(spread) + rng.standard_normal(d)
        for _ in range(n_lists)
    ]


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("m", [1, 2, 5, 6, 7, 9])
@pytest.mark.parametrize("d", [1, 3, 5, 9, 30])
@pytest.mark.parametrize("kernel", NAMES)
def test_twins(kernel, d, m):
    parts, others = random_parts(d, d=d), random_parts(d + 1, n_lists=3, d=d)
    lists = made(parts)
    square = gram(lists, kernel=kernel, **settings(kernel, m))
    expected = np.array([[TWINS[kernel](X, Y, m) for Y in parts] for X in parts])
    np.testing.assert_allclose(square, expected, rtol=1e-9, atol=1e-12)
    across = gram(lists, made(others), kernel, **settings(kernel, m))
    expected = np.array([[TWINS[kernel](X, Y, m) for Y in others] for X in parts])
    np.testing.assert_allclose(across, expected, rtol=1e-9, atol=1e-12)
    assert np.array_equal(square, square.T)
    assert (square >= 0).all()
    assert (square <= 1).all()


def test_the_twin_is_the_largest_of_all_pairings():
    for seed in range(20):
        X, Y = random_parts(seed, n_lists=2, d=4, sizes=(2, 9))
        assert slow.list_kernel(X, Y, 4) == pytest.approx(slow.list_kernel_by_enumeration(X, Y, 4))


def ellipse(degrees, eigenvalues=(5.2, 0.1)):
    """Four items whose first axis has an angle, and whose covariance has the eigenvalues."""
    turn = np.deg2rad(degrees)
    U = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    roots = np.sqrt(2 * np.array(eigenvalues))
    return np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) * roots @ U


def test_figure_8_1():
    for turn, expected in ((25, 0.90631), (90, 0.038447)):
        assert value("list", ellipse(0), ellipse(turn)) == pytest.approx(expected, rel=2e-5)
    assert value("angles", ellipse(0), ellipse(25)) == pytest.approx(0.90631, rel=1e-5)
    assert value("angles", ellipse(0), ellipse(90)) == pytest.approx(1.0)
    assert value("angles-subspace", ellipse(0), ellipse(25)) == pytest.approx(1.0)
    assert value("angles-subspace", ellipse(0), ellipse(25), 1) == pytest.approx(0.90631, rel=1e-5)


def test_bhattacharyya_of_one_feature_is_the_integral():
    X, Y = np.array([[0.0], [2.0]]), np.array([[1.0], [7.0]])
    grid = np.linspace(-60, 60, 400_001)

    def density(Z):
        variance = Z.var() + 0.01
        return np.exp(-((grid - Z.mean()) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    overlap = np.sum(np.sqrt(density(X) * density(Y))) * (grid[1] - grid[0])
    assert value("bhattacharyya", X, Y) == pytest.approx(overlap, rel=1e-9)


seeds = st.integers(0, 10_000)


def two_lists(seed):
    """Two lists whose axes are far from degenerate, so that rounding moves none."""
    rng = np.random.default_rng(seed)
    spread = np.array([4.0, 2.0, 1.0]) * rng.uniform(0.9, 1.1, 3)
    turns = special_ortho_group.rvs(3, size=2, random_state=rng)
    return [rng.standard_normal((30, 3)) * spread @ turn for turn in turns], rng


@given(seeds, st.sampled_from(NAMES))
def test_orders_of_items_do_not_matter(seed, kernel):
    (X, Y), rng = two_lists(seed)
    assert value(kernel, X, rng.permutation(Y)) == pytest.approx(value(kernel, X, Y), rel=1e-9)


@pytest.mark.parametrize("kernel", NAMES)
def test_layouts_agree(kernel):
    rng = np.random.default_rng(2)
    X = np.where(rng.random((40, 12)) < 0.3, 1.0, 0.0)
    X[:, 0] = rng.standard_normal(40)
    sizes = [3, 7, 1, 9, 20]
    X = np.round(8 * X) / 8  # the same numbers in float32
    X[10] = X[11]
    layouts = [
        Dense(X),
        Dense(X.astype(np.float32)),
        Dense(X).compressed(),
        Mixed(X[:, :1].copy(), np.zeros(1, dtype=np.int32), _indicators(X)),
    ]
    found = []
    for features in layouts:
        lists = CandidateLists(np.concatenate([[0], np.cumsum(sizes)]), features)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)
            found.append(gram(lists, kernel=kernel))
    assert np.array_equal(found[1], found[0])
    np.testing.assert_allclose(found[2], found[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[3], found[0], rtol=1e-9, atol=1e-12)


def _indicators(X):
    rest = Dense(np.hstack([np.zeros((len(X), 1)), X[:, 1:]])).compressed()
    return Sparse(rest.indptr, rest.indices, None, rest.n_features)


@pytest.mark.parametrize("kernel", NAMES)
def test_a_million_features_stay_sparse(kernel):
    rng = np.random.default_rng(3)
    rows = [np.sort(rng.choice(1_000_000, 30, replace=False)) for _ in range(20)]
    rows += rows[:10]
    matrix = scipy.sparse.csr_matrix(
        (np.ones(900), np.concatenate(rows), np.arange(0, 901, 30)), shape=(30, 1_000_000)
    )
    lists = CandidateLists.from_arrays(matrix, group=[10, 10, 10])
    K = gram(lists, kernel=kernel)
    assert K[0, 2] == pytest.approx(1.0)
    assert K[0, 1] < 0.9


@pytest.mark.parametrize("kernel", NAMES)
def test_jobs_change_no_bit(kernel):
    lists = made(random_parts(5, n_lists=90, d=6, sizes=(2, 9)))
    once = gram(lists, kernel=kernel)
    for jobs in (2, 3, 7):
        assert np.array_equal(once, gram(lists, kernel=kernel, jobs=jobs))
    alone = np.concatenate([gram(lists.subset([i]), lists, kernel) for i in range(5)])
    np.testing.assert_allclose(alone, once[:5], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kernel", ON_AXES)
def test_lists_of_equal_items_are_like_none(kernel):
    parts = [np.array([[1.0, 2.0]] * 3), np.array([[1.0, 2.0]]), *random_parts(1, 3, 2, (2, 5))]
    with pytest.warns(DataNote, match="2 lists of equal items: similarity 0 to every list"):
        K = gram(made(parts), kernel=kernel)
    assert (K[:2] == 0).all()
    assert (K.diagonal()[2:] == 1).all()


def test_equal_items_up_to_rounding():
    X = np.full((7, 3), 0.1) * np.array([1.0, 1e8, 1e-8])
    X[3] *= 1 + 4e-16
    with pytest.warns(DataNote, match="1 list of equal items"):
        assert gram(made([X])).tolist() == [[0.0]]


@pytest.mark.parametrize("kernel", ON_AXES)
@pytest.mark.parametrize("scale", [1e-290, 1e-150, 1e150, 1e300])
def test_huge_and_tiny_values(kernel, scale):
    parts = random_parts(3, 5, 3, (4, 9))
    K = gram(made(parts), kernel=kernel)
    np.testing.assert_allclose(gram(made([scale * X for X in parts]), kernel=kernel), K, rtol=1e-7)
    edge = made([np.array([[1.7e308], [-1.7e308]]), np.array([[0.0], [1.0]])])
    assert gram(edge, kernel=kernel).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_bhattacharyya_refuses_values_beyond_its_ridge():
    with pytest.raises(DataError, match=r"found a value of 1e\+300 .* scale the features"):
        value("bhattacharyya", np.array([[1e300], [0.0]]), np.array([[0.0], [1.0]]))


def test_equal_eigenvalues_give_axes_that_do_not_depend_on_the_order_of_items():
    """Each item has a feature of its own: all eigenvalues are equal, and LAPACK's axes are arbitrary."""
    rng = np.random.default_rng(8)
    for n, d in ((2, 5), (3, 6), (6, 9), (6, 40), (9, 12), (9, 30)):
        X = np.eye(d)[:n]
        for m in (1, 3, 5):
            for kernel in ON_AXES:
                assert value(kernel, X, X[rng.permutation(n)], m) == pytest.approx(1.0, abs=1e-9)


def test_axes():
    X = ellipse(0) + np.array([3.0, -1.0])
    found = axes_of(made([X]), 0)
    np.testing.assert_allclose(found.eigenvalues * found.scale**2, [5.2, 0.1])
    np.testing.assert_allclose(np.abs(found.vectors), np.eye(2), atol=1e-12)
    first = principal_axes(made([X, X[:2]]), 5)
    assert first.counts.tolist() == [2, 1]
    np.testing.assert_allclose(first.eigenvalues[:, 0], [5.2 / 5.3, 1.0])
    assert (first.eigenvalues[:, 2:] == 0).all()
    np.testing.assert_allclose(np.linalg.norm(first.weights, axis=1), 1.0)


@pytest.mark.parametrize("shape", [(4, 50), (50, 4), (300, 4), (9, 9)])
def test_axes_of_any_shape(shape):
    X = np.random.default_rng(1).standard_normal(shape) * np.arange(1, shape[1] + 1)
    found = axes_of(made([X]), 0)
    centred = X - X.mean(axis=0)
    expected = np.linalg.eigvalsh(centred.T @ centred / len(X))[::-1][: len(found.eigenvalues)]
    np.testing.assert_allclose(found.eigenvalues * found.scale**2, expected, rtol=1e-9)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(len(found.vectors)), atol=1e-12)
    assert len(found.eigenvalues) == min(shape[0] - 1, shape[1])


@pytest.mark.parametrize("ratio", [1.0, 0.5, 1e-4, 1e-8, 1e-12])
def test_axes_of_many_features(ratio):
    """The inner products of items give the axes, unless one is too small for them."""
    rng = np.random.default_rng(2)
    U = np.linalg.qr(rng.standard_normal((60, 3)))[0].T
    C = np.linalg.qr(np.column_stack([np.ones(8), rng.standard_normal((8, 3))]))[0][:, 1:]
    X = C * np.array([1.0, 0.7, ratio * 0.7]) @ U + 3.0
    for m in (1, 2, 3, 5, None):
        found = axes_of(made([X]), 0, m)
        kept = min(m or 3, 3)
        expected = np.array([1.0, 0.49, 0.49 * ratio**2])[:kept] / 8
        np.testing.assert_allclose(found.eigenvalues * found.scale**2, expected, rtol=1e-3)
        np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(kept), atol=1e-9)
        assert found.total * found.scale**2 == pytest.approx((1.49 + 0.49 * ratio**2) / 8)
        assert found.tied == (ratio == 1.0 and kept > 1)
        if ratio < 1:
            cosines = np.abs(np.sum(found.vectors * U[:kept], axis=1))
            np.testing.assert_allclose(cosines, 1.0, atol=1e-3)


def test_refused():
    lists = made(random_parts(0, sizes=(2, 5)))
    with pytest.raises(ConfigError, match="unknown kernel 'lists'; did you mean 'list'"):
        gram(lists, kernel="lists")
    with pytest.raises(ConfigError, match="components"):
        gram(lists, components=0)
    with pytest.raises(ConfigError, match="unknown setting 'components'"):
        gram(lists, kernel="bhattacharyya", components=3)
    with pytest.raises(ConfigError, match="ridge"):
        gram(lists, kernel="bhattacharyya", ridge=0)
    missing = made([np.array([[1.0, np.nan], [0.0, 1.0]])])
    nothing = made([np.empty((2, 0))])
    for kernel in NAMES:
        with pytest.raises(DataError, match="missing"):
            gram(missing, kernel=kernel)
        with pytest.raises(DataError, match="no features"):
            gram(nothing, kernel=kernel)
    with pytest.raises(DataError, match="expected a C-contiguous float64 array"):
        gram(lists, out=np.zeros((2, 2)))


def test_columns_of_the_second_set_are_matched_by_name():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((8, 3)), rng.standard_normal((9, 3))
    mine = CandidateLists.from_arrays(X, feature_names=["a", "b", "c"])
    theirs = CandidateLists.from_arrays(Y[:, ::-1].copy(), feature_names=["c", "b", "a"])
    assert gram(mine, theirs)[0, 0] == value("list", X, Y)
    with pytest.raises(DataError, match="found features x"):
        gram(mine, CandidateLists.from_arrays(Y, feature_names=["x", "y", "z"]))


def test_a_memory_mapped_matrix(tmp_path):
    lists = made(random_parts(6, n_lists=7, sizes=(3, 6)))
    out = np.lib.format.open_memmap(tmp_path / "gram.npy", mode="w+", dtype=np.float64, shape=(7, 7))
    gram(lists, out=out)
    out.flush()
    assert np.array_equal(np.load(tmp_path / "gram.npy"), gram(lists))
