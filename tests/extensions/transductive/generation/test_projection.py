"""Generated features against plain loops, explicit feature maps, and on degenerate lists."""

import numpy as np
import pytest
from reference import kernel_pca
from scipy.sparse import csr_array

from rerank import CandidateLists
from rerank.core.errors import ConfigError, DataError
from rerank.extensions.transductive.generation.projection import KernelFeatures, Projection
from rerank.extensions.transductive.space import Points

KERNELS = ("poly2", "poly3", "gaussian:1", "gaussian:0.5", "diffusion:1", "diffusion:10", "linear")
SETTINGS = KernelFeatures(kernels=",".join(KERNELS))


def points(X, layout="dense"):
    X = np.asarray(X, dtype=float)
    made = {"dense": X.astype, "float32": X.astype, "sparse": lambda _: csr_array(X)}[layout]
    return Points(CandidateLists.from_arrays(made(np.float32 if layout == "float32" else np.float64)))


def by_kernel(columns, settings=SETTINGS):
    """The columns of each kernel."""
    c = settings.components
    return {name: columns[:, i * c : (i + 1) * c] for i, name in enumerate(settings.kernels.split(","))}


def items(seed, n, d):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)).astype(np.float32).astype(float)


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("form", ["squared", "printed"])
@pytest.mark.parametrize(("m", "d", "repeated"), [(2, 3, 0), (3, 1, 0), (7, 4, 2), (16, 3, 5), (12, 30, 0)])
def test_columns_are_those_of_plain_loops(m, d, repeated, form, layout):
    X, Y = items(m, m, d), items(99 + d, 9, d)
    X, Y = np.vstack([X, X[:repeated]]), np.vstack([Y, X[:2]])
    settings = KernelFeatures(kernels=",".join(KERNELS), neighbours=3, gaussian=form)
    projection = Projection(settings, points(X, layout))
    for some in (X, Y):
        found = by_kernel(projection.columns(points(some, layout)), settings)
        for kernel in KERNELS:
            expected = kernel_pca.columns(X, some, kernel, 5, form, 3)
            np.testing.assert_allclose(found[kernel], expected, atol=3e-8 * max(1, np.abs(expected).max()))
            assert projection.counts[kernel] == np.count_nonzero(expected.any(axis=0))


def feature_map(X, kernel):
    """Items in the space of a linear kernel, or of a polynomial kernel of order 2."""
    return X if kernel == "linear" else np.einsum("ij,ik->ijk", X, X).reshape(len(X), -1)


@pytest.mark.parametrize("kernel", ["linear", "poly2"])
@pytest.mark.parametrize(("m", "d"), [(40, 4), (10, 15)])
def test_components_are_principal_components_of_the_explicit_feature_map(kernel, m, d):
    X, Y = items(3, m, d), items(4, 20, d)
    settings = KernelFeatures(kernels=kernel, components=4)
    found = Projection(settings, points(X)).columns(points(Y))
    mapped = feature_map(X, kernel)
    axes = np.linalg.svd(mapped - mapped.mean(axis=0), full_matrices=False)[2][:4]
    expected = (feature_map(Y, kernel) - mapped.mean(axis=0)) @ axes.T
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-7)


def test_equal_eigenvalues_are_separated_by_features_whatever_the_order_of_items():
    X = np.eye(8)
    settings = KernelFeatures(kernels="linear,poly2,gaussian:1", components=3)
    order = np.random.default_rng(1).permutation(8)
    one, other = Projection(settings, points(X)), Projection(settings, points(X[order]))
    columns = one.columns(points(X))
    np.testing.assert_allclose(columns[order], other.columns(points(X[order])), atol=1e-8)
    assert (np.abs(columns[:, :3]).argmax(axis=0) == [0, 1, 2]).all()  # each follows one feature
    assert (columns[[0, 1, 2], [0, 1, 2]] > 0).all()
    np.testing.assert_allclose(columns[:, :3].T @ columns[:, :3], np.eye(3), atol=1e-8)


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("X", [np.ones((1, 3)), np.ones((6, 3)), np.zeros((4, 2)), np.full((3, 2), 1e6)])
def test_one_item_and_equal_items_have_no_component(X, layout):
    projection = Projection(SETTINGS, points(X, layout))
    assert not any(projection.counts.values())
    columns = projection.columns(points(np.vstack([X, X + 1]), layout))
    np.testing.assert_array_equal(columns, np.zeros((2 * len(X), 35)))


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse"])
def test_two_and_three_items_have_as_many_components_as_they_can(layout):
    for m in (2, 3):
        projection = Projection(SETTINGS, points(items(m, m, 4), layout))
        columns = by_kernel(projection.columns(points(items(8, 5, 4), layout)))
        for kernel, n in projection.counts.items():
            # one step between two items is as likely as none: the walk forgets where it began
            assert n == (0 if m == 2 and kernel.startswith("diffusion") else m - 1)
            assert columns[kernel][:, :n].all()
            assert not columns[kernel][:, n:].any()


