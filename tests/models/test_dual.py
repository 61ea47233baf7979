"""Models of kind dual: sums of a kernel over support items."""

import numpy as np
import pytest
from make import LAYOUTS, features
from small_training import saved

from rerank.core.errors import DataError
from rerank.data.lists import CandidateLists
from rerank.data.matrix import as_features
from rerank.models import dual
from rerank.models.dual import DualModel
from rerank.similarity.vectors import VectorKernel

KERNELS = [
    (VectorKernel("linear"), lambda a, b: a @ b),
    (VectorKernel("polynomial", 3, 0.5, 2.0), lambda a, b: (0.5 * (a @ b) + 2.0) ** 3),
    (VectorKernel("gaussian", gamma=0.2), lambda a, b: np.exp(-0.2 * ((a - b) ** 2).sum())),
]


def some_model(kernel, n_support=5):
    rng = np.random.default_rng(2)
    rows = np.where(rng.random((n_support, 4)) < 0.3, 0.0, rng.standard_normal((n_support, 4)))
    support = as_features(rows).compressed()
    return DualModel(list("abcd"), support, rng.standard_normal(n_support), kernel), rows


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("kernel", "function"), KERNELS)
def test_scores_are_the_sums_of_the_definition(layout, kernel, function):
    model, rows = some_model(kernel)
    X = np.random.default_rng(3).integers(-2, 3, (7, 4)).astype(float)
    if layout == "indicators":
        X = (X != 0).astype(float)
    lists = CandidateLists.from_arrays(features(layout, X), group=[3, 4], feature_names=list("abcd"))
    expected = [sum(c * function(x, row) for c, row in zip(model.coefficients, rows, strict=True)) for x in X]
    np.testing.assert_allclose(model.score(lists), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("kernel", "_"), KERNELS)
def test_scores_do_not_depend_on_blocks_and_files(kernel, _, tmp_path, monkeypatch):
    model, _rows = some_model(kernel)
    X = np.random.default_rng(4).standard_normal((11, 4))
    lists = CandidateLists.from_arrays(X, group=[11], feature_names=list("abcd"))
    scores = model.score(lists)
    monkeypatch.setattr(dual, "_BLOCK", 10)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.score(lists), scores)
    assert again.kernel == kernel


def test_a_model_without_support_scores_0():
    model, _ = some_model(VectorKernel("linear"), 0)
    lists = CandidateLists.from_arrays(np.ones((2, 4)), group=[2], feature_names=list("abcd"))
    assert not model.score(lists).any()
    assert model.n_weighted() == 0


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("kernel", lambda a: a + np.array([7, 0, 0, 0]), "a kernel with the numbers"),
        ("kernel", lambda a: a * [1, 1, 0, 1], "a kernel with the numbers"),
        ("kernel", lambda a: a + np.array([0, 0.5, 0, 0]), "a kernel with the numbers"),
        ("kernel", lambda a: a * np.nan, "a kernel with numbers that are not finite"),
        ("coefficients", lambda a: a[1:], "4 coefficients for 5 items"),
        ("coefficients", lambda a: a * np.inf, "a coefficient that is not finite"),
        ("indices", lambda a: a + np.int32(3), "indices of item"),
        ("indptr", lambda a: a[::-1].copy(), "indptr must run from 0"),
        ("data", lambda a: a * np.nan, "value is nan"),
        ("data", lambda a: a[1:], "data must be contiguous float64 and as long as indices"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change, message):
    model, _ = some_model(VectorKernel("gaussian"))
    arrays = model.arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(DataError, match=message):
        DualModel.from_arrays(list("abcd"), arrays)