def test_constant_and_missing_features_change_nothing():
    X, Y = items(10, 9, 3), items(11, 7, 3)
    plain = Projection(SETTINGS, points(X)).columns(points(Y))
    zeros = Projection(SETTINGS, points(np.hstack([X, np.zeros((9, 1))])))
    np.testing.assert_allclose(zeros.columns(points(np.hstack([Y, np.zeros((7, 1))]))), plain, atol=1e-8)
    lost = Projection(SETTINGS, points(np.hstack([X, np.full((9, 1), np.nan)])))
    np.testing.assert_allclose(lost.columns(points(np.hstack([Y, np.zeros((7, 1))]))), plain, atol=1e-8)


def test_blocks_of_items_do_not_matter(monkeypatch):
    X, Y = items(12, 20, 4), items(13, 50, 4)
    projection = Projection(SETTINGS, points(X))
    whole = projection.columns(points(Y))
    monkeypatch.setattr("rerank.extensions.transductive.generation.projection._BLOCK", 60)
    np.testing.assert_allclose(projection.columns(points(Y)), whole, atol=1e-8)


@pytest.mark.parametrize("kernels", ["poly2", "linear", "gaussian:1", "diffusion:1"])
def test_features_that_overflow_are_an_error_of_one_line(kernels):
    settings = KernelFeatures(kernels=kernels)
    with pytest.raises(DataError, match=f"kernel {kernels} of items overflows"):
        Projection(settings, points([[1e200, 0.0], [0.0, 1e200]]))


@pytest.mark.parametrize("kernel", ["poly2", "linear", "diffusion:1"])
def test_other_items_that_overflow_are_an_error_of_one_line(kernel):
    projection = Projection(KernelFeatures(kernels=kernel), points([[2.0, 0.0], [0.0, 2.0], [9.0, 1.0]]))
    with pytest.raises(DataError, match=f"kernel {kernel} of items overflows"):
        projection.columns(points([[1e308, 1e308]]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernels": "quadratic"}, "found 'quadratic', expected linear"),
        ({"kernels": "linear2"}, "found 'linear2'"),
        ({"kernels": "poly"}, "found 'poly'"),
        ({"kernels": "poly1"}, "a whole number from 2 to 20"),
        ({"kernels": "poly2.5"}, "a whole number"),
        ({"kernels": "gaussian:0"}, "a number above 0"),
        ({"kernels": "gaussian:1e999"}, "a number above 0"),
        ({"kernels": "gaussian:1.1.1"}, "expected linear"),
        ({"kernels": "diffusion:0.5"}, "a whole number"),
        ({"kernels": "linear,linear"}, "found linear twice"),
        ({"kernels": "linear,gaussian:1,gaussian:1.0"}, "found gaussian:1.0 twice"),
        ({"kernels": ""}, "found '', expected"),
        ({"kernels": "linear", "neighbours": 3}, "neighbours is for diffusion kernels"),
        ({"kernels": "linear", "gaussian": "printed"}, "gaussian is for gaussian kernels"),
        ({"components": 0}, "components"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        KernelFeatures(**settings)


def test_names_of_columns():
    settings = KernelFeatures(kernels="linear,diffusion:10", components=2)
    assert settings.generated_names() == ["linear#1", "linear#2", "diffusion:10#1", "diffusion:10#2"]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("kernels", ["gaussian:1", "diffusion:1"])
def test_distances_that_are_lost_in_rounding_are_an_error_of_one_line(kernels, layout):
    X = items(14, 6, 3)
    settings = KernelFeatures(kernels=kernels)
    expected = Projection(settings, points(X, layout)).columns(points(X, layout))
    far = X + 1e3
    found = Projection(settings, points(far, layout)).columns(points(far, layout))
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    with pytest.raises(DataError, match=r"lost in rounding: their features .* need a scaling"):
        Projection(settings, points(X + 1e9, layout))
    same = points(X[:1].repeat(4, axis=0) + 1e9, layout)
    assert not any(Projection(settings, same).counts.values())
